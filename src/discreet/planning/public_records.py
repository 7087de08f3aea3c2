"""What public records are worth: how many of them in the prior make a conjugate draw meet a privacy target.

Public records cost nothing and strengthen the prior, and a stronger prior hides one private record better. Two answers:

    needed   the least N such that N public records in the prior let the draw from n private ones meet the target
    shared   what the draw costs when N of the table's own n records are made public: n - N private, N in the prior

Public records are taken to look as expected: spread over the levels like `shares`, by default like the prior's mean;
for a mean or a rate they sit at the prior mean. Others, once they are there, enter by `model.updated(public_dataset)`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from discreet.errors import QueryError
from discreet.guarantee import Budget, Guarantee, Repeated
from discreet.mechanisms import Mechanism
from discreet.models import Model
from discreet.queries.families import OneConjugate
from discreet.schema import Schema

__all__ = ["PublicRecords", "public_records"]

MOST = 10**9
PARTS = (0.0, 0.01, 0.05, 0.1, 0.25, 0.5)  # of the table's own records, made public


@dataclass(frozen=True)
class PublicRecords:
    """How many public records meet `target`, and the epsilon of the rest when own records are made public."""

    target: Budget
    needed: int | None
    shared: dict[int, float]

    def lines(self) -> list[tuple[str, str]]:
        """Both answers in words."""
        if self.needed is None:
            said = f"no number of public records up to {MOST:.0e} in the prior makes this draw meet {self.target}"
        elif self.needed == 0:
            said = f"none are needed: the draw meets {self.target} as it is"
        else:
            said = f"{self.needed:,} records in the prior would make this draw meet {self.target}"
        costs = ", ".join(f"{count:,}: {epsilon:.4g}" for count, epsilon in self.shared.items())
        of_table = f"of the table's own records made public, and epsilon of the rest at delta = {self.target.delta:g}"
        return [("public", said), ("made public", f"{of_table}: {costs}")]

    def to_json(self) -> dict[str, Any]:
        """Plain data; an epsilon that is not finite is null."""
        shared = [
            {"public": count, "epsilon": epsilon if np.isfinite(epsilon) else None}
            for count, epsilon in self.shared.items()
        ]
        return {"target": self.target.to_json(), "needed": self.needed, "shared": shared}


def public_records(
    model: Model, mechanism: Mechanism, schema: Schema, target: Budget, shares: Sequence[float] | None = None
) -> PublicRecords:
    """Answer for one draw mechanism and one conjugate model, from public facts alone.

    The answer was itself seen to meet the target and one record fewer was not. `shares` are in the order of the prior.
    """
    if not mechanism.is_strengthened:
        name = type(mechanism).__name__
        raise QueryError(f"public_records.mechanism must be a direct, diffused or concentrated sample, got {name}")
    found = model.query(schema).family
    if found is None or not found.is_conjugate:
        name = type(model).__name__
        raise QueryError(f"public_records.model must have one conjugate parameter, got {name}")
    if not isinstance(target, Budget) or target.delta is None:
        raise QueryError(
            f"public_records.target must be a Budget with a delta, for a draw has no pure guarantee, got {target}"
        )
    family = cast(OneConjugate, found)
    delta, where = target.delta, _shares(family, shares)

    def cost(count: int, private: Schema) -> Guarantee:
        stronger = replace(model, prior=family.strengthened(count, where))  # type: ignore[type-var]  # a dataclass
        return mechanism.guarantee(stronger.query(private))

    def meets(count: int) -> bool:
        if isinstance(cost(count, schema), Repeated):  # a composition knows its epsilon, and its delta by search
            return cost(count, schema).epsilon(delta) <= target.epsilon
        return cost(count, schema).delta(target.epsilon) <= delta

    needed, n = _least(meets), model.query(schema).largest_total
    counts = dict.fromkeys(round(part * n) for part in PARTS)
    return PublicRecords(target, needed, {k: cost(k, replace(schema, n=n - k)).epsilon(delta) for k in counts})


def _least(meets: Callable[[int], bool]) -> int | None:
    """The least count that meets the target: none, or where it begins to be met, by doubling and bisection.

    More records never cost more, but for one case: a draw calibrated at a Rényi order spends what they give on larger
    fractions of the data first. Its epsilon rises to that of a direct draw before it falls; so where the target is
    missed without any, the counts that meet it are all those from some count on.
    """
    if meets(0):
        return 0
    if not meets(MOST):
        return None
    low, high = 0, 1
    while not meets(high):
        low, high = high, min(2 * high, MOST)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def _shares(family: OneConjugate, shares: Sequence[float] | None) -> tuple[float, ...]:
    expected = family.expected_shares
    if not expected:
        if shares is not None:
            raise QueryError("public_records.shares must be left out for a mean or a rate, got some")
        return ()
    given = np.asarray(expected if shares is None else shares, dtype=float)
    if given.shape != (len(expected),) or not np.all(given >= 0) or abs(float(given.sum()) - 1.0) > 1e-9:
        raise QueryError(f"public_records.shares must be {len(expected)} numbers from 0 that add to 1, got {shares!r}")
    return tuple(given.tolist())
