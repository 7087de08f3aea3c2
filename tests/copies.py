"""Copies of registered kinds under a new name, made from source text: what a newcomer would add, and nothing else.

A copy is one new module (the file of the original with its class renamed) and one line in a registry. It shares no class
with its original but the sockets, so code that resolves a kind by its class, or by its parent's, does not know it.
"""

import importlib.util
import inspect
import json
import re
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet import mechanisms, models, pipeline
from discreet.auditing import attack
from discreet.auditing.attack import attack_pair
from discreet.cli import main
from discreet.models import bayesian_network, declared_moments, event_log_hmm
from discreet.noise.sources import SeededNoise
from discreet.queries import families
from pairs import COLUMNS, ROWS, small_table

PREFIX = "Copied"
BUDGET = dc.Budget(1e5, 1e-2)


def copied(kind: type, folder: Path, *others: str) -> type:
    """The class of the same source text under the name "Copied…"; so are the other names in that text."""
    text = Path(inspect.getsourcefile(kind) or "").read_text()
    for name in (kind.__name__, *others):
        text = re.sub(rf"(?<![\w/]){name}\b", PREFIX + name, text)
    module = f"copied_{kind.__name__.lower()}"
    file = folder / f"{module}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(module, file)
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[module] = loaded  # dataclasses look there for annotations
    spec.loader.exec_module(loaded)
    found: type = getattr(loaded, PREFIX + kind.__name__)
    return found


