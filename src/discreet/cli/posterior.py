"""placeholder"""


def posterior() -> None:
    """Posterior."""
