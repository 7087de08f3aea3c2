"""What one draw is worth for prediction: the expected log-likelihood of held-out records, per record.

    E log p(x | theta) = rate ψ(A) + (1 - rate) ψ(B) - ψ(A + B),    theta ~ Beta(A, B)      [Geumlek et al. 2017, A.5]

A = a/m + r k and B = b/m + r (n - k) are what a direct, diffused or concentrated draw is made from. A prior that
matches the truth rewards the draw that trusts it; a prior that does not punishes it.
"""

from discreet.mechanisms import ConjugateSample
from discreet.models import BetaBernoulli
from discreet.schema import Binary, Schema

__all__ = ["held_out"]


def held_out(mechanism: ConjugateSample, prior: tuple[float, float], successes: int, n: int, rate: float) -> float:
    """Expected log-likelihood of a new record that is 1 with probability `rate`, under a draw given k ones of n."""
    from scipy.special import digamma

    query = BetaBernoulli("x", prior=prior).query(Schema({"x": Binary()}, n=n))
    r, m = mechanism.fractions(query)
    a, b = prior[0] / m + r * successes, prior[1] / m + r * (n - successes)
    return float(rate * digamma(a) + (1.0 - rate) * digamma(b) - digamma(a + b))
