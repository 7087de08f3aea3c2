"""Every certificate is at or above the truth, in arithmetic of a hundred digits, and hardly above it.

Curves and profiles are swept over twenty decades of their parameters and orders from 1.0001 to 10,000. The formulas
that were used before, which subtracted nearly equal numbers, are planted and found.
"""

import math
import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import mpmath
import pytest
from mpmath import mpf
from pure_composition import composed_pure_delta

import discreet as dc
from discreet.accounting import conversions, curves, divergences, gamma_divergences, gibbs, profiles
from discreet.accounting.conversions import smallest_within
from discreet.accounting.loss_distribution import LossDistribution
from discreet.accounting.rounding import MARGIN, outward, typed_root_up, typed_up
from discreet.guarantee import GUARANTEES, Guarantee
from discreet.guarantee.conjugate import CURVES
from discreet.queries.features import ROUNDED_UP

DIGITS = 120
CLOSE = 1e-9  # how far a certificate may be above the truth, relative
Case = tuple[float, Any, float]  # what is certified, the truth, what may be added to CLOSE


def check(certified: float, truth: Any, allowance: float = 0.0) -> None:
    """Never below, and not above by more than a stated part of it; costs below 2^-800 are all called that."""
    assert mpf(certified) >= truth, (certified, truth)
    if mpmath.isinf(truth):
        return
    assert certified <= truth * (1 + mpf(CLOSE) + mpf(allowance)) + mpf(2) ** -799, (certified, truth)


def sweep(cases: Iterator[Case]) -> None:
    with mpmath.workdps(DIGITS):
        for case in cases:
            check(*case)


def decades(rng: random.Random, low: float, high: float) -> float:
    return 10 ** rng.uniform(low, high)


def an_order(rng: random.Random, pole: float = math.inf) -> float:
    """From 1.0001 to 10,000, or close below the order from which on the divergence is infinite."""
    order = 1 + decades(rng, -4, 4)
    return 1 + (pole - 1) * (1 - decades(rng, -6, 0)) if rng.random() < 0.3 and pole < 1e12 else order


# --- the plain notions


def pure_curve(rng: random.Random) -> Iterator[Case]:
    for _ in range(120):
        level, order = decades(rng, -17, 2.7), an_order(rng)
        e, a = mpf(level), mpf(order)
        mpmath.mp.dps = 700 if level > 50 else DIGITS
        truth = mpmath.log((mpmath.exp(a * e) + mpmath.exp((1 - a) * e)) / (1 + mpmath.exp(e))) / (a - 1)
        yield dc.PureDP(level).renyi(order), truth, 0.0


def bounded_range_curve(rng: random.Random) -> Iterator[Case]:
    for _ in range(120):
        level, order = decades(rng, -17, 2.7), an_order(rng)
        e, a = mpf(level), mpf(order)
        mpmath.mp.dps = 700 if level > 50 else DIGITS
        t = mpmath.log((a - 1) * (1 - mpmath.exp(-a * e)) / (a * (mpmath.exp(-e) - mpmath.exp(-a * e))))
        q = (mpmath.exp(-t) - mpmath.exp(-e)) / (1 - mpmath.exp(-e))
        truth = mpmath.log(q * mpmath.exp(a * t) + (1 - q) * mpmath.exp(a * (t - e))) / (a - 1)
        yield dc.BoundedRange(level).renyi(order), truth, 0.0


def straight_curves(rng: random.Random) -> Iterator[Case]:
    for _ in range(60):
        level, order = decades(rng, -10, 10), an_order(rng)
        yield dc.ZCDP(level).renyi(order), mpf(level) * mpf(order), 0.0
        yield dc.GaussianDP(level).renyi(order), mpf(level) ** 2 * mpf(order) / 2, 0.0


def gaussian_profile(rng: random.Random) -> Iterator[Case]:
    for _ in range(100):
        mu, t = decades(rng, -18, 2), rng.choice([rng.uniform(-3, 37), decades(rng, -6, 1)])
        epsilon = max(mu * (t + mu / 2), 0.0)
        m, e = mpf(mu), mpf(epsilon)
        mpmath.mp.dps = 450 if t > 8 else DIGITS
        truth = mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)
        yield dc.GaussianDP(mu).delta(epsilon), truth, 1e-14 * abs(t) * (epsilon / mu + mu)


