"""What was paid for is read by every later version: golden releases and ledgers, and an accountant that changes.

The golden files were written by `tests/golden/make_golden.py`. A failure here means that a request lost its key or an
answer its reader; where it says that a certificate moved within one version, `accounting/version.py` must be raised.
"""

import json
import math
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from decimal import Context, Decimal
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from discreet.guarantee import (
    AllOf,
    ConjugateProfile,
    Guarantee,
    IndependentDraws,
    Leaf,
    RenyiDP,
    Repeated,
    Within,
    from_json,
    stored,
)
from discreet.guarantee.stored import Restated, above, read_today, same
from discreet.ledger import agreement, filters
from discreet.ledger.events import request_key
from discreet.ledger.filters import Filter
from discreet.mechanisms import MECHANISMS
from discreet.release import Release, recipe_of
from pairs import one_per_pair
from thinned import thinned

GOLDEN = Path(__file__).parent / "golden"
INDEX = json.loads((GOLDEN / "index.json").read_text())
LATER = json.loads((GOLDEN / "later.json").read_text())  # pairs that came after the golden ledgers
LEDGERS = sorted(INDEX["heads"])
GOLDEN_ACCOUNTING = 1  # that priced them


class NoRows:
    """A source that nobody may read."""

    at_hand = True
    has_places = True

    def statistics(self, _query: Any) -> Any:
        raise AssertionError("rows were read for an answer that is stored")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the golden files: opening a ledger may write beside it."""
    folder = tmp_path_factory.mktemp("golden") / "golden"
    shutil.copytree(GOLDEN, folder, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    return folder


def releases() -> Iterator[tuple[str, Release]]:
    for name, about in INDEX["pairs"].items():
        yield name, dc.load(GOLDEN / about["file"])


def asked(release: Release, label: str | None = None) -> tuple[Any, dc.Dataset, Any]:
    """The request of a release, rebuilt from its recipe; or the same under another label."""
    mechanism = release.mechanism if label is None else replace(release.mechanism, label=label)
    dataset = dc.Dataset(release.recipe["dataset"], dc.Schema.from_json(release.recipe["schema"]), NoRows())  # type: ignore[arg-type]
    return release.model, dataset, mechanism


def check_all_is_read(folder: Path) -> int:
    """Every file loads, every ledger verifies, every stored answer returns; all reservations resume but those, which are
    counted, that cost more today."""
    for name in LEDGERS:
        ledger_named(folder, name).verify(INDEX["heads"][name])
    ledger = ledger_named(folder, "approximate")
    spent, dearer = ledger.spent(), 0
    for pair, release in releases():
        again = dc.release(*asked(release), ledger)
        assert request_key(again.recipe) == INDEX["pairs"][pair]["key"]
        model, dataset, mechanism = asked(release, "unanswered")
        guarantee = mechanism.guarantee(model.query(dataset.schema))
        recipe = recipe_of(model, dataset.id, dataset.schema, mechanism)
        reserved, price = ledger.find(recipe), ledger.filter.spend(guarantee, ledger.budget)
        assert reserved is not None
        if reserved.accounting < stored.ACCOUNTING and price * Decimal("0.999999999") > reserved.spend:
            dearer += 1
            with pytest.raises(dc.LedgerError, match="ask again under another label"):
                ledger.reserve(guarantee, recipe)
        else:
            assert ledger.reserve(guarantee, recipe).status == "reserved"
    assert ledger.spent() == spent
    return dearer


def ledger_named(folder: Path, name: str) -> dc.Ledger:
    return dc.Ledger.open(folder / f"{name}.ledger")


def test_every_pair_has_a_golden_release() -> None:
    assert {pair.name for pair in one_per_pair()} <= {*INDEX["pairs"], *LATER}


@pytest.mark.parametrize("name", sorted(LATER))
def test_later_releases_keep_their_keys_and_are_read(name: str) -> None:
    release = dc.load(GOLDEN / LATER[name]["file"])
    model, dataset, mechanism = asked(release)
    assert request_key(recipe_of(model, dataset.id, dataset.schema, mechanism)) == LATER[name]["key"]
    assert len(release.posterior().summary())


def test_golden_releases_keep_their_keys_and_their_guarantees() -> None:
    for name, release in releases():
        model, dataset, mechanism = asked(release)
        recipe = recipe_of(model, dataset.id, dataset.schema, mechanism)
        assert recipe == release.recipe, name
        assert request_key(recipe) == INDEX["pairs"][name]["key"], name
        assert release.notice == "" or release.accounting < stored.ACCOUNTING, name


def test_golden_ledgers_answer_without_rows(kept: Path) -> None:
    assert check_all_is_read(kept) == 0
    loaded = dict(releases())
    for name in set(LEDGERS) - {"approximate"}:  # which has them all
        ledger = ledger_named(kept, name)
        for pair, about in INDEX["pairs"].items():
            if name in about["ledgers"]:
                again = dc.release(*asked(loaded[pair]), ledger)
                assert request_key(again.recipe) == about["key"]


Change = Callable[[float], float]


def changed(guarantee: Guarantee, change: Change) -> Guarantee:
    """The same guarantee with every number of its certificate changed."""

    def walk(body: Any) -> Any:
        if isinstance(body, dict):
            moved = {key: value if key == "basis" else walk(value) for key, value in body.items()}
            return moved | {key: min(1.0, moved[key]) for key in ("scale", "shrink") if key in moved}
        if isinstance(body, list | tuple):
            return [walk(value) for value in body]
        return change(body) if isinstance(body, float) else body

    return from_json(walk(guarantee.to_json()))


# pure functions that every test asks again
STATED = {kind: cache(kind.guarantee) for kind in MECHANISMS.values()}
SPEND = cache(Filter.spend)


def of_golden(today: Guarantee) -> Guarantee:
    """As the accountant of the golden files, 1, certified it: 2 knows more profiles, and draws of one law as such."""
    if isinstance(today, IndependentDraws | Repeated):
        return Repeated(of_golden(today.part), today.times)
    beta = isinstance(today, ConjugateProfile) and len(today.parameters.get("prior", ())) == 2
    if isinstance(today, ConjugateProfile) and not beta:
        return RenyiDP(today.family, today.parameters, today.basis)
    return today


def perturb(monkeypatch: pytest.MonkeyPatch, factor: float, *, newer: bool) -> None:
    """An accountant that multiplies every certificate and every price: a later one, or that of the golden files."""
    for kind, stated in STATED.items():
        known = stated if newer else lambda s, q, stated=stated: of_golden(stated(s, q))
        moved = cache(lambda s, q, known=known: changed(known(s, q), lambda x: x * factor))
        monkeypatch.setattr(kind, "guarantee", lambda s, q, moved=moved: moved(s, q))
    exact = Context(prec=200)
    monkeypatch.setattr(
        Filter,
        "spend",
        lambda *each: exact.quantize(exact.multiply(SPEND(*each), Decimal(factor)), Decimal("1e-18")),
    )
    monkeypatch.setattr(stored, "ACCOUNTING", stored.ACCOUNTING + 1 if newer else GOLDEN_ACCOUNTING)


ULPS = [1 - 4e-16, 1 + 4e-16]
MOVES = [1 - 1e-6, 1 + 1e-6]


@pytest.mark.parametrize("factor", [*ULPS, 1 + 5e-10])
def test_rounding_errors_of_one_version_lock_nobody_out(
    kept: Path, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    perturb(monkeypatch, factor, newer=False)
    assert check_all_is_read(kept) == 0
    assert all(release.notice == "" for _, release in releases())


@pytest.mark.parametrize("factor", thinned(MOVES, lambda factor: factor > 1))
def test_a_newer_accounting_locks_nobody_out_and_says_what_it_finds(
    kept: Path, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    """A higher price in `make test`; a lower one, which test_tightened_certificates has for real, in `make audit`."""
    stored = {name: release.guarantee for name, release in releases()}
    perturb(monkeypatch, factor, newer=True)
    assert (check_all_is_read(kept) > 10) == (factor > 1)
    for name, release in releases():
        today = release.mechanism.guarantee(release.query)
        higher = above(today, stored[name])
        if isinstance(today, Leaf) or (isinstance(today, Repeated) and isinstance(today.part, Leaf)):
            assert higher == (factor > 1), name
        assert same(release.guarantee, today if higher else stored[name]), name
        assert (release.notice != "") == higher, name
        assert Release.from_json(release.to_json()).notice == release.notice  # also from a copy of it
    cheap = ledger_named(kept, "zcdp").verify()
    assert (len(cheap) > 0) == (factor > 1)


@pytest.mark.parametrize("factor", ULPS)
def test_equality_locked_people_out(kept: Path, monkeypatch: pytest.MonkeyPatch, factor: float) -> None:
    """The planted twin: guarantees compared as they were before, on loading, resuming and verifying."""
    perturb(monkeypatch, factor, newer=False)
    reader = import_module("discreet.release")  # the name in the package is the function
    monkeypatch.setattr(reader, "read_today", lambda a, b, older: Restated(b) if a == b else None)
    refused = 0
    for about in INDEX["pairs"].values():
        try:
            dc.load(GOLDEN / about["file"])
        except dc.ReleaseError:
            refused += 1
    assert refused > 10
    monkeypatch.undo()
    perturb(monkeypatch, factor, newer=False)
    monkeypatch.setattr(agreement, "same", lambda a, b: a == b)
    with pytest.raises(dc.GuaranteeError, match="the one reserved for this recipe"):
        check_all_is_read(kept)
    if factor > 1:
        monkeypatch.setattr(filters, "LEAST", Decimal(1))
        with pytest.raises(dc.LedgerError, match="at least the price"):
            check_all_is_read(kept)


def test_another_guarantee_of_this_version_is_refused() -> None:
    """The other side: within one version, what differs by more than rounding is not what was paid."""
    for name, release in releases():
        today = release.mechanism.guarantee(release.query)
        for factor in (1 - 1e-8, 1 + 1e-8):
            forged = changed(today, lambda x, factor=factor: x * factor)
            assert read_today(forged, today, older=False) is None, name


def test_a_forged_age_never_shows_less_than_todays_guarantee() -> None:
    """Whoever calls a release old may not call it more private: today's guarantee is shown, and what the file says."""
    (path,) = (
        GOLDEN / about["file"] for name, about in INDEX["pairs"].items() if name == "BetaBernoulli by NoisyStatistics"
    )
    body = json.loads(path.read_text())
    body["accounting"], body["guarantee"]["epsilon"] = 0, 0.01
    release = Release.from_json(body)
    assert release.guarantee == dc.PureDP(0.5)
    assert "Accounting 0 charged less, PureDP(epsilon=0.01)" in release.notice
    body["guarantee"]["basis"]["relation"] = "add-remove"
    with pytest.raises(dc.ReleaseError, match="must be what its recipe gives"):
        Release.from_json(body)
    for bad in (-1, 10**6, True, 1.0, "1", None):
        with pytest.raises(dc.ReleaseError, match=r"Release.accounting must be a whole number"):
            Release.from_json({**body, "accounting": bad})


