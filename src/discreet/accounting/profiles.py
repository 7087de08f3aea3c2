"""Exact privacy profiles delta(epsilon) = sup_A P(A) - e^epsilon Q(A), and their inverses at the safe end.

    Beta draws          the worst of all k successes among n records and of both orders (replace-one, n public)
    Dirichlet draws     of three or more cells: the Beta profile of the two smallest prior entries and one record
    discrete Laplace    integer shift against scale, in closed form
    discrete Gaussian   integer shift against sigma, as two tails of the law, rounded up

For Beta(a1, b1) against Beta(a2, b2), a2 = a1 + r, b2 = b1 - r, the log-ratio is lc - r logit(p), so the worst event
is p ≤ sigma(y), y = (lc - epsilon) / r, and delta = I_t(a1, b1) - e^epsilon I_t(a2, b2) at t = sigma(y). The other
order is the same pair with a and b exchanged. Where y is large, 1 - t = sigma(-y) carries the digits: sigma(y) would
round to 1 and drop all the mass that a small b puts near 1.

The profile falls in a1 and in b2, also jointly: p = X/(X + Y) of independent Gamma variables, X + Y is independent of p
and has one law on both sides, so X and Y can be drawn from p, and adding Gamma variables to them is post-processing.
Many counts are therefore bounded by one pair, with the fewest successes and failures among them, and parameters beyond
the reach of the incomplete beta function by smaller ones.

A record that moves from cell i to cell j of a Dirichlet law leaves p_i + p_j and all other cells their law, and the
log-ratio depends on p_i / (p_i + p_j) alone: a Beta pair with what the two cells hold. The profile falls in both, and
with a third cell all other records may be there, so that the two smallest prior entries alone are the worst pair.

A profile is an envelope over pairs: it must not be composed. Several draws are composed pair by pair, or by Renyi.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.accounting.conversions import solve_decreasing
from discreet.accounting.rounding import MARGIN, SMALLEST_DELTA, ULPS, outward_delta, rational
from discreet.errors import GuaranteeError
from discreet.numerics.arrays import Array
from discreet.numerics.gamma_functions import log_gamma_ratio

__all__ = [
    "beta_concentrated_shrink",
    "beta_delta",
    "beta_diffused_scale",
    "beta_epsilon",
    "dirichlet_delta",
    "dirichlet_epsilon",
    "discrete_gaussian_delta",
    "discrete_gaussian_tail",
    "discrete_laplace_delta",
]


# Below sigma(-600) the incomplete beta function is its leading term to every digit, and the argument would underflow.
DEEP = 600.0

# Up to here both parameters may grow together: at ten times as much SciPy's incomplete beta function errs by 1e-5.
LARGEST_PARAMETER = 1e10

SMALLEST_SCALE = 2.0**-60  # below, the event is lost in rounding and the distance of the two laws is the bound
MOST_RECORDS = 2**60  # fewer records have the larger profile
MOST_BLOCKS = 512  # of counts that are looked at; what is left then is bounded as it is
CLOSE = 1.0 + 2.0**-30  # a block this little above a pair that was seen is not split

# Sums of up to 40 sigma terms; above it Euler-Maclaurin's two corrections leave less than 1e-13 of the tail.
LARGEST_SUMMED_SIGMA = 1000.0

# What a tail of a discrete Gaussian may be wrong by, relative to itself.
ROUNDING = 1e-12


def beta_delta(a: float, b: float, n: int, epsilon: float, *, scale: float = 1.0, shrink: float = 1.0) -> float:
    """delta(epsilon) of one draw from Beta(a/shrink + scale·k, b/shrink + scale·(n-k)), over all k and both orders."""
    _check_beta(a, b, n, scale, shrink)
    return _worst(_Family(a / shrink, b / shrink, n, epsilon, scale)) if n > 0 else 0.0


def beta_epsilon(a: float, b: float, n: int, delta: float, *, scale: float = 1.0, shrink: float = 1.0) -> float:
    """The smallest epsilon certified at `delta`, rounded up."""
    _check_beta(a, b, n, scale, shrink)
    return _solve(lambda epsilon: _Family(a / shrink, b / shrink, n, epsilon, scale), n, delta, low=0.0)


def dirichlet_delta(
    prior: Sequence[float], n: int, epsilon: float, *, scale: float = 1.0, shrink: float = 1.0
) -> float:
    """delta(epsilon) of one draw from Dirichlet(prior/shrink + scale·counts), over all neighbouring tables of n."""
    return beta_delta(*_two_cells(prior, n), epsilon, scale=scale, shrink=shrink)


def dirichlet_epsilon(
    prior: Sequence[float], n: int, delta: float, *, scale: float = 1.0, shrink: float = 1.0
) -> float:
    """The smallest epsilon certified at `delta`, rounded up."""
    return beta_epsilon(*_two_cells(prior, n), delta, scale=scale, shrink=shrink)


def beta_diffused_scale(a: float, b: float, n: int, epsilon: float, delta: float) -> float:
    """The largest scale in (0, 1] whose draw is (epsilon, delta)-DP, rounded down: positive where Renyi is infinite."""
    _check_beta(a, b, n, 1.0, 1.0)
    return _fraction(
        _solve(lambda inverse: _Family(a, b, n, epsilon, 1.0 / inverse), n, delta, low=1.0), epsilon, delta
    )


def beta_concentrated_shrink(a: float, b: float, n: int, epsilon: float, delta: float) -> float:
    """The largest shrink in (0, 1] of the prior whose draw is (epsilon, delta)-DP, rounded down."""
    _check_beta(a, b, n, 1.0, 1.0)

    def family_at(inverse: float) -> _Family:
        shrink = 1.0 / inverse
        return _Family(a / shrink, b / shrink, n, epsilon, 1.0)

    return _fraction(_solve(family_at, n, delta, low=1.0), epsilon, delta)


def discrete_laplace_delta(shift: int, scale: float, epsilon: float) -> float:
    """Profile of noise tanh(1/2b) e^{-|k|/b} against itself shifted by an integer."""
    _check_shift(shift, scale)
    if rational(epsilon) * rational(scale) >= shift:
        return 0.0
    # P(k ≤ m) - e^epsilon P(k ≤ m - shift) at the worst integer m; its neighbours guard against a rounded quotient.
    m = np.clip(np.ceil((shift - epsilon * scale) / 2) - 1 + np.arange(-1, 3), 0, shift)
    loss = (shift - m) / scale
    excess = np.minimum(epsilon - loss - ULPS * loss, 1.0)  # an event with a positive excess is never the worst
    gain = -np.expm1(excess) - math.exp(-1 / scale) * np.expm1(-m / scale)
    return outward_delta(max(float(gain.max()), 0.0) / (1 + math.exp(-1 / scale)))


def discrete_gaussian_delta(shift: int, sigma: float, epsilon: float) -> float:
    """Profile of noise ∝ e^{-k²/2 sigma²} against itself shifted by an integer, rounded up.

    Above the Gaussian profile with mu = shift / sigma: it is not Gaussian DP  [CKS2020, Thm 7].
    """
    _check_shift(shift, sigma)
    # The log-ratio (shift² - 2 k shift) / 2 sigma² exceeds epsilon for k ≤ last, or k ≤ last ± 1 by rounding.
    last = math.ceil(shift / 2 - epsilon * sigma**2 / shift) - 1 + np.arange(-1.0, 2.0)
    above, below = discrete_gaussian_tail(last, sigma), discrete_gaussian_tail(last - shift, sigma)
    with np.errstate(divide="ignore"):  # a tail that underflows is 0, its logarithm -inf
        other = np.exp(np.minimum(epsilon + np.log(below), 0.0))
    return outward_delta(max(float((above - other + ROUNDING * (above + other)).max()), 0.0))


def discrete_gaussian_tail(last: ArrayLike, sigma: float) -> Array:
    """P(k ≤ last) of the discrete Gaussian, for integers `last`; relative error below 1e-12 for last < 0."""
    from scipy.special import ndtr

    # For k > 0 the other tail is the accurate one: P(k ≤ last) = 1 - P(k ≤ -last - 1).
    last = np.asarray(last, dtype=float)
    lower = np.minimum(last, -last - 1)
    if sigma <= LARGEST_SUMMED_SIGMA:
        k = np.arange(-math.ceil(40 * sigma), 1.0)
        cumulative = np.concatenate([[0.0], np.cumsum(np.exp(-0.5 * (k / sigma) ** 2))])
        mass = 2 * cumulative[-2] + 1
        tail = cumulative[np.maximum(lower - k[0] + 1, 0.0).astype(int)] / mass
    else:
        # sum_{k ≤ K} f(k) = ∫ f - f'/24 + 7 f'''/5760 up to and at K + 1/2, with f' ∝ -z and f''' ∝ 3z - z³
        z = np.maximum((lower + 0.5) / sigma, -40.0)
        density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
        tail = ndtr(z) + density * (z / (24 * sigma**2) + 7 * (3 * z - z**3) / (5760 * sigma**4))
    return np.asarray(np.where(last < 0, tail, 1 - tail))


@dataclass(frozen=True)
class _Family:
    """The draws from Beta(a + scale·k, b + scale·(n - k)), k = 0..n, looked at with one epsilon."""

    a: float
    b: float
    n: int
    epsilon: float
    scale: float


def _pair_deltas(family: _Family, first: NDArray[np.int64], last: NDArray[np.int64]) -> Array:
    """A bound on the profiles of the pairs (k, k + 1), first ≤ k ≤ last, and of both orders; exact for a single k."""
    n = min(family.n, MOST_RECORDS)
    successes = np.minimum(family.a + family.scale * first.astype(float), LARGEST_PARAMETER)
    failures = np.minimum(family.b + family.scale * (n - 1 - last).astype(float), LARGEST_PARAMETER)
    if family.scale < SMALLEST_SCALE:
        least = np.minimum(successes, failures)
        # Pinsker's inequality, and scale² ψ' for the divergence: ψ'(x) ≤ 1/x + 1/x²
        found = family.scale * np.sqrt((1.0 + 1.0 / least) / (2.0 * least))
    else:
        fewer = _tilted_delta(successes, failures, family.epsilon, family.scale)
        found = np.maximum(fewer, _tilted_delta(failures, successes, family.epsilon, family.scale))
    return np.minimum(found * (1.0 + MARGIN) + 2 * SMALLEST_DELTA, 1.0)


def _tilted_delta(a: Array, b: Array, epsilon: float, scale: float) -> Array:
    """The profile of Beta(a, b + scale) against Beta(a + scale, b), whose log-ratio is lc - scale · logit(p)."""
    log_constant = log_gamma_ratio(a, scale, 0.0) - log_gamma_ratio(b, scale, 0.0)
    y = (log_constant - epsilon) / scale
    log_p = _log_incomplete_beta(a, b + scale, y)
    log_q = epsilon + _log_incomplete_beta(a + scale, b, y)
    gap = np.subtract(log_q, log_p, out=np.zeros_like(log_p), where=log_p > -np.inf)
    tail = np.exp(log_p)
    # how far an incomplete beta function may be wrong: deep in a tail, and by parameters rounded at their own size
    error = 2.0**-46 + 2.0**-48 * np.sqrt(a + b) - ULPS * np.log(np.maximum(tail, 1e-323))
    return np.asarray(tail * (error * (1.0 + np.exp(np.minimum(gap, 0.0))) - np.expm1(np.minimum(gap, 0.0))))


def _log_incomplete_beta(a: Array, b: Array, y: Array) -> Array:
    """The logarithm of I_{sigma(y)}(a, b), with the digits of whichever of sigma(y) and sigma(-y) is small."""
    from scipy.special import betainc, betaincc, expit

    value = np.empty_like(y)
    left = y <= 0
    value[left] = betainc(a[left], b[left], expit(y[left]))
    value[~left] = betaincc(b[~left], a[~left], expit(-y[~left]))
    deep, high = y < -DEEP, y > DEEP
    value[high] = -np.expm1(np.minimum(_log_leading(b[high], a[high], -y[high]), 0.0))
    with np.errstate(divide="ignore"):  # an incomplete beta function that underflows has the logarithm -inf
        log_value = np.log(value)
    log_value[deep] = _log_leading(a[deep], b[deep], y[deep])
    return np.minimum(log_value, 0.0)


def _log_leading(a: Array, b: Array, y: Array) -> Array:
    """The logarithm of e^{ay} / (a B(a, b)), with a B(a, b) = Γ(1 + a) Γ(b) / Γ(b + a) as a step from b."""
    from scipy.special import gammaln

    return np.asarray(a * y - gammaln(1.0 + a) + log_gamma_ratio(b, a, 0.0))


def _worst(family: _Family) -> float:
    """The largest profile over all counts k: blocks of counts are halved until none can exceed what was seen.

    The supremum was always found at the ends, k = 0 and n - 1. It is not assumed.
    """
    most = min(family.n, MOST_RECORDS) - 1
    ends = np.unique([0, most])
    largest = float(_pair_deltas(family, ends, ends).max())
    first, last, seen = np.array([0]), np.array([most]), 0
    while first.size:
        bounds = _pair_deltas(family, first, last)
        seen += first.size
        split = (first < last) & (bounds > largest * CLOSE) & (seen < MOST_BLOCKS)
        largest = max(largest, float(bounds[~split].max(initial=0.0)))
        middle = (first + last)[split] // 2
        first, last = np.concatenate([first[split], middle + 1]), np.concatenate([middle, last[split]])
    return largest


def _solve(family_at: Callable[[float], _Family], n: int, delta: float, *, low: float) -> float:
    """The smallest x ≥ low whose family meets delta for every k: of the ends, if that is seen to do for all."""
    _check_delta(delta)
    if n == 0:
        return low
    ends = np.unique([0, min(n, MOST_RECORDS) - 1])
    for target in (delta, delta * (3.0 - 2.0 * CLOSE)):  # the second leaves room for blocks that are not split
        solution = solve_decreasing(lambda x: float(_pair_deltas(family_at(x), ends, ends).max()), target, low=low)
        if math.isinf(solution) or _worst(family_at(solution)) <= delta:
            return solution
    return solve_decreasing(lambda x: _worst(family_at(x)), delta, low=solution)


def _two_cells(prior: Sequence[float], n: int) -> tuple[float, float, int]:
    """The cells and the number of records that the worst pair of tables differs in; other records are in a third."""
    first, second = prior if len(prior) == 2 else sorted(prior)[:2]
    return second, first, n if len(prior) == 2 else min(n, 1)


def _fraction(inverse: float, epsilon: float, delta: float) -> float:
    if math.isinf(inverse):
        raise GuaranteeError(f"epsilon and delta must be within reach of a fraction above 0, got {(epsilon, delta)!r}")
    return 1.0 / inverse


def _check_beta(a: float, b: float, n: int, scale: float, shrink: float) -> None:
    if not (0.0 < a < math.inf and 0.0 < b < math.inf and n >= 0):
        raise GuaranteeError(f"a and b must be positive and n at least 0, got {a!r}, {b!r} and {n!r}")
    if not (0.0 < scale <= 1.0 and 0.0 < shrink <= 1.0):
        raise GuaranteeError(f"scale and shrink must be above 0 and at most 1, got {scale!r} and {shrink!r}")


def _check_shift(shift: int, scale: float) -> None:
    if not (shift >= 1 and shift == int(shift) and scale > 0):
        raise GuaranteeError(
            f"shift must be a whole number from 1 on and the scale positive, got {shift!r} and {scale!r}"
        )


def _check_delta(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise GuaranteeError(f"delta must be between 0 and 1, got {delta!r}")