def plain_profiles(rng: random.Random) -> Iterator[Case]:
    for _ in range(80):
        level, slack = decades(rng, -17, 2.5), decades(rng, -12, -0.3)
        epsilon = level * rng.choice([0.0, rng.uniform(0, 1), 1 - decades(rng, -9, 0)])
        e, at, s = mpf(level), mpf(epsilon), mpf(slack)
        pure = (mpmath.exp(e) - mpmath.exp(at)) / (1 + mpmath.exp(e))
        yield dc.PureDP(level).delta(epsilon), pure, 0.0
        yield dc.ApproxDP(level, slack).delta(epsilon), s + (1 - s) * pure, 0.0
        ranged = (1 - mpmath.exp((at - e) / 2)) ** 2 / (1 - mpmath.exp(-e))
        yield dc.BoundedRange(level).delta(epsilon), ranged, 0.0
        # the inverses: no smaller epsilon than the one that gives this delta
        for leaf, delta in ((dc.PureDP(level), pure), (dc.BoundedRange(level), ranged)):
            if 1e-300 < delta < 0.9:
                below = mpf(float(delta)) <= delta
                found = leaf.epsilon(float(delta) if below else math.nextafter(float(delta), 0.0))
                assert found >= at
                assert found <= epsilon + 1e-9 * level


# --- draws of conjugate posteriors


def shares(x: Any, step: Any, a: Any) -> tuple[Any, Any]:
    """What an entry that gains a step and one that loses it add to the divergence."""
    log_gamma, less = mpmath.loggamma, a - 1
    more = (log_gamma(x + a * step) - log_gamma(x + step)) / less - log_gamma(x + step) + log_gamma(x)
    if x - less * step <= 0:
        return more, mpmath.inf
    return more, (log_gamma(x - less * step) - log_gamma(x)) / less - log_gamma(x) + log_gamma(x + step)


def fractions(rng: random.Random) -> dict[str, float]:
    scale, shrink = rng.choice([(1.0, 1.0), (decades(rng, -12, 0), 1.0), (1.0, decades(rng, -12, 0))])
    return {"scale": scale, "shrink": shrink}


def dirichlet_curve(rng: random.Random) -> Iterator[Case]:
    for _ in range(70):
        prior, n, parts = (
            [decades(rng, -7, 7) for _ in range(rng.choice([2, 3]))],
            int(decades(rng, 0, 10)),
            fractions(rng),
        )
        r, x = mpf(parts["scale"]), sorted(mpf(entry) / mpf(parts["shrink"]) for entry in prior)
        order = an_order(rng, float(1 + x[0] / r))
        if not order > 1.00001:
            continue
        rest, a = r * (n - 1) if len(prior) == 2 else mpf(0), mpf(order)
        worst = max(
            shares(x[i] + mine, r, a)[0] + shares(x[1 - i] + rest - mine, r, a)[1]
            for i in (0, 1)
            for mine in (rest, mpf(0))
        )
        value = dc.RenyiDP("dirichlet", {"prior": tuple(prior), "n": n, **parts}).renyi(order)
        yield value, worst, 1e-14 / float(abs(1 - (a - 1) * r / x[0]))


def poisson_curve(rng: random.Random) -> Iterator[Case]:
    for _ in range(70):
        shape, width, n, parts = decades(rng, -7, 7), decades(rng, -6, 6), int(decades(rng, 0, 10)), fractions(rng)
        x, step = mpf(shape) / mpf(parts["shrink"]), mpf(parts["scale"]) * mpf(width)
        order = an_order(rng, float(1 + x / step))
        if not order > 1.00001:
            continue
        worst = max(share for held in (x, x + step * (n - 1)) for share in shares(held, step, mpf(order)))
        value = dc.RenyiDP("poisson-rate", {"shape": shape, "n": n, "width": width, **parts}).renyi(order)
        yield value, worst, 1e-14 / float(abs(1 - (mpf(order) - 1) * step / x))


def exponential_curve(rng: random.Random) -> Iterator[Case]:
    for _ in range(150):
        shape, rate, width = decades(rng, -7, 7), decades(rng, -10, 10), decades(rng, -6, 6)
        n, lower, parts = int(decades(rng, 0, 10)), rng.choice([0.0, decades(rng, -6, 6)]), fractions(rng)
        r, m = mpf(parts["scale"]), mpf(parts["shrink"])
        least, step = mpf(rate) / m + r * mpf(lower) * n, r * mpf(width)
        order = an_order(rng, float(1 + least / step))
        if not order > 1.00001:
            continue
        less, worst = mpf(order) - 1, mpf(0)
        for base in (least, least + step * (n - 1)):
            for c in (step / base, -step / (base + step)):
                worst = max(
                    worst, mpmath.inf if less * c >= 1 else -mpmath.log(1 - less * c) / less - mpmath.log(1 + c)
                )
        parameters = {"shape": shape, "rate": rate, "n": n, "lower": lower, "width": width, **parts}
        value = dc.RenyiDP("exponential-rate", parameters).renyi(order)
        yield value, (mpf(shape) / m + r * n) * worst, 1e-14 / float(abs(1 - less * step / least))


