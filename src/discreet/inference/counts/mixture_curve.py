"""The curve of a Beta mixture: its CDF, density and quantiles, quickly.

Components Beta(a, b), Beta(a+1, b-1), … form a *run*, and inside a run

    I_x(a + 1, b - 1) = I_x(a, b) - x f(x; a, b) / a                                             (DLMF 8.17.20)

so the CDF of a whole run needs one incomplete beta function and the densities, which are needed anyway. Everything is
a function of t = logit x, which keeps the digits of quantiles next to 0 and 1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.numerics.gamma_functions import log_beta_kernel

__all__ = ["MixtureCurve"]


FARTHEST = 700.0  # logit beyond which x or 1 - x underflows


@dataclass(frozen=True)
class MixtureCurve:
    """Sorted components with what their curve needs; `heads` are the first components of the runs."""

    a: Array
    b: Array
    weights: Array
    later: Array  # weight of the components after this one in its run
    heads: NDArray[np.int64]
    log_peak: Array  # log x^a (1-x)^b / B(a, b) at the component's mean
    log_mean: Array
    log_rest: Array

    @classmethod
    def of(cls, a: Array, b: Array, weights: Array) -> "MixtureCurve":
        """Sort the components into runs."""
        order = np.lexsort((a, np.round(a + b, 6)))
        a, b, weights = a[order], b[order], weights[order]
        slack = 1e-12 * (a + b)[1:] + 1e-9
        joined = (np.abs(np.diff(a) - 1.0) < slack) & (np.abs(np.diff(b) + 1.0) < slack)
        heads = np.append(0, np.flatnonzero(~joined) + 1)
        cumulative = np.cumsum(weights)
        run_end = np.append(heads[1:], a.size) - 1
        later = np.repeat(cumulative[run_end], np.diff(np.append(heads, a.size))) - cumulative
        total = a + b
        log_peak = log_beta_kernel(a, b, a / total, b / total)
        return cls(a, b, weights, later, heads, log_peak, np.log(a / total), np.log(b / total))

    def cdf(self, x: Array) -> Array:
        """P(θ ≤ x)."""
        inside = (x > 0) & (x < 1)
        safe = np.where(inside, x, 0.5)
        value = self._cdf_and_slope(np.ravel(np.log(safe) - np.log1p(-safe)))[0].reshape(x.shape)
        return np.asarray(np.where(inside, value, x >= 1))

    def log_density(self, x: Array) -> Array:
        """Log-density; -inf outside (0, 1)."""
        inside = (x > 0) & (x < 1)
        safe = np.where(inside, x, 0.5)
        log_terms = self._log_kernel(np.ravel(np.log(safe) - np.log1p(-safe))) + np.log(self.weights)
        peak = log_terms.max(axis=1)
        log_sum = peak + np.log(np.sum(np.exp(log_terms - peak[:, None]), axis=1))
        log_density = log_sum.reshape(x.shape) - np.log(safe) - np.log1p(-safe)
        return np.asarray(np.where(inside, log_density, -np.inf))

    def quantiles(self, q: Array) -> Array:
        """The x with P(θ ≤ x) = q, 0 < q < 1: Newton steps in the logit inside a shrinking bracket."""
        t = self._first_guess(q)
        low, high = np.full(q.shape, -FARTHEST), np.full(q.shape, FARTHEST)
        for _ in range(200):
            value, slope = self._cdf_and_slope(t)
            low, high = np.where(value < q, t, low), np.where(value < q, high, t)
            step = (q - value) / np.maximum(slope, 1e-300)
            new = np.where((t + step > low) & (t + step < high), t + step, 0.5 * (low + high))
            done = (np.abs(new - t) < 1e-12 * (1.0 + np.abs(t))) | (np.abs(q - value) < 1e-15)
            t = np.where(done, t, new)
            if done.all():
                break
        return np.asarray(1.0 / (1.0 + np.exp(-t)))

    def _first_guess(self, q: Array) -> Array:
        """Logits of the normal law with the mixture's moments in the logit of the mean."""
        from scipy.special import ndtri

        centre = self.a / (self.a + self.b)
        mean = float(self.weights @ centre)
        variance = float(self.weights @ (centre * (1 - centre) / (self.a + self.b + 1.0) + (centre - mean) ** 2))
        spread = np.sqrt(variance) / max(mean * (1.0 - mean), 1e-12)
        middle = np.log(max(mean, 1e-300)) - np.log(max(1.0 - mean, 1e-300))
        return np.asarray(np.clip(middle + spread * ndtri(q), -FARTHEST / 2, FARTHEST / 2))

    def _log_kernel(self, t: Array) -> Array:
        """Log of x^a (1-x)^b / B(a, b) for every component (columns) at every logit t (rows)."""
        log_x, log_y = -np.logaddexp(0.0, -t)[:, None], -np.logaddexp(0.0, t)[:, None]
        return np.asarray(self.log_peak + self.a * (log_x - self.log_mean) + self.b * (log_y - self.log_rest))

    def _cdf_and_slope(self, t: Array) -> tuple[Array, Array]:
        """CDF and its derivative in the logit at each t."""
        from scipy.special import betainc, betaincc

        kernel = np.exp(np.maximum(self._log_kernel(t), -745.0))
        a, b = self.a[self.heads], self.b[self.heads]
        x, y = (1.0 / (1.0 + np.exp(-t)))[:, None], (1.0 / (1.0 + np.exp(t)))[:, None]
        head = np.where(t[:, None] <= 0, betainc(a, b, x), betaincc(b, a, y))
        runs = np.add.reduceat(self.weights, self.heads)
        value = head @ runs - kernel @ (self.later / self.a) / y[:, 0]  # x f(x) = kernel / (1 - x)
        return np.asarray(np.clip(value, 0.0, 1.0)), np.asarray(kernel @ self.weights)
