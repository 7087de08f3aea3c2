"""Ledgers in a PostgreSQL database."""
