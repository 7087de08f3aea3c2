"""Independent draws of one bounded-range law: brute force over the offset, another library, a real posterior, chains."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import binom

import discreet as dc
from discreet.accounting import range_draws
from discreet.accounting.range_draws import range_draws_delta, range_draws_epsilon

CASES = [(0.5, 2), (1.0, 10), (0.1, 40), (3.0, 5), (0.05, 300)]


def of_offset(level: float, draws: int, epsilon: float, t: float) -> float:
    """The profile of the power of one pair of two points, as a sum of positive terms."""
    lower = math.expm1(t) / math.expm1(level)
    i = np.arange(draws + 1)
    losses = draws * t - i * level
    return float(binom.pmf(i, draws, lower) @ np.maximum(-np.expm1(epsilon - losses), 0.0))


def brute(level: float, draws: int, epsilon: float, offsets: int = 3001) -> float:
    return max(of_offset(level, draws, epsilon, t) for t in np.linspace(0, level, offsets)[1:-1])


@pytest.mark.parametrize(("level", "draws"), CASES)
def test_the_closed_form_is_the_supremum_over_offsets(level: float, draws: int) -> None:
    for share in (0.0, 0.1, 0.4, 0.8):
        epsilon = share * draws * level
        value, found = range_draws_delta(level, draws, epsilon), brute(level, draws, epsilon, 1001)
        assert value >= found
        assert value <= found * (1 + 1e-3) + 1e-15
    for delta in (1e-3, 1e-6, 1e-9):
        epsilon = range_draws_epsilon(level, draws, delta)
        assert range_draws_delta(level, draws, epsilon) <= delta
        assert brute(level, draws, epsilon * (1 - 1e-4), 1001) > delta * 0.999


def test_one_draw_is_the_profile_of_bounded_range_and_none_exceeds_the_sum() -> None:
    for level in (0.01, 0.7, 5.0, 40.0):
        for epsilon in (0.0, 0.3 * level, 0.9 * level):
            assert range_draws_delta(level, 1, epsilon) == pytest.approx(
                dc.BoundedRange(level).delta(epsilon), rel=1e-9
            )
    assert range_draws_delta(0.1, 3, 0.3) == 0.0
    assert 0 < range_draws_delta(0.1, 3, math.nextafter(0.3, 0)) < 1e-12
    many = dc.IndependentDraws(dc.BoundedRange(0.001), 10**7)
    assert many.epsilon(1e-6) == dc.Repeated(dc.BoundedRange(0.001), 10**7).epsilon(1e-6)


def test_another_library_composes_the_worst_pair_to_the_same() -> None:
    """dp-accounting's loss distribution of the worst pair of two points, composed."""
    from dp_accounting.pld.privacy_loss_distribution import from_two_probability_mass_functions

    level, draws, delta = 0.5, 12, 1e-5
    epsilon = range_draws_epsilon(level, draws, delta)
    offsets = np.linspace(0, level, 1001)[1:-1]
    t = max(offsets, key=lambda t: of_offset(level, draws, epsilon, t))
    p, q = math.expm1(t) / math.expm1(level), math.expm1(-t) / math.expm1(-level)
    upper, lower = ({0: math.log1p(-x), 1: math.log(x)} for x in (p, q))
    pair = from_two_probability_mass_functions(lower, upper, value_discretization_interval=1e-4, symmetric=False)
    composed = pair.self_compose(draws)
    assert max(composed.get_delta_for_epsilon(epsilon), 1e-30) == pytest.approx(delta, rel=0.02)
    assert composed.get_epsilon_for_delta(delta) == pytest.approx(epsilon, rel=2e-3)


def real_draws(epsilon: float, count: int, at: float, cells: int = 100) -> float:
    """The profile of `count` draws of a tempered Beta posterior, by a sum over the grid of all of them."""
    low = 0.1
    theta = np.linspace(low, 1 - low, cells)
    weight = epsilon / (2 * math.log((1 - low) / low))
    laws = []
    for ones in (3, 4):
        log = weight * (ones * np.log(theta) + (6 - ones) * np.log1p(-theta))
        laws.append(np.exp(log - log.max()) / np.exp(log - log.max()).sum())
    one, two = laws
    for _ in range(count - 1):
        one, two = np.multiply.outer(one, laws[0]), np.multiply.outer(two, laws[1])
    return float(np.maximum(one - math.exp(at) * two, 0.0).sum())