def gaussian_mean_curve(rng: random.Random) -> Iterator[Case]:
    for _ in range(60):
        variance, prior_variance, clip = decades(rng, -7, 7), decades(rng, -7, 7), decades(rng, -7, 7)
        n, order = int(decades(rng, 0, 10)), an_order(rng)
        squared = (2 * mpf(clip) / mpf(variance)) ** 2 / (n / mpf(variance) + 1 / mpf(prior_variance))
        parameters = {"n": n, "variance": variance, "prior_variance": prior_variance, "clip": clip}
        yield dc.RenyiDP("gaussian-mean", parameters).renyi(order), mpf(order) * squared / 2, 0.0


def incomplete_beta(a: Any, b: Any, log_t: Any, log_u: Any) -> Any:
    """I_t(a, b) by its power series, u = 1 - t, from the side where it converges quickly."""
    if log_t > log_u:
        return 1 - incomplete_beta(b, a, log_u, log_t)
    t, term, total, k = mpmath.exp(log_t), mpf(1), mpf(1), 0
    while term > total * mpf(10) ** -40:
        term *= t * (a + b + k) / (a + 1 + k)
        total, k = total + term, k + 1
    log_beta = mpmath.loggamma(a) + mpmath.loggamma(b) - mpmath.loggamma(a + b)
    return mpmath.exp(a * log_t + b * log_u - log_beta) * total / a


def beta_profile(rng: random.Random) -> Iterator[Case]:
    """One record, so that there are two pairs only: the sweep over counts has its own tests."""
    mpmath.mp.dps = 50
    for _ in range(40):
        a, b, parts = decades(rng, -5, 2), decades(rng, -5, 2), fractions(rng)
        r, x, y = mpf(parts["scale"]), mpf(a) / mpf(parts["shrink"]), mpf(b) / mpf(parts["shrink"])
        if float(x + y) > 150:
            continue
        # near the deviation of the log-ratio
        epsilon = float(r * mpmath.sqrt(1 / x + 1 / y)) * decades(rng, -2, 0.7)
        worst = mpf(0)
        for one, two in ((x, y), (y, x)):
            log_constant = (
                mpmath.loggamma(one + r) - mpmath.loggamma(one) + mpmath.loggamma(two) - mpmath.loggamma(two + r)
            )
            z = (log_constant - mpf(epsilon)) / r
            tail = (-mpmath.log1p(mpmath.exp(-z)), -mpmath.log1p(mpmath.exp(z)))
            p, q = incomplete_beta(one, two + r, *tail), incomplete_beta(one + r, two, *tail)
            worst = max(worst, p - mpmath.exp(epsilon) * q)
        value = dc.ConjugateProfile("dirichlet", {"prior": (b, a), "n": 1, **parts}).delta(epsilon)
        yield value, worst, 1e-12 / float(min(r / x, r / y, 1)) + (1e-9 if worst > mpf(10) ** -250 else math.inf)


def wide_beta_profile(rng: random.Random) -> Iterator[Case]:
    """Large parameters, by quadrature: from 1e11 on SciPy's incomplete beta function errs by 1e-5, then has no value."""
    mpmath.mp.dps = 40
    for _ in range(14):
        a = decades(rng, 3, 13)
        b, epsilon = rng.choice([a, a, a * decades(rng, -1, 1)]), decades(rng, -1.5, 0.5)
        epsilon *= math.sqrt(1 / a + 1 / b)
        at = mpf(epsilon)
        log_constant = mpmath.log(mpf(a)) - mpmath.log(mpf(b))
        total, one, two = mpf(a) + mpf(b) + 1, mpf(a), mpf(b) + 1
        mean, deviation = one / total, mpmath.sqrt(one * two / total**3)
        log_beta = mpmath.loggamma(one) + mpmath.loggamma(two) - mpmath.loggamma(total)
        end = 1 / (1 + mpmath.exp(at - log_constant))

        def excess(p: Any, one: Any = one, two: Any = two, norm: Any = log_beta, shift: Any = at - log_constant) -> Any:
            density = mpmath.exp((one - 1) * mpmath.log(p) + (two - 1) * mpmath.log1p(-p) - norm)
            return -density * mpmath.expm1(shift + mpmath.log(p) - mpmath.log1p(-p))

        cuts = [mean - 11 * deviation + (end - mean + 11 * deviation) * i / 4 for i in range(5)]
        truth = mpmath.quad(excess, cuts, method="gauss-legendre", maxdegree=5) * (1 - mpf(10) ** -15)
        value = dc.ConjugateProfile("dirichlet", {"prior": (b, a), "n": 1}).delta(epsilon)
        yield value, truth, math.inf if min(a, b) > 1e9 else 1e-3


