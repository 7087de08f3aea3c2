"""Whatever `release` can return, `posterior()` reads: every pair, small and skewed tables, little and much noise.

A paid answer that cannot be read is lost. Tables here have rare levels, an empty first level, empty groups, numbers on
their bounds, no rows at all; epsilon goes down to 0.02. Every reading answers with finite numbers or says in a
QueryError why not, and within a public number of steps: calls of functions are counted, no clock is read.
"""

import functools
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, logsumexp

import discreet as dc
from discreet.inference.groups import sinh_quadrature as graded
from discreet.models import bayesian_network, beta_bernoulli, declared_moments, event_log_hmm
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.posterior import CoefficientDraws, two_count_likelihood
from discreet.queries.cell_classes import cell_classes
from discreet.queries.counts_and_sums import Axis
from discreet.schema.row_counts import KnownSize, ShareSizes
from discreet.sources import CodedRows, Dataset
from pairs import COLUMNS, MECHANISMS, MODELS, _fits

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")  # chains are short on purpose

PACKAGE = str(Path(dc.__file__).parent)
STEPS = 400_000  # calls that the package may make for one reading; ordinary ones make some ten thousand
QUESTIONS = ("mean", "sd", "interval", "summary", "log_evidence", "__str__")
BOUNDED = [name for name, column in COLUMNS.items() if isinstance(column, dc.Bounded | dc.Count)]


def tables(rng: np.random.Generator, n: int, schema: dc.Schema) -> CodedRows:
    """Codes by column: shares of levels far from even, the first level often empty; numbers anywhere or on one bound."""
    columns = {}
    for name in COLUMNS:
        if name in BOUNDED:
            axis = Axis.of(schema, name)
            top = int(axis.of_values(np.array(axis.upper)))
            drawn = rng.integers(axis.low, top + 1, size=n)
            columns[name] = rng.choice([np.full(n, axis.low), np.full(n, top), drawn, drawn])
            continue
        levels = len(schema.column(name).levels)
        shares = rng.dirichlet(np.full(levels, 0.3))
        if rng.random() < 0.5:
            shares[0] = 0.0
        columns[name] = rng.choice(levels, size=n, p=shares / shares.sum() if shares.sum() else None)
    persons = rng.integers(max(n, 1), size=n) if isinstance(schema.unit, dc.Person) else None
    return CodedRows(columns, persons)


def classed(source: CodedRows, model: Any, schema: dc.Schema) -> CodedRows:
    """Cells as `BadCells` counts them: the codes of their classes."""
    codes = {name: source.columns[name] % len(cell_classes(schema, name)) for name in model.columns}
    return CodedRows({**source.columns, **codes}, source.persons)


def schemas(rng: np.random.Generator, n: int) -> dc.Schema:
    """A public number of rows, a private one, rows that bad cells exclude, or persons."""
    kind = rng.choice(["public", "public", "add-remove", "exclude", "person"])
    if kind == "add-remove":
        return dc.Schema(COLUMNS, relation="add-remove", n_max=max(2 * n, 1))
    if kind == "person":
        return dc.Schema(COLUMNS, unit=dc.Person("pid", 2), n=n)
    if kind == "exclude":
        columns = {
            name: dc.Binary(missing="exclude")
            if isinstance(column, dc.Binary)
            else type(column)(**{**vars(column), "missing": "exclude"})
            for name, column in COLUMNS.items()
        }
        return dc.Schema(columns, n=n)
    return dc.Schema(COLUMNS, n=n)


def grouped(model: Any, rng: np.random.Generator) -> Any:
    """The same model, in half of the cases for every level of a column it does not use."""
    used = {getattr(model, name, None) for name in ("column", "score", "target")}
    used |= {*getattr(model, "features", ()), *getattr(model, "parents", ()), *getattr(model, "columns", ())}
    free = [name for name in ("ward", "stage", "month") if name not in used]
    if rng.random() < 0.5 or not free or type(model).__name__ == "EventLogHMM":
        return model
    try:
        return replace(model, by=str(rng.choice(free)))
    except dc.QueryError:  # a loss is asked of the whole table
        return model


