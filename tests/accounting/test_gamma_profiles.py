"""Exact profiles of draws of rates: every neighbouring table of a few records by quadrature, and 40-digit arithmetic."""

import itertools
import math
from collections.abc import Callable
from functools import cache

import mpmath
import numpy as np
import pytest
from scipy.special import gammaln

import discreet as dc
from discreet.accounting import gamma_profiles
from discreet.numerics.incomplete_gamma import log_gamma_tail, tail_error

LOGS = np.linspace(-45, 10, 40_001)  # of the rate
STEP = LOGS[1] - LOGS[0]

Law = tuple[float, float]


@cache
def gamma_density(law: Law) -> np.ndarray:
    """Density of the logarithm of a Gamma(shape, rate) variable."""
    shape, rate = law
    return np.exp(shape * (LOGS + math.log(rate)) - rate * np.exp(LOGS) - gammaln(shape))


def stick(one: Law, two: Law, epsilon: float) -> float:
    excess = gamma_density(one) - math.exp(epsilon) * gamma_density(two)
    return float(STEP * np.maximum(excess, 0.0).sum())


def counts_law(table: tuple[float, ...], scale: float, shrink: float) -> Law:
    return 1.3 / shrink + scale * sum(table), 0.8 / shrink + scale * len(table)


def times_law(table: tuple[float, ...], scale: float, shrink: float) -> Law:
    return 1.3 / shrink + scale * len(table), 2.5 / shrink + scale * sum(table)


# law of a draw, values of a record, certificate
FAMILIES: dict[str, tuple[Callable[..., Law], tuple[float, ...], Callable[..., dc.ConjugateProfile]]] = {
    "counts": (
        counts_law,
        (0.0, 1.0, 2.0, 3.0),
        lambda r, m: dc.ConjugateProfile("poisson-rate", {"shape": 1.3, "n": 3, "width": 3.0, "scale": r, "shrink": m}),
    ),
    "times": (
        times_law,
        (0.5, 1.0, 2.5),
        lambda r, m: dc.ConjugateProfile(
            "exponential-rate",
            {"shape": 1.3, "rate": 2.5, "n": 3, "lower": 0.5, "width": 2.0, "scale": r, "shrink": m},
        ),
    ),
}


def worst(name: str, scale: float, shrink: float, epsilon: float) -> float:
    """Over all tables of three records and all that one of them may become, in both orders."""
    law, values, _ = FAMILIES[name]
    laws = {
        (law((*rest, one), scale, shrink), law((*rest, two), scale, shrink))
        for rest in itertools.combinations_with_replacement(values, 2)
        for one, two in itertools.permutations(values, 2)
    }
    return max(stick(one, two, epsilon) for one, two in laws)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("scale", "shrink"), [(1.0, 1.0), (0.2, 1.0), (1.0, 0.1)])
def test_the_profile_is_that_of_the_worst_neighbouring_tables(name: str, scale: float, shrink: float) -> None:
    profile = FAMILIES[name][2](scale, shrink)
    for epsilon in (0.0, 0.2, 1.0, 3.0):
        assert profile.delta(epsilon) == pytest.approx(worst(name, scale, shrink, epsilon), rel=5e-5, abs=1e-10)


def counted(**changed: float) -> float:
    return gamma_profiles.gamma_shape_delta(**{"shape": 1.3, "n": 3, "width": 3.0, "epsilon": 1.0} | changed)


def timed(**changed: float) -> float:
    known = {"shape": 1.3, "rate": 2.5, "n": 3, "lower": 0.5, "width": 2.0, "epsilon": 1.0}
    return gamma_profiles.gamma_rate_delta(**known | changed)


