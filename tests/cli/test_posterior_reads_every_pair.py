"""`discreet posterior` reads a release of every model by every mechanism that fits it, as text and as JSON."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from copies import seeded
from discreet.queries.losses import Loss
from discreet.release import Release
from pairs import Pair, one_per_pair

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")  # chains are short on purpose

BUDGET = dc.Budget(10_000.0, 0.5)


@pytest.fixture
def once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Text and JSON show the same posterior: chains run once, and are short."""
    seeded(monkeypatch)
    posterior, found = Release.posterior, []

    def kept(*args: Any, **options: Any) -> Any:
        found.extend([] if found else [posterior(*args, **options)])
        return found[0]

    monkeypatch.setattr(Release, "posterior", kept)


def read(run: Callable, folder: Path, pair: Pair) -> dict[str, Any]:
    """Pay for a release, save it, and read it with the command: text first, then JSON, which is returned."""
    ledger = dc.Ledger.create(folder / "study.ledger", BUDGET, "approximate")
    file = folder / "one.release.json"
    dc.release(pair.model, pair.dataset(), pair.mechanism, ledger).save(file)
    text, document = run("posterior", file), run("posterior", file, "--json")
    assert (text.code, text.err, document.code, document.err) == (0, "", 0, "")
    for row in document.document["parameters"]:
        assert row["parameter"] in " ".join(text.out.split())
    return document.document


@pytest.mark.usefixtures("once")
@pytest.mark.parametrize("pair", one_per_pair(), ids=lambda pair: pair.name)
def test_a_release_of_every_pair_is_read(run: Callable, tmp_path: Path, pair: Pair) -> None:
    document = read(run, tmp_path, pair)
    rows = document["parameters"]
    assert len(rows) == len({row["parameter"] for row in rows}) > 0
    assert all(math.isfinite(row["mean"]) for row in rows)
    assert all(row["low"] < row["high"] for row in rows if "low" in row)
    assert document["kind"] == (
        "noise-aware" if isinstance(pair.mechanism, dc.NoisyStatistics | dc.NoisyScore) else "draws"
    )
    assert document["kind"] == "draws" or all("low" in row for row in rows)


def test_a_command_that_asks_every_query_for_tables_is_found(
    run: Callable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Loss, "labels", property(lambda query: [query.statistics[0].columns[0]]))
    (pair,) = (pair for pair in one_per_pair() if pair.name == "QuadraticMean by GibbsPosterior")
    with pytest.raises(AssertionError):
        read(run, tmp_path, pair)
