"""Pure numerics: exact sums over unseen counts, exact draws from truncated laws. No rows."""
