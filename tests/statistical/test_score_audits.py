"""Noisy scores attacked on their worst pair: the exact log-likelihood ratio of both tables, stage by stage and together.

Its mean under the first table is the divergence of order 1, which rho-zCDP bounds by rho, and which discrete Gaussian
noise attains where a unit moves a stage as far as it can. Over N releases its deviation is sqrt(2 rho / N): a mean above
rho by 4.5 of them is a false alarm once in 300,000, and noise for twice the budget is above it by more than 10.
"""

import math
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.auditing.attack import attack_pair, suspected_pairs
from discreet.noise.sources import SeededNoise
from thinned import thinned

RHO, ROWS, DELTA = 2.0, 10_000, 1e-3
COLUMNS = {
    "x": dc.Bounded(-1, 1),
    "z": dc.Bounded(-1, 1),
    "ward": dc.Categorical(["A", "B", "C"]),
    "y": dc.Binary(),
    "visits": dc.Count(6),
}
LOGISTIC = dc.LogisticRegression("y", ("x", "z"))
ALL, FIRST, SECOND, LAST = (0.08, 0.22, 0.70), (0.97, 0.01, 0.02), (0.01, 0.97, 0.02), (0.01, 0.01, 0.98)
COUNTS = dc.PoissonRegression("visits", ("x", "z"))
SHOWN = 0.9  # of rho, at least, by the worst pair
# a model, shares, steps, the schema's unit and relation
CASES: dict[str, tuple[Any, tuple[float, float, float], int, dict[str, Any]]] = {
    "totals": (dc.LogisticRegression("y", ("x", "ward")), FIRST, 1, {}),
    "moments": (LOGISTIC, SECOND, 1, {}),
    "one score": (LOGISTIC, LAST, 1, {}),
    "ten scores": (LOGISTIC, LAST, 10, {}),
    "forty scores": (LOGISTIC, LAST, 40, {}),
    "categories, all stages": (dc.LogisticRegression("y", ("ward",)), ALL, 5, {}),
    "all stages": (LOGISTIC, ALL, 5, {}),
    "labels": (LOGISTIC, ALL, 5, {"unit": dc.LabelOnly("y")}),
    "persons": (LOGISTIC, LAST, 5, {"unit": dc.Person("id", max_records=3)}),
    "records that come and go": (LOGISTIC, LAST, 5, {"relation": "add-remove"}),
    "counts": (COUNTS, LAST, 5, {}),
    "all stages, forty scores": (LOGISTIC, ALL, 40, {}),
    "all stages of counts": (COUNTS, ALL, 40, {}),
    "all stages, persons": (LOGISTIC, ALL, 5, {"unit": dc.Person("id", max_records=3)}),
    "all stages, records that come and go": (LOGISTIC, ALL, 5, {"relation": "add-remove"}),
}


def pair_of(name: str) -> tuple[Any, Any]:
    model, shares, steps, facts = CASES[name]
    persons = getattr(facts.get("unit"), "max_records", 1)
    size = {"n_max": ROWS} if "relation" in facts else {"n": ROWS // persons}
    mechanism = dc.NoisyScore(rho=RHO, steps=steps, shares=shares)
    (pair,) = suspected_pairs(mechanism, model.query(dc.Schema(COLUMNS, **size, **facts)))
    return mechanism, pair


def divergence(mechanism: Any, releases: Any, pair: Any, runs: int) -> float:
    """The mean log-likelihood ratio that the mechanism claims, of releases of the first table."""
    values = releases.repeated(SeededNoise(5), pair.query, pair.dataset, runs)
    return float(np.mean(mechanism.score(pair)(values)))


@pytest.mark.parametrize("runs", [100, pytest.param(2_000, marks=pytest.mark.audit)])
@pytest.mark.parametrize("name", thinned(CASES, lambda name: name in ("one score", "totals")))
def test_the_worst_pair_shows_most_of_the_claim_and_no_more(name: str, runs: int) -> None:
    mechanism, pair = pair_of(name)
    found, error = divergence(mechanism, mechanism, pair, runs), math.sqrt(2.0 * RHO / runs)
    print(
        f"{name}, {runs} releases: {found / RHO:.3f} ± {error / RHO:.3f} of the claim, {pair.cost / RHO:.3f} searched for"
    )
    assert found <= RHO + 4.5 * error
    assert found >= SHOWN * RHO - 4.5 * error
    assert pair.cost <= RHO


def test_noise_for_twice_the_budget_is_caught() -> None:
    """Released with the noise of 4 rho, which moves every ratio four times as far, and read as what is claimed."""
    _, pair = pair_of("one score")
    planted = dc.NoisyScore(rho=4.0 * RHO, steps=1, shares=LAST)
    values = planted.repeated(SeededNoise(5), pair.query, pair.dataset, 100)
    assert float(np.mean(planted.score(pair)(values))) > RHO + 4.5 * math.sqrt(8.0 * RHO / 100)


@pytest.mark.audit
@pytest.mark.parametrize("name", ["one score", "all stages"])
def test_the_certain_loss_is_below_the_claim(name: str) -> None:
    """Epsilon that 5,000 releases of each table prove at a confidence of 99.9%: above the claim once in a thousand.

    Two normal log-ratios as far apart as rho allows prove .37 ± .024 of the claim: less than .27 once in 30,000.
    """
    mechanism, pair = pair_of(name)
    claimed = mechanism.guarantee(pair.query).epsilon(DELTA)
    found = attack_pair(mechanism, pair, noise=SeededNoise(7), runs=5_000, delta=DELTA)
    assert 0.27 * claimed <= found.epsilon <= claimed
