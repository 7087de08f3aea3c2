"""What reads rows: DuckDB, where it spills, and the rows that need no engine."""
