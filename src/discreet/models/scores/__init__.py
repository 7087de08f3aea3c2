"""Models of what a public score is worth on private rows."""