def noises(rng: np.random.Generator) -> dc.NoisyStatistics:
    epsilon = float(rng.choice([0.02, 0.1, 0.3, 1.0]))
    return (
        dc.NoisyStatistics(epsilon=epsilon) if rng.random() < 0.6 else dc.NoisyStatistics(epsilon=epsilon, delta=1e-5)
    )


def releases(names: list[str], seed: int, sizes: tuple[int, ...]) -> Iterator[dc.Release]:
    """One release of each model by a random mechanism that fits, on a random table."""
    rng = np.random.default_rng(seed)
    for name in names:
        while True:
            model = grouped(MODELS[name][int(rng.integers(len(MODELS[name])))], rng)
            n = int(rng.choice(sizes))
            schema = schemas(rng, n)
            kind = str(rng.choice(list(MECHANISMS)))
            options = MECHANISMS[kind]
            mechanism = noises(rng) if kind == "NoisyStatistics" else options[int(rng.integers(len(options)))]
            if _fits(model, mechanism, schema):
                break
        source = tables(rng, n, schema)
        dataset = Dataset("t", schema, classed(source, model, schema) if name == "BadCells" else source)
        (release,) = dc.simulate(model, dataset, mechanism, runs=1, seed=int(rng.integers(2**31)))
        yield release


def finite(answer: Any) -> bool:
    if isinstance(answer, Mapping):
        return all(finite(part) for part in answer.values())
    if isinstance(answer, tuple | list):
        return all(finite(part) for part in answer)
    texts = isinstance(answer, str) or np.asarray(answer).dtype.kind == "U"  # levels
    return texts or bool(np.all(np.isfinite(np.asarray(answer, dtype=float))))


def readings(release: dc.Release) -> Iterator[tuple[str, Any]]:
    """Every way to read a release, as functions without arguments."""
    yield "posterior", release.posterior
    if isinstance(release.mechanism, dc.NoisyStatistics):
        yield "plug-in", functools.partial(release.posterior, "plug-in")
        if release.query.by is not None and release.model.population(release.query.schema) is not None:
            yield "pooled", functools.partial(release.posterior, pooling="partial")


def ask(posterior: Any) -> None:
    """Every question has a finite answer, or a reason why there is none."""
    rng = np.random.default_rng(1)
    asked = [(question, getattr(posterior, question, None)) for question in QUESTIONS]
    asked += [("sample", lambda: posterior.sample(5, rng))]
    if isinstance(posterior, CoefficientDraws):
        rows = {name: [column.lower] if name in BOUNDED else [column.levels[0]] for name, column in COLUMNS.items()}
        asked += [("predict", lambda: posterior.predict(rows))]
        asked += [("bands", lambda: posterior.interval(information=posterior.information(rows)))]
    else:
        asked += [("predict", lambda: posterior.predict(5, rng))]
    for question, answer in asked:
        if answer is None:  # released coefficients have no evidence
            continue
        try:
            found = answer()
        except dc.QueryError:
            continue
        evidence_of_plug_in = question == "log_evidence"  # there is none: nan says so
        assert evidence_of_plug_in or finite(found), f"{question}: {found!r}"


class TooManyStepsError(AssertionError):
    """A reading does not end."""


