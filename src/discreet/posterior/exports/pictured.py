"""How a posterior shows itself: its numbers as plain quantities, pictures of them, and itself in a notebook.

Charts need the extra `report`; quantities do not.
"""

import warnings
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from discreet.errors import ConvergenceWarning, QueryError
from discreet.posterior.exports.datatree import Axes
from discreet.posterior.summary import SUMMARY_LEVEL, Summary
from discreet.report.markup import notebook_table
from discreet.report.pictures import Picture
from discreet.report.quantities import INNER, Quantity, scalar_quantity

__all__ = ["Pictured", "grouped", "pooled_quantity", "quantities_by_name"]

DRAWS, SEED = 4000, 0  # of densities: public and fixed, the same release gives the same picture


class Pictured:
    """What every posterior shows; a posterior of another form says its quantities itself."""

    def quantities(self, level: float = SUMMARY_LEVEL) -> tuple[Quantity, ...]:
        """Every parameter as plain numbers with names: what pictures and reports are made of."""
        raise NotImplementedError

    def plot(self) -> Any:
        """The picture that suits this posterior, as an Altair chart; `discreet.plots` has others."""
        from discreet.report import plots

        return plots.posterior(self)

    def pictures(self) -> tuple[Picture, ...]:
        """What else there is to see of this posterior than its numbers."""
        return ()

    def _repr_html_(self) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            mixing = getattr(self, "mixing", None)
            notes = [mixing.words] if mixing is not None and not mixing.converged else []
            return notebook_table(self._title(), self._summary(), notes)

    def _title(self) -> str:
        raise NotImplementedError

    def _summary(self) -> Summary:
        raise NotImplementedError


def quantities_by_name(
    posterior: Any,
    axes: Axes,
    level: float,
) -> tuple[Quantity, ...]:
    """The quantities of a posterior that answers by parameter, or with one parameter only."""

    def named(answer: Any) -> Mapping[str, Any]:
        return answer if isinstance(answer, dict) else {next(iter(axes)): answer}

    reason = ""
    outer: Mapping[str, Any] = {}
    inner: Mapping[str, Any] = {}
    sd: Mapping[str, Any] = {}
    try:
        outer, inner, sd = named(posterior._interval(level)), named(posterior._interval(INNER)), named(posterior.sd())
    except QueryError as refusal:
        reason = str(refusal)
    drawn = named(posterior._shown_draws(DRAWS, np.random.default_rng(SEED)))
    rhat: Mapping[str, Any] = getattr(posterior, "rhat", dict)()
    ess: Mapping[str, Any] = getattr(posterior, "ess", dict)()
    found = []
    for name, mean in named(posterior.mean()).items():
        if name not in axes:
            continue
        flat = np.ravel(np.asarray(mean, dtype=np.float64))
        found.append(
            Quantity(
                name=name,
                labels=_coordinates(name, axes[name]),
                dimensions=tuple(axes[name]),
                mean=flat,
                level=level,
                outer=_ends(outer.get(name)),
                inner=_ends(inner.get(name)),
                sd=np.ravel(np.asarray(sd[name], dtype=np.float64)) if name in sd else None,
                reason=reason,
                draws=np.reshape(np.asarray(drawn[name], dtype=np.float64), (-1, flat.size)) if name in drawn else None,
                released=posterior._draws_are_released,
                density=posterior._exact_density() if flat.size == 1 else None,
                kind="coefficients" if "coefficient" in axes[name] else "plain",
                rhat=np.ravel(rhat[name]) if name in rhat else None,
                ess=np.ravel(ess[name]) if name in ess else None,
            )
        )
    return tuple(found)


def grouped(parts: Mapping[str, tuple[Quantity, ...]]) -> tuple[Quantity, ...]:
    """Quantities of groups: the same number of all groups side by side, where all have the same numbers."""
    shapes = {tuple((q.name, q.labels) for q in quantities) for quantities in parts.values()}
    if len(shapes) > 1:
        return tuple(q.named([f"{group}: {name}" for name in q.names]) for group, held in parts.items() for q in held)
    found = []
    for k, quantity in enumerate(next(iter(parts.values()))):
        for j, label in enumerate(quantity.labels):
            name = quantity.name if quantity.single else label
            found.append(scalar_quantity(name, [(group, held[k], j) for group, held in parts.items()], "groups"))
    return tuple(found)


def pooled_quantity(posterior: Any, name: str, level: float) -> Quantity:
    """The one parameter of groups that learn from each other; every answer of such a posterior is by group."""
    means = posterior.mean()
    drawn = posterior.sample(DRAWS, np.random.default_rng(SEED))

    def ends(of: float) -> Any:
        pairs = posterior._interval(of)
        return tuple(np.array([pairs[group][side] for group in means], dtype=np.float64) for side in (0, 1))

    return Quantity(
        name=name,
        labels=tuple(means),
        mean=np.array(list(means.values()), dtype=np.float64),
        level=level,
        outer=ends(level),
        inner=ends(INNER),
        sd=np.array(list(posterior.sd().values()), dtype=np.float64),
        draws=np.stack([drawn[group] for group in means], axis=1),
        kind="groups",
    )


def _coordinates(name: str, axes: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The levels of every number of a parameter; of a single one its name."""
    return tuple(", ".join(texts) for texts in product(*axes.values())) if axes else (name,)


def _ends(pair: Any) -> Any:
    return None if pair is None else tuple(np.ravel(np.asarray(end, dtype=np.float64)) for end in pair)
