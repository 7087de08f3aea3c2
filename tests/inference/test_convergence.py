"""Chains run until they mixed, and no further than the cap."""

import math
from itertools import pairwise

import numpy as np
import pytest

from discreet.inference.convergence import Mixing, mixing, until_mixed


class Autoregression:
    """Chains x' = a x + sqrt(1 - a²) e of stationary law N(0, 1), begun at given points; it counts its draws."""

    def __init__(self, a: float, begin: tuple[float, ...] = (0.0,) * 4) -> None:
        self.a, self.made, self.now, self.rng = a, [], np.array(begin), np.random.default_rng(5)

    def __call__(self, draws: int) -> dict[str, np.ndarray]:
        self.made.append(draws)
        found = np.empty((self.now.size, draws))
        for t in range(draws):
            self.now = self.a * self.now + np.sqrt(1 - self.a**2) * self.rng.standard_normal(self.now.size)
            found[:, t] = self.now
        return {"x": found, "n": np.full(found.shape, 7.0)}


def test_a_mixing_is_judged_by_its_worst_number() -> None:
    rng = np.random.default_rng(1)
    good, stuck = rng.standard_normal((4, 500, 3)), rng.standard_normal((4, 500)) + np.arange(4)[:, None]
    assert mixing({"good": good, "public": np.ones((4, 500))}).converged
    bad = mixing({"good": good, "stuck": stuck})
    assert not bad.converged
    assert bad.rhat > 1.2
    assert bad.words == (
        f"the chains have not converged: R-hat up to {bad.rhat:.3f}, effective sample size from {bad.ess:.0f}; "
        "intervals may be wrong"
    )


def test_numbers_that_never_move_have_converged_and_chains_stuck_apart_have_not() -> None:
    assert mixing({"n": np.full((4, 100), 3)}) == Mixing(1.0, np.inf)
    apart = np.broadcast_to(np.arange(4.0)[:, None], (4, 100))
    assert mixing({"x": apart}).rhat > 1e9
    assert not mixing({"x": np.random.default_rng(0).standard_normal((4, 3))}).converged  # too few draws to say


def test_draws_that_mix_at_once_are_drawn_once() -> None:
    fast = Autoregression(0.0)
    assert until_mixed(fast, 500, 16_000)["x"].shape == (4, 500)
    assert fast.made == [500]


def test_slow_chains_go_on_to_what_a_look_says_is_missing_and_all_draws_are_kept() -> None:
    slow = Autoregression(0.9)
    found = until_mixed(slow, 1000, 64_000)
    looks = np.cumsum(slow.made)
    assert looks[0] == 1000 < looks[-1] == found["x"].shape[1] == found["n"].shape[1]
    for earlier, later in pairwise(looks):
        missing = mixing({"x": found["x"][:, :earlier]}).missing
        assert missing > 1.0
        assert later == earlier + math.ceil(earlier * (min(1.1 * missing, 2.0) - 1.0))
    assert looks[-1] < 4 * 1000  # 400 effective draws are about 1,900 draws of each chain
    assert mixing(found).converged


def test_how_many_draws_are_missing() -> None:
    assert Mixing(1.0, 200.0).missing == 2.0
    assert Mixing(1.03, 500.0).missing == pytest.approx(3.0)
    assert Mixing(np.inf, 0.0).missing == 2.0


def test_very_slow_chains_double() -> None:
    slow = Autoregression(0.995)
    until_mixed(slow, 250, 2000)
    assert slow.made == [250, 250, 500, 1000]


@pytest.mark.parametrize("most", [1000, 1100, 100])
def test_the_cap_is_kept_to_the_draw(most: int) -> None:
    stuck = Autoregression(0.9999, (-3.0, -1.0, 1.0, 3.0))
    found = until_mixed(stuck, 250, most)
    assert sum(stuck.made) == most
    assert found["x"].shape == (4, most)
    assert not mixing(found).converged


def test_a_first_half_far_away_becomes_warm_up() -> None:
    far = Autoregression(0.9, (-1e30, -1e30, 1e30, 1e30))
    found = until_mixed(far, 1000, 64_000)
    assert mixing(found).converged
    assert found["x"].shape[1] < sum(far.made)
    assert np.abs(found["x"]).max() < 10


def test_what_is_reported_decides_and_raw_draws_are_returned() -> None:
    """Names of states change from draw to draw: only the sorted numbers agree between chains."""
    rng = np.random.default_rng(2)

    def more(draws: int) -> dict[str, np.ndarray]:
        pairs = np.sort(rng.normal([-5.0, 5.0], 1.0, (4, draws, 2)), axis=-1)
        pairs[2:] = pairs[2:, :, ::-1]
        return {"pair": pairs}

    kept = until_mixed(more, 400, 800, lambda drawn: {"pair": np.sort(drawn["pair"], axis=-1)})
    assert kept["pair"].shape == (4, 400, 2)
    assert until_mixed(more, 400, 800)["pair"].shape == (4, 800, 2)
