"""What stationary draws of coefficients say of the true ones: the limit law of a draw, followed to where it lies.

With z the rows, m the mean of a target given its margin, and J(v) = Σ m'(z·v) z z' the information at v, a draw is
normal around the optimum ŵ that tempering and prior leave of the true θ:

    w | θ ~ N(ŵ,  H⁻¹ / draws + β² H⁻¹ J(θ) H⁻¹),    H = β J(ŵ) + λ I,    β Σ (m(z·θ) - m(z·ŵ)) z = λ ŵ

Near 0 all three J are one, and ŵ = H⁻¹ β J θ. Far from 0 they are not: a strong prior pulls ŵ to where the rows know
more than they do at θ, and bands of the straight law miss the truth. So the law is taken straight around the most
probable θ, found by Gauss-Newton steps:

    w ≈ ŵ(θ₀) + A (θ - θ₀) + noise,      A = H⁻¹ β J(θ₀)
"""

from typing import Any

import numpy as np

from discreet.numerics.arrays import Array
from discreet.queries.losses.base import Margins

__all__ = ["Information", "information_of", "straight_law"]


STEPS = 40  # of Gauss-Newton, and of Newton for every optimum
STILL = 1e-8  # a step that ends the search
FARTHEST = 2.0  # a step of an optimum, and the least that a step of the search may be


class Information(np.ndarray[Any, np.dtype[np.float64]]):
    """The matrix J(θ₀); `place` is (J(ŵ), θ₀, ŵ), where the law of a draw is taken straight.

    A matrix that numpy computes from this one has no place: it is J everywhere.
    """

    place: tuple[Array, Array, Array] | None

    def __array_finalize__(self, obj: object) -> None:
        """Whatever numpy makes of it is a plain matrix."""
        self.place = None


def straight_law(information: Array, draws: int, beta: float, precision: float) -> tuple[Array, Array, Array, Array]:
    """A, the covariance of the draws' average, θ₀ and ŵ(θ₀); without a place J is the same everywhere, and θ₀ = 0."""
    j, size = np.asarray(information), len(information)
    drawn, centre, expected = j, np.zeros(size), np.zeros(size)
    if isinstance(information, Information) and information.place is not None:
        drawn, centre, expected = information.place
    inverse = np.linalg.inv(beta * drawn + precision * np.eye(size))
    # the draws share the data: their average has the data's spread whole and the temperature's divided
    spread = inverse / draws + beta**2 * inverse @ j @ inverse
    return np.asarray(beta * inverse @ j), np.asarray(spread), centre, expected


def information_of(
    margins: Margins, z: Array, total: int, drawn: Array, draws: int, beta: float, precision: float, believed: float
) -> Information:
    """The information of `total` records like z, at the most probable coefficients given the average of the draws.

    `precision` is that of the prior the draws were made with, `believed` that of the coefficients' own.
    """
    weight, eye = total / len(z), np.eye(len(drawn))

    def at(v: Array) -> Array:
        return np.asarray((z * (weight * margins.slope(z @ v))[:, np.newaxis]).T @ z)

    def optimum(theta: Array, start: Array) -> Array:
        """ŵ(theta): Newton steps, shortened where they are long; the problem is strongly convex."""
        target, w = margins.mean(z @ theta), start
        for _ in range(STEPS):
            gradient = beta * weight * z.T @ (margins.mean(z @ w) - target) + precision * w
            step = np.linalg.solve(beta * at(w) + precision * eye, gradient)
            length = float(np.linalg.norm(step))
            w = w - step * min(1.0, FARTHEST / max(length, 1e-300))
            if length < STILL:
                break
        return np.asarray(w)

    def placed(theta: Array, w: Array) -> Information:
        found = at(theta).view(Information)
        found.place = at(w), theta, w
        return found

    law = placed(drawn, optimum(drawn, drawn))
    for _ in range(STEPS):
        towards, spread, theta, w = straight_law(law, draws, beta, precision)
        pull = np.linalg.solve(spread, towards)
        gap = pull.T @ (drawn - w) - believed * theta
        step = np.linalg.solve(towards.T @ pull + believed * eye, gap)
        length = float(np.linalg.norm(step))
        theta = theta + step * min(1.0, max(FARTHEST, 0.5 * float(np.linalg.norm(theta))) / max(length, 1e-300))
        law = placed(theta, optimum(theta, w))
        if length < STILL:
            break
    return law
