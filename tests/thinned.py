"""Parametrisations of which `make test` runs some cells, and `make audit` the others."""

from collections.abc import Callable, Iterable
from typing import Any

import pytest

__all__ = ["thinned"]


def thinned(cells: Iterable[Any], kept: Callable[[Any], bool], *, several: bool = False) -> list[Any]:
    """All cells; those that are not `kept` run in `make audit` only. Cells of several arguments are tuples."""
    return [
        cell if kept(cell) else pytest.param(*(cell if several else [cell]), marks=pytest.mark.audit) for cell in cells
    ]
