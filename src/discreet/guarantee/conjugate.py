"""Certificates of draws from conjugate posteriors: a Renyi curve, or the exact profile, recomputed from the family.

Only numbers are stored: the family's name, the prior, the public n, and how the statistics entered the draw (`scale`
multiplies the counts: diffused; `shrink` divides the prior: concentrated). The curve follows from the log-partition.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.accounting import conversions, divergences, gamma_divergences, gamma_profiles, profiles
from discreet.checks import positive
from discreet.errors import GuaranteeError
from discreet.guarantee.basis import Basis, Guarantee

__all__ = ["ConjugateProfile", "RenyiDP"]

REPLACE_ONE_RECORD = Basis()
PARAMETERS = {
    "dirichlet": ("prior", "n", "scale", "shrink"),
    "gaussian-mean": ("n", "variance", "prior_variance", "clip"),
    "poisson-rate": ("shape", "n", "width", "scale", "shrink"),
    "exponential-rate": ("shape", "rate", "n", "lower", "width", "scale", "shrink"),
}


CURVES: dict[str, Callable[..., float]] = {
    "dirichlet": divergences.dirichlet_renyi,
    "gaussian-mean": divergences.gaussian_mean_renyi,
    "poisson-rate": gamma_divergences.gamma_shape_renyi,
    "exponential-rate": gamma_divergences.gamma_rate_renyi,
}


@dataclass(frozen=True, repr=False)
class RenyiDP(Guarantee):
    """The Renyi curve of one draw; `family` is "dirichlet" (Beta is two cells) or the name of another in `CURVES`."""

    family: str
    parameters: Mapping[str, Any]
    basis: Basis = REPLACE_ONE_RECORD
    kind = "RenyiDP"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", _checked(self.kind, self.family, self.parameters, tuple(PARAMETERS)))

    def __hash__(self) -> int:
        return hash((self.family, tuple(self.parameters.items()), self.basis))

    def arguments(self) -> dict[str, Any]:
        """Family and parameters."""
        return {"family": self.family, "parameters": _plain(self.parameters)}

    def _renyi(self, order: float) -> float:
        """The supremum over neighbouring datasets; infinite from `largest_order` on."""
        return _on_curve(self, order)

    def _epsilon(self, delta: float) -> float:
        """By the improved conversion over a continuous order."""
        return conversions.renyi_epsilon(self.renyi, delta) if delta > 0 else math.inf

    def _delta(self, epsilon: float) -> float:
        """By the improved conversion over a continuous order."""
        return conversions.renyi_delta(self.renyi, epsilon)

    def words(self) -> str:
        """One sentence for a privacy officer."""
        return (
            f"Rényi differential privacy of one draw from a {self.family} posterior: order 1.5 costs "
            f"{self.renyi(1.5):.4g}; epsilon = {self.epsilon(1e-6):.4g} at delta = 1e-6."
        )


PROFILES: dict[str, tuple[Callable[..., float], Callable[..., float]]] = {
    "dirichlet": (profiles.dirichlet_delta, profiles.dirichlet_epsilon),
    "poisson-rate": (gamma_profiles.gamma_shape_delta, gamma_profiles.gamma_shape_epsilon),
    "exponential-rate": (gamma_profiles.gamma_rate_delta, gamma_profiles.gamma_rate_epsilon),
}

LAWS = {"dirichlet": "a Dirichlet", "poisson-rate": "a Poisson-rate", "exponential-rate": "an exponential-rate"}


@dataclass(frozen=True, repr=False)
class ConjugateProfile(Guarantee):
    """The exact profile of one draw: finite also where its Renyi curve is not. `family` is a name in `PROFILES`."""

    family: str
    parameters: Mapping[str, Any]
    basis: Basis = REPLACE_ONE_RECORD
    kind = "ConjugateProfile"

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", _checked(self.kind, self.family, self.parameters, tuple(PROFILES)))
        if self.family == "dirichlet" and len(self.parameters["prior"]) < 2:
            raise GuaranteeError(
                f"ConjugateProfile.prior must have two entries or more, got {self.parameters['prior']}"
            )

    def __hash__(self) -> int:
        return hash((self.family, tuple(self.parameters.items()), self.basis))

    def arguments(self) -> dict[str, Any]:
        """Family and parameters."""
        return {"family": self.family, "parameters": _plain(self.parameters)}

    def _renyi(self, order: float) -> float:
        """The curve of the same draw."""
        return _on_curve(self, order)

    def _epsilon(self, delta: float) -> float:
        """The exact inverse of the profile, rounded up."""
        if not 0 < delta < 1:
            return math.inf if delta <= 0 else 0.0
        return PROFILES[self.family][1](delta=delta, **self.parameters)

    def _delta(self, epsilon: float) -> float:
        """The largest over all neighbouring datasets and both orders."""
        return PROFILES[self.family][0](epsilon=epsilon, **self.parameters)

    def words(self) -> str:
        """One sentence for a privacy officer."""
        law = "a Beta" if self.family == "dirichlet" and len(self.parameters["prior"]) == 2 else LAWS[self.family]
        return (
            f"The exact privacy profile of one draw from {law} posterior: epsilon = {self.epsilon(1e-6):.4g} at "
            f"delta = 1e-6, {self.epsilon(1e-3):.4g} at 1e-3."
        )


def _on_curve(certificate: RenyiDP | ConjugateProfile, order: float) -> float:
    """A point of the curve, kept with the certificate: conversions at any delta ask at the same orders."""
    known: dict[float, float] = vars(certificate).setdefault("_known", {})
    if order not in known:
        known[order] = CURVES[certificate.family](order=order, **certificate.parameters)
    return known[order]


def _checked(kind: str, family: str, parameters: Mapping[str, Any], families: tuple[str, ...]) -> dict[str, Any]:
    if family not in families or set(parameters) - set(PARAMETERS.get(family, ())):
        raise GuaranteeError(f"{kind}.family must be one of {families} with its own parameters, got {family!r}")
    complete = {"scale": 1.0, "shrink": 1.0, **parameters} if "scale" in PARAMETERS[family] else dict(parameters)
    if set(complete) != set(PARAMETERS[family]):
        raise GuaranteeError(f"{kind}.parameters must be {PARAMETERS[family]}, got {sorted(parameters)}")
    n = complete["n"]
    if not isinstance(n, int) or isinstance(n, bool) or n < 0:
        raise GuaranteeError(f"{kind}.n must be a whole number from 0, got {n!r}")
    numbers: dict[str, Any] = {"n": n}
    for name in PARAMETERS[family]:
        if name == "prior":
            numbers[name] = tuple(positive(f"{kind}.prior", value) for value in complete[name])
        elif name == "lower":
            numbers[name] = float(complete[name])
        elif name != "n":
            numbers[name] = positive(f"{kind}.{name}", complete[name])
    return numbers


def _plain(parameters: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()}
