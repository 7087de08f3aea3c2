"""What one draw errs on average over the prior: against simulated draws of other code, and as `compare` ranks by it."""

import math

import numpy as np
import pytest

import discreet as dc
from discreet.planning.draw_errors import draw_errors

N, PRIOR, EPSILON, TRUNCATION, DRAWS = 6, (2.0, 1.0), 0.5, 0.1, 200_000
TEMPERED, COUNT = dc.PosteriorSample(epsilon=EPSILON, truncation=TRUNCATION), dc.NoisyStatistics(epsilon=EPSILON)
PLANTED = dc.PosteriorSample(epsilon=2 * EPSILON, truncation=TRUNCATION), dc.NoisyStatistics(epsilon=2 * EPSILON)


def with_n(n: int) -> dc.Schema:
    return dc.Schema({"x": dc.Binary()}, n=n)


def exact(mechanism: dc.PosteriorSample | dc.NoisyStatistics) -> dict[str, float]:
    model = dc.BetaBernoulli("x", prior=PRIOR)
    return {one.reading: one.error for one in draw_errors(model, mechanism, model.query(with_n(N)))}


def simulated() -> dict[str, tuple[float, float]]:
    """Mean distance and its standard error of each draw, from the printed formulas and numpy's generators alone."""
    rng, (a, b) = np.random.default_rng(3), PRIOR
    p = rng.beta(a, b, DRAWS)
    k = rng.binomial(N, p)
    heat = 2.0 * math.log((1.0 - TRUNCATION) / TRUNCATION) / EPSILON
    tempered = rng.beta((k + a - 1.0) / heat + 1.0, (N - k + b - 1.0) / heat + 1.0)
    inside = (tempered >= TRUNCATION) & (tempered <= 1.0 - TRUNCATION)  # conditioning on this would change k: redraw
    while not inside.all():
        where = np.flatnonzero(~inside)
        tempered[where] = rng.beta((k[where] + a - 1.0) / heat + 1.0, (N - k[where] + b - 1.0) / heat + 1.0)
        inside = (tempered >= TRUNCATION) & (tempered <= 1.0 - TRUNCATION)
    fall = 1.0 - math.exp(-EPSILON)
    noisy = k + rng.geometric(fall, DRAWS) - rng.geometric(fall, DRAWS)
    counts = np.arange(N + 1)
    chance = np.array(
        [math.comb(N, j) * math.gamma(j + a) * math.gamma(N - j + b) / math.gamma(N + a + b) for j in counts]
    )
    weights = chance * np.exp(-EPSILON * np.abs(noisy[:, None] - counts))
    behind = (rng.random((DRAWS, 1)) * weights.sum(1, keepdims=True) > np.cumsum(weights, axis=1)).sum(1)
    clipped = np.clip(noisy, 0, N)
    drawn = {
        "": tempered,
        "noise-aware": rng.beta(behind + a, N - behind + b),
        "plug-in": rng.beta(clipped + a, N - clipped + b),
    }
    apart = {name: np.abs(draws - p) for name, draws in drawn.items()}
    return {name: (float(gap.mean()), float(gap.std() / math.sqrt(DRAWS))) for name, gap in apart.items()}


def test_exact_errors_are_those_of_simulated_draws() -> None:
    """Three comparisons at four standard errors: a false alarm in 5,000 suites. Twice the epsilon is told apart."""
    found, planted = (exact(tempered) | exact(count) for tempered, count in ((TEMPERED, COUNT), PLANTED))
    for name, (mean, error) in simulated().items():
        assert abs(found[name] - mean) < 4.0 * error
        assert abs(planted[name] - mean) > 4.0 * error


def test_compare_ranks_by_one_draw() -> None:
    """With few records a tempered draw follows the data closest; with many, a noisy count at face value."""
    few, many = (
        dc.compare(dc.BetaBernoulli("x"), dc.Budget(0.1), schema=with_n(n), also=(tempered(),), runs=2, by="draw")
        for n in (5, 50)
    )
    assert [type(one.mechanism).__name__ for one in few.candidates] == ["PosteriorSample", "NoisyStatistics"]
    assert [type(one.mechanism).__name__ for one in many.candidates] == ["NoisyStatistics", "PosteriorSample"]
    best, other = many.candidates
    assert best.plan.draw is not None
    assert other.plan.draw is not None
    assert best.plan.draw.reading == "plug-in"
    assert best.score == 0.0
    assert other.score == pytest.approx(math.log(other.plan.draw.error / best.plan.draw.error))
    assert best.tie
    assert not other.tie
    assert "one draw errs 0.1668 (plug-in)" in str(many)
    assert many.to_json()["candidates"][0]["plan"]["draw"]["reading"] == "plug-in"


def tempered() -> dc.PosteriorSample:
    return dc.PosteriorSample(epsilon=0.1, truncation=0.05)


def test_what_is_not_known_is_refused() -> None:
    budget, schema = dc.Budget(0.1), with_n(2001)
    with pytest.raises(dc.QueryError, match=r"at most 2,000"):
        dc.compare(dc.BetaBernoulli("x"), budget, schema=schema, runs=2, by="draw")
    with pytest.raises(dc.QueryError, match=r"what a draw errs is known of one probability"):
        dc.compare(dc.DirichletCategorical("g"), budget, schema=levels(), runs=2, by="draw")
    with pytest.raises(dc.QueryError, match=r"the noise reaches too far"):
        dc.compare(dc.BetaBernoulli("x"), dc.Budget(1e-4), schema=with_n(100), runs=2, by="draw")
    for wrong in ({"by": "draws"}, {"by": "draw", "width": 0.1}):
        with pytest.raises(dc.QueryError, match=r'compare by must be "estimate", or "draw" without a width'):
            dc.compare(dc.BetaBernoulli("x"), budget, schema=with_n(5), runs=2, **wrong)


def levels() -> dc.Schema:
    return dc.Schema({"g": dc.Categorical(["a", "b", "c"])}, n=50)
