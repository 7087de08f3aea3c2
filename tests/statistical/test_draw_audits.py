"""Audits of every posterior sampler at its worst pair: below the claim, and near the best any event could show.

The event {score beyond a threshold} is chosen beforehand from the exact laws of the two draws, computed here by
quadrature on a grid, among events of mass at least 1e-3: the one whose lower bound is expected to be the largest. It is
then counted on fresh draws of the real noise source, so the Clopper-Pearson bound of 99.9% holds as it is.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dc
from discreet.auditing.loss_bounds import clopper_pearson
from discreet.mechanisms import ConjugateSample
from discreet.mechanisms.conjugate_sample.conjugate_sample import conjugate_draws
from discreet.mechanisms.draws.public_grid import rounded
from discreet.mechanisms.draws.tempered import on_scale
from discreet.noise.sources import NoiseSource, SeededNoise, SystemNoise
from discreet.sources import CodedRows, Dataset

LEAST_MASS, DELTA = 1e-3, 1e-4
ALPHA = 0.001 / 2  # two bounds enter

N = 4
COLUMNS = {
    "y": dc.Binary(),
    "c": dc.Categorical(["a", "b", "c"]),
    "x": dc.Bounded(-1.0, 1.0),
    "v": dc.Count(4),
    "t": dc.Bounded(0.0, 2.0),
}
SCHEMA = dc.Schema(COLUMNS, n=N)


@dataclass(frozen=True)
class Law:
    """The distribution of the score of a draw on a table, on the midpoints of a fine grid."""

    points: Any
    log_density: Any

    @property
    def probability(self) -> Any:
        mass = np.exp(self.log_density - self.log_density.max())
        return mass / mass.sum()


@dataclass(frozen=True)
class Case:
    """Two neighbouring tables (cells of one column), a mechanism, the score of draws, and its two exact laws."""

    model: Any
    mechanism: Any
    column: str
    tables: tuple[Any, Any]
    laws: tuple[Law, Law]
    score: Callable[[Any], Any] = np.ravel
    delta: float = 0.0


def grid(low: float, high: float, size: int = 200_001) -> Any:
    edges = np.linspace(low, high, size)
    return 0.5 * (edges[1:] + edges[:-1])


def beta_law(a: float, b: float, low: float = 0.0, high: float = 1.0) -> Law:
    # in the logit the density is smooth up to both ends
    ends = (math.log(low / (1 - low)) if low > 0 else -40.0, math.log(high / (1 - high)) if high < 1 else 40.0)
    t = grid(*ends)
    return Law(1 / (1 + np.exp(-t)), -a * np.logaddexp(0, -t) - b * np.logaddexp(0, t))


def gamma_law(shape: float, rate: float, low: float = 0.0, high: float = math.inf) -> Law:
    top = min(high, (shape + 40 * math.sqrt(shape) + 60) / rate)
    t = grid(math.log(max(low, 1e-12 / rate)), math.log(top))
    return Law(np.exp(t), shape * t - rate * np.exp(t))


def normal_law(mean: float, sd: float, low: float = -math.inf, high: float = math.inf) -> Law:
    x = grid(max(low, mean - 12 * sd), min(high, mean + 12 * sd))
    return Law(x, -0.5 * ((x - mean) / sd) ** 2)


def pair_law(alpha: Any, low: float = 0.0) -> Law:
    """log theta_1 - log theta_2 of a Dirichlet of three cells, each at least `low`, from a grid of the simplex."""
    t, s = np.meshgrid(grid(-12.0, 12.0, 1501), grid(-14.0, 14.0, 1501), indexing="ij")  # log-ratios to cell 2
    third = 1.0 / (1.0 + np.exp(t) + np.exp(s))
    log_density = alpha[0] * (t + np.log(third)) + alpha[1] * np.log(third) + alpha[2] * (s + np.log(third))
    outside = np.minimum(third, np.minimum(third * np.exp(t), third * np.exp(s))) < low
    log_density = np.where(outside, -np.inf, log_density)
    with np.errstate(divide="ignore"):
        return Law(t[:, 0], np.logaddexp.reduce(log_density, axis=1))


def cells(first: int, second: int, changed: int) -> tuple[Any, Any]:
    """`first` everywhere, and the same with one cell changed; the third argument is how many cells are `second`."""
    table = np.full(N, first)
    table[:changed] = second
    other = table.copy()
    other[-1] = second
    return table, other


def mean_case(mechanism: Any, low: float = -math.inf, high: float = math.inf, temper: float = 1.0) -> Case:
    """Known deviation 1, prior N(0, 1): a record moves from one bound to the other."""
    model = dc.NormalMean("x", prior=(0.0, 1.0), sd=1.0)
    steps = [dc.Bounded(-1.0, 1.0).steps(end) for end in (-1.0, 1.0)]
    tables = cells(steps[0], steps[1], 1)
    precision = (N + 1.0) / temper if math.isfinite(low) else N + 1.0
    laws = tuple(
        normal_law(total / temper / precision, precision**-0.5, low, high)
        for total in ((table == steps[1]).sum() - (table == steps[0]).sum() for table in tables)
    )
    return Case(model, mechanism, "x", tables, laws, delta=0.0 if math.isfinite(low) else DELTA)  # type: ignore[arg-type]


def cases() -> dict[str, Callable[[], Case]]:
    a0, heat = 0.1, 2 * math.log(9.0) / 2.0  # temperature 2C / epsilon at epsilon = 2
    third = 2 * math.log(8.0) / 2.0
    ones, both = cells(0, 1, 0), dc.BetaBernoulli("y", prior=(6, 12))
    levels = cells(0, 1, 0)
    counts = cells(0, 4, 1)
    rate = 4 * math.log(5.0) / 2.0
    sample = dc.PosteriorSample(epsilon=2.0, truncation=a0)
    diffused = dc.DiffusedSample(epsilon=1.0, delta=DELTA)
    concentrated = dc.ConcentratedSample(epsilon=1.0, delta=DELTA)

    def beta(mechanism: Any) -> Case:
        r, m = mechanism.fractions(both.query(SCHEMA))
        laws = tuple(beta_law(6 / m + r * k, 12 / m + r * (N - k)) for k in (0, 1))
        return Case(both, mechanism, "y", ones, laws, delta=DELTA)  # type: ignore[arg-type]

    def tempered(mechanism: Any) -> Case:
        laws = tuple(beta_law(k / heat + 1, (N - k) / heat + 1, a0, 1 - a0) for k in (0, 1))
        return Case(dc.BetaBernoulli("y"), mechanism, "y", ones, laws)  # type: ignore[arg-type]

    def dirichlet(mechanism: Any, prior: float, temper: float, low: float) -> Case:
        r, m = mechanism.fractions(dc.DirichletCategorical("c", prior=prior).query(SCHEMA)) if low == 0 else (1, 1)
        base = prior / m if low == 0 else (prior - 1) / temper + 1
        laws = tuple(
            pair_law(np.array([base + r * (N - k) / temper, base + r * k / temper, base]), low) for k in (0, 1)
        )
        return Case(
            dc.DirichletCategorical("c", prior=prior),
            mechanism,
            "c",
            levels,
            laws,  # type: ignore[arg-type]
            lambda draws: np.log(draws[:, 0]) - np.log(draws[:, 1]),
            DELTA if low == 0 else 0.0,
        )

    def poisson(mechanism: Any, temper: float, low: float, high: float) -> Case:
        model = dc.GammaPoisson("v", prior=(8.0, 4.0))
        totals = [int(table.sum()) for table in counts]
        shape, speed = (7.0 / temper + 1, 4.0 / temper) if low else (8.0, 4.0)
        laws = tuple(gamma_law(shape + total / temper, speed + N / temper, low, high) for total in totals)
        return Case(model, mechanism, "v", counts, laws, delta=0.0 if low else DELTA)  # type: ignore[arg-type]

    return {
        "posterior sample of a probability": lambda: tempered(sample),
        "posterior sample in exact arithmetic": lambda: tempered(replace(sample, arithmetic="exact")),
        "posterior sample of three": lambda: dirichlet(sample, 1.0, third, a0),
        "posterior sample of a mean": lambda: mean_case(
            dc.PosteriorSample(epsilon=2.0, interval=(-2.0, 2.0)), -2.0, 2.0, 2.0 * 4.0 / 2.0
        ),
        "posterior sample of a rate": lambda: poisson(
            dc.PosteriorSample(epsilon=2.0, interval=(0.5, 2.5)), rate, 0.5, 2.5
        ),
        "direct": lambda: beta(dc.DirectSample()),
        "diffused": lambda: beta(diffused),
        "concentrated": lambda: beta(concentrated),
        "direct of three": lambda: dirichlet(dc.DirectSample(), 8.0, 1.0, 0.0),
        "diffused of three": lambda: dirichlet(diffused, 8.0, 1.0, 0.0),
        "direct mean": lambda: mean_case(dc.DirectSample()),
        "direct rate": lambda: poisson(dc.DirectSample(), 1.0, 0.0, math.inf),
    }


def event(case: Case, draws: int) -> tuple[float, float, bool, bool]:
    """(exact value, threshold, upper tail?, orders swapped?) of the event whose bound is expected to be the largest.

    The exact value is the largest that any of these events has: log((P - delta) / Q).
    """
    best, largest = (-math.inf, 0.0, False, False), 0.0
    for swapped in (False, True):
        first, second = case.laws[::-1] if swapped else case.laws
        # the two laws live on grids of their own: both are read at quantiles of the first
        for upper in (False, True):
            p = np.cumsum(first.probability[::-1])[::-1] if upper else np.cumsum(first.probability)
            q_all = np.cumsum(second.probability[::-1])[::-1] if upper else np.cumsum(second.probability)
            q = np.interp(first.points, second.points, q_all)
            useful = (p >= LEAST_MASS) & (p <= 0.9) & (q > 0)
            value = np.log(np.maximum(p - case.delta, 1e-300) / np.where(useful, q, 1.0))
            value[~useful] = -np.inf
            largest = max(largest, float(value.max()))
            spread = 3.3 * (np.sqrt(1 / (draws * np.maximum(p, 1e-12))) + np.sqrt(1 / (draws * np.maximum(q, 1e-12))))
            at = int(np.argmax(value - spread))
            if value[at] - spread[at] > best[0]:
                best = (float(value[at] - spread[at]), float(first.points[at]), upper, swapped)
    return largest, *best[1:]


def dataset(case: Case, side: int) -> Dataset:
    return Dataset("audit", SCHEMA, CodedRows({case.column: case.tables[side]}))


def drawn(case: Case, side: int, draws: int, noise: NoiseSource) -> Any:
    """Scores of draws as the mechanism makes them: its own code, at the fractions of a single draw."""
    query, mechanism = case.model.query(SCHEMA), case.mechanism
    if isinstance(mechanism, ConjugateSample):
        exact = dataset(case, side).source.statistics(query.whole)
        found = conjugate_draws(query.family, exact, N, *mechanism.fractions(query), draws, noise.stream())
        return case.score(on_scale(query.family, rounded(found, mechanism._grid(query))))
    (found,) = replace(mechanism, draws=draws).apply(noise, query, dataset(case, side)).values()
    return case.score(found)


def audited(case: Case, draws: int, noise: NoiseSource, sampler: Callable[..., Any] = drawn) -> tuple[float, float]:
    """The loss that is certain, and the largest that any event of mass 1e-3 has under the exact laws."""
    largest, threshold, upper, swapped = event(case, draws)
    hits = []
    for side in (1, 0) if swapped else (0, 1):
        count, left = 0, draws
        while left > 0:
            size = min(left, 2_000_000)
            scores = sampler(case, side, size, noise)
            count += int((scores >= threshold).sum() if upper else (scores <= threshold).sum())
            left -= size
        hits.append(count)
    p_low, q_high = clopper_pearson(hits[0], draws, ALPHA)[0], clopper_pearson(hits[1], draws, ALPHA)[1]
    return math.log(max(p_low - case.delta, 1e-300) / q_high), largest


def claim(case: Case) -> float:
    return float(case.mechanism.guarantee(case.model.query(SCHEMA)).epsilon(case.delta))


@pytest.mark.parametrize("name", [*cases()])
def test_a_small_audit_stays_below_the_claim(name: str) -> None:
    """40,000 draws a side, fixed seed, bounds of 99.9%; a quarter of what the best event has is certain."""
    case = cases()[name]()
    draws = 4_000 if "exact" in name else 40_000
    found, largest = audited(case, draws, SeededNoise(1))
    assert found <= claim(case)
    assert largest <= claim(case) * 1.001
    assert found >= (0.1 if draws < 40_000 else 0.25) * largest


@pytest.mark.audit
@pytest.mark.parametrize("name", [*cases()])
def test_audited_draws_come_near_the_best_event(name: str, evidence: Callable[[Callable[[], Any]], Any]) -> None:
    """10,000,000 draws a side of the real noise source."""
    case = cases()[name]()
    draws = 10_000_000

    def compute() -> list[float]:
        found, largest = audited(case, draws, SystemNoise())
        figures = f"claim {claim(case):.4f}, best event of mass 1e-3 {largest:.4f}, certain {found:.4f}"
        print(f"{name}: {figures} ({draws} draws a side)")
        return [found, largest]

    found, largest = evidence(compute)
    assert found <= claim(case)
    assert found >= 0.9 * largest


def forgotten_prior(case: Case, side: int, draws: int, noise: NoiseSource) -> Any:
    """A concentrated sampler that leaves its prior as it is."""
    k = int(case.tables[side].sum())
    return noise.stream().beta(6 + k, 12 + N - k, size=draws)


def test_a_forgotten_prior_is_caught() -> None:
    """One million draws, fixed seed: what is certain at 99.9% exceeds the claim."""
    concentrated = cases()["concentrated"]()
    laws = tuple(beta_law(6.0 + k, 12.0 + N - k) for k in (0, 1))
    case = replace(concentrated, laws=laws)  # type: ignore[arg-type]
    found, _ = audited(case, 1_000_000, SeededNoise(2), forgotten_prior)
    assert found > claim(concentrated)


def test_clipping_instead_of_truncation_is_caught() -> None:
    """The atom at 0.6 of draws clipped to [0.4, 0.6] tells k = 0 from k = 1 of ten by more than epsilon = 0.2."""
    epsilon, draws = 0.2, 1_000_000
    heat = 2 * math.log(0.6 / 0.4) / epsilon
    rng = np.random.default_rng(4)
    hits = []
    for k in (0, 1):
        found = np.clip(rng.beta(k / heat + 1, (10 - k) / heat + 1, size=draws), 0.4, 0.6)
        hits.append(int((found == 0.6).sum()))
    low, high = clopper_pearson(hits[1], draws, ALPHA)[0], clopper_pearson(hits[0], draws, ALPHA)[1]
    assert math.log(low / high) > epsilon


def test_the_sequential_dirichlet_is_caught() -> None:
    """One truncated Beta after the other, without correction, at nominal epsilon 1, by its density on a grid.

    The events that show it are too rare to be drawn: counts (4000, 0, 400) and (3999, 1, 400), log-ratio 1.34 (F-TDIR).
    """
    epsilon, a0 = 1.0, 0.1
    heat = 2 * math.log(8.0) / epsilon
    alphas = [np.array(counts) / heat + 1 for counts in ((4000, 0, 400), (3999, 1, 400))]
    left, share = np.meshgrid(np.linspace(0.201, 0.899, 400), np.linspace(0.001, 0.999, 400))
    x2 = a0 + share * (left - 2 * a0)

    def sequential(alpha: Any) -> Any:
        first, second = stats.beta(alpha[0], alpha[1] + alpha[2]), stats.beta(alpha[1], alpha[2])
        mass = second.sf(a0 / left) - second.sf(1 - a0 / left)
        cut = math.log(first.cdf(0.8) - first.cdf(0.1))
        return first.logpdf(1 - left) - cut + second.logpdf(x2 / left) - np.log(left) - np.log(mass)

    def exact(alpha: Any) -> Any:  # up to the constant, which no range sees
        return (alpha[0] - 1) * np.log(1 - left) + (alpha[1] - 1) * np.log(x2) + (alpha[2] - 1) * np.log(left - x2)

    assert np.abs(sequential(alphas[0]) - sequential(alphas[1])).max() == pytest.approx(1.34123758688, abs=0.02)
    assert np.ptp(exact(alphas[0]) - exact(alphas[1])) <= epsilon


def test_one_draw_charged_for_two_is_caught() -> None:
    """Two draws at the price of one: their sum tells the tables apart by more than one draw may (fixed seed)."""
    case, noise, pairs = cases()["direct mean"](), SeededNoise(3), 2_000_000
    sums = [drawn(case, side, 2 * pairs, noise).reshape(-1, 2).sum(axis=1) for side in (0, 1)]
    threshold = np.quantile(sums[1], 0.999)
    hits = [int((values >= threshold).sum()) for values in sums]
    low, high = clopper_pearson(hits[1], pairs, ALPHA)[0], clopper_pearson(hits[0], pairs, ALPHA)[1]
    assert math.log((low - case.delta) / high) > claim(case)
