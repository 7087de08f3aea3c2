"""A release in a few lines of words: for a terminal and a notebook."""

from typing import Any

from discreet.guarantee import suspicion
from discreet.recipe import spelled

__all__ = ["release_lines"]


def release_lines(release: Any) -> list[tuple[str, str]]:
    """What was asked, what is promised, and what is inside."""
    inside = ", ".join(f"{name} {_shape(values)}" for name, values in release.value.items())
    lines = [
        ("model", spelled(release.model)),
        ("mechanism", spelled(release.mechanism)),
        ("guarantee", str(release.guarantee)),
        ("in short", suspicion(release.guarantee).words),
        ("released", inside),
    ]
    lines += [("entry", release.entry)] if release.entry else []
    lines += [("notice", release.notice)] if release.notice else []
    lines += [] if release.private else [("simulated", "of no private table: nothing is promised")]
    return lines


def _shape(values: Any) -> str:
    return f"= {values.item()}" if values.ndim == 0 else f"({' × '.join(map(str, values.shape))})"