def deep_beta_profile(rng: random.Random) -> Iterator[Case]:
    """A tiny weight beside a large one: the whole mass is within e^-600 of an end, where the leading term is all."""
    mpmath.mp.dps = 60
    for _ in range(12):
        a, b, scale = decades(rng, -5.5, -4), decades(rng, 2, 6), decades(rng, -10, -8)
        epsilon, r = scale / a * decades(rng, -3, 0), mpf(scale)
        x, y, gamma = mpf(a), mpf(b), mpmath.loggamma
        log_constant = gamma(x + r) - gamma(x) + gamma(y) - gamma(y + r)
        z = (log_constant - mpf(epsilon)) / r
        assert z < -700
        p = mpmath.exp(x * z - gamma(1 + x) - gamma(y + r) + gamma(x + y + r))
        q = mpmath.exp((x + r) * z - gamma(1 + x + r) - gamma(y) + gamma(x + y + r))
        value = dc.ConjugateProfile("dirichlet", {"prior": (b, a), "n": 1, "scale": scale}).delta(epsilon)
        yield value, p - mpmath.exp(mpf(epsilon)) * q, 1e-4


def poisson_profile(rng: random.Random) -> Iterator[Case]:
    mpmath.mp.dps = 50
    for _ in range(30):
        shape, width, parts = decades(rng, -4, 3), decades(rng, -1, 2), fractions(rng)
        x, d = mpf(shape) / mpf(parts["shrink"]), mpf(parts["scale"]) * mpf(width)
        if float(x + d) > 1e5:
            continue
        epsilon = float(d * mpmath.sqrt(1 / x)) * decades(rng, -2, 0.7)
        constant = mpmath.loggamma(x + d) - mpmath.loggamma(x)
        low, high = (mpmath.exp((constant + sign * mpf(epsilon)) / d) for sign in (-1, 1))
        below = [mpmath.gammainc(a, 0, low, regularized=True) for a in (x, x + d)]
        beyond = [mpmath.gammainc(a, high, regularized=True) for a in (x + d, x)]
        worst = max(p - mpmath.exp(epsilon) * q for p, q in (below, beyond))
        value = dc.ConjugateProfile("poisson-rate", {"shape": shape, "n": 7, "width": width, **parts}).delta(epsilon)
        rounded = 1e-11 / float(min(d / mpmath.sqrt(x), 1)) + 1e-11 * float(1 + abs(constant))
        yield value, worst, rounded + (1e-9 if worst > mpf(10) ** -250 else math.inf)


def exponential_profile(rng: random.Random) -> Iterator[Case]:
    mpmath.mp.dps = 50
    for _ in range(30):
        shape, rate, n, parts = decades(rng, -3, 2), decades(rng, -1, 4), int(decades(rng, 0, 3)), fractions(rng)
        lower, width = rng.choice([0.0, 0.5]), decades(rng, -1, 1)
        k = mpf(shape) / mpf(parts["shrink"]) + mpf(parts["scale"]) * n
        c = mpf(parts["scale"]) * mpf(width) / (mpf(rate) / mpf(parts["shrink"]) + mpf(parts["scale"]) * n * mpf(lower))
        if float(k) > 1e5:
            continue
        constant, epsilon = k * mpmath.log1p(c), float(c * mpmath.sqrt(k)) * decades(rng, -2, 0.7)
        low, high = (max((constant + sign * mpf(epsilon)) / c, mpf(0)) for sign in (-1, 1))
        below = [mpmath.gammainc(k, 0, at, regularized=True) for at in ((1 + c) * low, low)]
        beyond = [mpmath.gammainc(k, at, regularized=True) for at in (high, (1 + c) * high)]
        worst = max(p - mpmath.exp(epsilon) * q for p, q in (below, beyond))
        known = {"shape": shape, "rate": rate, "n": n, "lower": lower, "width": width, **parts}
        value = dc.ConjugateProfile("exponential-rate", known).delta(epsilon)
        rounded = 1e-10 / float(min(c * mpmath.sqrt(k), 1)) + 1e-11 * float(1 + constant)
        yield value, worst, rounded + (1e-9 if worst > mpf(10) ** -250 else math.inf)


