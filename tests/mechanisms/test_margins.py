"""Kernels of convex losses: slopes against values, gradients against dense NumPy, whatever the threads and batches."""

import math
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from scipy.special import expit

from discreet.mechanisms.gibbs_posterior.gibbs_law import GibbsLaw
from discreet.mechanisms.gibbs_posterior.kernels.langevin_steps import steps_of_langevin
from discreet.mechanisms.gibbs_posterior.kernels.margin_values import total_losses
from discreet.mechanisms.gibbs_posterior.kernels.margins import (
    BLOCKS,
    HINGE,
    HUBER,
    LOGISTIC,
    POISSON,
    Rows,
    gradients,
    slopes,
)
from discreet.mechanisms.gibbs_posterior.langevin_chains import langevin_chains, packing_of, projected, unpacked
from discreet.queries.losses import LOSSES as REGISTERED
from discreet.queries.losses.base import Branch

REACH = 3.0
TABLED = np.stack([np.tanh(np.linspace(-REACH, REACH, 61) - y) for y in np.linspace(-1, 1, 9)])
TABLE = REGISTERED["table"].code
LOSSES = {
    "logistic": Branch(LOGISTIC),
    "smoothed hinge": Branch(HINGE, 0.5),
    "hinge": Branch(HINGE),
    "huber": Branch(HUBER, 0.25),
    "poisson": Branch(POISSON),
    "table": Branch(TABLE, REACH, TABLED),
}


def test_every_loss_of_a_margin_has_a_branch_of_its_own() -> None:
    codes = {name: loss.code for name, loss in REGISTERED.items() if not loss.normal}
    named = {"logistic": LOGISTIC, "hinge": HINGE, "huber": HUBER, "poisson": POISSON, "table": TABLE}
    assert codes == {**named, "binomial": 5}  # whose formula is the logistic one, between its labels
    assert len(set(codes.values())) == len(codes)
    assert all(loss.name == name for name, loss in REGISTERED.items())


def areas_of(setting: float, table: np.ndarray) -> np.ndarray:
    width = 2.0 * setting / (table.shape[1] - 1)
    middles = 0.5 * (table[:, 1:] + table[:, :-1]) * width
    return np.concatenate([np.zeros((len(table), 1)), middles.cumsum(axis=1)], axis=1)


def targets_of(kind: int, size: int, rng: np.random.Generator) -> np.ndarray:
    if kind == LOGISTIC:
        return rng.integers(2, size=size).astype(float)
    if kind == HINGE:
        return rng.choice([-1.0, 1.0], size=size)
    return rng.poisson(2.0, size=size).astype(float) if kind == POISSON else rng.uniform(-1, 1, size=size)


