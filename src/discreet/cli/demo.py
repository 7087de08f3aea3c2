"""placeholder"""


def demo() -> None:
    """Demo."""
