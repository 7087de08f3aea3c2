"""Where private rows live, and the exact integer statistics that may be asked of them."""
