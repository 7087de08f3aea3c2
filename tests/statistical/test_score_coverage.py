"""Coverage of 90% intervals of logistic coefficients given noisy scores, and their widths beside non-private ones.

Coefficients are drawn anew for every table, so that fitted margins deviate by about 1.2 (categories: every level by
.8). A cell is the table, its size and epsilon, at delta = 1e-5. It fails only beyond Monte Carlo error: a normal test of
the shares of covered coefficients by table, two-sided, family-wise 1% over all cells (z = 3.72 for 48 of them).

Where noise hides the coefficients the posterior returns to its prior, and intervals of coefficients that are smaller
than it believes cover more than 90%: the upper limit holds where intervals are below half the prior's.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

import discreet as dc
from discreet.noise.sources import SeededNoise
from discreet.posterior import CoefficientDraws, ScoreCoefficients
from discreet.sources import CodedRows, Dataset

Z = 3.72
STEPS = 2**10  # of numbers, per unit
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Law:
    """How features are drawn, and how far they spread: numbers (n, d) in [-1, 1], or codes of levels by column."""

    draw: Callable[[int, np.random.Generator], Any]
    spread: float
    size: int = 5
    levels: tuple[int, ...] = ()
    highest: float = 0.95


def normal(n: int, rng: np.random.Generator, d: int = 5) -> Array:
    return np.clip(0.4 * rng.normal(size=(n, d)), -1.0, 1.0)


def skewed(n: int, rng: np.random.Generator) -> Array:
    """Log-normal, clipped to natural bounds: 0 to 8 with median 1."""
    return np.minimum(np.exp(0.8 * rng.normal(size=(n, 5))), 8.0) / 4.0 - 1.0


def correlated(n: int, rng: np.random.Generator) -> Array:
    common = rng.normal(size=(n, 1))
    return np.clip(0.4 * (np.sqrt(0.9) * common + np.sqrt(0.1) * rng.normal(size=(n, 5))), -1.0, 1.0)


def independent_levels(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    return np.stack([rng.choice(3, n, p=[0.5, 0.3, 0.2]), rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])], axis=1)


def associated_levels(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    first = rng.choice(3, n, p=[0.5, 0.3, 0.2])
    given = np.array([[0.7, 0.15, 0.1, 0.05], [0.2, 0.5, 0.2, 0.1], [0.1, 0.2, 0.4, 0.3]])
    second = (rng.random((n, 1)) > np.cumsum(given, axis=1)[first]).sum(axis=1)
    return np.stack([first, np.minimum(second, 3)], axis=1)


LAWS = {
    "normal": Law(normal, 0.4),
    "levels": Law(independent_levels, 0.8, levels=(3, 4)),
    "associated": Law(associated_levels, 0.8, levels=(3, 4)),
    "skewed": Law(skewed, 0.3),
    "correlated": Law(correlated, 0.4, highest=0.97),
    "fifteen": Law(lambda n, rng: normal(n, rng, 15), 0.4, size=15),
}


def truth(law: Law, rng: np.random.Generator) -> Array:
    """Coefficients of numbers, or of all levels, which sum to 0 in every category."""
    if law.levels:
        drawn = [law.spread * rng.normal(size=size) for size in law.levels]
        return np.concatenate([levels - levels.mean() for levels in drawn])
    direction = rng.normal(size=law.size)
    return np.asarray(1.2 / law.spread * direction / np.linalg.norm(direction))


def columns(law: Law) -> dict[str, Any]:
    if law.levels:
        return {f"c{k}": dc.Categorical([f"l{j}" for j in range(size)]) for k, size in enumerate(law.levels)}
    return {f"x{j}": dc.Bounded(-1, 1, grid=1.0 / STEPS) for j in range(law.size)}


def dense(law: Law, drawn: NDArray[Any]) -> Array:
    if law.levels:
        return np.concatenate([np.eye(size)[drawn[:, k]] for k, size in enumerate(law.levels)], axis=1)
    return np.asarray(drawn / STEPS)


def non_private_widths(x: Array, y: Array, levels: tuple[int, ...]) -> Array:
    """Of 90% intervals at the maximum of the likelihood, levels against their average."""
    z = np.column_stack([np.ones(len(x)), x])
    eye = np.eye(z.shape[1])
    for start, size in zip(1 + np.cumsum([0, *levels]), levels, strict=False):
        eye[start : start + size, start : start + size] -= 1.0 / size
    basis = np.linalg.svd(eye)[0][:, : np.linalg.matrix_rank(eye)]
    inside, w, move = z @ basis, np.zeros(basis.shape[1]), np.ones(1)
    while np.abs(move).max() > 1e-9:
        p = 1.0 / (1.0 + np.exp(-inside @ w))
        information = (inside * (p * (1.0 - p))[:, None]).T @ inside
        move = np.linalg.solve(information, inside.T @ (p - y))
        w -= move
    variance = np.diag(basis @ np.linalg.inv(information) @ basis.T)[1:]
    return np.asarray(2.0 * 1.645 * np.sqrt(variance))


class Table(NamedTuple):
    """Coefficients, features and targets as numbers, the rows, and the generator that drew them."""

    w: Array
    x: Array
    y: NDArray[np.int64]
    rows: CodedRows
    rng: np.random.Generator


def asked(name: str, n: int) -> tuple[dc.Schema, dc.LogisticRegression]:
    features = columns(LAWS[name])
    return dc.Schema({**features, "y": dc.Binary()}, n=n), dc.LogisticRegression("y", list(features))


def made(name: str, n: int, seed: int, run: int) -> Table:
    law, rng = LAWS[name], np.random.default_rng([seed, run])
    w, drawn = truth(law, rng), law.draw(n, rng)
    coded = drawn if law.levels else np.rint(drawn * STEPS).astype(np.int64)
    x = dense(law, coded)
    y = (rng.logistic(size=n) < 0.3 + (x - x.mean(axis=0)) @ w).astype(np.int64)
    return Table(w, x, y, CodedRows({**dict(zip(columns(law), coded.T, strict=True)), "y": y}), rng)


def tables(name: str, n: int, epsilon: float, runs: int, seed: int) -> Iterator[tuple[Array, Array, ScoreCoefficients]]:
    """Coefficients, the widths of their non-private intervals, and the posterior of one release, table by table."""
    schema, model = asked(name, n)
    query, mechanism = model.query(schema), dc.NoisyScore(epsilon=epsilon, delta=1e-5)
    for run in range(runs):
        w, x, y, rows, rng = made(name, n, seed, run)
        value = mechanism.apply(SeededNoise(int(rng.integers(2**31))), query, Dataset("t", schema, rows))
        posterior = model.given_scores(query, mechanism.constants(query), value)
        yield w, non_private_widths(x, y, LAWS[name].levels), posterior


def held(w: Array, posterior: ScoreCoefficients) -> tuple[float, float]:
    """The share of coefficients in their 90% intervals, and the mean width of these."""
    low, high = (np.asarray(end)[1:] for end in posterior.interval(0.9))
    return float(np.mean((low <= w) & (w <= high))), float(np.mean(high - low))


def believed(posterior: ScoreCoefficients) -> float:
    """The mean width of 90% intervals under the prior alone."""
    towards = posterior._towards[1:]
    return float(np.mean(2.0 * 1.645 * np.sqrt(np.diag(towards @ np.linalg.inv(posterior._prior) @ towards.T))))


def forgetful(posterior: ScoreCoefficients) -> ScoreCoefficients:
    """The same, which takes the noise of the scores for a tenth of what it is."""
    terms = posterior.evidence.terms
    wrong = replace(posterior.evidence, terms=replace(terms, scores_sd=0.1 * terms.scores_sd))
    return replace(posterior, evidence=wrong)


def coverage(name: str, n: int, epsilon: float, runs: int, seed: int) -> list[float]:
    """The share of coefficients covered, its error, and the mean width over the non-private one and the prior's."""
    covered, widths, open_ended = [], [], []
    with threadpool_limits(1, user_api="blas"):  # threads of matrices this small wait for each other
        for w, plain, posterior in tables(name, n, epsilon, runs, seed):
            share, width = held(w, posterior)
            covered.append(share)
            widths.append(width / np.mean(plain))
            open_ended.append(width / believed(posterior))
    error, told = float(np.std(covered) / np.sqrt(runs)), float(np.mean(open_ended))
    found = float(np.mean(covered)), error, float(np.mean(widths)), told
    print(
        f"{name}, n = {n}, epsilon = {epsilon}, {runs} tables: {found[0]:.1%} ± {found[1]:.1%}, {found[2]:.2f} as wide"
    )
    return list(found)


