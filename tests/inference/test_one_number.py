"""Mean and variance of one number are drawn from the density that a plain, fine grid has, and need no compiled loop."""

import subprocess
import sys

import numpy as np
import pytest
from test_unseen_moments import REACH, axes, conjugate_system

from discreet.inference.gaussian.one_number import draw_one_number, is_one_number
from discreet.inference.gaussian.released_sums import Term
from discreet.inference.gaussian.unseen_moments import BoxPrior, MomentTarget, target_of
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.schema.row_counts import KnownSize, UniformSizes

DRAWS = 20_000
CASES = [  # rows, Σu, Σu², width of the noise on both
    (60, (-18.0, 14.0), 6.0, DiscreteLaplace),
    (60, (-18.0, -14.0), 6.0, DiscreteLaplace),  # no table has such a sum of squares
    (300, (280.0, 250.0), 20.0, DiscreteLaplace),  # beside the upper bound
    (300, (310.0, 290.0), 10.0, DiscreteGaussian),
    (40, (-18.0, 14.0), 100.0, DiscreteLaplace),  # all is hidden
]


def plane(n: int, sums: tuple[float, float], width: float, kind: type) -> MomentTarget:
    terms = [
        Term(sums[0] * REACH, kind(width * REACH), (0,)),
        Term(sums[1] * REACH**2, kind(width * REACH**2), (0, 0)),
    ]
    system = conjugate_system(1, (), np.random.default_rng(7))
    return target_of(system, axes(1), terms, KnownSize(n), BoxPrior(0.5, 2.0), (False,), 1.0)


def on_a_grid(n: int, sums: tuple[float, float], width: float, kind: type) -> tuple[np.ndarray, ...]:
    """Means Beta(1/2, 1/2) between the bounds, variances Beta(1/2, 2) of their room, as evenly spread angles and roots."""
    points = (np.arange(700) + 0.5) / 700
    m, root = np.sin(np.pi * (points[:, np.newaxis] - 0.5)), points[np.newaxis, :]
    s = root**2 * (1.0 - m**2)

    def noise(gap: np.ndarray) -> np.ndarray:
        return -np.abs(gap) / width if kind is DiscreteLaplace else -0.5 * (gap / width) ** 2

    weight = np.log1p(-(root**2)) + noise(sums[0] - n * m) + noise(sums[1] - n * (s + m**2))
    chance = np.exp(weight - weight.max())
    return m + 0.0 * s, s, chance / chance.sum()


@pytest.mark.parametrize("believed", [1.0, 1.3])  # the twin: draws under noise of another width are caught
def test_draws_have_the_density_of_a_grid(believed: float) -> None:
    """Shares of draws below the grid's quantiles, 30 comparisons at 5 standard errors: false alarms below 1e-4."""
    rng, farthest = np.random.default_rng(3), 0.0
    for n, sums, width, kind in CASES:
        drawn = draw_one_number(plane(n, sums, believed * width, kind), DRAWS, rng)
        *values, chance = on_a_grid(n, sums, width, kind)
        for draws, x in zip(drawn, values, strict=True):
            order = np.argsort(x, axis=None)
            below = np.cumsum(chance.ravel()[order])
            for share in (0.05, 0.5, 0.95):
                k = int(np.searchsorted(below, share))
                found = float(np.mean(draws <= x.ravel()[order[k]]))
                farthest = max(farthest, abs(found - below[k]) / np.sqrt(below[k] * (1.0 - below[k]) / DRAWS))
    assert (farthest < 5.0) == (believed == 1.0), farthest


def test_any_release_has_finite_draws_within_the_bounds() -> None:
    rng = np.random.default_rng(4)
    for n in (0, 1, 10**7):
        for sums in ((0.0, 0.0), (1e9, -1e9), (-3e7, 3e7), (float(n), float(n))):
            for width in (1e-4, 1.0, 1e8):
                mean, variance = draw_one_number(plane(n, sums, width, DiscreteLaplace), 50, rng)
                assert (np.abs(mean) <= 1.0).all()  # nan is not
                assert ((variance >= 0.0) & (variance <= 1.0 - mean**2)).all()


def test_a_private_number_of_rows_is_left_to_the_chains() -> None:
    known = plane(*CASES[0])
    assert is_one_number(known)
    private = target_of(
        conjugate_system(1, (), np.random.default_rng(7)),
        axes(1),
        [Term(60.0, DiscreteLaplace(5.0)), *(Term(1.0, DiscreteLaplace(5.0), numbers) for numbers in ((0,), (0, 0)))],
        UniformSizes(100),
        BoxPrior(0.5, 2.0),
        (False,),
        1.0,
    )
    assert not is_one_number(private)


def test_one_number_compiles_nothing() -> None:
    """The first answer of `Normal` does not wait for a compiler."""
    code = (
        "import sys, discreet as dc, pyarrow as pa\n"
        "schema = dc.Schema({'x': dc.Bounded(0, 10)}, n=40)\n"
        "table = dc.open(pa.table({'x': [1.0, 4.0] * 20}), schema, id='t')\n"
        "(made,) = dc.simulate(dc.Normal('x'), table, dc.NoisyStatistics(epsilon=1.0), runs=1, seed=1)\n"
        "made.posterior().summary()\n"
        "assert 'discreet.inference.gaussian.kernels.moment_moves' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
