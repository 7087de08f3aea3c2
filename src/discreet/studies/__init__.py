"""Numbers of the literature that this library rests on, computed exactly where they can be."""