def independent_draws(rng: random.Random) -> Iterator[Case]:
    """The sum of positive terms at every stationary offset."""
    mpmath.mp.dps = 50
    for _ in range(14):
        level, draws = decades(rng, -2, 0.7), rng.randint(1, 24)
        e, at = mpf(level), decades(rng, -2, 0)
        epsilon, worst = draws * level * at, mpf(0)
        for last in range(draws):
            t = min((mpf(epsilon) + (last + 1) * e) / (draws + 1), e)
            x = mpmath.expm1(t) / mpmath.expm1(e)
            terms = (
                mpmath.binomial(draws, i)
                * x**i
                * (1 - x) ** (draws - i)
                * -mpmath.expm1(mpf(epsilon) - draws * t + i * e)
                for i in range(draws + 1)
            )
            worst = max(worst, mpmath.fsum(term for term in terms if term > 0))
        yield dc.IndependentDraws(dc.BoundedRange(level), draws).delta(epsilon), worst, 1e-9 / (level * (1 - at))


# --- noise and composition


def discrete_profiles(rng: random.Random) -> Iterator[Case]:
    mpmath.mp.dps = 60
    for _ in range(12):
        shift, scale = rng.randint(1, 4), decades(rng, -0.5, 1)
        epsilon = shift / scale * rng.uniform(0, 1)
        rate = 1 / mpf(scale)
        ks = range(-int(60 * scale) - 20, int(60 * scale) + 20)
        laplace = [mpmath.exp(-abs(k) * rate) for k in range(ks[0] - shift, ks[-1] + 1)]
        unit = mpmath.tanh(rate / 2)
        gain = mpmath.exp(epsilon)
        excess = (laplace[i + shift] - gain * laplace[i] for i in range(len(ks)))
        yield (
            profiles.discrete_laplace_delta(shift, scale, epsilon),
            unit * mpmath.fsum(max(e, 0) for e in excess),
            1e-7,
        )
        sigma = max(scale, 0.4)
        normal = [mpmath.exp(-(mpf(k) ** 2) / (2 * mpf(sigma) ** 2)) for k in range(ks[0] - shift, ks[-1] + 1)]
        mass = mpmath.fsum(normal)
        at = shift / sigma * rng.uniform(0, 4)
        excess = (normal[i + shift] - mpmath.exp(at) * normal[i] for i in range(len(ks)))
        truth = mpmath.fsum(max(e, 0) for e in excess) / mass
        yield profiles.discrete_gaussian_delta(shift, sigma, at), truth, 1e-7


def pure_compositions(rng: random.Random) -> Iterator[Case]:
    mpmath.mp.dps = 60
    for _ in range(12):
        level, count = decades(rng, -3, 0.5), rng.choice([2, 3, 10, 60])
        epsilon = level * count * rng.choice([0.0, rng.uniform(0, 0.9)])
        e = mpf(level)
        p = 1 / (1 + mpmath.exp(-e))
        terms = (
            (mpmath.binomial(count, i) * p**i * (1 - p) ** (count - i), (2 * i - count) * e) for i in range(count + 1)
        )
        truth = mpmath.fsum(w * (1 - mpmath.exp(mpf(epsilon) - loss)) for w, loss in terms if loss > epsilon)
        yield composed_pure_delta(level, count, epsilon), truth, 0.0
        yield LossDistribution.pure(level, grid=level).self_compose(count).delta(epsilon), truth, 0.0
        yield dc.Repeated(dc.PureDP(level), count).delta(epsilon), truth, 0.0


def converted(rng: random.Random) -> Iterator[Case]:
    """The improved conversion at its best order, found again in many digits."""
    mpmath.mp.dps = 40
    for _ in range(10):
        rho, delta = decades(rng, -5, 1), decades(rng, -12, -1)
        if rng.random() < 0.4:  # its best order is next to 1
            rho, delta = rng.uniform(14, 30), 1 - decades(rng, -5, -3)
        r, d = mpf(rho), mpf(delta)

        def bound(u: Any, r: Any = r, d: Any = d) -> Any:
            a = 1 + mpmath.exp(u)
            return r * a + mpmath.log1p(-1 / a) - (mpmath.log(d) + mpmath.log(a)) / (a - 1)

        left, right = mpf(-13), mpf(15)
        for _ in range(90):
            one, two = left + (right - left) * mpf("0.382"), left + (right - left) * mpf("0.618")
            left, right = (left, two) if bound(one) <= bound(two) else (one, right)
        epsilon = max(bound(left), mpf(0))
        yield dc.ZCDP(rho).epsilon(delta), epsilon, 1e-9
        if epsilon > 0:
            # a delta for a slightly smaller epsilon is a larger one
            assert mpf(dc.ZCDP(rho).delta(float(epsilon * (1 - mpf(10) ** -13)))) >= d
        third = Fraction(repr(rho)) / 3
        yield (
            dc.Repeated(dc.ZCDP(float(third)), 3).epsilon(delta),
            max(min(bound(left), bound(right)), 0) * (1 - mpf(10) ** -15),
            1e-9,
        )


