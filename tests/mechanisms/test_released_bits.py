"""Every released number could have come from the neighbouring table: preimages of what every mechanism released.

Draws are made on one table; for each released number a latent double is looked for that leads to it on the neighbour,
through the arithmetic of the sampler itself. What is planted is the grid that was used before, 2^-32 or finer wherever
the numbers lie: a number that the neighbour cannot have released is then seen in one of four to one of thirty draws.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from released_lattice import Array, Lattice, additive, divided_gamma, exponential_step, impossible, share_of

import discreet as dc
from discreet.mechanisms.conjugate_sample import conjugate_sample
from discreet.mechanisms.draws.public_grid import rounded
from discreet.mechanisms.gibbs_posterior import gibbs_posterior
from discreet.mechanisms.posterior_sample import posterior_sample
from discreet.noise.sources import SeededNoise
from discreet.queries.families import GaussianMean, PoissonRate
from discreet.sources import Dataset
from discreet.sources.coded import CodedRows

DRAWS = 1500
N = 12
SCALES = [10.0**k for k in range(-9, 13, 3)]


@dataclass(frozen=True)
class Case:
    """A model of one column, a mechanism, and two tables as values of the column that differ in one row."""

    name: str
    model: Any
    column: Any
    mechanism: Any
    tables: tuple[tuple[float, ...], tuple[float, ...]]

    @property
    def query(self) -> Any:
        return self.model.query(dc.Schema({"x": self.column}, n=N))

    def dataset(self, neighbour: bool) -> Dataset:
        steps = [self.column.steps(value) for value in self.tables[neighbour]]
        return Dataset("d", self.query.schema, CodedRows({"x": np.array(steps)}))

    def released(self, neighbour: bool = False, seed: int = 3) -> Array:
        (values,) = self.mechanism.apply(SeededNoise(seed), self.query, self.dataset(neighbour)).values()
        return np.ravel(values)

    def total(self) -> int:
        """The exact centred sum of the neighbour."""
        (total,) = self.dataset(True).source.statistics(self.query).values()
        return int(total)


def conjugate_lattice(case: Case) -> Lattice:
    """Of the neighbour."""
    family, n, total = case.query.family, N, case.total()
    r, m = case.mechanism.fractions(case.query)
    exact, (first, second) = float(family.axis.total(total, n)), family.prior
    if isinstance(family, GaussianMean):
        return additive(*(float(number) for number in family.update(family.exponents / m, r, total, n)))
    if isinstance(family, PoissonRate):
        return divided_gamma(first / m + r * exact, second / m + r * n)
    return divided_gamma(first / m + r * n, second / m + r * exact)


def declared_lattice(case: Case) -> Lattice:
    """Of the neighbour, whose draws start from the highest point of its density on the interval."""
    mechanism, query = case.mechanism, case.query
    part, weight = mechanism._part(query, query.family), 1.0 / mechanism.temperature(query)
    first, second = (float(value) for value in query.family.update(part, weight, case.total(), N))
    low, high = mechanism.interval
    normal = isinstance(query.family, GaussianMean)
    start = min(max(first if normal else first / second, low), high)
    return additive(start, second) if normal else exponential_step(start)


def tables(low: float, high: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    values = (low, *np.linspace(low, high, N - 1).tolist())
    return values, (high, *values[1:])


def waiting(scale: float) -> Any:
    """A model whose rates are about `scale`."""
    rate = max(10.0 / scale, 1e-6)
    return dc.GammaExponential("x", prior=(max(10.0, rate * scale), rate))


def conjugate_cases(scale: float) -> Iterator[Case]:
    by = dc.DirectSample(draws=DRAWS)
    calibrated = dc.ConcentratedSample(epsilon=0.01, order=2.0, draws=DRAWS)
    diffused = dc.DiffusedSample(epsilon=0.01, order=2.0, draws=DRAWS)
    wide = dc.Bounded(-scale, scale)
    for mechanism in (by, calibrated, diffused):
        name = type(mechanism).__name__
        yield Case(f"{name} mean", dc.NormalMean("x", 0.3 * scale), wide, mechanism, tables(-scale, scale))
        yield Case(f"{name} time", waiting(scale), dc.Bounded(0, 1 / scale), mechanism, tables(0.0, 1 / scale))
    for share in (0.125, 2.0**-10):
        far, narrow = dc.Bounded(scale, (1 + share) * scale), dc.NormalMean("x", 0.002 * share * scale)
        yield Case("a mean far from zero", narrow, far, by, tables(scale, (1 + share) * scale))
    if 1 <= scale <= 1e6:
        counts = dc.GammaPoisson("x", prior=(0.5, 1.0))
        yield Case("counts", counts, dc.Count(int(scale)), by, tables(0, int(scale)))
        yield Case("no counts", counts, dc.Count(int(scale)), by, ((int(scale), *[0] * (N - 1)), (0,) * N))


def declared_cases(scale: float) -> Iterator[Case]:
    wide = dc.Bounded(-scale, scale)
    for low, high, epsilon in ((-scale, scale, 1.0), (0.1 * scale, 0.2 * scale, 20.0), (-10 * scale, 10 * scale, 50.0)):
        mechanism = dc.PosteriorSample(epsilon, interval=(low, high), draws=DRAWS)
        yield Case(f"mean in {low:g} to {high:g}", dc.NormalMean("x", scale), wide, mechanism, tables(-scale, scale))
    for low, high in ((0.5 * scale, 4 * scale), (100 * scale, 101 * scale)):
        mechanism = dc.PosteriorSample(4.0, interval=(low, high), draws=DRAWS)
        times = dc.Bounded(0, 1 / scale)
        yield Case(f"rate in {low:g} to {high:g}", waiting(scale), times, mechanism, tables(0.0, 1 / scale))


def check(case: Case, lattice: Lattice) -> None:
    grid, released = case.mechanism._grid(case.query), case.released()
    assert np.all(released == rounded(released, grid)), case.name
    assert not np.any(np.signbit(released) & (released == 0.0))
    assert impossible(released, grid, lambda x: rounded(x, grid), lattice) == 0.0, case.name


@pytest.mark.parametrize("scale", SCALES)
def test_every_conjugate_draw_could_have_come_from_the_neighbour(scale: float) -> None:
    for case in conjugate_cases(scale):
        check(case, conjugate_lattice(case))


@pytest.mark.parametrize("scale", SCALES)
def test_every_draw_on_a_declared_space_could_have_come_from_the_neighbour(scale: float) -> None:
    for case in declared_cases(scale):
        check(case, declared_lattice(case))


PLANTED = [
    # name, model, column, grid, the least share that must be seen
    ("rates above 2.5e5", dc.GammaExponential("x", prior=(10.0, 1e-6)), dc.Bounded(0, 3e-6), 2.0**-32, 0.2),
    ("a mean on ±1e9", dc.NormalMean("x", 1e7), dc.Bounded(-1e9, 1e9), 2.0**-32, 0.04),
    ("a grid of 2^-60", dc.NormalMean("x", 0.3), dc.Bounded(-1, 1), 2.0**-60, 0.04),
]


@pytest.mark.parametrize(("name", "model", "column", "grid", "least"), PLANTED, ids=[row[0] for row in PLANTED])
def test_an_absolute_grid_is_seen(
    name: str, model: Any, column: Any, grid: float, least: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old rounding, planted in the mechanism, turns the check red; with the new one the same case is clean."""
    case = Case(name, model, column, dc.DirectSample(draws=DRAWS), tables(float(column.lower), float(column.upper)))
    check(case, conjugate_lattice(case))

    def absolute(drawn: Array, _: float) -> Array:
        return np.asarray(np.round(drawn / grid) * grid)

    monkeypatch.setattr(conjugate_sample, "rounded", absolute)
    assert impossible(case.released(), grid, lambda x: absolute(x, grid), conjugate_lattice(case)) > least
    with pytest.raises(AssertionError):
        check(case, conjugate_lattice(case))