PLANTED: dict[str, tuple[str, Callable[[], float]]] = {
    "scale halved": ("counts", lambda: counted(scale=0.5)),
    "half of the width": ("counts", lambda: counted(width=1.5)),
    "other records at the upper end": ("counts", lambda: counted(shape=1.3 + 6.0)),
    "shape of a single record": ("times", lambda: timed(n=1, rate=2.5 + 1.0)),
    "other records in the middle": ("times", lambda: timed(lower=1.0)),
    "times halved": ("times", lambda: timed(scale=0.5)),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_bug_is_below_the_worst_tables(planted: str) -> None:
    name, value = PLANTED[planted]
    assert value() < 0.98 * worst(name, 1.0, 1.0, 1.0)


@pytest.mark.parametrize("name", FAMILIES)
def test_one_order_is_not_enough(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin: with upper tails alone, or lower ones alone, some epsilon is too cheap."""
    missed, tail = 0, gamma_profiles.log_gamma_tail
    for kept in (True, False):
        monkeypatch.setattr(
            gamma_profiles,
            "log_gamma_tail",
            lambda *each, upper, kept=kept: tail(*each, upper=upper) if upper is kept else -math.inf,
        )
        profile = FAMILIES[name][2](1.0, 1.0)
        missed += any(profile.delta(e) < 0.98 * worst(name, 1.0, 1.0, e) for e in (0.2, 1.0, 3.0))
    assert missed >= 1


def shape_truth(x: mpmath.mpf, d: mpmath.mpf, epsilon: float) -> mpmath.mpf:
    e, constant = mpmath.mpf(epsilon), mpmath.loggamma(x + d) - mpmath.loggamma(x)
    low, high = mpmath.exp((constant - e) / d), mpmath.exp((constant + e) / d)
    factor = mpmath.exp(e)
    return max(
        mpmath.gammainc(x, 0, low, regularized=True) - factor * mpmath.gammainc(x + d, 0, low, regularized=True),
        mpmath.gammainc(x + d, high, regularized=True) - factor * mpmath.gammainc(x, high, regularized=True),
    )


def rate_truth(k: mpmath.mpf, c: mpmath.mpf, epsilon: float) -> mpmath.mpf:
    e, constant = mpmath.mpf(epsilon), k * mpmath.log1p(c)
    low, high, factor = max((constant - e) / c, mpmath.mpf(0)), (constant + e) / c, mpmath.exp(e)
    return max(
        mpmath.gammainc(k, high, regularized=True) - factor * mpmath.gammainc(k, (1 + c) * high, regularized=True),
        mpmath.gammainc(k, 0, (1 + c) * low, regularized=True) - factor * mpmath.gammainc(k, 0, low, regularized=True),
    )


def seen(value: float, truth: mpmath.mpf) -> float | None:
    """How far a delta is above the truth, relatively; None where it is too small to be compared in doubles."""
    return float(value / truth - 1) if truth > mpmath.mpf(10) ** -250 else None


def test_profiles_are_never_below_many_digits_and_hardly_above() -> None:
    rng = np.random.default_rng(3)
    found: list[float] = []
    with mpmath.workdps(40):
        for _ in range(60):
            shape, width, scale = 10 ** rng.uniform(-2, 3), 10 ** rng.uniform(-1, 1.5), 10 ** rng.uniform(-2, 0)
            epsilon = 10 ** rng.uniform(-2, 0.7)
            value = gamma_profiles.gamma_shape_delta(shape, 5, width, epsilon, scale=scale)
            found.append(seen(value, shape_truth(mpmath.mpf(shape), mpmath.mpf(scale) * mpmath.mpf(width), epsilon)))
            rate, n = 10 ** rng.uniform(0, 3), int(10 ** rng.uniform(0, 3))
            value = gamma_profiles.gamma_rate_delta(shape, rate, n, 0.5, width, epsilon, scale=scale)
            least = mpmath.mpf(rate) + mpmath.mpf(scale) * n / 2
            k, c = mpmath.mpf(shape) + mpmath.mpf(scale) * n, mpmath.mpf(scale) * mpmath.mpf(width) / least
            found.append(seen(value, rate_truth(k, c, epsilon)))
    above = [each for each in found if each is not None]
    assert len(above) > 80
    assert min(above) >= 0.0
    assert np.median(above) < 1e-10
    assert max(above) < 1e-8


@pytest.mark.parametrize(("shape", "deviations"), [(40.0, 6.0), (3e3, -7.0), (3e6, 5.0), (3e6, -5.0), (1e9, 8.0)])
def test_tails_keep_their_digits_where_a_series_is_cut_short(shape: float, deviations: float) -> None:
    """By quadrature in 30 digits; SciPy's own function is the planted twin at a shape of 3e6."""
    from scipy.special import gammainc, gammaincc

    point, upper = shape + deviations * math.sqrt(shape), deviations > 0
    with mpmath.workdps(30):
        a, x, sd = mpmath.mpf(shape), mpmath.mpf(point), mpmath.sqrt(shape)
        ends = [x + sd * j * (1 if upper else -1) for j in (0, 1, 2, 4, 8, 16)]
        ends = [max(end, mpmath.mpf(0)) for end in ends]
        density = lambda t: mpmath.exp((a - 1) * mpmath.log(t) - t - mpmath.loggamma(a)) if t > 0 else mpmath.mpf(0)  # noqa: E731
        truth = abs(mpmath.quad(density, ends))
        found = log_gamma_tail(shape, math.log(point), point, upper=upper)
        assert abs(mpmath.exp(found) / truth - 1) < tail_error(shape, found)
        if (shape, deviations) == (3e6, -5.0):
            cut = float((gammaincc if upper else gammainc)(shape, point))
            assert abs(cut / truth - 1) > 1e-8


def test_extremes_end_and_are_never_free() -> None:
    for scale in (1e-300, 1e-30, 1e-12, 1.0):
        for shape in (1e-300, 1e-9, 1.0, 1e9, 1e300):
            for epsilon in (0.0, 1e-9, 1.0, 700.0):
                assert 0.0 < counted(shape=shape, scale=scale, epsilon=epsilon) <= 1.0
                assert 0.0 < timed(shape=shape, scale=scale, epsilon=epsilon) <= 1.0
    assert counted(n=0) == timed(n=0) == 0.0
    assert timed(lower=-1.0) == 1.0
    assert gamma_profiles.gamma_rate_epsilon(1.0, 2.5, 3, -1.0, 2.0, 1e-6) == math.inf
