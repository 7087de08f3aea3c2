"""A posterior for every group: the same questions, answered by level."""

import numpy as np
import pytest

from discreet.errors import QueryError
from discreet.noise import DiscreteLaplace
from discreet.posterior import Draws, beta_from_count, dirichlet_from_counts
from discreet.posterior.groups import GroupedPosterior
from discreet.schema.row_counts import KnownSize

LAW = DiscreteLaplace(2.0)
PARTS = {"A": beta_from_count(3, 10, (1, 1), LAW), "B": beta_from_count(70, 100, (1, 1), LAW)}
RATES = GroupedPosterior("ward", PARTS)
SHARES = GroupedPosterior(
    "ward",
    {
        level: dirichlet_from_counts(counts, KnownSize(12), 1.0, LAW, ("x", "y", "z"))
        for level, counts in (("A", [1, 2, 9]), ("B", [4, 4, 4]))
    },
)


def test_answers_are_those_of_the_parts() -> None:
    assert list(RATES) == ["A", "B"]
    assert len(RATES) == 2
    assert RATES["A"] is PARTS["A"]
    for level, part in PARTS.items():
        assert RATES.mean()[level] == part.mean()
        assert RATES.sd()[level] == part.sd()
        assert RATES.interval(0.8)[level] == part.interval(0.8)
        assert RATES.quantile(0.3)[level] == part.quantile(0.3)
        assert (
            RATES.summary().to_dict("index")[f"{level}: probability"] == part.summary().to_dict("index")["probability"]
        )
    assert RATES.log_evidence() == pytest.approx(sum(part.log_evidence() for part in PARTS.values()))
    assert list(SHARES.summary().index) == [f"{level}: probabilities[{name}]" for level in "AB" for name in "xyz"]
    assert "B: probability" in str(RATES)


def test_draws_and_predictions_are_by_level() -> None:
    """20,000 independent draws: no correlation beyond 5 standard errors (6e-7)."""
    draws = RATES.sample(20_000, np.random.default_rng(1))
    assert abs(np.corrcoef(draws["A"], draws["B"])[0, 1]) < 5 / np.sqrt(20_000)
    assert SHARES.sample(5)["A"].shape == (5, 3)
    assert set(np.unique(RATES.predict(50)["B"])) <= {0, 1}
    same = [RATES.sample(3, np.random.default_rng(2)) for _ in range(2)]
    np.testing.assert_array_equal(same[0]["B"], same[1]["B"])


def test_export_stacks_the_groups_on_their_own_dimension() -> None:
    tree = SHARES.to_datatree(7, attributes={"epsilon": 0.5})
    assert set(tree.children) == {"posterior"}
    variable = tree["posterior"]["probabilities"]
    assert variable.dims == ("chain", "draw", "ward", "level")
    assert variable.shape == (1, 7, 2, 3)
    assert list(variable.coords["ward"].values) == ["A", "B"]
    assert tree["posterior"].attrs["epsilon"] == 0.5
    assert RATES.to_datatree(4)["posterior"]["probability"].dims == ("chain", "draw", "ward")
    for taken in ("probability", "draw"):
        assert GroupedPosterior(taken, PARTS).to_datatree(4)["posterior"]["probability"].dims[2] == f"{taken}_group"


def test_parameters_of_different_shapes_are_exported_one_by_one() -> None:
    parts = {
        level: Draws({"theta": np.full((3, size), 0.5), "rate": np.ones(3)}) for level, size in (("A", 2), ("B", 4))
    }
    posterior = GroupedPosterior("ward", parts).to_datatree()["posterior"]
    assert posterior["rate"].dims == ("chain", "draw", "ward")
    assert {name: posterior[f"theta[{name}]"].shape for name in "AB"} == {"A": (1, 3, 2), "B": (1, 3, 4)}


def test_refusals() -> None:
    with pytest.raises(QueryError, match="one group"):
        RATES.log_density(0.3)
    with pytest.raises(QueryError, match="must be one of"):
        RATES["C"]
    with pytest.raises(QueryError, match="at least one"):
        GroupedPosterior("ward", {})
    with pytest.raises(QueryError, match="quantile"):
        RATES.quantile(1.0)
