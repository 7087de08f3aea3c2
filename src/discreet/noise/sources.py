"""Where privacy noise comes from, and its seeded twin for tests.

`SystemNoise` is what every release uses: integer noise from OpenDP's exact discrete Laplace and discrete Gaussian,
whole numbers below a bound straight from the operating system, and, for continuous draws, a ChaCha generator keyed with
256 bits from there. This is the only module that imports OpenDP. `SeededNoise` draws the same laws from a seed; what it
touches is never private.
"""

import os
import secrets
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from discreet.noise import DiscreteGaussian, DiscreteLaplace

__all__ = ["NoiseSource", "SeededNoise", "SystemNoise"]

IntegerLaw = DiscreteGaussian | DiscreteLaplace


class NoiseSource(Protocol):
    """The randomness a mechanism may use on private statistics."""

    def integers(self, law: IntegerLaw, size: int) -> list[int]:
        """`size` independent draws of integer noise, as one vector."""

    def below(self, bound: int) -> int:
        """A uniform whole number from 0 to bound - 1, of any size, exactly."""

    def stream(self) -> np.random.Generator:
        """Random numbers for continuous draws, a fresh stream at every call."""


@dataclass(frozen=True)
class SystemNoise:
    """Cryptographic noise, never seeded."""

    def integers(self, law: IntegerLaw, size: int) -> list[int]:
        """Noise added by OpenDP to a vector of zeros: its samplers are proved for the rational value of the scale."""
        import opendp.prelude as dp

        dp.enable_features("contrib")
        domain = dp.vector_domain(dp.atom_domain(T="i64"))
        if isinstance(law, DiscreteLaplace):
            measurement = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=law.scale)
        else:
            measurement = dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=law.sigma)
        return [int(draw) for draw in measurement([0] * size)]

    def below(self, bound: int) -> int:
        """Random bits of the operating system, drawn again while they are not below the bound."""
        return secrets.randbelow(bound)

    def stream(self) -> np.random.Generator:
        """ChaCha with 20 rounds; the key is given, since the library's own default may fall back to the clock."""
        from randomgen import ChaCha

        key = np.frombuffer(os.urandom(32), dtype=np.uint64)
        return np.random.Generator(ChaCha(key=key, rounds=20))


@dataclass(frozen=True)
class SeededNoise:
    """The same laws from a seed, for `simulate` and tests: nothing drawn from it protects anyone."""

    seed: int | np.random.SeedSequence
    _rng: np.random.Generator = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_rng", np.random.default_rng(self.seed))

    def integers(self, law: IntegerLaw, size: int) -> list[int]:
        """Discrete Laplace as a difference of geometrics; discrete Gaussian by rejection from it [CKS2020, Alg. 3]."""
        if isinstance(law, DiscreteLaplace):
            return [int(draw) for draw in self._laplace(law.scale, size)]
        accepted: list[int] = []
        width = np.floor(law.sigma) + 1
        while len(accepted) < size:
            proposal = self._laplace(width, 2 * size + 16)
            log_accept = -0.5 * (np.abs(proposal) - law.sigma**2 / width) ** 2 / law.sigma**2
            keep = proposal[np.log1p(-self._rng.random(proposal.size)) < log_accept]
            accepted.extend(int(draw) for draw in keep)
        return accepted[:size]

    def below(self, bound: int) -> int:
        """Random bits of the seeded stream, drawn again while they are not below the bound."""
        bits = bound.bit_length()
        while True:
            drawn = int.from_bytes(self._rng.bytes(bits // 8 + 1), "little") >> (8 - bits % 8)
            if drawn < bound:
                return drawn

    def stream(self) -> np.random.Generator:
        """The seeded stream itself."""
        return self._rng

    def _laplace(self, scale: float, size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        success = -np.expm1(-1.0 / scale)
        return self._rng.geometric(success, size) - self._rng.geometric(success, size)
