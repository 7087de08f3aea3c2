"""The SQL text of a query: one meaning of cells and sums for every engine."""
