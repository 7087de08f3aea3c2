"""Inverse temperature beta of exp(-beta · sum loss) · prior; the gradient difference is at most 2 · lipschitz."""

from typing import Annotated, cast, get_args

from discreet.accounting.gibbs import Bound, gibbs_mu, largest_beta
from discreet.checks import positive
from discreet.errors import GuaranteeError
from discreet.guarantee import GaussianDP
from discreet.mechanisms.calibration import Argument, Calibration, Epsilon

__all__ = ["inverse_temperature"]


def inverse_temperature(
    *,
    prior_precision: Annotated[float, Argument("Strong convexity of the prior.")],
    epsilon: Epsilon,
    delta: Annotated[float, Argument("Requested delta.")],
    lipschitz: Annotated[float | None, Argument("Lipschitz constant of the loss.")] = None,
    gradient: Annotated[float | None, Argument("Largest gradient difference, if below 2 L.")] = None,
    n: Annotated[int, Argument("Public number of records.", 0, 2**48)] = 0,
    loss_convexity: Annotated[float, Argument("Strong convexity of every record's loss.")] = 0.0,
    bound: Annotated[str, Argument("gdp, renyi, minami or minami-printed.")] = "gdp",
) -> Calibration:
    """Inverse temperature of a Gibbs posterior.

    Example:
      discreet calibrate gibbs-posterior --lipschitz 1 --prior-precision 1 --epsilon 1 --delta 1e-5
    """
    if bound not in get_args(Bound):
        raise GuaranteeError(f"calibrate.bound must be gdp, renyi, minami or minami-printed, got {bound!r}")
    if (lipschitz is None) == (gradient is None):
        raise GuaranteeError("calibrate must get lipschitz or gradient, got both or neither")
    steepness = gradient if gradient is not None else 2 * positive("calibrate.lipschitz", lipschitz)
    positive("calibrate.epsilon", epsilon)
    positive("calibrate.delta", delta, below=1.0)
    found = largest_beta(
        epsilon,
        delta,
        steepness,
        prior_convexity=positive("calibrate.prior-precision", prior_precision),
        n=n,
        loss_convexity=loss_convexity,
        bound=cast(Bound, bound),
    )
    mu = gibbs_mu(found.value, steepness, prior_convexity=prior_precision, n=n, loss_convexity=loss_convexity)
    return Calibration("beta", found.value, GaussianDP(mu), found.proved)
