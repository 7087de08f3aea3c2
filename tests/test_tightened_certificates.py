"""Releases and a ledger that accounting 1 wrote and whose certificates accounting 2 tightened: they open, verify, go on.

`golden/accounting_1` was written by `golden/make_tightened.py` at commit 13a8927.
"""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.guarantee import Basis, ConjugateProfile, IndependentDraws, RenyiDP, Repeated, from_json, stored
from discreet.ledger.events import request_key
from discreet.queries.families import PoissonRate
from discreet.release import Release, recipe_of
from golden.make_tightened import CASES, SCHEMA, table

OLD = Path(__file__).parent / "golden" / "accounting_1"
INDEX: dict[str, Any] = json.loads((OLD / "index.json").read_text())
SAME_LAW = ("posterior sample of 10", "gibbs on a ball of 4")
GAIN = dict.fromkeys(CASES, 0.1)  # of epsilon at delta = 1e-3, at least
GAIN |= {"dirichlet direct of 3": -1e-9, "posterior sample of 10": 0.08, "gibbs on a ball of 4": 0.02}


@pytest.fixture
def ledger(tmp_path: Path) -> dc.Ledger:
    for file in ("tightened.ledger", "tightened.ledger.head"):
        shutil.copy(OLD / file, tmp_path / file)
    return dc.Ledger.open(tmp_path / "tightened.ledger")


@pytest.mark.parametrize("name", CASES)
def test_an_old_release_opens_and_shows_what_was_promised(name: str) -> None:
    body = json.loads((OLD / INDEX[name]["file"]).read_text())
    release = dc.load(OLD / INDEX[name]["file"])
    assert release.accounting == 1 < stored.ACCOUNTING
    assert release.notice == ""
    assert stored.same(release.guarantee, from_json(body["guarantee"]))
    assert Release.from_json(release.to_json()).to_json() == release.to_json()
    model, mechanism = CASES[name]
    today = mechanism.guarantee(release.query)
    assert isinstance(today, IndependentDraws if name in SAME_LAW else (ConjugateProfile, Repeated))
    for delta, then in INDEX[name]["epsilons"].items():
        assert release.guarantee.epsilon(float(delta)) <= then * (1 + 1e-9)  # of what was written, by today's routes
        assert today.epsilon(float(delta)) <= then * (1 + 1e-9), delta
    assert today.epsilon(1e-3) <= INDEX[name]["epsilons"]["0.001"] * (1 - GAIN[name])
    assert request_key(recipe_of(model, "tightened", SCHEMA, mechanism)) == INDEX[name]["key"]


def check_laws_are_kept() -> None:
    """The law of an answer follows from the recipe, never from the version of the accounting."""
    for name, (model, mechanism) in CASES.items():
        if INDEX[name]["fractions"] is not None:
            assert list(mechanism.fractions(model.query(SCHEMA))) == pytest.approx(INDEX[name]["fractions"], rel=1e-9)


def test_a_tightened_certificate_changes_no_law() -> None:
    check_laws_are_kept()


def test_fractions_by_todays_certificate_would_be_another_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PoissonRate, "calibration", lambda f, n, r, m: f.certificate(n, r, m, lambda _: Basis()))
    model, mechanism = CASES["poisson concentrated"]
    other = replace(mechanism, epsilon=1.0 + 1e-12)  # fractions are remembered
    assert other.fractions(model.query(SCHEMA))[1] > INDEX["poisson concentrated"]["fractions"][1] * 1.05


def test_the_old_ledger_verifies_answers_resumes_and_goes_on(ledger: dc.Ledger) -> None:
    assert ledger.verify(INDEX["head"]) == ()
    spent, filter_name = ledger.spent(), ledger.filter.name
    dataset = dc.open(table(), SCHEMA, id="tightened")
    for name, (model, mechanism) in CASES.items():
        again = dc.release(model, dataset, mechanism, ledger)
        assert again.to_json() == dc.load(OLD / INDEX[name]["file"]).to_json()
        resumed = dc.release(model, dataset, replace(mechanism, label="unanswered"), ledger)
        assert resumed.notice == ""
    assert ledger.spent() == spent
    old = {entry.request: entry.spend for entry in ledger.entries()}
    for name in ("dirichlet direct", "poisson direct", "exponential direct"):
        model, mechanism = CASES[name]
        before = ledger.spent()
        new = dc.release(model, dataset, replace(mechanism, label="accounting 2"), ledger)
        assert new.accounting == stored.ACCOUNTING
        assert 0 < ledger.spent() - before < old[INDEX[name]["key"]]  # by its own filter, at today's lower price
    assert ledger.filter.name == filter_name == "approximate"
    assert ledger.verify(INDEX["head"]) == ()


def test_within_one_version_the_other_certificate_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted twin of reading: had the version not been raised, every tightened release would be locked out."""
    monkeypatch.setattr(stored, "ACCOUNTING", 1)
    for about in (INDEX[name] for name in CASES):
        with pytest.raises(dc.ReleaseError, match="must be what its recipe gives"):
            dc.load(OLD / about["file"])


def test_an_old_name_on_a_smaller_certificate_shows_todays(tmp_path: Path) -> None:
    """Whoever writes less than today's certificate into an old file is shown today's, and what the file says."""
    body = json.loads((OLD / INDEX["poisson direct"]["file"]).read_text())
    body["guarantee"]["parameters"]["width"] /= 2
    release = Release.from_json(body)
    assert isinstance(release.guarantee, ConjugateProfile)
    assert isinstance(release.paid, RenyiDP)
    assert "Accounting 1 charged less" in release.notice
