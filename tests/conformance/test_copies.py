"""A new kind is one file and one line: copies of every registered mechanism, family and model answer as they do."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import discreet as dc
from copies import command, copied_family, copied_mechanism, copied_model, seeded, shorten, walked
from discreet import pipeline
from discreet.mechanisms import MECHANISMS
from discreet.models import MODELS
from discreet.queries.families import FAMILIES
from pairs import MECHANISMS as MECHANISM_EXAMPLES
from pairs import MODELS as MODEL_EXAMPLES
from pairs import Pair, one_per_pair

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")  # chains are short on purpose

# of each mechanism one model, the quickest; of each family one model whose parameter it is
QUICK = {
    "GibbsPosterior": "QuadraticMean",
    "NoisyScore": "LogisticRegression",
    "PrivateAnnealing": "EventLogHMM",
    "PrivateGibbs": "EventLogHMM",
}
OF_FAMILY = {
    "BoundedMean": "StatisticalQuery",
    "Dirichlet": "BetaBernoulli",
    "DirichletTables": "NaiveBayes",
    "ExponentialRate": "GammaExponential",
    "GaussianMean": "NormalMean",
    "HiddenMarkov": "EventLogHMM",
    "PoissonRate": "GammaPoisson",
}
# what a family is asked for, one mechanism of each kind: its update, a conjugate draw, a declared space, a paid chain
KINDS = ("NoisyStatistics", "ConcentratedSample", "PosteriorSample", "PrivateMetropolis", "GibbsPosterior")
OTHERS = {"EventLogHMM": ("PrivateGibbs",)}  # its family is asked by this chain only


COSTLY = (dc.ConcentratedSample, dc.PosteriorSample)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    seeded(monkeypatch)
    return command(capsys, monkeypatch)


def with_kind(thing: Any, kind: type) -> Any:
    """The same arguments for another class."""
    return kind(**{field.name: getattr(thing, field.name) for field in dataclasses.fields(thing)})


def pairs_of(model: str) -> list[Pair]:
    found = [pair for pair in one_per_pair() if pair.name.startswith(f"{model} by ")]
    wanted = OTHERS.get(model, KINDS)
    return [pair for pair in found if type(pair.mechanism).__name__ in wanted]


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_a_copied_mechanism(name: str, tmp_path: Path, run: Callable[..., str], monkeypatch: Any) -> None:
    model = MODEL_EXAMPLES[QUICK.get(name, "BetaBernoulli")][0]
    mechanism = next(
        pair.mechanism for pair in one_per_pair() if pair.name.endswith(f"by {name}") and pair.model == model
    )
    expected = walked(model, mechanism, tmp_path / "own", run)
    copy = with_kind(mechanism, copied_mechanism(name, tmp_path, monkeypatch))
    assert walked(model, copy, tmp_path / "copy", run) == expected


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_copied_model(name: str, tmp_path: Path, run: Callable[..., str], monkeypatch: Any) -> None:
    first = pairs_of(name)[0]
    expected = walked(first.model, first.mechanism, tmp_path / "own", run)
    kind = copied_model(name, tmp_path, monkeypatch)
    shorten(kind, monkeypatch)
    assert walked(with_kind(first.model, kind), first.mechanism, tmp_path / "copy", run) == expected


OF_FAMILIES = [(name, pair) for name in sorted(FAMILIES) for pair in pairs_of(OF_FAMILY[name])]


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        pytest.param(
            name,
            pair,
            id=f"{name}-{type(pair.mechanism).__name__}",
            # a conjugate draw and a declared space of one family in `make test`, of all in `make audit`
            marks=[] if name == "Dirichlet" or type(pair.mechanism) not in COSTLY else [pytest.mark.audit],
        )
        for name, pair in OF_FAMILIES
    ],
)
def test_a_copied_family(name: str, pair: Pair, tmp_path: Path, run: Callable[..., str], monkeypatch: Any) -> None:
    model = OF_FAMILY[name]
    pairs = [pair]
    expected = [walked(pair.model, pair.mechanism, tmp_path / f"own{i}", run) for i, pair in enumerate(pairs)]
    copied_family(name, tmp_path, monkeypatch)
    kind = copied_model(model, tmp_path, monkeypatch, name)
    shorten(kind, monkeypatch)
    copies = [with_kind(pair.model, kind) for pair in pairs]
    assert type(copies[0].query(pairs[0].schema).family).__name__ == f"Copied{name}"
    for i, pair in enumerate(pairs):
        assert walked(copies[i], pair.mechanism, tmp_path / f"copy{i}", run) == expected[i]


def test_calibrations_follow_the_registry(tmp_path: Path, run: Callable[..., str], monkeypatch: Any) -> None:
    """A copied mechanism brings its command along, under its own name."""
    from discreet.cli.commands import calibrate_command

    words = ["calibrate", "diffused", "--prior", "6,12", "--n", "100", "--order", "15", "--epsilon", "0.1", "--json"]
    expected = json.loads(run(tmp_path, *words))
    copied_mechanism("DiffusedSample", tmp_path, monkeypatch)
    calibrate_command.commands.cache_clear()
    words[1] = "copied-diffused-sample"
    assert json.loads(run(tmp_path, *words)) == expected
    monkeypatch.undo()
    calibrate_command.commands.cache_clear()


def test_code_that_knows_a_kind_by_its_class_is_caught(
    tmp_path: Path, run: Callable[..., str], monkeypatch: Any
) -> None:
    """The planted ladder is the one that was there: who asks is known by its class."""
    right = pipeline.query_of

    def ladder(model: Any, mechanism: Any, schema: Any) -> Any:
        if not isinstance(mechanism, dc.NoisyStatistics | dc.GibbsPosterior):
            raise dc.QueryError("another mechanism")
        return right(model, mechanism, schema)

    monkeypatch.setattr(pipeline, "query_of", ladder)
    model, mechanism = MODEL_EXAMPLES["BetaBernoulli"][0], MECHANISM_EXAMPLES["NoisyStatistics"][0]
    copy = with_kind(mechanism, copied_mechanism("NoisyStatistics", tmp_path, monkeypatch))
    with pytest.raises(dc.QueryError, match="another mechanism"):
        walked(model, copy, tmp_path / "copy", run)


@pytest.mark.parametrize("verb", ["posterior", "score", "plan", "release"])
def test_a_copy_that_answers_otherwise_is_caught(
    verb: str, tmp_path: Path, run: Callable[..., str], monkeypatch: Any
) -> None:
    """Every answer of the library is compared: one number that is changed in any of them is seen."""
    model, mechanism = MODEL_EXAMPLES["BetaBernoulli"][0], MECHANISM_EXAMPLES["NoisyStatistics"][0]
    expected = walked(model, mechanism, tmp_path / "own", run)
    kind = copied_mechanism("NoisyStatistics", tmp_path, monkeypatch)
    method, planted = {
        "posterior": ("read", lambda right: lambda *given: _with_prior(right, *given)),
        "score": ("score", lambda right: lambda *given: lambda values: 2.0 * right(*given)(values)),
        "plan": ("laws", lambda right: lambda *given: {name: dc.DiscreteLaplace(9.0) for name in right(*given)}),
        "release": ("apply", lambda right: lambda *given: {name: array + 1 for name, array in right(*given).items()}),
    }[verb]
    monkeypatch.setattr(kind, method, planted(getattr(kind, method)))
    found = walked(model, with_kind(mechanism, kind), tmp_path / "copy", run)
    assert found[verb] != expected[verb]


def _with_prior(right: Any, mechanism: Any, model: Any, *given: Any) -> Any:
    """Read with another prior than the model's."""
    return right(mechanism, dataclasses.replace(model, prior=(2.0, 2.0)), *given)
