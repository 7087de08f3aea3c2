"""The law of the noise as a log-likelihood: what a release says of the exact statistics, for a model of one's own.

    log P(released | statistics) = Σ log f(released - statistics)        over every released number

f is the law of the noise, which is public. Nothing here knows a model: whoever says how statistics follow from
parameters adds this term, and has a posterior that is aware of the noise. It costs nothing.

At whole numbers it is the exact log-probability. Between them, where gradient samplers go, the same formula is used:
the **continuous relaxation**. It is normalised over whole numbers, and constants of it do not depend on the statistics.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from discreet.errors import QueryError
from discreet.noise import NoiseLaw
from discreet.numerics.arrays import Array

__all__ = ["NoiseLikelihood", "likelihood"]

SINGLE = 2.0**-24  # relative rounding error of 32-bit numbers
NOTICED = 0.01  # of the noise's width: rounding below it changes no answer


@dataclass(frozen=True, eq=False)
class NoiseLikelihood:
    """The noise of one release, ready to condition on.

    Parameters
    ----------
    released
        The released whole numbers, by statistic.
    laws
        The law of their noise, in the same steps.
    units, centres
        What a step is worth: a released number is the sum over rows of products of (x - centre), in steps of `unit`. A
        count has no centres and the unit 1.
    total
        The public number of rows that the statistics are about; None where it is private.
    steps
        How much of a statistic, as it is handed over, one step is: 1 for whole numbers, `units` for natural ones.
    """

    released: Mapping[str, np.ndarray[Any, Any]] = field(repr=False)
    laws: Mapping[str, NoiseLaw]
    units: Mapping[str, float] = field(repr=False)
    centres: Mapping[str, tuple[float, ...]] = field(repr=False)
    total: int | None
    steps: Mapping[str, float] = field(repr=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The released statistics, in order."""
        return tuple(self.laws)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each statistic; leading axes before it are a batch."""
        return {name: np.shape(self.released[name]) for name in self.laws}

    @property
    def natural(self) -> Self:
        """The same for statistics in the units of the columns: sums over rows of products of (x - centre)."""
        return replace(self, steps=dict(self.units))

    def only(self, *names: str) -> Self:
        """What some of the statistics say. Each has noise of its own, so that leaving others out is sound."""
        unknown = sorted(set(names) - set(self.laws))
        if unknown or not names:
            raise QueryError(f"NoiseLikelihood.only names must be some of {list(self.names)}, got {list(names)}")
        return replace(self, laws={name: law for name, law in self.laws.items() if name in names})

    def log_prob(self, statistics: Any) -> Array:
        """Log-probability of the released numbers given these exact statistics, one for each entry of leading axes.

        `statistics` are arrays by name; of a single statistic, its array. Whole numbers are subtracted as Python
        integers, of any size.
        """
        total: Any = 0.0
        for name, law in self.laws.items():
            found, axes = np.asarray(self._one(statistics, name)), len(self.shapes[name])
            self._check_shape(name, found.shape)
            held = law.log_density(self._gap(name, found))
            total = total + (held.sum(axis=tuple(range(held.ndim - axes, held.ndim))) if axes else held)
        return np.asarray(total, dtype=float)

    def differentiable(self, statistics: Any) -> Any:
        """The same with the operations of whatever library made the arrays: JAX, PyTensor, Torch.

        The law of Laplace noise has a corner at 0, where its slope is not defined; samplers hardly ever hit it.
        """
        total: Any = 0.0
        for name, law in self.laws.items():
            found, axes = self._one(statistics, name), len(self.shapes[name])
            if isinstance(getattr(found, "shape", None), tuple):
                self._check_shape(name, found.shape)
            fall = law.fall((found / self.steps[name]) - np.asarray(self.released[name], dtype=float))
            for _ in range(axes):
                fall = fall.sum(-1)
            constant = float(law.log_density(0.0)) * int(np.prod(self.shapes[name]))
            total = total + (constant - fall)
        return total

    def numpyro(self, name: str, statistics: Any) -> None:
        """Add the term to a NumPyro model, as `numpyro.factor`."""
        try:
            import numpyro  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise _missing("numpyro") from None
        for statistic in self.laws:
            self._check_precision(statistic, getattr(self._one(statistics, statistic), "dtype", None))
        numpyro.factor(name, self.differentiable(statistics))

    def pymc(self, name: str, statistics: Any) -> Any:
        """Add the term to a PyMC model, as `pymc.Potential`, which is returned."""
        try:
            import pymc  # type: ignore[import-not-found,unused-ignore]
        except ImportError:
            raise _missing("pymc") from None
        for statistic in self.laws:
            self._check_precision(statistic, getattr(self._one(statistics, statistic), "dtype", None))
        return pymc.Potential(name, self.differentiable(statistics))

    def _one(self, statistics: Any, name: str) -> Any:
        """One statistic of those that were handed over."""
        if not isinstance(statistics, Mapping):
            if len(self.laws) > 1:
                raise QueryError(f"NoiseLikelihood statistics must be arrays by name, {list(self.names)}, got no names")
            return statistics
        if set(statistics) != set(self.laws):
            got = sorted(map(str, statistics))
            raise QueryError(f"NoiseLikelihood statistics must be named {list(self.names)}, got {got}; see `only`")
        return statistics[name]

    def _check_shape(self, name: str, shape: tuple[Any, ...]) -> None:
        wanted = self.shapes[name]
        if len(shape) < len(wanted) or tuple(shape)[len(shape) - len(wanted) :] != wanted:
            raise QueryError(
                f"NoiseLikelihood statistics[{name!r}] must have a shape that ends in {wanted}, got {shape}"
            )

    def _check_precision(self, name: str, kind: Any) -> None:
        """Refuse 32-bit statistics where their rounding would be seen beside the noise."""
        farthest = float(np.max(np.abs(np.asarray(self.released[name], dtype=float)), initial=0.0))
        if str(kind).endswith("32") and farthest * SINGLE > NOTICED * self.laws[name].width:
            raise QueryError(
                f"NoiseLikelihood statistics[{name!r}] must be of 64 bits, got {kind}: 32 bits cannot tell numbers "
                'apart that the noise does; in JAX say jax.config.update("jax_enable_x64", True) first'
            )

    def _gap(self, name: str, statistic: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        released = np.asarray(self.released[name])
        if self.steps[name] == 1.0 and statistic.dtype.kind in "iuO":
            return np.asarray(released.astype(object) - statistic.astype(object), dtype=float)
        return np.asarray(released.astype(float) - statistic.astype(float) / self.steps[name])


def likelihood(release: Any) -> NoiseLikelihood:
    """What a release of noisy statistics says of the exact ones, for a model of one's own. It costs nothing.

    `log_prob(statistics)` is NumPy's; `numpyro(name, statistics)` and `pymc(name, statistics)` add the term to a model.
    Statistics are the whole numbers that were released; `likelihood(release).natural` takes them in the units of the
    columns, counted from the `centres`.
    """
    if not hasattr(release, "mechanism"):
        raise QueryError(f"likelihood release must be a Release, got a {type(release).__name__}")
    query = release.query
    laws = dict(release.mechanism.laws(query))
    if not laws:
        kind = type(release.mechanism).__name__
        raise QueryError(
            f"likelihood release must hold statistics that noise was added to, got one of {kind}: no exact statistic "
            "stands behind its numbers; release.posterior() reads it"
        )
    told = release.noise
    return NoiseLikelihood(
        {name: np.asarray(release.value[name]) for name in laws},
        laws,
        units={name: float(told[name]["unit"]) for name in laws},
        centres={name: tuple(told[name].get("centres", ())) for name in laws},
        total=query.total,
        steps=dict.fromkeys(laws, 1.0),
    )


def _missing(library: str) -> ImportError:
    return ImportError(f"NoiseLikelihood.{library} needs {library}: pip install 'discreet[{library}]'")
