"""Parameters of a draw are sums of what belongs to them: none is a difference from a total that swallowed it."""

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.inference.counts.simplex import sums_of_others
from discreet.mechanisms.conjugate_sample.conjugate_sample import conjugate_draws
from discreet.queries.counts_and_sums import Axis

N = 10**9


class Recorder:
    """Stands for a generator: what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[float, ...]] = []

    def __getattr__(self, name: str) -> Any:
        def method(*arguments: float, size: int | None = None, **_: Any) -> Any:
            self.asked.append(tuple(float(np.ravel(each)[0]) for each in arguments))
            return np.ones(size or 1)

        return method


def family_of(model: Any, n: int = N) -> Any:
    columns = {"b": dc.Binary(), "x": dc.Bounded(0, 1e6, grid=1e-3), "t": dc.Bounded(1e-3, 7.0)}
    return model.query(dc.Schema(columns, n=n)).family


def check_beta(drawn_with: Any, cases: list[tuple[float, float, int]]) -> None:
    for a, b, ones in cases:
        family = family_of(dc.BetaBernoulli("b", prior=(a, b)))
        (asked,) = drawn_with(family, (N - ones, ones))
        assert asked == pytest.approx((a + ones, b + (N - ones)), rel=1e-15)


def drawn(family: Any, counts: tuple[int, int]) -> list[tuple[float, ...]]:
    recorder = Recorder()
    conjugate_draws(family, {"counts": np.array(counts)}, N, 1.0, 1.0, 1, recorder)  # type: ignore[arg-type]
    return recorder.asked


def drawn_by_difference(family: Any, counts: tuple[int, int]) -> list[tuple[float, ...]]:
    """Planted twin: the second parameter from the total."""
    alpha = np.asarray(family.prior) + np.asarray(counts, dtype=float)
    one = float(alpha[family.coordinate])
    return [(one, float(alpha.sum()) - one)]


def beta_cases() -> list[tuple[float, float, int]]:
    rng = random.Random(2)
    ends = [(1.3e-6, 1.3e-6, count) for count in (0, N)]
    return ends + [
        (10 ** rng.uniform(-6, 1), 10 ** rng.uniform(-6, 1), rng.choice([0, 1, N - 1, N])) for _ in range(20)
    ]


def test_both_parameters_of_a_beta_draw_are_sums() -> None:
    check_beta(drawn, beta_cases())
    with pytest.raises(AssertionError):
        check_beta(drawn_by_difference, beta_cases())


@pytest.mark.parametrize("column", ["x", "t"])
def test_sums_of_columns_are_counted_from_their_lower_end(column: str) -> None:
    """At the ends of the range and between, against rationals; a difference from the centre leaves 1e-16 of the middle."""
    rng = random.Random(3)
    family = family_of(dc.GammaExponential(column, prior=(2.0, 1e-6)))
    axis, lowest = family.axis, -N * family.axis.reach
    for v in (lowest, lowest + 2, -lowest - 2, -lowest, *(rng.randrange(lowest, -lowest, 2) for _ in range(20))):
        exact = N * Fraction(axis.grid) * axis.low + Fraction(axis.unit) * (v - lowest)
        assert float(axis.total(v, N)) == pytest.approx(float(exact), rel=1e-15, abs=0.0)
        shape, rate = family.update(family.exponents, 1.0, v, N)
        assert float(rate) == pytest.approx(float(exact + Fraction(1e-6)), rel=1e-15)
        assert float(shape) == 2.0 + N
    by_centre = [N * axis.centre + axis.unit * float(v) for v in (lowest, lowest + 2)]
    exact = [float(N * Fraction(axis.grid) * axis.low + Fraction(axis.unit) * step) for step in (0, 2)]
    if column == "x":  # planted twin
        assert by_centre != pytest.approx(exact, rel=1e-6, abs=0.0)


def check_ends(ends_of: Any) -> None:
    rng = random.Random(5)
    for _ in range(60):
        grid, lower = rng.choice([1e-3, 1e-2, 0.1, 0.3, 7e-5, 2.0**-10]), rng.choice([0.0, 0.0, 0.1, 3.0, 1e-4])
        column = dc.Bounded(lower, lower + 10 ** rng.uniform(0, 4), grid=grid)
        axis = Axis.of(dc.Schema({"x": column}, n=1), "x")
        exact = [Fraction(axis.grid) * (axis.low + steps) for steps in (0, axis.reach)]
        assert ends_of(axis) == pytest.approx([float(end) for end in exact], rel=1e-15, abs=0.0)


def test_the_ends_of_a_column_are_no_differences() -> None:
    """A lower end of 1e-11 for 0 adds 0.01 to the rate of a billion waiting times, and takes it from their cost."""
    check_ends(lambda axis: list(axis.ends))
    with pytest.raises(AssertionError):  # planted twin
        check_ends(lambda axis: [axis.centre - axis.unit * axis.reach, axis.centre + axis.unit * axis.reach])


def test_successes_and_failures_of_a_bounded_mean_are_sums() -> None:
    family = family_of(dc.StatisticalQuery("x", prior=(1e-6, 1e-6)))
    most = N * family.axis.reach
    for v in (-most, -most + 2, most - 2, most):
        one, other = family.update(family.exponents, 1.0, v, N)
        exact = [Fraction(1e-6) + Fraction(most + sign * v, 2 * family.axis.reach) for sign in (1, -1)]
        assert (one, other) == pytest.approx(tuple(float(each) for each in exact), rel=1e-15)
        laws = family.update(family.exponents, 1.0, v, N)
        assert [float(law) for law in laws] == pytest.approx([float(each) for each in exact], rel=1e-15)


def test_marginals_of_a_dirichlet_are_sums_of_the_others() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        alpha = np.exp(rng.uniform(-16, 21, (3, int(rng.integers(2, 6)))))
        exact = [
            [float(sum(Fraction(x) for j, x in enumerate(row) if j != i)) for i in range(len(row))] for row in alpha
        ]
        np.testing.assert_allclose(sums_of_others(alpha), exact, rtol=1e-15)
    alpha = np.array([[1e9, 1e-6]])
    assert abs((alpha.sum() - alpha)[0, 0] / 1e-6 - 1) > 0.01  # planted twin
