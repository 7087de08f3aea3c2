"""The compiled walk."""