def test_intervals_cover_and_forgotten_noise_is_seen() -> None:
    """30 tables of 5 coefficients: below 80% by chance in one of 10,000 where 90% are covered.

    A posterior that takes the noise of the scores for a tenth of what it is covers about 70%: below 80%, which a right one is
    not, it was at each of the seeds tried.
    """
    found = [(w, posterior) for w, _, posterior in tables("normal", 1_000, 1.0, 30, seed=1)]
    shares = [
        np.mean([held(w, read(posterior))[0] for w, posterior in found]) for read in (lambda same: same, forgetful)
    ]
    print(shares)
    assert 0.80 <= shares[0] <= 0.99
    assert shares[1] < 0.80


def coverage_of_a_draw(name: str, n: int, epsilon: float, runs: int, seed: int) -> list[float]:
    """What `coverage` says, of one draw of a Gibbs posterior that is given as many public rows of the same features."""
    schema, model = asked(name, n)
    query, mechanism = model.query(schema), dc.GibbsPosterior(epsilon=epsilon, delta=1e-5)
    law, covered, widths = mechanism.law(query), [], []
    with threadpool_limits(1, user_api="blas"):
        for run in range(runs):
            w, x, y, rows, rng = made(name, n, seed, run)
            value = mechanism.apply(SeededNoise(int(rng.integers(2**31))), query, Dataset("t", schema, rows))
            draw = CoefficientDraws(value, query, law.beta, law.precision, True)
            public = np.rint(LAWS[name].draw(n, rng) * STEPS) / STEPS
            information = draw.information(dict(zip(columns(LAWS[name]), public.T, strict=True)), n=n)
            low, high = draw.interval(0.9, information=information)[1:].T
            covered.append(float(np.mean((low <= w) & (w <= high))))
            widths.append(np.mean(high - low) / np.mean(non_private_widths(x, y, ())))
    found = float(np.mean(covered)), float(np.std(covered) / np.sqrt(runs)), float(np.mean(widths))
    print(f"one draw: {name}, n = {n}, epsilon = {epsilon}, {runs} tables: {found[0]:.1%}, {found[2]:.2f} as wide")
    return list(found)


CELLS = [(name, n) for name in LAWS if name != "fifteen" for n in (1_000, 10_000, 100_000)] + [("fifteen", 10_000)]


@pytest.mark.audit
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize(("name", "n"), [cell for cell in CELLS if not LAWS[cell[0]].levels])
def test_bands_of_one_draw_are_wider(name: str, n: int, epsilon: float, evidence: Any) -> None:
    """100 tables, an error of 2.5% at most. Levels of a category are not compared: without a sum no draw knows them."""
    _, _, width = evidence(lambda: coverage_of_a_draw(name, n, epsilon, 100, seed=2))
    assert width > 1.0


@pytest.mark.audit
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize(("name", "n"), CELLS)
def test_intervals_cover_what_they_say(name: str, n: int, epsilon: float, evidence: Any) -> None:
    """500 tables a cell, an error of .7% at most: 86% to 95%; correlated features, whose noisy moments blur, 97%."""
    covered, error, width, told = evidence(lambda: coverage(name, n, epsilon, 500, seed=2))
    assert covered + Z * error >= 0.86
    assert told >= 0.5 or covered - Z * error <= LAWS[name].highest
    if n == 10_000 and epsilon == 1.0:
        assert width <= 1.3