def distances(rng: random.Random) -> Iterator[Case]:
    for _ in range(20):
        mu, tv, epsilon = decades(rng, -3, 0.5), decades(rng, -14, -6), rng.uniform(0, 3)
        best = mpmath.inf
        for at in (epsilon * i / 40 for i in range(41)):  # any of them bounds the smallest from above
            m, e = mpf(mu), mpf(at)
            ideal = mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)
            best = min(best, ideal + (1 + mpmath.exp(e)) * mpf(tv))
        within = dc.Within(dc.GaussianDP(mu), tv)
        assert within.delta(epsilon) <= best * (1 + mpf(10) ** -4)
        found = within.epsilon(1e-4)
        m, e = mpf(mu), mpf(found)
        if math.isfinite(found):
            ideal = mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)
            assert ideal + (1 + mpmath.exp(e)) * mpf(tv) <= mpf(1e-4)
        yield (
            dc.Repeated(dc.GaussianDP(mu), 7).epsilon(1e-6),
            mpf(dc.GaussianDP(typed_root_up(7 * Fraction(repr(mu)) ** 2)).epsilon(1e-6)),
            0.0,
        )
        yield (
            dc.AllOf((dc.PureDP(epsilon + 0.1), dc.GaussianDP(mu))).delta(epsilon),
            min(mpf(dc.PureDP(epsilon + 0.1).delta(epsilon)), mpf(dc.GaussianDP(mu).delta(epsilon))),
            0.0,
        )
        yield (
            dc.Composed((dc.ApproxDP(epsilon + 0.1, tv), dc.PureDP(0.2))).epsilon(tv),
            mpf(epsilon + 0.1) + mpf(0.2),
            1e-12,
        )


def chains(rng: random.Random) -> Iterator[Case]:
    """What a mechanism charges for exact draws and for the last of many Langevin steps, also of the longest ones."""
    for _ in range(60):
        convexity, gradient = decades(rng, -6, 6), decades(rng, -6, 6)
        smoothness, steps = convexity * (1 + decades(rng, -3, 10)), int(decades(rng, 0, 9))
        step = rng.choice([2 / (convexity + smoothness), 1 / smoothness, decades(rng, -4, 0) / smoothness])
        h, m = mpf(step), mpf(convexity)
        c = max(abs(1 - h * m), abs(1 - h * mpf(smoothness)))
        ratio = (1 - c**steps) / (1 + c**steps) * (1 + c) / (1 - c) if c > 0 else mpf(1)
        truth = mpf(gradient) * mpmath.sqrt(h / 2) * mpmath.sqrt(ratio)
        found = gibbs.langevin_mu(gradient, step, steps, convexity=convexity, smoothness=smoothness) * ROUNDED_UP
        yield found, truth, 1e-14 / float(1 - c)
        n, beta = int(decades(rng, 0, 9)), decades(rng, -8, 0)
        exact = mpf(beta) * mpf(gradient) / mpmath.sqrt(m + n * mpf(beta))
        yield gibbs.gibbs_mu(beta, gradient, prior_convexity=convexity, n=n, loss_convexity=1.0), exact, 0.0


SWEEPS: dict[str, Callable[[random.Random], Iterator[Case]]] = {
    "PureDP": pure_curve,
    "BoundedRange": bounded_range_curve,
    "ZCDP, GaussianDP": straight_curves,
    "GaussianDP profile": gaussian_profile,
    "ApproxDP and plain profiles": plain_profiles,
    "ConjugateProfile": beta_profile,
    "ConjugateProfile of large weights": wide_beta_profile,
    "ConjugateProfile of a tiny weight": deep_beta_profile,
    "ConjugateProfile poisson-rate": poisson_profile,
    "ConjugateProfile exponential-rate": exponential_profile,
    "IndependentDraws": independent_draws,
    "RenyiDP dirichlet": dirichlet_curve,
    "RenyiDP poisson-rate": poisson_curve,
    "RenyiDP exponential-rate": exponential_curve,
    "RenyiDP gaussian-mean": gaussian_mean_curve,
    "chains": chains,
    "noise": discrete_profiles,
    "Repeated": pure_compositions,
    "conversions": converted,
    "Composed, Within, AllOf": distances,
}