def test_numbers_of_a_forged_guarantee_stop_nobody() -> None:
    """A curve of numbers that no mechanism has may divide by zero: a refusal or today's guarantee, in silence."""
    about = INDEX["pairs"]["BetaBernoulli by DirectSample"]
    body = json.loads((GOLDEN / about["file"]).read_text())
    for scale in (5e-324, 1e-300, 1e300):
        parameters = {**body["guarantee"]["parameters"], "scale": scale}
        forged = {**body, "accounting": 0, "guarantee": {**body["guarantee"], "parameters": parameters}}
        with suppress(dc.DiscreetError):
            Release.from_json(forged)


def said_too_little(today: Guarantee) -> list[Guarantee]:
    """Guarantees at single points, each below today's curve somewhere between or beside the points of a grid."""
    found: list[Guarantee] = []
    for delta in (2e-12, 3e-8, 5e-7, 1e-3, 0.05, 0.7):
        for at in (3e-8, 1e-6, 1e-2, 0.1, 0.5):
            if at > delta and today.epsilon(at) < math.inf:
                point = dc.ApproxDP(max(today.epsilon(at), 1e-9), delta, today.basis)
                found += [point, Within(dc.PureDP(point.level, today.basis), delta / 3), AllOf((today, point))]
    return found


def check_nothing_less_is_shown(today: Guarantee) -> None:
    curve = {delta: today.epsilon(delta) for delta in (10 ** (-exponent / 3) for exponent in range(1, 46))}
    for less in said_too_little(today):
        reading = read_today(less, today, older=True)
        assert reading is not None
        for delta, epsilon in curve.items() if reading.shown is not today else ():
            assert reading.shown.epsilon(delta) >= epsilon * (1 - 1e-6), (less, delta)


