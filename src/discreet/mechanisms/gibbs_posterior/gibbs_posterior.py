"""Draws of a Gibbs posterior of a convex loss, with a guarantee that never waits for convergence.

    w ~ exp(-β Σ loss) N(0, 1/precision),  by Langevin steps or exactly.  Proof: gibbs_posterior.md.

One draw is μ-Gaussian DP: β G / √m for an exact draw (Theorem 1), less for the last of t Langevin steps (Theorem 2).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import numpy as np

from discreet.accounting.bounded_losses import ball_range
from discreet.accounting.gibbs import Bound, largest_mu
from discreet.accounting.rounding import share_down
from discreet.checks import check_label, positive
from discreet.errors import GuaranteeError, QueryError
from discreet.guarantee import (
    AllOf,
    Basis,
    BoundedRange,
    Budget,
    GaussianDP,
    Guarantee,
    IndependentDraws,
    Repeated,
    Within,
)
from discreet.mechanisms.base import (
    NORMAL_ERROR,
    RATIO_ERROR,
    Mechanism,
    Reading,
    Score,
    check_draws,
    check_grid,
    check_workers,
    public_grid,
    rounding_words,
)
from discreet.mechanisms.draws.public_grid import rounded
from discreet.mechanisms.gibbs_posterior.distant_chains import distant_chains
from discreet.mechanisms.gibbs_posterior.exact_draws import normal_draws, rejection_draws
from discreet.mechanisms.gibbs_posterior.gibbs_law import (
    GibbsLaw,
    Steps,
    exact_law,
    inverse_temperature,
    langevin_law,
    pure_law,
)
from discreet.mechanisms.gibbs_posterior.langevin_chains import langevin_chains, projected
from discreet.mechanisms.gibbs_posterior.proposals import anchor_steps, check_pace, proposals_needed
from discreet.noise.sources import NoiseSource
from discreet.queries.features import ROUNDED_UP
from discreet.queries.losses.base import Loss
from discreet.schema import Person
from discreet.sources import Dataset

__all__ = ["GibbsPosterior"]

Array = np.ndarray[Any, Any]
Progress = Callable[[int], None] | None

FAILING = 1e-3  # the share of delta that pays for proposals that are all rejected
LARGEST_EPSILON = 500.0  # e^epsilon is a double
CHAINS = 4096  # of an audit, run at once


@dataclass(frozen=True)
class GibbsPosterior(Mechanism):
    """Draws of coefficients at the largest inverse temperature that the budget allows.

    Parameters
    ----------
    epsilon, delta
        Of all draws together. Without delta: pure differential privacy, which needs a model with a ball and the exact
        sampler.
    draws
        Number of independent draws.
    sampler
        "langevin", or "exact" for few coefficients, a corner in the loss or a quadratic one.
    steps
        Of Langevin: "stationary" comes within `bias` of the posterior; "short" stops long before, predicts better and
        is no draw of the posterior; or a number. The guarantee holds for every number.
    bias
        Of a stationary chain: variances at most 1/(1 - bias) too large, at most this share of the start left.
    batches
        Above 1, a step sees one of so many fixed runs of rows, whose places must not follow from what rows hold.
    bound
        How the budget is turned into β: "gdp" is exact; "renyi" and "minami" are for comparison.
    grid, label
        Coefficients are rounded to multiples of this public power of two, and to 32 bits; by default, and at least,
        2^-24 of the deviation of the last noise. Another label is another release.
    """

    epsilon: float
    delta: float | None = None
    draws: int = 1
    sampler: Literal["langevin", "exact"] = "langevin"
    steps: Steps = "stationary"
    bias: float = 0.1
    batches: int = 1
    bound: Bound = "gdp"
    grid: float | None = None
    label: str = ""

    answers: ClassVar[str] = "loss"
    calibrate = staticmethod(inverse_temperature)

    def __post_init__(self) -> None:
        for name, limit in (("epsilon", LARGEST_EPSILON), ("bias", 0.5)):
            object.__setattr__(self, name, positive(f"GibbsPosterior.{name}", getattr(self, name), below=limit))
        object.__setattr__(self, "grid", check_grid("GibbsPosterior", self.grid))
        if self.delta is not None:
            object.__setattr__(self, "delta", positive("GibbsPosterior.delta", self.delta, below=1.0))
        check_draws("GibbsPosterior", self.draws)
        check_label("GibbsPosterior", self.label)
        if self.sampler not in ("langevin", "exact"):
            raise GuaranteeError(f'GibbsPosterior.sampler must be "langevin" or "exact", got {self.sampler!r}')
        if self.bound not in ("gdp", "renyi", "minami"):
            raise GuaranteeError(f'GibbsPosterior.bound must be "gdp", "renyi" or "minami", got {self.bound!r}')
        if self.delta is None and self.sampler != "exact":
            raise GuaranteeError("GibbsPosterior.delta must be given for Langevin, got None")
        counted = isinstance(self.steps, int) and not isinstance(self.steps, bool) and 1 <= self.steps <= 10**7
        if not counted and self.steps not in ("stationary", "short"):
            raise GuaranteeError(
                f'GibbsPosterior.steps must be "stationary", "short" or a number from 1, got {self.steps!r}'
            )
        if not isinstance(self.batches, int) or isinstance(self.batches, bool) or not 1 <= self.batches <= 10**6:
            raise GuaranteeError(f"GibbsPosterior.batches must be a whole number from 1, got {self.batches!r}")
        if self.batches > 1 and self.sampler == "exact":
            raise GuaranteeError("GibbsPosterior.batches must be 1 for the exact sampler, got more")

    @classmethod
    def within(cls, budget: Budget, query: Loss) -> tuple[Mechanism, ...]:
        """A stationary and a short chain; exact draws of a normal law, or where the budget has no delta."""
        if query.normal or budget.delta is None:
            return (cls(budget.epsilon, budget.delta, sampler="exact"),)
        return cls(budget.epsilon, budget.delta), cls(budget.epsilon, budget.delta, steps="short")

    def law(self, query: Loss) -> GibbsLaw:
        """Inverse temperature, precision, step, steps and cost of one draw: all public."""
        if query.asks != self.answers:
            raise QueryError("GibbsPosterior must have a model with a convex loss, got another")
        if query.schema.relation != "replace-one":
            raise QueryError(f"a convex loss must be asked under replace-one, got {query.schema.relation}")
        return _law(self, query)

    def check_source(self, query: Loss, dataset: Dataset) -> None:
        """Rows that stay in Spark are asked for gradients, by workers that have this library."""
        self._check_place(query, dataset)
        if not dataset.source.at_hand:
            check_workers("GibbsPosterior", dataset)

    def guarantee(self, query: Loss) -> Guarantee:
        """The certificate of all draws together."""
        law, schema = self.law(query), query.schema
        error = RATIO_ERROR if self.sampler == "exact" and math.isfinite(query.ball) else NORMAL_ERROR
        said = (
            f"β = {law.beta:.6g}, prior precision {law.precision:.6g}, from a ChaCha20 generator keyed by the "
            f"operating system, in double precision, {rounding_words(self._grid(query), error)}"
        )

        def basis(theorem: str, sampler: str) -> Basis:
            return Basis(schema.relation, str(schema.unit), f"{theorem} (gibbs_posterior.md)", f"{sampler}; {said}")

        if self.sampler == "langevin":
            parts = "" if self.batches == 1 else f" on {self.batches} fixed batches in turn"
            parts += "" if math.isinf(query.ball) else f", each projected to the ball of radius {query.ball:g},"
            sampler = f"the last of {law.steps} Langevin steps of size {law.step:.6g}{parts} from 0"
            return self._all(GaussianDP(law.mu, basis("last iterate of Langevin, Theorem 2", sampler)))
        exact = "exact normal draw" if query.normal else "exact draw by rejection"
        if self.delta is not None and not query.normal:
            needed = proposals_needed(query, law, self._failing())
            exact = f"{exact} among {needed} proposals, or the prior's if all are rejected"
        gaussian = GaussianDP(law.mu, basis("strongly log-concave laws, Theorem 1", exact))
        if self.delta is None:
            check_pace(query, law)
            # less than the budget where β = 1 is private enough
            each = min(
                share_down(self.epsilon, self.draws),
                ball_range(law.beta, query.gradient, 2.0 * query.ball) * ROUNDED_UP,
            )
            ranged = BoundedRange(each, basis("bounded log-ratio on a ball, Theorem 1", exact))
            both = AllOf((ranged, gaussian))
            return both if self.draws == 1 else IndependentDraws(both, self.draws)
        if query.normal:
            return self._all(gaussian)
        return Within(self._all(gaussian), self._failing() * self.draws)

    def note(self, query: Loss) -> str:
        """What was drawn, in words."""
        law = self.law(query)
        at = f"inverse temperature {law.beta:.4g}, prior precision {law.precision:.4g}"
        if self.sampler == "exact":
            return f"draws of the Gibbs posterior at {at}"
        what = "draws within the stated bias of" if self.steps == "stationary" else "chains stopped before they reach"
        return f"{what} the Gibbs posterior at {at} ({law.steps} Langevin steps)"

    def shapes(self, query: Loss) -> dict[str, tuple[int, ...]]:
        """One row per draw; coefficients in the order of `query.features.names`."""
        return {query.parameter: (self.draws, query.features.size)}

    def work(self, query: Loss) -> int:
        """The public number of Langevin steps, which is what takes time; 0 for exact draws."""
        return self.law(query).steps if self.sampler == "langevin" else 0

    def apply(self, noise: NoiseSource, query: Loss, dataset: Dataset, progress: Progress = None) -> dict[str, Array]:
        """Encode the rows once, run, round to the public grid. `progress` gets the steps done since its last call."""
        return {query.parameter: self._drawn(noise, query, dataset, self.draws, progress)}

    def repeated(self, noise: NoiseSource, query: Loss, dataset: Dataset, runs: int) -> list[dict[str, Array]]:
        """Independent releases of one table, many chains at once: draws of one release are independent anyway."""
        count = runs * self.draws
        pieces = [
            self._drawn(noise, query, dataset, min(CHAINS, count - done), None) for done in range(0, count, CHAINS)
        ]
        return [{query.parameter: drawn} for drawn in np.concatenate(pieces).reshape(runs, self.draws, -1)]

    def read(self, model: Any, query: Loss, value: Mapping[str, Array], reading: Reading) -> Any:
        """Draws at a temperature, and whether their law is that of the Gibbs posterior."""
        reading.check_plain()
        law = self.law(query)
        stationary = self.steps == "stationary" or law.steps == 0
        return model.given_coefficients(query, value, law.beta, law.precision, stationary, self.note(query))

    def score(self, pair: Any) -> Score:
        """The projection on the way that the pair moves coefficients, added up over the draws of a release."""

        def score(values: Sequence[Mapping[str, Any]]) -> np.ndarray[Any, np.dtype[np.float64]]:
            drawn = np.concatenate([value[pair.query.parameter] for value in values])
            return np.asarray((drawn @ pair.move).reshape(len(values), -1).sum(axis=1))

        return score

    def _drawn(self, noise: NoiseSource, query: Loss, dataset: Dataset, count: int, progress: Progress) -> Array:
        """`count` independent draws by the law of one of this mechanism's draws."""
        law, grid = self.law(query), self._grid(query)
        found = self._sampled(noise, query, dataset, count, progress, law)
        # the state is rounded first: the direction of a projected one would show its bits
        return rounded(projected(rounded(found, grid), query.ball), grid)

    def _sampled(
        self, noise: NoiseSource, query: Loss, dataset: Dataset, count: int, progress: Progress, law: GibbsLaw
    ) -> Array:
        """These draws before they are rounded."""
        self._check_place(query, dataset)
        if not dataset.source.at_hand:
            with dataset.source.sums(query) as sums:
                return distant_chains(query, law, sums, count, noise.stream(), progress)
        with dataset.source.design(query) as rows:
            stream = noise.stream()
            if query.normal:
                return normal_draws(law, rows, count, stream)
            if self.sampler == "exact":
                proposals = None if self.delta is None else proposals_needed(query, law, self._failing())
                return rejection_draws(query, law, anchor_steps(query, law), proposals, rows, count, stream)
            return langevin_chains(query, law, self.batches, rows, count, stream, progress)

    def _check_place(self, query: Loss, dataset: Dataset) -> None:
        """Refuse what rows elsewhere cannot do: they have no places, or come into no process."""
        if not dataset.source.at_hand and self.sampler == "exact":
            query.check_here()
        if not dataset.source.has_places and self.batches > 1:
            raise QueryError(
                "GibbsPosterior.batches must be 1 for a table in Spark or a database: no row has a place, got more"
            )

    def _grid(self, query: Loss) -> float:
        """The public grid: as asked, or what suits the last noise, that of a step or of an exact draw on its ball."""
        law, room = self.law(query), query.ball / math.sqrt(query.features.size + 2.0)
        deviation = math.sqrt(2.0 * law.step) if self.sampler == "langevin" else min(law.convexity**-0.5, room)
        return public_grid("GibbsPosterior", self.grid, deviation, query.ball)

    def _all(self, one: Guarantee) -> Guarantee:
        return one if self.draws == 1 else Repeated(one, self.draws)

    def _failing(self) -> float:
        """The probability that all proposals of one draw are rejected."""
        assert self.delta is not None
        return FAILING * self.delta / (1.0 + math.exp(self.epsilon)) / self.draws


@lru_cache(maxsize=64)  # a pure function of public facts
def _law(mechanism: GibbsPosterior, query: Loss) -> GibbsLaw:
    if mechanism.delta is None:
        return pure_law(query, share_down(mechanism.epsilon, mechanism.draws))
    share = 1.0 - FAILING if mechanism.sampler == "exact" and not query.normal else 1.0
    whole = largest_mu(mechanism.epsilon, mechanism.delta * share, mechanism.bound).value
    budget = share_down(whole, mechanism.draws, power=2)
    if mechanism.sampler == "exact":
        return exact_law(query, budget)
    if mechanism.batches > 1 and (isinstance(query.schema.unit, Person) or math.isfinite(query.ball)):
        raise QueryError("GibbsPosterior.batches must be 1 for persons and for models with a ball, got more")
    return langevin_law(query, budget, mechanism.steps, mechanism.bias, mechanism.batches)