@pytest.mark.parametrize("name", SWEEPS)
def test_certificates_are_never_below_the_truth_and_hardly_above(name: str) -> None:
    sweep(SWEEPS[name](random.Random(14)))


def test_every_kind_and_every_family_is_swept() -> None:
    said = " ".join(SWEEPS)
    assert all(kind in said for kind in GUARANTEES)
    assert all(family in said for family in CURVES)


def test_waiting_times_on_a_wide_range_cost_what_they_cost() -> None:
    """A rate of 1e22 and a step of 1e6: their sum has no digit of the step, and the certificate was 0."""
    schema = dc.Schema({"t": dc.Bounded(0, 1e6)}, n=100)
    query = dc.GammaExponential("t", prior=(10, 1e-6)).query(schema)
    mechanism = dc.ConcentratedSample(epsilon=0.001, order=20)
    guarantee = mechanism.guarantee(query)
    assert 0.0009 < guarantee.renyi(20) <= 0.001
    truth = dict(guarantee.arguments()["parameters"])
    with mpmath.workdps(DIGITS):
        base, step = mpf(truth["rate"]) / mpf(truth["shrink"]), mpf(truth["width"])
        power = mpf(truth["shape"]) / mpf(truth["shrink"]) + truth["n"]
        c = step / base
        assert guarantee.renyi(20) >= power * (-mpmath.log(1 - 19 * c) / 19 - mpmath.log(1 + c))


# --- planted twins: the formulas that subtract


def old_rate_divergence(p: float, q: float, step: float, order: float) -> float:
    change = (q - p) / p
    left = (order - 1.0) * change
    return math.inf if left >= 1.0 else -math.log1p(-left) / (order - 1.0) - math.log1p(change)


def old_bounded_range(level: float, order: float) -> float:
    if level > 500.0 or level < 1e-3:
        return min(order * level**2 / 8, level)
    a = max(order, 1.001)
    t = math.log((a - 1) / a) + level + math.log(-math.expm1(-a * level)) - math.log(-math.expm1((1 - a) * level))
    t = min(max(t, 0.0), level)
    q = math.exp(-t) * -math.expm1(t - level) / -math.expm1(-level)
    return (a * t + math.log(q + (1 - q) * math.exp(-a * level))) / (a - 1)


def old_gaussian(mu: float, epsilon: float) -> float:
    from scipy.special import log_ndtr

    above, below = float(log_ndtr(-epsilon / mu + mu / 2)), epsilon + float(log_ndtr(-epsilon / mu - mu / 2))
    return math.exp(above) * -math.expm1(min(below - above, 0.0)) if math.isfinite(above) else 5e-324


def old_stirling(p: Any, q: Any, difference: Any, order: float) -> Any:
    """The rest of Stirling's formula as a difference of two values: nothing of it is left for small steps."""
    import numpy as np
    from scipy.special import gammaln

    p, d = np.asarray(p, dtype=float), np.asarray(difference, dtype=float)
    mixed = p + (order - 1) * d
    with np.errstate(invalid="ignore"):
        share = (gammaln(mixed) - gammaln(p)) / (order - 1) - (gammaln(p) - gammaln(p - d))
    return np.where(mixed > 0, share, np.inf)


def old_leading(a: Any, b: Any, y: Any) -> Any:
    import numpy as np
    from scipy.special import betaln

    return a * y - np.log(a) - betaln(a, b)


def old_conversion(curve: Callable[[float], float], delta: float) -> float:
    """One minus the reciprocal of an order that is next to 1."""

    def bound(order: float) -> float:
        divergence, room = curve(order), (math.log(delta) + math.log(order)) / (order - 1)
        terms = divergence - math.log1p(-1 / order) + (math.log(order) - math.log(delta)) / (order - 1)
        return divergence + math.log1p(-1 / order) - room + 2.0**-50 * terms

    return max(conversions._smallest(bound), 0.0)