def copied_mechanism(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> type:
    """One file, one line."""
    kind = copied(mechanisms.MECHANISMS[name], folder)
    monkeypatch.setitem(mechanisms.MECHANISMS, kind.__name__, kind)
    return kind


def copied_model(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *others: str) -> type:
    """One file, one line."""
    kind = copied(models.MODELS[name], folder, *others)
    monkeypatch.setitem(models.MODELS, kind.__name__, kind)
    return kind


def copied_family(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> type:
    """One file, one line; the package lends its name, as the line in the registry does."""
    kind = copied(families.FAMILIES[name], folder)
    monkeypatch.setitem(families.FAMILIES, kind.__name__, kind)
    monkeypatch.setattr(families, kind.__name__, kind, raising=False)
    return kind


def seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Releases draw from a fixed stream, all else is brief: copies must agree, not be good."""
    monkeypatch.setattr(pipeline, "SystemNoise", lambda: SeededNoise(11))
    brief(monkeypatch)


def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains are short, audits are of few runs: what is asked must be answered, not well."""
    monkeypatch.setattr(declared_moments, "sample_moments", short_moments)
    monkeypatch.setattr(event_log_hmm, "noise_aware_chains", short_hidden_chains)
    monkeypatch.setattr(bayesian_network, "network_from_tables", short_network)
    monkeypatch.setattr(attack, "attack_pair", lambda *pair, runs, **how: attack_pair(*pair, runs=runs // 10, **how))


short_moments = partial(declared_moments.sample_moments, draws=40, most=40)
short_hidden_chains = partial(event_log_hmm.noise_aware_chains, draws=20, warm_up=10, chains=2)
short_network = partial(bayesian_network.network_from_tables, draws=20, chains=2)


def shorten(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same for what the module of a copy has imported itself."""
    for name, short in (("noise_aware_chains", short_hidden_chains), ("network_from_tables", short_network)):
        if hasattr(sys.modules[kind.__module__], name):
            monkeypatch.setattr(sys.modules[kind.__module__], name, short)


def walked(model: Any, mechanism: Any, folder: Path, run: Callable[..., str]) -> Any:
    """Every verb of the library and of the command line, as plain data without what names a file or an entry."""
    folder.mkdir()
    schema, table = dc.Schema(COLUMNS, n=ROWS), small_table()
    data = dc.open(table, schema, id="pairs")
    ledger = dc.Ledger.create(folder / "own.ledger", BUDGET, "approximate")
    release = dc.release(model, data, mechanism, ledger)
    release.save(folder / "one.release.json")
    loaded = dc.load(folder / "one.release.json")
    posterior = loaded.posterior()
    found: dict[str, Any] = {
        "release": release.to_json(),
        "loaded": loaded == release,
        "again": dc.release(model, data, mechanism, ledger).entry == release.entry,
        "posterior": _said(posterior, table),
        "plan": dc.plan(model, mechanism, schema=schema, runs=1).to_json(),
        "paid": (mechanism.paid_by, repr(mechanism.at(2.0)) if mechanism.paid_by else ""),
        "compare": _tried(
            lambda: dc.compare(model, dc.Budget(100.0, 0.1), schema=schema, mechanisms=[mechanism], runs=1).to_json()
        ),
        "audit": _tried(lambda: vars(dc.audit(model, mechanism, schema=schema, runs=100, seed=5))),
        "score": _tried(lambda: _scores(model, mechanism, schema)),  # ten runs certify nothing: the score itself
    }
    table.to_csv(folder / "table.csv", index=False)
    (folder / "study.toml").write_text(_study(release))
    dc.Ledger.create(folder / "study.ledger", BUDGET, "approximate")
    for words in (["release", "study.toml"], ["posterior", "out.json"], ["plan", "study.toml", "--runs", "1"]):
        found[f"command {words[0]}"] = json.loads(run(folder, *words, "--json"))
    return _plain(found)


def _scores(model: Any, mechanism: Any, schema: dc.Schema) -> Any:
    """The test statistic of an audit on a few releases of one of its pairs."""
    query = model.query(schema)
    pair = attack.suspected_pairs(mechanism, query)[0]
    return mechanism.score(pair)(mechanism.repeated(SeededNoise(5), query, pair.dataset, 4))


def _said(posterior: Any, table: Any) -> dict[str, Any]:
    rng = np.random.default_rng(3)
    new = (table,) if hasattr(posterior, "information") else (2, rng)
    return {
        "mean": posterior.mean(),
        "interval": _tried(lambda: posterior.interval(0.9)),
        "sample": posterior.sample(2, rng),
        "predict": _tried(lambda: posterior.predict(*new)),
        "text": str(posterior),
        "tree": sorted(posterior.to_datatree().groups),
    }


def _tried(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except dc.DiscreetError as problem:
        return f"{type(problem).__name__}: {problem}"


def _study(release: dc.Release) -> str:
    columns = release.recipe["schema"]["columns"]
    lines = ['id = "pairs"', 'data = "table.csv"', 'ledger = "study.ledger"', f"n = {ROWS}", "[columns]"]
    lines += [f"{json.dumps(name)} = {_toml(spec)}" for name, spec in columns.items()]
    lines += ["[[release]]", 'name = "one"', 'out = "out.json"']
    lines += [f"{key} = {_toml(release.recipe[key])}" for key in ("model", "mechanism")]
    return "\n".join(lines) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value)


def _plain(thing: Any) -> Any:
    """Data whose texts do not show which of the two it was."""
    if isinstance(thing, Mapping):
        return {str(key): _plain(item) for key, item in thing.items() if key not in ("entry", "ledger", "head", "out")}
    if isinstance(thing, np.ndarray | np.generic):
        return _plain(thing.tolist())
    if isinstance(thing, list | tuple):
        return [_plain(item) for item in thing]
    if isinstance(thing, str):
        return thing.replace(PREFIX, "")
    return thing if isinstance(thing, int | float | bool) or thing is None else _plain(repr(thing))


def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Run a command in a folder, which must succeed, and return what it printed."""

    def run(folder: Path, *words: str) -> str:
        monkeypatch.chdir(folder)
        capsys.readouterr()
        code = main(list(words))
        captured = capsys.readouterr()
        assert (code, captured.err) == (0, ""), words
        return captured.out

    return run