def counted(work: Any, most: int = STEPS) -> int:
    """How many functions are called by `work`; stopped above the bound, so that an endless reading fails."""
    calls = 0

    def on_event(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call") and frame.f_code.co_filename.startswith(PACKAGE)
        if calls > most:
            sys.setprofile(None)
            raise TooManyStepsError(f"more than {most} calls")

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        work()
    finally:
        sys.setprofile(before)
    return calls


def read(release: dc.Release) -> None:
    for way, open_it in readings(release):
        try:
            counted(lambda open_it=open_it: ask(open_it()))
        except Exception as problem:
            recipe = {part: release.recipe[part] for part in ("model", "mechanism")}
            values = {name: array.tolist() for name, array in release.value.items()}
            raise AssertionError(f"{way} of {recipe} with {values}: {problem!r}") from problem


@pytest.fixture
def short_chains(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains that only have to run: how well they mix is another test's subject."""
    unseen = functools.partial(declared_moments.sample_moments, draws=20, most=20)
    monkeypatch.setattr(declared_moments, "sample_moments", unseen)
    network = functools.partial(bayesian_network.network_from_tables, draws=20, chains=2)
    monkeypatch.setattr(bayesian_network, "network_from_tables", network)
    hidden = functools.partial(event_log_hmm.noise_aware_chains, draws=20, warm_up=20, chains=2)
    monkeypatch.setattr(event_log_hmm, "noise_aware_chains", hidden)


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_release_is_read(name: str) -> None:
    for seed in (1, 2):
        for release in releases([name], seed, (0, 1, 24, 200)):
            read(release)


@pytest.mark.audit
@pytest.mark.parametrize("name", sorted(MODELS))
@pytest.mark.parametrize("seed", range(3, 33))
def test_many_releases_are_read(name: str, seed: int) -> None:
    for release in releases([name], seed, (0, 1, 3, 24, 200, 613, 3000)):
        read(release)


def regression(first: int, epsilon: float, n: int = 2400, levels: int = 3) -> dc.Release:
    """A regression on 2,400 rows, `first` of them at the first level."""
    rng = np.random.default_rng(first)
    schema = dc.Schema(
        {"y": dc.Bounded(0, 100), "x": dc.Bounded(0, 1), "g": dc.Categorical([str(g) for g in range(levels)])}, n=n
    )
    g = np.where(np.arange(n) < first, 0, rng.integers(1, levels, size=n))
    codes = {name: Axis.of(schema, name).of_values(rng.uniform(0, top, n)) for name, top in (("y", 100), ("x", 1))}
    dataset = Dataset("t", schema, CodedRows({**codes, "g": g}))
    (release,) = dc.simulate(
        dc.LinearRegression("y", ("x", "g")), dataset, dc.NoisyStatistics(epsilon=epsilon), runs=1, seed=first
    )
    return release


@pytest.mark.usefixtures("short_chains")
@pytest.mark.parametrize(
    ("first", "epsilon", "levels"), [(0, 1.0, 3), (0, 0.02, 3), (1, 0.1, 3), (4, 1.0, 2), (9, 0.02, 12)]
)
def test_a_regression_with_a_rare_first_level_is_read(first: int, epsilon: float, levels: int) -> None:
    posterior = regression(first, epsilon, levels=levels).posterior()
    assert finite(posterior.mean())
    assert finite(posterior.rhat())


def test_plug_in_moments_of_mostly_noise_are_possible() -> None:
    """Counts that are clipped after the moments were repaired can make them impossible again."""
    schema, rng = dc.Schema(COLUMNS, n=40), np.random.default_rng(2)
    model, mechanism = dc.LinearRegression("pressure", ("age", "ward"), by="month"), dc.NoisyStatistics(epsilon=0.3)
    dataset = Dataset("t", schema, tables(rng, 40, schema))
    for release in dc.simulate(model, dataset, mechanism, runs=8, seed=3):
        assert finite(release.posterior("plug-in").mean())


COUNTS = ([[178, 134], [0, 16], [1, 238], [15, 2]], [[181, 4], [2, 11], [105, 101], [-12, 178]])


def four_groups(counts: list[list[int]]) -> dc.Release:
    schema = dc.Schema({"x": dc.Binary(), "g": dc.Categorical(list("abcd"))}, n=613)
    model, mechanism = dc.BetaBernoulli("x", by="g"), dc.NoisyStatistics(epsilon=0.3)
    (release,) = dc.simulate(model, None, mechanism, runs=1, seed=1, n=613, schema=schema)
    return replace(release, value={"counts": np.array(counts)})


def quadrature(counts: list[list[int]]) -> list[float]:
    """Pooled means of four groups on one plain grid of coordinate, centre and spread: no search, no grading."""
    release = four_groups(counts)
    law, sizes = release.mechanism.laws(release.query)["counts"], release.query.sizes
    eta, m = np.arange(-16.0, 16.0, 0.1), np.arange(-12.0, 12.0, 0.3)
    theta = 1 / (1 + np.exp(-eta))
    tau = 0.15 * 1.1 ** np.arange(42)
    prior = -0.5 * (m / (np.pi / np.sqrt(3))) ** 2
    kernel = np.exp(-0.5 * ((eta - m[:, None, None]) / tau[:, None]) ** 2) / tau[:, None]
    likelihood = []
    for y in counts:
        k0, k1 = (np.arange(max(0, c - 130), max(0, c) + 131.0) for c in y)
        log_table = sizes.log_weight(k0[:, None] + k1) + gammaln(k0[:, None] + k1 + 1)
        log_table += (law.log_density(y[0] - k0) - gammaln(k0 + 1))[:, None] + law.log_density(y[1] - k1)
        log_table -= gammaln(k1 + 1)
        found = [logsumexp(log_table + k0[:, None] * np.log1p(-t) + k1 * np.log(t)) for t in theta]
        likelihood.append(np.exp(np.array(found) - max(found)))
    blurred = [kernel @ values for values in likelihood]
    hyperprior = np.exp(prior[:, None] - 0.5 * tau**2) * tau  # d tau = tau d log tau
    others = [hyperprior * np.prod(blurred[:g] + blurred[g + 1 :], axis=0) for g in range(4)]
    return [
        float(np.sum(rest * (kernel @ (values * theta))) / np.sum(rest * own))
        for rest, values, own in zip(others, likelihood, blurred, strict=True)
    ]


@pytest.mark.parametrize("counts", COUNTS)
def test_groups_that_differ_are_pooled(counts: list[list[int]]) -> None:
    release = four_groups(counts)
    read(release)
    found = list(release.posterior(pooling="partial").mean().values())
    np.testing.assert_allclose(found, quadrature(counts), atol=2e-3)


def one_reference(y_zero: float, y_one: float, sizes: Any, law: Any) -> Any:
    """The old likelihood: powers relative to one share, so that it ends where doubles do."""
    reach = np.ceil(law.reach(32.0))
    zeros, ones = (np.arange(max(0.0, max(y, 0) - reach), max(y, 0) + reach + 1.0) for y in (y_zero, y_one))
    share = (max(y_one, 0.0) + 1.0) / (max(y_zero, 0.0) + max(y_one, 0.0) + 2.0)
    totals = zeros[:, None] + ones
    log_table = sizes.log_weight(totals) + gammaln(totals + 1)
    log_table += (law.log_density(y_zero - zeros) - gammaln(zeros + 1) + zeros * np.log1p(-share))[:, None]
    log_table += law.log_density(y_one - ones) - gammaln(ones + 1) + ones * np.log(share)
    table = np.exp(log_table - log_table.max())

    def log_likelihood(theta: np.ndarray) -> np.ndarray:
        left = zeros[:, None] * (np.log1p(-theta) - np.log1p(-share))
        right = ones[:, None] * (np.log(theta) - np.log(share))
        summed = np.sum(np.exp(left - left.max(axis=0)) * (table @ np.exp(right - right.max(axis=0))), axis=0)
        with np.errstate(divide="ignore"):
            return np.log(summed) + left.max(axis=0) + right.max(axis=0)

    return log_likelihood


def test_planted_likelihoods_with_an_edge_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beta_bernoulli, "two_count_likelihood", one_reference)
    with pytest.warns(dc.ConvergenceWarning):
        four_groups(COUNTS[0]).posterior(pooling="partial")


@settings(max_examples=15, derandomize=True, deadline=None)
@given(
    st.tuples(st.integers(-300, 4000), st.integers(-300, 4000)),
    st.sampled_from([0.3, 3.0, 12.0, 40.0]),
    st.integers(1, 5000),
)
def test_the_likelihood_of_two_counts_has_no_edge(counts: tuple[int, int], scale: float, n: int) -> None:
    """Finite for every probability that doubles hold, whatever was released."""
    sizes = ShareSizes(KnownSize(n), 3)
    eta = np.linspace(-36, 36, 73)
    theta = np.clip(1 / (1 + np.exp(-eta)), np.nextafter(0, 1), np.nextafter(1, 0))
    for law in (DiscreteLaplace(scale), DiscreteGaussian(scale)):
        found = two_count_likelihood(*map(float, counts), sizes, law)(theta)
        assert np.all(np.isfinite(found))


def test_endless_work_is_stopped() -> None:
    def endless() -> None:
        while True:
            graded.uniform_weights(np.arange(3.0))

    with pytest.raises(TooManyStepsError):
        counted(endless, 1000)
