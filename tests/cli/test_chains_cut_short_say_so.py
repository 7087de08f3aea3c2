"""A chain cut short on purpose says so in all five outputs: text, summary, interval, terminal and JSON."""

from collections.abc import Callable
from pathlib import Path

import pytest

import discreet as dc
from discreet.cli.commands import posterior_command
from discreet.posterior import network_tables

GRAPH = {"a": (), "b": ("a",)}
COLUMNS = {name: dc.Categorical(["x", "y", "z"]) for name in GRAPH}
SAYS = "the chains have not converged: R-hat up to "
PROMISE = "the intervals count it"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A paid release of a network."""
    import pyarrow as pa

    table = pa.table({"a": ["x", "y", "z", "x"] * 50, "b": ["x", "x", "z", "y"] * 50})
    data = dc.open(table, dc.Schema(COLUMNS, n=200), id="cut-short")
    ledger = dc.Ledger.create(tmp_path / "own.ledger", dc.Budget(10.0), "pure")
    path = tmp_path / "network.release.json"
    dc.release(dc.BayesianNetwork(GRAPH), data, dc.NoisyStatistics(epsilon=2.0), ledger).save(path)
    return path


def test_five_outputs(run: Callable, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_tables, "FIRST", 10)
    monkeypatch.setattr(network_tables, "MOST", 20)
    posterior = dc.load(file).posterior("joint")
    assert posterior.chains["a"].shape[1] == 20
    assert not posterior.mixing.converged
    assert SAYS in str(posterior)
    for ask in (posterior.summary, posterior.interval):
        with pytest.warns(dc.ConvergenceWarning, match=SAYS):
            ask()
    text, document = run("posterior", file, "--joint"), run("posterior", file, "--joint", "--json")
    assert (text.code, text.err, document.code, document.err) == (0, "", 0, "")
    said = " ".join(text.out.split())
    assert SAYS in said
    assert PROMISE not in said
    assert document.document["converged"] is False
    assert document.document["convergence"] == posterior.mixing.words


def test_what_has_converged_says_nothing(run: Callable, file: Path) -> None:
    posterior = dc.load(file).posterior()
    assert posterior.mixing.converged
    assert "converged" not in str(posterior)
    text, document = run("posterior", file), run("posterior", file, "--json")
    assert PROMISE in " ".join(text.out.split())
    assert SAYS not in " ".join(text.out.split())
    assert document.document["converged"] is True
    assert "convergence" not in document.document


def test_no_words_promise_more_than_the_estimand(run: Callable, tmp_path: Path) -> None:
    """Widths that assume something of the data say so, and nothing beside them says that they cover."""
    import pyarrow as pa

    data = dc.open(pa.table({"age": [20.0, 30.0] * 25}), dc.Schema({"age": dc.Bounded(0, 110)}, n=50), id="ages")
    ledger = dc.Ledger.create(tmp_path / "own.ledger", dc.Budget(10.0), "pure")
    dc.release(dc.Normal("age"), data, dc.NoisyStatistics(epsilon=2.0), ledger).save(tmp_path / "r.json")
    said = " ".join(run("posterior", tmp_path / "r.json").out.split())
    assert "widths assume" in said
    assert "cover" not in said
    assert PROMISE in said
    assert not any("cover" in words for words in posterior_command.KINDS.values())


def test_the_joint_chain_runs_until_it_mixed_and_agrees_with_the_families(file: Path) -> None:
    """Both condition on the node's own table; the joint one on the margins of the other as well."""
    release = dc.load(file)
    joint, families = release.posterior("joint"), release.posterior()
    assert joint.mixing.converged
    for name, sd in families.sd().items():
        assert (abs(joint.mean()[name] - families.mean()[name]) < 2.0 * sd).all()
    assert "each from its own table" in str(families)
    assert "all tables together" in str(joint)


def test_joint_is_refused_where_a_model_has_no_parts(run: Callable, tmp_path: Path, file: Path) -> None:
    with pytest.raises(dc.QueryError, match='"noise-aware", "plug-in" or "joint"'):
        dc.load(file).posterior("both")  # type: ignore[arg-type]
    (made,) = dc.simulate(
        dc.DirichletCategorical("a"), None, dc.NoisyStatistics(epsilon=2.0), schema=dc.Schema(COLUMNS, n=50), runs=1
    )
    with pytest.raises(dc.QueryError, match='for DirichletCategorical, got "joint"'):
        made.posterior("joint")
    assert run("posterior", file, "--joint", "--plug-in").code != 0
