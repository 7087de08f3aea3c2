"""PosteriorSample for the worst two tables of n records: epsilon by brute force over all neighbours, and what it keeps."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

import discreet as dc
from discreet.recipe import describe, spelled

EPSILON, LOWER = 0.5, 0.05
LEVELS = 10  # of a cell of a bounded column, 0 … 10


def sample(**arguments) -> dc.PosteriorSample:
    return dc.PosteriorSample(**{"epsilon": EPSILON, "truncation": LOWER, "worst_case": "n", **arguments})


def of_bits(n: int, prior: tuple[float, float] = (1, 1)):
    return dc.BetaBernoulli("x", prior=prior).query(dc.Schema({"x": dc.Binary()}, n=n))


def of_an_average(n: int, prior: tuple[float, float] = (1, 1)):
    schema = dc.Schema({"x": dc.Bounded(0, LEVELS, grid=1)}, n=n)
    return dc.StatisticalQuery("x", prior=prior).query(schema)


def normaliser(successes: float, n: int, temperature: float, part: tuple[float, float]) -> float:
    """Log of the integral of a tempered Beta density over the declared space, by scipy's quadrature."""
    one, zero = part[0] + successes / temperature - 1.0, part[1] + (n - successes) / temperature - 1.0
    top = max(one * math.log(p) + zero * math.log1p(-p) for p in np.linspace(LOWER, 1 - LOWER, 201))
    inside = quad(lambda p: math.exp(one * math.log(p) + zero * math.log1p(-p) - top), LOWER, 1 - LOWER, epsabs=1e-14)
    return float(math.log(inside[0]) + top)


def worst(n: int, temperature: float, part: tuple[float, float], parts: int = 1) -> float:
    """The largest log-ratio of all neighbours, a record moving any number of `parts` of a success."""
    known = {s: normaliser(s / parts, n, temperature, part) for s in range(n * parts + 1)}
    ends = [math.log(p / (1 - p)) / temperature for p in (LOWER, 1 - LOWER)]
    moves = [
        (move, known[s + move] - known[s]) for move in range(1, parts + 1) for s in range(n * parts + 1 - move)
    ]  # fmt: skip
    return max(abs(end * move / parts - shift) for move, shift in moves for end in ends)


@pytest.mark.parametrize("n", [1, 2, 7, 40])
@pytest.mark.parametrize(
    ("tempering", "prior"), [("joint", (1, 1)), ("joint", (0.5, 6)), ("natural", (2, 1)), ("likelihood", (3, 0.5))]
)
def test_epsilon_is_met_and_used_up(n: int, tempering: str, prior: tuple[float, float]) -> None:
    mechanism, query = sample(tempering=tempering), of_bits(n, prior)
    temperature = mechanism.temperature(query)
    flat = {"joint": (1, 1), "natural": (0, 0), "likelihood": prior}[tempering]
    part = tuple((own - even) / temperature + even for own, even in zip(prior, flat, strict=True))
    found = worst(n, temperature, part)  # type: ignore[arg-type]
    assert EPSILON * (1 - 1e-6) < found <= EPSILON
    assert mechanism.guarantee(query).epsilon(0.0) == EPSILON


def test_epsilon_is_met_where_records_move_parts_of_a_success() -> None:
    query = of_an_average(4, (2, 1))
    temperature = sample().temperature(query)
    part = (1 + 1 / temperature, 1.0)
    assert EPSILON * (1 - 1e-6) < worst(4, temperature, part, parts=LEVELS) <= EPSILON


def test_the_law_of_a_draw_keeps_it_too() -> None:
    """The same through `log_law`, which is what leaves."""
    mechanism, query = sample(), of_bits(12)
    ends = [mechanism.log_law(query, [p], np.arange(13)) for p in (LOWER, 1 - LOWER)]
    assert EPSILON * (1 - 1e-6) < np.abs(np.diff(ends)).max() <= EPSILON * (1 + 1e-7)


def test_planted_temperatures_are_caught() -> None:
    """Of fewer records, of tables in the middle, of one order alone, and half of the one that is safe for every n."""
    n, prior = 40, (0.5, 6.0)
    temperature, fewer = (sample().temperature(of_bits(rows, prior)) for rows in (n, 10))
    middle = temperature
    while middle_level(n, middle, prior) < EPSILON:
        middle *= 0.999
    plain = sample(worst_case=None).temperature(of_bits(n, prior))
    for planted in (fewer, middle, plain / 2):
        part = tuple((own - 1) / planted + 1 for own in prior)
        assert worst(n, planted, part) > EPSILON * 1.001  # type: ignore[arg-type]