LAWS = [dc.PureDP(0.5), dc.GaussianDP(0.7), dc.ZCDP(0.05), Within(dc.PureDP(1.5), 1e-10), dc.ApproxDP(1.0, 1e-6)]


@pytest.mark.parametrize("today", LAWS, ids=repr)
def test_no_point_between_those_of_the_grid_shows_less(today: Guarantee) -> None:
    check_nothing_less_is_shown(today)


@pytest.mark.parametrize("today", LAWS[:3], ids=repr)
def test_on_the_grid_alone_a_single_point_shows_less(today: Guarantee, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "_covers", lambda *_: True)
    with pytest.raises(AssertionError):
        check_nothing_less_is_shown(today)


@pytest.mark.parametrize("factor", [0.5, 3.0])
def test_a_request_that_stopped_resumes_if_it_paid_what_a_newer_accounting_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, factor: float
) -> None:
    """What was charged stays charged. An answer that costs more today has not left, and does not leave for less."""
    (pair,) = (pair for pair in one_per_pair() if pair.name == "BetaBernoulli by NoisyStatistics")
    ledger = dc.Ledger.create(tmp_path / "study.ledger", dc.Budget(1.0))
    recipe = recipe_of(pair.model, "pairs", pair.schema, pair.mechanism)
    ledger.reserve(pair.mechanism.guarantee(pair.model.query(pair.schema)), recipe)
    perturb(monkeypatch, factor, newer=True)
    if factor > 1:
        with pytest.raises(dc.LedgerError, match="an older accounting charged less than today's price"):
            dc.release(pair.model, pair.dataset(), pair.mechanism, ledger)
        (told,) = ledger.verify()
        assert "charged epsilon = 0.5, today's price is epsilon = 1.5" in told
    else:
        release = dc.release(pair.model, pair.dataset(), pair.mechanism, ledger)
        assert release.notice == ""
        again = dc.release(*asked(release), dc.Ledger.open(ledger.path))
        assert again.to_json() == release.to_json()
    assert ledger.spent() == Decimal("0.5")