@pytest.mark.parametrize(
    ("name", "module", "function", "planted"),
    [
        ("RenyiDP exponential-rate", gamma_divergences, "_rate_divergence", old_rate_divergence),
        ("BoundedRange", curves, "bounded_range_renyi", old_bounded_range),
        ("GaussianDP profile", curves, "gaussian_delta", old_gaussian),
        ("ConjugateProfile of a tiny weight", profiles, "_log_leading", old_leading),
        ("conversions", conversions, "renyi_epsilon", old_conversion),
        ("RenyiDP dirichlet", divergences, "entry_divergence", old_stirling),
        ("RenyiDP poisson-rate", divergences, "entry_divergence", old_stirling),
    ],
)
def test_formulas_that_cancel_are_found(
    name: str, module: Any, function: str, planted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, function, planted)
    with pytest.raises(AssertionError):
        sweep(SWEEPS[name](random.Random(14)))


def check_endless_weights() -> None:
    rng = random.Random(9)
    for _ in range(40):
        a, factor = decades(rng, 9, 30), decades(rng, 0, 1)
        profile = dc.ConjugateProfile("dirichlet", {"prior": (a, a * factor), "n": 1})
        assert 0 < profile.delta(rng.choice([0.0, 1e-12, 1 / math.sqrt(a)])) < 1e-4


def test_weights_beyond_every_digit_have_a_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    check_endless_weights()
    monkeypatch.setattr(profiles, "LARGEST_PARAMETER", math.inf)  # planted twin
    with pytest.raises(AssertionError):
        check_endless_weights()


# --- what is calibrated is calibrated to the number that is charged


SCHEMA = dc.Schema(
    {"b": dc.Binary(), "k": dc.Categorical(["A", "B", "C"]), "x": dc.Bounded(0, 10), "c": dc.Count(20)}, n=400
)
MODELS = [
    dc.BetaBernoulli("b", prior=(2, 3)),
    dc.DirichletCategorical("k", prior=2.0),
    dc.NormalMean("x", sd=1.0, prior=(0.0, 1.0)),
    dc.GammaPoisson("c", prior=(30.0, 1.0)),
    dc.GammaExponential("x", prior=(3.0, 50.0)),
    dc.StatisticalQuery("x"),
]


@pytest.mark.parametrize(
    ("kind", "model"),
    [
        pytest.param(
            kind, model, id=f"{kind.__name__}-{type(model).__name__}", marks=[pytest.mark.audit] if (i + j) % 2 else []
        )
        for i, kind in enumerate((dc.DiffusedSample, dc.ConcentratedSample))
        for j, model in enumerate(MODELS)
    ],
)
def test_a_calibrated_draw_is_charged_no_more_than_its_target(model: Any, kind: Any) -> None:
    query, rng = model.query(SCHEMA), random.Random(5)
    epsilon, delta, order = decades(rng, -3, 0.3), decades(rng, -9, -4), 1 + decades(rng, -1, 1.3)
    assert kind(epsilon=epsilon, order=order).guarantee(query).renyi(order) <= epsilon
    guarantee: Guarantee = kind(epsilon=epsilon, delta=delta).guarantee(query)
    assert guarantee.epsilon(delta) <= epsilon * (1 + 1e-15)
    assert guarantee.delta(epsilon) <= delta * (1 + 1e-12)
    fractions = kind(epsilon=epsilon, delta=delta).fractions(query)
    calibrated = query.family.calibration(query.largest_total, *fractions)
    assert guarantee.epsilon(delta) <= calibrated.epsilon(delta)
    assert calibrated.epsilon(delta) >= epsilon * (1 - 1e-6) or 1.0 in fractions[:1]


def test_inverses_return_their_safe_end() -> None:
    rng = random.Random(6)
    for _ in range(12):
        epsilon, delta = decades(rng, -2, 1), decades(rng, -12, -3)
        mu, rho = conversions.gaussian_mu(epsilon, delta), conversions.zcdp_rho(epsilon, delta)
        assert dc.GaussianDP(mu).delta(epsilon) <= delta < dc.GaussianDP(mu * (1 + 1e-9)).delta(epsilon)
        assert dc.ZCDP(rho).epsilon(delta) <= epsilon < dc.ZCDP(rho * (1 + 1e-9)).epsilon(delta)
        inverse = smallest_within(lambda x: lambda order: curves.zcdp_renyi(1 / x, order), epsilon, delta, low=1e-9)
        assert dc.ZCDP(1 / inverse).epsilon(delta) <= epsilon * (1 + 1e-12)


def test_rounding_outward_is_small_and_in_one_place() -> None:
    assert outward(1.0) == pytest.approx(1 + MARGIN, rel=1e-15)
    assert outward(0.0) > 0
    assert math.isinf(outward(math.inf))
    assert typed_up(3 * Fraction("0.1")) == 0.3
    assert typed_root_up(Fraction("0.09")) == 0.3