def test_a_fine_grid_on_a_declared_space_is_seen_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism = dc.PosteriorSample(20.0, interval=(-1.0, 1.0), draws=DRAWS)
    case = Case("mean", dc.NormalMean("x", 1.0), dc.Bounded(-1, 1), mechanism, tables(-1.0, 1.0))
    with pytest.raises(dc.GuaranteeError, match="a finer one shows"):
        replace(mechanism, grid=2.0**-60).guarantee(case.query)
    monkeypatch.setattr(posterior_sample, "rounded", lambda drawn, _: np.round(drawn * 2.0**60) / 2.0**60)
    shown = impossible(case.released(), 2.0**-60, lambda x: np.round(x * 2.0**60) / 2.0**60, declared_lattice(case))
    assert shown > 0.04


def test_lattices_are_those_of_the_samplers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bit for bit: draws before rounding are what the lattice makes of the latent numbers of the same seed."""
    monkeypatch.setattr(conjugate_sample, "rounded", lambda drawn, _: drawn)
    for case in conjugate_cases(1e3):
        raw, lattice, rng = case.released(neighbour=True), conjugate_lattice(case), np.random.default_rng(3)
        if isinstance(case.query.family, GaussianMean):
            assert np.array_equal(raw, lattice.forward(rng.standard_normal(DRAWS)))
        else:
            assert impossible(raw, 2.0**-1000, lambda x: x, lattice) == 0.0, case.name
    rng, again = np.random.default_rng(8), np.random.default_rng(8)
    for _ in range(50):
        a, b = again.standard_gamma(7.5), again.standard_gamma(2.5)
        assert rng.beta(7.5, 2.5) == share_of(b).forward(np.asarray(a))


@pytest.mark.parametrize("prior", [(1e-3, 1e-3), (1.0, 1.0), (6.0, 12.0), (0.1, 1e6)])
def test_shares_could_have_come_from_the_neighbour(prior: tuple[float, float]) -> None:
    """Ga / (Ga + Gb): the set of doubles does not depend on the counts, and the cells hold many of them."""
    rng = np.random.default_rng(1)
    for mechanism in (dc.DirectSample(draws=DRAWS), dc.PosteriorSample(1.0, truncation=1e-4, draws=DRAWS)):
        case = Case("x", dc.BetaBernoulli("x", prior=prior), dc.Binary(), mechanism, ((0.0,) * N, (1.0,) + (0.0,) * 11))
        data = Dataset("d", case.query.schema, CodedRows({"x": np.zeros(N, dtype=int)}))
        (found,) = mechanism.apply(SeededNoise(4), case.query, data).values()
        grid = mechanism._grid(case.query)
        inside = found[(found > 0) & (found < 1)]
        others = [share_of(rng.standard_gamma(prior[1] + 11.0, size=(inside.size, 1, 1))) for _ in range(3)]
        assert impossible(inside, grid, lambda x, g=grid: rounded(x, g), *others) == 0.0
        assert np.all(found == rounded(found, grid))


def test_a_bounded_mean_is_rounded_before_it_is_mapped() -> None:
    for scale in SCALES:
        for mechanism in (dc.DirectSample(draws=50), dc.PosteriorSample(1.0, truncation=0.1, draws=50)):
            column = dc.Bounded(scale, 3 * scale)
            case = Case("q", dc.StatisticalQuery("x"), column, mechanism, tables(scale, 3 * scale))
            low, high = case.query.family.axis.ends
            places = rounded((case.released() - low) / (high - low), mechanism._grid(case.query))
            assert np.array_equal(low + (high - low) * places, case.released())


@pytest.mark.parametrize("scale", SCALES)
def test_exact_normal_draws_of_a_gibbs_posterior(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    model = dc.QuadraticMean(["x"], interval=(-scale, scale), precision=min(max(scale**-2, 1e-12), 1e12))
    mechanism = dc.GibbsPosterior(1.0, 1e-5, sampler="exact", draws=DRAWS)
    case = Case("w", model, dc.Bounded(-1, 1), mechanism, tables(-1.0, 1.0))
    law, released = mechanism.law(case.query), case.released()
    scores = np.random.default_rng(3).standard_normal(DRAWS) / np.sqrt(law.convexity)
    with monkeypatch.context() as patch:
        patch.setattr(gibbs_posterior, "rounded", lambda drawn, _: drawn)
        centre = centre_of(case.released(neighbour=True), scores)
    grid = mechanism._grid(case.query)
    lattice = Lattice(lambda z: centre + z / np.sqrt(law.convexity), lambda x: (x - centre) * np.sqrt(law.convexity))
    assert impossible(released, grid, lambda x: rounded(x, grid), lattice) == 0.0


@pytest.mark.parametrize("precision", [1e-12, 1.0, 1e12])
def test_langevin_draws(precision: float, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = dc.Schema({"x": dc.Bounded(-1, 1), "y": dc.Binary()}, n=N)
    query = dc.LogisticRegression("y", ["x"], precision=precision, intercept=False).query(schema)
    mechanism = dc.GibbsPosterior(1.0, 1e-5, steps=1, draws=DRAWS)
    codes = query.schema.column("x").steps
    first, second = (
        Dataset("d", schema, CodedRows({"x": np.array([codes(0.7)] * N), "y": np.array([one] + [1] * (N - 1))}))
        for one in (0, 1)
    )
    (released,) = mechanism.apply(SeededNoise(3), query, first).values()
    spread = math.sqrt(2.0 * mechanism.law(query).step)
    noise = np.random.default_rng(3).standard_normal(DRAWS) * spread
    with monkeypatch.context() as patch:
        patch.setattr(gibbs_posterior, "rounded", lambda drawn, _: drawn)
        centre = centre_of(mechanism.apply(SeededNoise(3), query, second)["coefficients"][:, 0], noise)
    grid = mechanism._grid(query)
    assert impossible(released[:, 0], grid, lambda x: rounded(x, grid), additive(centre, spread)) == 0.0


def centre_of(raw: Array, noise: Array) -> float:
    """The centre whose sums with all the noise are the draws, bit for bit."""
    least = np.argmin(np.abs(noise))
    guess = raw[least] - noise[least]
    tried = guess + np.arange(-1000, 1001) * np.spacing(guess)
    fits = [float(centre) for centre in tried if np.array_equal(centre + noise, raw)]
    assert fits
    return fits[0]


def test_projected_states_are_functions_of_rounded_ones() -> None:
    """On a small ball the last state is rounded before its length is: its direction has no digits of its own."""
    schema = dc.Schema({"x": dc.Bounded(-1, 1), "y": dc.Binary()}, n=N)
    query = dc.LogisticRegression("y", ["x"], ball=0.05).query(schema)
    mechanism = dc.GibbsPosterior(1.0, 1e-5, steps=2, draws=200)
    data = Dataset("d", schema, CodedRows({"x": np.zeros(N, dtype=int), "y": np.ones(N, dtype=int)}))
    found, grid = mechanism.apply(SeededNoise(1), query, data)["coefficients"], mechanism._grid(query)
    assert np.all(found == rounded(found, grid))
    lengths = np.linalg.norm(found, axis=1)
    assert lengths.max() == pytest.approx(0.05, abs=2 * grid)
    assert np.mean(lengths > 0.0499) > 0.5


FINEST = [
    (dc.DirectSample(), dc.BetaBernoulli("b")),
    (dc.DirectSample(), dc.NormalMean("x", sd=0.5)),
    (dc.DiffusedSample(epsilon=1.0, order=2.0), dc.BetaBernoulli("b", prior=(6.0, 6.0))),
    (dc.ConcentratedSample(epsilon=1.0, order=2.0), dc.GammaExponential("t", prior=(6.0, 2.0))),
    (dc.PosteriorSample(1.0, truncation=0.1), dc.BetaBernoulli("b")),
    (dc.PosteriorSample(1.0, truncation=0.1), dc.NaiveBayes("b", ("c",))),
    (dc.PosteriorSample(1.0, interval=(0.5, 2.0)), dc.GammaExponential("t")),
    (dc.PrivateMetropolis(1.0, 5, interval=(0.5, 2.0)), dc.GammaExponential("t")),
    (dc.GibbsPosterior(1.0, 1e-5, steps=5), dc.LogisticRegression("b", ["x"])),
    (dc.GibbsPosterior(1.0, 1e-5, sampler="exact"), dc.QuadraticMean(["x"])),
    (dc.PrivateGibbs(1.0, 2), dc.EventLogHMM("c", "m", ("b",), states=2)),
    (dc.PrivateAnnealing((1.0,), 2), dc.EventLogHMM("c", "m", ("b",), states=2)),
]
COLUMNS = {
    "b": dc.Binary(),
    "c": dc.Categorical(["u", "v"]),
    "m": dc.Categorical(["1", "2"]),
    "x": dc.Bounded(-1, 1),
    "t": dc.Bounded(0, 3),
}


@pytest.mark.parametrize(("mechanism", "model"), FINEST, ids=lambda part: type(part).__name__)
def test_the_default_is_the_finest_grid_and_the_guarantee_says_what_remains(mechanism: Any, model: Any) -> None:
    query = model.query(dc.Schema(COLUMNS, n=50))
    space = mechanism._space(query) if isinstance(mechanism, dc.PrivateGibbs | dc.PrivateAnnealing) else None
    grid = mechanism._grid(query) if space is None else space.grid
    assert mechanism.grid is None
    assert math.frexp(grid)[0] == 0.5

    def words(grid: float | None) -> str:
        return json.dumps(replace(mechanism, grid=grid).guarantee(query).to_json(), ensure_ascii=False)

    said = words(grid)
    assert said == words(None)
    assert f"multiples of {grid:g}" in said
    if not isinstance(mechanism, dc.PrivateMetropolis):  # its law is that of points: nothing is rounded
        assert "factor within 1 ± " in said
    assert f"multiples of {2 * grid:g}" in words(2 * grid)
    with pytest.raises(dc.GuaranteeError, match="a finer one shows how doubles were rounded"):
        replace(mechanism, grid=grid / 2).guarantee(query)


def test_chains_release_points_that_are_the_same_for_all_tables() -> None:
    schema = dc.Schema(COLUMNS, n=50)
    model = dc.EventLogHMM("c", "m", ("b",), states=2)
    query, rng = model.query(schema), np.random.default_rng(2)
    data = Dataset("d", schema, CodedRows({name: rng.integers(2, size=50) for name in COLUMNS}))
    found = dc.PrivateGibbs(1.0, 20).apply(SeededNoise(1), query, data)
    profiles = next(values for name, values in found.items() if name != "hidden state")
    assert np.all(profiles * 2.0**32 % 1.0 == 0.0)
    for scale, after in pairwise(SCALES):
        mechanism = dc.PrivateMetropolis(1.0, 200, interval=(scale, after))
        waits = dc.GammaExponential("t").query(schema)
        (states,) = mechanism.apply(SeededNoise(1), waits, data).values()
        grid = mechanism._grid(waits)
        assert np.all(states % grid == 0.0)
        assert np.array_equal(states, rounded(states, grid))