def test_a_real_posterior_is_below_and_a_forgotten_draw_is_seen() -> None:
    for at in (0.2, 0.8, 1.5):
        truth = real_draws(1.5, 3, at)
        assert truth <= range_draws_delta(1.5, 3, at)
    # a space of its two ends alone; the planted twin: one draw is paid of three
    assert range_draws_delta(1.5, 1, 0.2) < real_draws(1.5, 3, 0.2, cells=2) <= range_draws_delta(1.5, 3, 0.2)


PLANTED: dict[str, Callable[[float, int, float], float]] = {
    "the middle offset": lambda level, draws, e: of_offset(level, draws, e, level / 2),
    "the offset of one draw": lambda level, draws, e: of_offset(level, draws, e, min((e + level) / 2, level)),
    "a draw dropped": lambda level, draws, e: range_draws_delta(level, draws - 1, e),
    "half of the range": lambda level, draws, e: range_draws_delta(level / 2, draws, e),
}


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_bug_is_below_brute_force(planted: str) -> None:
    level, draws, epsilon = 1.0, 10, 7.0
    assert PLANTED[planted](level, draws, epsilon) < 0.97 * brute(level, draws, epsilon)


def adaptive(level: float, steps: int, epsilon: float) -> float:
    """The worst steps whose offset is chosen from what was seen: a lower bound, over a grid of offsets."""
    offsets = np.linspace(0, level, 201)

    def value(left: int, log_alpha: float) -> float:
        if left == 1:  # in closed form: the profile of one draw at any real epsilon
            e = log_alpha
            if e >= level:
                return 0.0
            return -math.expm1(e) if e <= -level else math.expm1((e - level) / 2) ** 2 / -math.expm1(-level)
        best = 0.0
        for t in offsets[1:-1]:
            x = math.expm1(t) / math.expm1(level)
            best = max(best, (1 - x) * value(left - 1, log_alpha - t) + x * value(left - 1, log_alpha + level - t))
        return best

    return value(steps, epsilon)


def test_steps_that_choose_their_offset_exceed_it_and_repeated_does_not_use_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why chains are `Repeated` and not `IndependentDraws`: with an offset for each step the shared one is no bound."""
    level, epsilon = 1.0, 0.1
    truth = adaptive(level, 2, epsilon)
    assert truth > 1.02 * range_draws_delta(level, 2, epsilon)
    assert truth <= dc.Repeated(dc.BoundedRange(level), 2).delta(epsilon)

    def refused(*_: object) -> float:
        raise AssertionError("the steps of a chain must not share an offset")

    for name in ("range_draws_delta", "range_draws_epsilon"):
        monkeypatch.setattr(range_draws, name, refused)
        monkeypatch.setattr(f"discreet.guarantee.independent.{name}", refused)
    dc.Repeated(dc.BoundedRange(level), 2).epsilon(1e-3)
    dc.Composed((dc.IndependentDraws(dc.BoundedRange(level), 2), dc.BoundedRange(level))).epsilon(1e-3)
    with pytest.raises(AssertionError, match="share an offset"):
        dc.IndependentDraws(dc.BoundedRange(level), 2).epsilon(1e-3)


def test_chains_are_never_certified_as_independent_draws() -> None:
    """Every mechanism whose steps depend on each other says `Repeated`."""
    schema = dc.Schema({"smoker": dc.Binary()}, n=20)
    query = dc.BetaBernoulli("smoker").query(schema)
    chain = dc.PrivateMetropolis(epsilon_per_step=0.5, steps=30, truncation=0.1).guarantee(query)
    assert type(chain) is dc.Repeated
    drawn = dc.PosteriorSample(epsilon=0.5, truncation=0.1, draws=30).guarantee(query)
    assert type(drawn) is dc.IndependentDraws
    assert drawn.epsilon(1e-6) < dc.Repeated(dc.BoundedRange(0.5), 30).epsilon(1e-6) * 0.995
    assert drawn.epsilon(0.0) == pytest.approx(15.0)
    assert drawn.terms() == {dc.BoundedRange(0.5): 30}  # what a ledger adds up
