"""The shortest interval that holds a parameter with a given probability, from its quantiles alone.

    [Q(p), Q(p + level)],   p in [0, 1 - level] with the smallest Q(p + level) - Q(p)

For a density with one peak it is the interval of highest density. Quantiles are asked for at public orders, dense where
a density may end steeply, and interpolated between them without overshooting.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from discreet.numerics.arrays import Array
from discreet.posterior.summary import tails

__all__ = ["shortest"]

NODES, FINE = 65, 4001
END = 1e-9  # stands for the orders 0 and 1, at which a quantile may be infinite


def shortest(quantiles: Callable[[Array], Sequence[Any]], level: float) -> tuple[Any, Any]:
    """Lower and upper ends in the form of a quantile; `quantiles` answers one for each order."""
    tails(level)  # refuses what is no level
    nodes = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, NODES))
    lower, upper = (np.clip((1.0 - level) * nodes + shift, END, 1.0 - END) for shift in (0.0, level))
    orders = np.concatenate([lower, upper])
    found = list(quantiles(orders))
    if not isinstance(found[0], dict):
        return _ends(np.array(found, dtype=float), nodes)
    ends = {name: _ends(np.array([each[name] for each in found], dtype=float), nodes) for name in found[0]}
    return {name: low for name, (low, _) in ends.items()}, {name: high for name, (_, high) in ends.items()}


def _ends(values: Array, nodes: Array) -> tuple[Any, Any]:
    """Of quantiles (orders, …): first those of the lower ends, then those of the upper."""
    from scipy.interpolate import PchipInterpolator

    fine = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, FINE))
    flat = values.reshape(len(values), -1)
    lower, upper = (PchipInterpolator(nodes, part, axis=0)(fine) for part in np.split(flat, 2))
    best = np.argmin(upper - lower, axis=0)
    places = np.arange(flat.shape[1])
    shape = values.shape[1:]
    low, high = (np.asarray(part[best, places]).reshape(shape) for part in (lower, upper))
    return (float(low), float(high)) if not shape else (low, high)
