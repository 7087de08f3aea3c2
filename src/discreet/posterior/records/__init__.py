"""New records: drawn given a posterior, predicted for rows that are given, written to files, and combined."""
