"""Whatever is asked of a registered model and a registered mechanism is answered, or refused as such.

Every public verb, of all pairs of examples: those that fit, and those that do not. What has a guarantee can be planned.
`make test` has all that do not fit and of those that fit one of each pair of kinds, `make audit` the other examples.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from copies import BUDGET, seeded
from discreet.pipeline import query_of
from pairs import COLUMNS, MECHANISMS, MODELS, ROWS, one_per_pair, small_table, valid_pairs

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")  # chains are short on purpose

SCHEMA = dc.Schema(COLUMNS, n=ROWS)
FIRST = [(pair.model, pair.mechanism) for pair in one_per_pair()]
FURTHER = [pair for pair in ((pair.model, pair.mechanism) for pair in valid_pairs()) if pair not in FIRST]
PAIRS = [
    pytest.param(
        model,
        mechanism,
        id=f"{name} by {type(mechanism).__name__} {number}",
        marks=[pytest.mark.audit] if (model, mechanism) in FURTHER else [],
    )
    for name, models in MODELS.items()
    for model in models
    for mechanisms in MECHANISMS.values()
    for number, mechanism in enumerate(mechanisms)
]


def answered(question: Callable[[], Any]) -> Any:
    """The answer, or the refusal; every other exception is an error of ours."""
    try:
        return question()
    except dc.DiscreetError as refusal:
        return refusal


def verbs(posterior: Any) -> Iterator[Any]:
    """Everything that a posterior is asked."""
    rng = np.random.default_rng(0)
    mean = answered(posterior.mean)
    table = small_table()
    new = (table,) if hasattr(posterior, "information") else (2, rng)
    yield mean
    for name, arguments in (
        ("sd", ()),
        ("interval", (0.9,)),
        ("quantile", (0.5,)),
        ("sample", (2, rng)),
        ("log_density", (mean,)),
        ("predict", new),
        ("summary", ()),
        ("log_evidence", ()),
        ("to_datatree", ()),
    ):
        if hasattr(posterior, name):
            yield answered(lambda name=name, arguments=arguments: getattr(posterior, name)(*arguments))
    assert str(posterior)


def check(model: Any, mechanism: Any, folder: Path) -> bool:
    """Walk over all verbs; whether the pair fits."""
    guarantee = answered(lambda: mechanism.guarantee(query_of(model, mechanism, SCHEMA)))
    answered(lambda: mechanism.guarantee(model.query(SCHEMA)))  # asked without looking whether they fit
    plan = answered(lambda: dc.plan(model, mechanism, schema=SCHEMA, runs=1))
    fits = not isinstance(guarantee, dc.DiscreetError)
    assert isinstance(plan, dc.Plan) == fits
    data = dc.open(small_table(), SCHEMA, id="pairs")
    ledger = dc.Ledger.create(folder / "one.ledger", BUDGET, "approximate")
    release = answered(lambda: dc.release(model, data, mechanism, ledger))
    assert isinstance(release, dc.Release) == fits
    assert isinstance(answered(lambda: dc.simulate(model, data, mechanism, runs=1, seed=1)), list) == fits
    if not fits:
        assert ledger.entries() == ()
        return False
    release.save(folder / "one.release.json")
    loaded = dc.load(folder / "one.release.json")
    assert loaded == release
    assert len(list(verbs(loaded.posterior()))) > 2
    for options in ({"kind": "plug-in"}, {"pooling": "partial"}, {"prior": (2.0, 3.0)}):
        found = answered(lambda options=options: loaded.posterior(**options))
        assert isinstance(found, dc.DiscreetError) or str(found)
    assert isinstance(
        answered(lambda: dc.compare(model, BUDGET, schema=SCHEMA, mechanisms=[mechanism], runs=1)), dc.Comparison
    )
    answered(lambda: dc.audit(model, mechanism, schema=SCHEMA, runs=100, seed=1))
    return True


@pytest.mark.parametrize(("model", "mechanism"), PAIRS)
def test_every_verb_answers_or_refuses(
    model: Any, mechanism: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeded(monkeypatch)
    check(model, mechanism, tmp_path)


@pytest.mark.parametrize("verb", ["guarantee", "shapes", "read", "score", "work"])
def test_a_socket_that_does_not_fit_is_caught(verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mechanism forgets one method: an AttributeError is neither an answer nor a refusal."""
    seeded(monkeypatch)
    monkeypatch.setattr(dc.NoisyStatistics, verb, property(lambda self: self.nothing))
    with pytest.raises((AttributeError, AssertionError)):
        check(MODELS["BetaBernoulli"][0], MECHANISMS["NoisyStatistics"][0], tmp_path)