def slope_of(kind: int, setting: float, t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The derivative of phi, written a second time."""
    if kind == LOGISTIC:
        return expit(t) - y
    if kind == HINGE:
        inside = 1.0 - y * t
        return -y * (np.clip(inside / setting + 0.5, 0, 1) if setting > 0 else (inside > 0))
    if kind == HUBER:
        return np.clip(t - y, -setting, setting)
    if kind == POISSON:
        return np.exp(t) - y
    grid = np.linspace(-REACH, REACH, TABLED.shape[1])
    rows = np.stack([np.interp(t, grid, row) for row in TABLED])
    place = (y + 1) / 2 * (len(TABLED) - 1)
    low = np.minimum(place.astype(int), len(TABLED) - 2)
    at = np.arange(len(t))
    return rows[low, at] * (1 - place + low) + rows[low + 1, at] * (place - low)


def design_of(kind: int, rng: np.random.Generator, **shape: int) -> SimpleNamespace:
    """Random chunks, and the same rows dense: z (rows, coefficients)."""
    chunks, p, size, intercept = (shape.get(name, value) for name, value in DEFAULT.items())
    levels = [(3, 4)[j] for j in range(shape.get("categories", 2))]
    d = intercept + p + sum(levels)
    numbers = rng.uniform(-1, 1, size=(chunks, p, size))
    offsets = [intercept + p + sum(levels[:j]) for j in range(len(levels))]
    codes = np.zeros((chunks, len(levels), size), dtype=np.uint16)
    for j, count in enumerate(levels):
        codes[:, j] = offsets[j] + rng.integers(count, size=(chunks, size))
    shrink = rng.uniform(0.3, 1.0, size=(chunks if shape.get("shrinks", 1) else 0, size))
    targets = targets_of(kind, chunks * size, rng).reshape(chunks, size)
    weights = (rng.random((chunks, size)) < 0.8).astype(float)
    z = np.zeros((chunks * size, d))
    rows = np.arange(chunks * size)
    z[:, intercept : intercept + p] = numbers.transpose(0, 2, 1).reshape(chunks * size, p)
    for j in range(len(levels)):
        z[rows, codes[:, j].ravel()] = 1.0
    if shrink.size:
        z *= shrink.reshape(-1, 1)
    if intercept:
        z[:, 0] = 1.0
    return SimpleNamespace(
        numbers=numbers,
        codes=codes,
        targets=targets,
        weights=weights,
        shrink=shrink,
        z=z,
        size=d,
        intercept=intercept,
        starts=tuple(offsets),
    )


DEFAULT = {"chunks": 5, "p": 3, "size": 16, "intercept": 1}
SHAPES = [
    {},
    {"intercept": 0},
    {"shrinks": 0},
    {"p": 0},
    {"categories": 0},
    {"p": 1, "categories": 0, "intercept": 0, "shrinks": 0},
    {"chunks": 77, "size": 8},
]


def parts_of(rows: SimpleNamespace) -> Rows:
    return Rows(rows.numbers, rows.codes, rows.targets, rows.weights, rows.shrink)


def one_by_one(rows: SimpleNamespace) -> np.ndarray:
    return unpacked(rows.starts, rows.size).members


@pytest.mark.parametrize("name", LOSSES)
def test_slopes_are_derivatives_of_the_losses(name: str) -> None:
    """Central differences of `total_losses` of one row, away from corners; also far beyond a table."""
    kind, setting, table = LOSSES[name]
    rng = np.random.default_rng(1)
    size = 400
    margins = rng.uniform(-4, 4, size=size) if kind == POISSON else rng.uniform(-8, 8, size=size)
    targets = targets_of(kind, size, rng)
    if kind == HINGE:
        margins = margins[np.abs(np.abs(1 - targets * margins) - setting / 2) > 1e-3]
    elif kind == HUBER:
        margins = margins[np.abs(np.abs(margins - targets) - setting) > 1e-3]
    elif kind == TABLE:
        step = 2 * REACH / (TABLED.shape[1] - 1)
        margins = margins[np.abs((margins / step) % 1.0 - 0.5) < 0.49]
    targets = targets_of(kind, margins.size, np.random.default_rng(2)) if kind == HUBER else targets[: margins.size]
    found = margins.copy()
    slopes(kind, setting, table, found, targets, np.ones(margins.size))
    empty = np.zeros((1, 0, 1), dtype=np.uint16)
    h = 1e-5
    for t, y, slope in zip(margins[:60], targets[:60], found[:60], strict=True):
        if kind == HINGE and abs(abs(1 - y * t) - setting / 2) < 1e-3:
            continue
        if kind == HUBER and abs(abs(t - y) - setting) < 1e-3:
            continue
        row = Rows(np.ones((1, 1, 1)), empty, np.full((1, 1), y), np.ones((1, 1)), np.zeros((0, 1)))
        w = np.array([[t - h], [t + h]])
        low, high = total_losses(LOSSES[name], areas_of(setting, table), w, 0, row)
        assert slope == pytest.approx(
            (high - low) / (2 * h), abs=2e-7 * max(1.0, math.exp(t) if kind == POISSON else 1)
        )
    np.testing.assert_allclose(found, slope_of(kind, setting, margins, targets), rtol=1e-12, atol=1e-12)
    order = np.argsort(margins)
    same = np.full(margins.size, targets[0])
    rising = margins[order].copy()
    slopes(kind, setting, table, rising, same, np.ones(margins.size))
    assert np.all(np.diff(rising) >= -1e-15)


def test_logistic_slope_has_no_wrong_digit_far_out() -> None:
    """The polynomial exponential against SciPy, up to margins where it is cut."""
    margins = np.concatenate([np.linspace(-800, 800, 4001), np.linspace(-40.5, 40.5, 4001), [0.0, -0.0, 1e308, -1e308]])
    found = margins.copy()
    slopes(*LOSSES["logistic"], found, np.zeros(margins.size), np.ones(margins.size))
    np.testing.assert_allclose(found, expit(margins), rtol=3e-15, atol=5e-18)
    assert found.min() >= 0.0
    assert found.max() <= 1.0


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", LOSSES)
def test_gradients_are_those_of_dense_rows(name: str, shape: dict[str, int]) -> None:
    kind, setting, _ = LOSSES[name]
    rng = np.random.default_rng(3)
    rows = design_of(kind, rng, **shape)
    w = rng.normal(size=(3, rows.size))
    y, weight = rows.targets.ravel(), rows.weights.ravel()
    expected = np.array([(weight * slope_of(kind, setting, rows.z @ one, y)) @ rows.z for one in w])
    several = gradients(LOSSES[name], w, rows.intercept, parts_of(rows), np.empty((BLOCKS, 3, rows.size)))
    np.testing.assert_allclose(several, expected, rtol=1e-11, atol=1e-11)
    for one, found in zip(w, several, strict=True):
        space = np.empty((BLOCKS, 1, rows.size))
        (alone,) = gradients(LOSSES[name], one[None], rows.intercept, parts_of(rows), space)
        np.testing.assert_allclose(alone, found, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "hinge"])
def test_gradients_are_derivatives_of_total_losses(name: str) -> None:
    """Finite differences of the whole loss, all parts of a row at once."""
    kind, setting, table = LOSSES[name]
    rng = np.random.default_rng(4)
    rows = design_of(kind, rng)
    w = 0.5 * rng.normal(size=rows.size)
    (found,) = gradients(LOSSES[name], w[None], 1, parts_of(rows), np.empty((BLOCKS, 1, rows.size)))
    h = 1e-5
    moved = np.concatenate([w + h * np.eye(rows.size), w - h * np.eye(rows.size)])
    values = total_losses(LOSSES[name], areas_of(setting, table), moved, 1, parts_of(rows))
    differences = (values[: rows.size] - values[rows.size :]) / (2 * h)
    # a corner of the curvature within h of a row shifts the difference by about h
    np.testing.assert_allclose(found, differences, rtol=1e-5, atol=1e-4)


def test_sums_do_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(5)
    rows = design_of(LOGISTIC, rng, chunks=70, size=128)
    w = rng.normal(size=(4, rows.size))
    before = numba.get_num_threads()
    found = []
    try:
        for count in {1, before}:
            numba.set_num_threads(count)
            space = np.empty((BLOCKS, 4, rows.size))
            found.append(gradients(LOSSES["logistic"], w, 1, parts_of(rows), space))
    finally:
        numba.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("ball", [math.inf, 0.7])
@pytest.mark.parametrize(("chunks", "batches"), [(7, 1), (7, 3), (8, 4), (3, 5), (1, 2)])
def test_langevin_steps_are_those_written_in_numpy(chunks: int, batches: int, ball: float) -> None:
    """The same stream of noise through a second, dense program: batches are runs of chunks in turn, none left out."""
    rng = np.random.default_rng(6)
    rows = design_of(LOGISTIC, rng, chunks=chunks)
    start = 0.1 * rng.normal(size=(2, rows.size))
    beta, precision, step, count = 0.3, 1.7, 0.01, 2 * batches + 1
    found = start.copy()
    numbers = (beta, precision, step, count, ball, batches, 0, np.random.default_rng(9))
    steps_of_langevin(LOSSES["logistic"], found, 1, parts_of(rows), one_by_one(rows), *numbers)
    noise, w, seen = np.random.default_rng(9), start.copy(), np.zeros(chunks)
    for k in range(count):
        here = batch_of(chunks, batches) == k % batches
        seen += here
        used = rows.weights.ravel() * np.repeat(here, rows.weights.shape[1])
        for chain in range(2):
            slope = used * slope_of(LOGISTIC, 0.0, rows.z @ w[chain], rows.targets.ravel())
            drift = beta * batches * (slope @ rows.z) + precision * w[chain]
            w[chain] += math.sqrt(2 * step) * noise.standard_normal(rows.size) - step * drift
            w[chain] *= min(1.0, ball / np.linalg.norm(w[chain]))
    # the last state is handed over as it was drawn: it is rounded before it is projected
    found = projected(found, ball)
    np.testing.assert_allclose(found, w, rtol=1e-10, atol=1e-12)
    assert set(seen) <= {2.0, 3.0}
    assert math.isinf(ball) or np.all(np.linalg.norm(found, axis=1) <= ball * (1 + 1e-15))


def batch_of(chunks: int, batches: int) -> np.ndarray:
    """The batch of every chunk: number b begins at the whole part of b · chunks / batches."""
    return np.array([max(b for b in range(batches) if b * chunks // batches <= chunk) for chunk in range(chunks)])


def test_pieces_of_a_run_and_its_threads_do_not_show() -> None:
    """Progress is reported in pieces; the batch goes on where it stopped, and chains do not depend on it."""
    rng = np.random.default_rng(7)
    rows = design_of(LOGISTIC, rng, chunks=6)
    seen: list[int] = []
    features = SimpleNamespace(intercept=True, offsets=rows.starts, size=rows.size)
    query = SimpleNamespace(features=features, branch=LOSSES["logistic"], ball=math.inf)
    law = GibbsLaw(0.3, 1.0, 1.0, 1.0, 1.0, step=0.01, steps=120)
    with_progress = langevin_chains(query, law, 3, rows, 2, np.random.default_rng(1), seen.append)
    whole = np.zeros((2, rows.size))
    numbers = (0.3, 1.0, 0.01, 120, math.inf, 3, 0, np.random.default_rng(1))
    steps_of_langevin(LOSSES["logistic"], whole, 1, parts_of(rows), one_by_one(rows), *numbers)
    np.testing.assert_allclose(with_progress, whole, rtol=1e-12, atol=1e-14)  # packed codes add in another order
    assert len(seen) > 1
    assert sum(seen) == 120


@pytest.mark.parametrize("levels", [(3, 4), (41, 8, 16, 7, 14, 6, 5, 2), (300, 2), (2,) * 2000, ()])
def test_packed_codes_mean_the_same_rows(levels: tuple[int, ...]) -> None:
    """The members of a row's packed coordinates are the coefficients of its levels, each once."""
    single = 3
    starts = tuple(single + sum(levels[:j]) for j in range(len(levels)))
    size = single + sum(levels)
    rng = np.random.default_rng(3)
    codes = np.stack(
        [start + rng.integers(count, size=(2, 16)) for start, count in zip(starts, levels, strict=True)]
        or [np.zeros((2, 16), dtype=int)],
        axis=1,
    )[:, : len(levels)].astype(np.uint16)
    packing = packing_of(starts, size)
    packed, members = packing.codes(codes), packing.members
    assert packed.shape[1] <= len(levels)
    assert members[0, :single].tolist() == list(range(single))
    found = members.T[packed].transpose(0, 2, 1, 3).reshape(32, -1)
    wanted = codes.transpose(0, 2, 1).reshape(32, -1)
    for here, there in zip(found, wanted, strict=True):
        assert sorted(here[here < size]) == sorted(there)


def test_adult_like_categories_share_few_packs() -> None:
    """Eight categories of Adult's sizes become three: less than half of the look-ups."""
    levels = (8, 16, 7, 14, 6, 5, 2, 41)
    starts = tuple(6 + sum(levels[:j]) for j in range(len(levels)))
    assert len(packing_of(starts, 6 + sum(levels)).packs) == 3