def middle_level(n: int, temperature: float, prior: tuple[float, float]) -> float:
    part = tuple((own - 1) / temperature + 1 for own in prior)
    low, high = (normaliser(n // 2 + more, n, temperature, part) for more in (0, 1))  # type: ignore[arg-type]
    return math.log((1 - LOWER) / LOWER) / temperature + abs(high - low)


def test_temperatures_rise_with_the_records_from_half_to_all() -> None:
    plain = sample(worst_case=None).temperature(of_bits(1))
    found = [sample().temperature(of_bits(n)) for n in (1, 10, 100, 1000, 10**9)]
    assert found == sorted(found)
    assert plain / 2 < found[0] < plain / 1.99
    assert found[-1] == plain


def test_a_draw_that_is_cheap_untempered_costs_what_it_costs() -> None:
    mechanism, query = sample(epsilon=9.0), of_bits(5)
    assert mechanism.temperature(query) == 1.0
    found = mechanism.guarantee(query).epsilon(0.0)
    assert found == pytest.approx(worst(5, 1.0, (1.0, 1.0)), rel=1e-8)
    assert found < sample(epsilon=9.0, worst_case=None).guarantee(query).epsilon(0.0)


def test_a_guarantee_keeps_both_certificates() -> None:
    """Bounded range of R / T, above epsilon, which several draws may compose instead."""
    mechanism, query = sample(draws=300), of_bits(10)
    one = sample().guarantee(query)
    pure, ranged = one.parts  # type: ignore[attr-defined]
    assert (type(pure).__name__, type(ranged).__name__) == ("PureDP", "BoundedRange")
    spread = 2 * math.log((1 - LOWER) / LOWER)
    assert ranged.level == pytest.approx(spread / mechanism.temperature(query), rel=1e-12)
    assert ranged.level > EPSILON
    assert mechanism.guarantee(query).epsilon(1e-6) < 300 * EPSILON


def test_a_request_without_it_is_the_request_of_before() -> None:
    assert "worst_case" not in describe(sample(worst_case=None))
    assert describe(sample())["worst_case"] == "n"
    assert spelled(sample()) == "PosteriorSample(epsilon=0.5, truncation=0.05, worst_case='n')"


@pytest.mark.parametrize("value", ["N", "", 10, True])
def test_another_word_is_refused(value) -> None:
    with pytest.raises(dc.GuaranteeError, match=r'PosteriorSample\.worst_case must be "n" or left out'):
        sample(worst_case=value)


def test_exact_arithmetic_is_refused() -> None:
    with pytest.raises(dc.GuaranteeError, match=r"worst_case must be left out in exact arithmetic"):
        sample(arithmetic="exact")


def test_what_the_theorem_does_not_reach_is_refused() -> None:
    vector = dc.DirichletCategorical("w").query(dc.Schema({"w": dc.Categorical(["a", "b", "c"])}, n=9))
    with pytest.raises(dc.QueryError, match=r"anything but one probability, or the mean of a bounded column"):
        sample().guarantee(vector)
    hidden = dc.BetaBernoulli("x").query(dc.Schema({"x": dc.Binary(missing="exclude")}, n=9))
    with pytest.raises(dc.QueryError, match=r"how many rows are left is private"):
        sample().guarantee(hidden)
    persons = dc.Schema({"x": dc.Binary()}, unit=dc.Person("id", max_records=2), n=9)
    with pytest.raises(dc.QueryError, match=r"PosteriorSample must have records that are replaced"):
        sample().guarantee(dc.BetaBernoulli("x").query(persons))


def test_a_release_is_paid_and_read(tmp_path) -> None:
    import pandas as pd

    data = dc.open(pd.DataFrame({"x": [0, 1] * 5}), dc.Schema({"x": dc.Binary()}, n=10), id="toy")
    ledger = dc.Ledger.create(tmp_path / "l.ledger", dc.Budget(epsilon=1.0))
    release = dc.release(dc.BetaBernoulli("x"), data, sample(), ledger)
    assert float(ledger.spent()) == EPSILON
    release.save(tmp_path / "one.json")
    again = dc.load(tmp_path / "one.json")
    assert again.guarantee == release.guarantee
    assert again.posterior().interval() == release.posterior().interval()
    assert dc.release(dc.BetaBernoulli("x"), data, sample(), ledger).entry == release.entry
    assert float(ledger.spent()) == EPSILON
