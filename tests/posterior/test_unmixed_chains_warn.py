"""Every answer read off chains that did not converge says so, once, at the line that asked."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.posterior import (
    ChainsPosterior,
    EventGrid,
    EventLogPosterior,
    GroupedPosterior,
    NetworkPosterior,
    NetworkRecords,
    RegressionPosterior,
)
from discreet.posterior.base import Posterior
from discreet.posterior.records.declared_records import DeclaredRecords, LevelCells, NumberColumn

RNG = np.random.default_rng(1)
APART = np.arange(2.0)[:, np.newaxis] + 0.01 * RNG.standard_normal((2, 200))  # chains that never meet


@dataclass(frozen=True)
class Itself:
    def draw(self, parameters: Any, rng: np.random.Generator) -> Any:
        return parameters["mu"]


def plain() -> ChainsPosterior:
    declared = DeclaredRecords.alone(NumberColumn("x", 0.0, 10.0, 1.0))
    return ChainsPosterior({"mu": APART}, {}, "test", Itself(), declared=declared)


def regression() -> RegressionPosterior:
    chains = {"coefficients": APART[:, :, np.newaxis] + np.zeros(2), "variance": APART + 1.0}
    features, target = {"age": dc.Bounded(0, 9)}, NumberColumn("y", 0.0, 9.0, 1.0)
    axes = {"coefficients": {"coefficient": ("intercept", "age")}}
    return RegressionPosterior(chains, axes, "regression", features=features, target=target)


def network() -> NetworkPosterior:
    share = 0.2 + 0.5 * APART / 2
    table, parents = np.stack([share, 1 - share], axis=-1), {"a": (), "b": ("a",)}
    chains = {"a": table, "b": np.stack([table, table], axis=2)}
    axes = {"a": {"a_level": ("x", "y")}, "b": {"a_level": ("x", "y"), "b_level": ("x", "y")}}
    columns = {name: dc.Categorical(["x", "y"]) for name in parents}
    return NetworkPosterior.of(ChainsPosterior(chains, axes, "network", NetworkRecords(parents)), parents, columns)


def events() -> EventLogPosterior:
    share = 0.2 + 0.5 * APART / 2
    two = np.stack([share, 1 - share], axis=-1)
    hidden = {"hidden_state": ("1", "2")}
    axes = {"start": hidden, "transition": {**hidden, "next_hidden_state": ("1", "2")}}
    axes["kind"] = {**hidden, "kind_level": ("a", "b")}
    chains = {"start": two, "transition": np.stack([two, two], axis=2), "kind": np.stack([two, two], axis=2)}
    grid = EventGrid("region", "month", ("r",), ("1", "2"), {"kind": ("a", "b")})
    return EventLogPosterior(np.zeros((2, 200, 1, 2), dtype=np.int64), ChainsPosterior(chains, axes, "events"), grid)


WARDS = LevelCells.of(dc.Schema({"ward": dc.Categorical(["A", "B"])}), "ward")


def grouped(part: Posterior) -> GroupedPosterior:
    return GroupedPosterior("ward", {"A": part, "B": part})


ROWS = {"age": [1.0, 2.0]}
ASKED: dict[str, Callable[[], Any]] = {
    "summary": lambda: plain().summary(),
    "interval": lambda: plain().interval(),
    "simulate": lambda: plain().simulate(3),
    "predict a number": lambda: plain().predict(3),
    "table": lambda: plain().table(3),
    "tables": lambda: plain().tables(2, 3),
    "groups simulate": lambda: grouped(plain()).simulate(3),
    "groups predict": lambda: grouped(plain()).predict(3),
    "groups tables": lambda: grouped(plain()).tables(2, 3),
    "groups table": lambda: grouped(plain()).table(3),
    "regression predict": lambda: regression().predict(ROWS),
    "groups predict rows": lambda: replace(grouped(regression()), cells=WARDS).predict({**ROWS, "ward": ["A", "B"]}),
    "regression columns": lambda: regression().predicted_columns(ROWS),
    "regression simulate": lambda: regression().simulate(3, records=ROWS),
    "network predict_proba": lambda: network().predict_proba({"a": ["x"]}, "b"),
    "network columns": lambda: network().predicted_columns({"a": ["x"]}, target="b"),
    "network simulate": lambda: network().simulate(3),
    "event log simulate": lambda: events().simulate(3),
}


def warned(ask: Callable[[], Any]) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ask()
    return told


@pytest.mark.parametrize("asked", ASKED)
def test_what_is_asked_of_them_says_so_once(asked: str) -> None:
    told = warned(ASKED[asked])
    assert [warning.category for warning in told] == [dc.ConvergenceWarning]
    assert "the chains have not converged" in str(told[0].message)
    assert told[0].filename == __file__


@pytest.mark.parametrize("asked", ASKED)
def test_an_answer_that_forgets_to_warn_is_found(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Posterior, "_warn", lambda _: None)
    with pytest.raises(AssertionError):
        test_what_is_asked_of_them_says_so_once(asked)
