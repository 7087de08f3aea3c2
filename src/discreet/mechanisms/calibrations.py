"""From a requested guarantee to the parameter of a mechanism, and the guarantee that parameter then carries.

Every search is monotone and returns its safe end: more noise, a hotter posterior, a smaller scale. Where no value
exists the error says why. `proved` is False only for a printed bound of the literature outside its proved range.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.accounting import conversions, divergences, gibbs, profiles
from discreet.accounting.bounded_losses import log_ratio
from discreet.accounting.chain_costs import LARGEST_TRUNCATION, ROUND_UP
from discreet.accounting.rounding import rational, root_up, round_up
from discreet.checks import positive
from discreet.errors import GuaranteeError
from discreet.guarantee import ZCDP, BoundedRange, ConjugateProfile, GaussianDP, Guarantee, PureDP, RenyiDP, Repeated

__all__ = [
    "Calibration",
    "concentrated",
    "diffused",
    "direct",
    "gibbs_posterior",
    "noisy_statistics",
    "posterior_sample",
    "private_gibbs",
]


@dataclass(frozen=True)
class Calibration:
    """One parameter by name, the guarantee it carries, and whether a proof stands behind it."""

    name: str
    value: float
    guarantee: Guarantee
    proved: bool = True

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise GuaranteeError(f"calibrate.{self.name} must be a finite number, got {self.value!r}: ask for less")

    def to_json(self) -> dict[str, Any]:
        """Plain data: the parameter under its own name."""
        return {self.name: self.value, "guarantee": self.guarantee.to_json(), "proved": self.proved}


def noisy_statistics(
    *,
    l1: float | None = None,
    l2: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
) -> Calibration:
    """Scale of discrete Laplace noise for an L1 sensitivity, or sigma of discrete Gaussian noise for an L2 one."""
    if l1 is not None and l2 is None and epsilon is not None and delta is None and rho is None:
        scale = rational(positive("calibrate.l1", l1)) / rational(positive("calibrate.epsilon", epsilon))
        return Calibration("scale", round_up(scale), PureDP(epsilon))
    if l2 is None or l1 is not None or (rho is None) == (epsilon is None) or (epsilon is None) != (delta is None):
        raise GuaranteeError("calibrate must get l1 and epsilon, or l2 with rho or with epsilon and delta, got others")
    level = rho if rho is not None else _zcdp(epsilon, delta)
    squared = rational(positive("calibrate.l2", l2)) ** 2 / (2 * rational(positive("calibrate.rho", level)))
    return Calibration("sigma", root_up(squared), ZCDP(level))


def posterior_sample(*, truncation: float, epsilon: float, levels: int = 2) -> Calibration:
    """Temperature of one posterior sample on probabilities that are each at least `truncation`  [F-OPS]."""
    positive("calibrate.epsilon", epsilon)
    if levels < 2 or not 0 < positive("calibrate.truncation", truncation) < 1 / levels:
        raise GuaranteeError(f"calibrate.truncation must be below 1/{levels} for {levels} levels, got {truncation!r}")
    spread = 2 * log_ratio(levels, truncation) * (1 + 1e-14)
    temperature = max(1.0, spread / epsilon * (1 + 1e-15))
    return Calibration("temperature", temperature, BoundedRange(min(epsilon, spread)))


def private_gibbs(*, levels: Sequence[int], truncation: float, epsilon_per_update: float, sweeps: int) -> Calibration:
    """Temperature of a paid Gibbs chain of event logs whose fields have these levels  [F-GIBBS, F-HMM]."""
    positive("calibrate.truncation", truncation, below=LARGEST_TRUNCATION)
    positive("calibrate.epsilon_per_update", epsilon_per_update)
    if not levels or any(count < 2 for count in levels) or sweeps < 1:
        raise GuaranteeError("calibrate must get fields of two levels or more and at least one sweep, got others")
    spread = 2 * math.fsum(log_ratio(count, truncation / count) for count in levels) * ROUND_UP
    temperature = max(1.0, spread / epsilon_per_update * ROUND_UP)
    each = BoundedRange(min(epsilon_per_update, spread))
    return Calibration("temperature", temperature, Repeated(each, 2 * sweeps))


def direct(*, prior: Sequence[float], n: int, order: float | None = None, delta: float | None = None) -> Calibration:
    """What one draw of the exact Dirichlet posterior costs: epsilon at an order, or (two levels) at a delta  [G-A1]."""
    if (order is None) == (delta is None):
        raise GuaranteeError("calibrate must get order or delta, got both or neither")
    if order is not None:
        certificate: Guarantee = RenyiDP("dirichlet", {"prior": tuple(prior), "n": n})
        cost = certificate.renyi(order)
        if math.isinf(cost):
            limit = divergences.largest_order(prior)
            raise GuaranteeError(f"calibrate.order must be below {limit:g} for this prior, got {order!r}")
    else:
        assert delta is not None
        certificate = ConjugateProfile("dirichlet", {"prior": tuple(prior), "n": n})
        cost = certificate.epsilon(positive("calibrate.delta", delta, below=1.0))
    return Calibration("epsilon", cost, certificate)


def diffused(
    *, prior: Sequence[float], n: int, epsilon: float, order: float | None = None, delta: float | None = None
) -> Calibration:
    """Scale r of the counts in Dirichlet(prior + r counts): at a Renyi order, or (two levels) at a delta  [G-A2]."""
    return _conjugate("r", "scale", prior, n, epsilon, order, delta)


def concentrated(
    *, prior: Sequence[float], n: int, epsilon: float, order: float | None = None, delta: float | None = None
) -> Calibration:
    """Shrink m of the prior in Dirichlet(prior / m + counts): at a Renyi order, or (two levels) at a delta  [G-A3]."""
    return _conjugate("m", "shrink", prior, n, epsilon, order, delta)


def gibbs_posterior(
    *,
    epsilon: float,
    delta: float,
    lipschitz: float | None = None,
    gradient: float | None = None,
    prior_precision: float,
    n: int = 0,
    loss_convexity: float = 0.0,
    bound: gibbs.Bound = "gdp",
) -> Calibration:
    """Inverse temperature beta of exp(-beta · sum loss) · prior; the gradient difference is at most 2 · lipschitz."""
    if (lipschitz is None) == (gradient is None):
        raise GuaranteeError("calibrate must get lipschitz or gradient, got both or neither")
    steepness = gradient if gradient is not None else 2 * positive("calibrate.lipschitz", lipschitz)
    positive("calibrate.epsilon", epsilon)
    positive("calibrate.delta", delta, below=1.0)
    found = gibbs.largest_beta(
        epsilon,
        delta,
        steepness,
        prior_convexity=positive("calibrate.prior-precision", prior_precision),
        n=n,
        loss_convexity=loss_convexity,
        bound=bound,
    )
    mu = gibbs.gibbs_mu(found.value, steepness, prior_convexity=prior_precision, n=n, loss_convexity=loss_convexity)
    return Calibration("beta", found.value, GaussianDP(mu), found.proved)


Solver = Callable[..., float]
BY_ORDER: dict[str, Solver] = {"scale": divergences.diffused_scale, "shrink": divergences.concentrated_shrink}
BY_DELTA: dict[str, Solver] = {"scale": profiles.beta_diffused_scale, "shrink": profiles.beta_concentrated_shrink}


def _conjugate(
    name: str, kind: str, prior: Sequence[float], n: int, epsilon: float, order: float | None, delta: float | None
) -> Calibration:
    if (order is None) == (delta is None):
        raise GuaranteeError("calibrate must get order or delta, got both or neither")
    positive("calibrate.epsilon", epsilon)
    if order is not None:
        if not order > 1:
            raise GuaranteeError(f"calibrate.order must be above 1, got {order!r}")
        value = BY_ORDER[kind](prior, n, order, epsilon)
        return Calibration(name, value, RenyiDP("dirichlet", {"prior": tuple(prior), "n": n, kind: value}))
    if len(prior) != 2:
        raise GuaranteeError(f"calibrate.prior must have two entries where delta is given, got {len(prior)}")
    assert delta is not None
    value = BY_DELTA[kind](*prior, n, epsilon, positive("calibrate.delta", delta, below=1.0))
    return Calibration(name, value, ConjugateProfile("dirichlet", {"prior": tuple(prior), "n": n, kind: value}))


def _zcdp(epsilon: float | None, delta: float | None) -> float:
    return conversions.zcdp_rho(positive("calibrate.epsilon", epsilon), positive("calibrate.delta", delta, below=1.0))
