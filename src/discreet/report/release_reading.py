"""A release as a report reads it: once, with fixed public seeds, so that the same release gives the same page.

What is shown is asked of the release and of its posterior; nothing here knows the kind of a model or a mechanism.
"""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ConvergenceWarning, DiscreetError
from discreet.report.quantities import Quantity

__all__ = ["ReportedRelease", "prior_of", "read"]

SEED, PRIOR_DRAWS = 0, 400
LEVEL = 0.9

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ReportedRelease:
    """What a page shows of a release.

    Parameters
    ----------
    name
        By which people know it: of a study, or of its file.
    release, posterior
        What is read, and how it is read.
    quantities
        Of the posterior, under the names that the query gives them.
    plug_in
        The same of the plug-in posterior, by name; empty where there is none, or where it would take long.
    prior
        Draws (draws, numbers) of the prior by parameter.
    replicated
        By statistic: what was released, and what tables drawn from the posterior would have released.
    """

    name: str
    release: Any = field(repr=False)
    posterior: Any = field(repr=False)
    quantities: tuple[Quantity, ...] = field(repr=False)
    plug_in: Mapping[str, Quantity] = field(repr=False)
    prior: Mapping[str, Array] = field(repr=False)
    replicated: Mapping[str, tuple[Array, Array]] = field(default_factory=dict, repr=False)

    @property
    def guarantee(self) -> Any:
        """What was promised."""
        return self.release.guarantee

    @property
    def warning(self) -> str:
        """What the chains say where they have not converged."""
        mixing = getattr(self.posterior, "mixing", None)
        return "" if mixing is None or mixing.converged else str(mixing.words)


def read(release: Any, name: str) -> ReportedRelease:
    """Everything that a page shows of the release."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        posterior = release.posterior()
        quantities = _called(posterior.quantities(LEVEL), release.query.labels)
        return ReportedRelease(
            name=name,
            release=release,
            posterior=posterior,
            quantities=quantities,
            plug_in=_plug_in(release),
            prior=_prior(posterior, quantities),
            replicated=release.replicated(posterior),
        )


def prior_of(quantity: Quantity, prior: Mapping[str, Array]) -> Array | None:
    """Draws of the prior of this quantity, (draws, numbers), where there are such."""
    found = prior.get(quantity.name)
    if found is None or found.shape[0] < 2 or found[0].size != len(quantity.labels):
        return None
    flat = found.reshape(len(found), -1)
    return flat if np.all(np.isfinite(flat)) else None


def _called(quantities: Sequence[Quantity], names: Sequence[str]) -> tuple[Quantity, ...]:
    """The names that the query gives, where it has one for every number."""
    if len(names) != sum(len(quantity.labels) for quantity in quantities):
        return tuple(quantities)
    left = list(names)
    found = []
    for quantity in quantities:
        found.append(quantity.named(left[: len(quantity.labels)]))
        del left[: len(quantity.labels)]
    return tuple(found)


def _plug_in(release: Any) -> dict[str, Quantity]:
    """The plug-in posterior of noisy statistics, unless its chains would take long."""
    if not release.mechanism.laws(release.query) or release.model.reading_work(release.query):
        return {}
    try:
        return {quantity.name: quantity for quantity in release.posterior("plug-in").quantities(LEVEL)}
    except DiscreetError:
        return {}


def _prior(posterior: Any, quantities: Sequence[Quantity]) -> dict[str, Array]:
    drawn = posterior.provenance.prior(PRIOR_DRAWS, np.random.default_rng(SEED))
    wanted = {quantity.name for quantity in quantities}
    return {name: np.asarray(values, dtype=float) for name, values in drawn.items() if name in wanted}
