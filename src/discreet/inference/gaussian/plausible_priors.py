"""Words about priors that declared bounds contradict: what a plan warns of, before any row is read.

Nothing is refused: a prior may be meant. But a column clamped to [lower, upper] has no mean outside of it and no
deviation above half of its width, so what a prior says beyond that is lost.
"""

import numpy as np

from discreet.queries.counts_and_sums import Axis

__all__ = ["elsewhere", "share_of_records", "too_wide"]

LEAST_INSIDE = 0.4  # of a prior: below, it speaks mostly of values that cannot be


def too_wide(field: str, sd: float, axis: Axis) -> tuple[str, ...]:
    """A deviation above the largest that is possible."""
    largest = 0.5 * (axis.upper - axis.lower)
    if sd <= largest:
        return ()
    return (
        f"{field} is {sd:g}, and no column within {axis.lower:g} to {axis.upper:g} has a deviation above {largest:g}: "
        "it is the deviation of the column as declared, after clamping",
    )


def elsewhere(field: str, column: str, inside: float) -> tuple[str, ...]:
    """A prior of which most lies outside of the bounds."""
    if inside >= LEAST_INSIDE:
        return ()
    share = f"{inside:.0%}" if inside >= 0.005 else "less than 1%"
    return (f"{field} has {share} of its mass within the declared bounds of {column}: look at the units of both",)


def share_of_records(mean: float, strength: float, shape: float, scale: float, axis: Axis) -> float:
    """How many records of a normal-inverse-gamma prior lie within the bounds: Student's law."""
    from scipy.special import stdtr

    spread = np.sqrt(scale * (1.0 + 1.0 / strength) / shape)
    low, high = ((end - mean) / spread for end in (axis.lower, axis.upper))
    return float(stdtr(2.0 * shape, high) - stdtr(2.0 * shape, low))
