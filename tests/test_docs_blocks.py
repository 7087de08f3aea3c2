"""No block of the documentation is left out: commands, statements of a database, files and code of guides that need more.

Blocks of Python that need nothing but this library are run by `test_docs.py`; those for Spark by `sources/test_spark.py`,
in the session that is there.
"""

import json
import re
import shlex
import textwrap
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from copies import brief
from discreet.cli import main
from postgres_server import Server
from test_docs import EXECUTED, PAGES, ROOT, blocks

GUIDES = ROOT / "docs" / "guides"
RUN_ELSEWHERE = {
    "README.md console": "test_docs.py",
    "first-release.md console": "test_docs.py",
    "first-release.md toml": "test_docs.py, beside what it says of the study",
    "own-model.md python": "posterior/likelihoods/test_own_model_guide.py",
    'own-model.md python title="NumPyro"': "posterior/likelihoods/test_own_model_guide.py",
    'own-model.md python title="PyMC"': "posterior/likelihoods/test_own_model_guide.py",
    "spark.md python": "sources/test_spark.py",
}
RUN_HERE = {
    "coming-from.md text",
    "budget.md console",
    "budget.md text",
    "databases.md python",
    "databases.md sql",
    "declare.md console",
    "declare.md text",
    "ledger.md console",
    "ledger.md sql",
    "posterior.md json",
    "report.md text",
}
NOT_RUN = {
    "README.md": "make demo, and make test itself",
    "index.md": "the nouns in a line",
    "cli.md text": "help as it is printed, compared by test_docs.py",
    "python.md text": "signatures, compared by test_docs.py",
}


def languages(page: Path) -> set[str]:
    """What stands after the fences that open a block."""
    fences = re.findall(r"^```(.*)$", page.read_text(), flags=re.MULTILINE)
    return {f"{page.name} {language}".strip() for language in fences[::2]}


def test_no_block_is_left_out() -> None:
    """Nor is there a list of blocks that are gone."""
    found = set().union(*map(languages, PAGES))
    executed = {f"{page.name} python" for page in EXECUTED}
    assert found == executed | set(RUN_ELSEWHERE) | RUN_HERE | set(NOT_RUN)


def commands(page: str, language: str = "console") -> list[list[str]]:
    """The words of every command of a page."""
    lines = (line for block in blocks(GUIDES / page, language) for line in block.splitlines())
    return [shlex.split(line.removeprefix("$ ")) for line in lines]


def patients(n: int = 1000) -> pd.DataFrame:
    """What guides name."""
    rng = np.random.default_rng(8)
    return pd.DataFrame(
        {
            "smoker": rng.choice(["no", "yes"], n),
            "ward": rng.choice(["A", "B", "C"], n),
            "age": rng.integers(20, 90, n),
            "visits": rng.integers(0, 6, n),
            "sex": rng.integers(1, 3, n),
            "patient_id": [f"p{k}" for k in range(n)],
            "notes": "none",
        }
    )


@pytest.fixture
def typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable:
    """Type a command in an empty folder: it must do what it says, without a word of complaint."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))

    def command(words: list[str]) -> str:
        capsys.readouterr()
        assert words[0] == "discreet"
        few = ["--runs", "16"] if words[1] == "plan" else []
        code = main([*words[1:], *few])
        said = capsys.readouterr()
        assert (code, said.err) == (0, ""), words
        return said.out

    return command


def test_the_commands_of_declaring_run_on_the_dictionary_that_is_shown(typed: Callable) -> None:
    (dictionary,) = blocks(GUIDES / "declare.md", "text")
    Path("dictionary.csv").write_text(dictionary)
    patients().to_csv("patients.csv", index=False)
    said = [typed(words) for words in commands("declare.md")]
    assert "dictionary.csv" in said[0]
    assert "probability" in said[-1]


def test_the_commands_of_budgets_and_reports_run(typed: Callable) -> None:
    for words in commands("budget.md"):
        typed(words)
    typed(["discreet", "init", "study", "--epsilon", "3", "--delta", "1e-6"])
    Path("study.toml").write_bytes(Path("study", "study.toml").read_bytes())
    for line in commands("budget.md", "text"):
        assert "90%" in typed(line)
    patients().assign(smoker=lambda table: (table.smoker == "yes").astype(int)).to_csv(
        "study/patients.csv", index=False
    )
    typed(["discreet", "release", "study/study.toml"])
    for made in ("smoking.release.json", "study.ledger", "study.ledger.head"):
        Path(made).write_bytes(Path("study", made).read_bytes())
    for line in commands("report.md", "text"):
        assert "opens offline" in typed(line)
        assert Path(line[-1]).read_text().startswith("<!doctype html>")


def test_the_commands_of_a_shared_ledger_run_on_a_server(typed: Callable, durable: Server) -> None:
    """The role that the guide grants may pay by what `ledger grant` sends, and by the statements of the page alike."""
    files, shared, copied = (block.splitlines() for block in blocks(GUIDES / "ledger.md", "console"))
    (grants,) = blocks(GUIDES / "ledger.md", "sql")
    durable.run("DROP ROLE IF EXISTS analysts")
    durable.run("CREATE ROLE analysts")

    def run(lines: list[str], address: str) -> None:
        for line in lines:
            written = re.sub(r"postgresql://custodian@db\.example/budgets\?ledger=patients[^\"]*", address, line)
            assert ("postgresql://" in line) == (written != line)
            typed(shlex.split(written.removeprefix("$ ")))

    try:
        with durable.database("shared") as url:
            run([*files, *shared], f"{url}&ledger=patients")
            held = "SELECT has_table_privilege('analysts', 'discreet.events', 'INSERT')"
            assert durable.run(held, database="shared") == [(True,)]
        with durable.database("copied") as url:
            run(copied, f"{url}&ledger=patients")
            assert durable.run(held, database="copied") == [(False,)]
            durable.run(*grants.strip().split("\n"), database="copied")
            assert durable.run(held, database="copied") == [(True,)]
    finally:
        durable.run("DROP ROLE analysts")


def test_the_guide_of_databases_runs_on_a_server(postgres: Server, tmp_path: Path) -> None:
    """Its address with the socket of the server here, its role with what the page grants."""
    (code,) = blocks(GUIDES / "databases.md", "python")
    (grants,) = blocks(GUIDES / "databases.md", "sql")
    with postgres.database("clinic"):
        postgres.run(
            "CREATE TABLE public.patients AS SELECT k % 4 = 0 AS smoker, 20 + k % 60 AS age FROM generate_series(1, 200) k",
            *grants.strip().split("\n"),
            database="clinic",
        )
        address = postgres.url("clinic", "analyst")
        assert "postgresql://analyst@db.hospital.example/clinic" in code
        held: dict = {"__name__": "__main__"}
        exec(
            compile(code.replace("postgresql://analyst@db.hospital.example/clinic", address), "databases.md", "exec"),
            held,
        )
        ledger = dc.Ledger.create(tmp_path / "own.ledger", dc.Budget(epsilon=100.0))
        made = dc.release(dc.BetaBernoulli("smoker"), held["data"], dc.NoisyStatistics(epsilon=50.0), ledger)
        assert made.posterior().mean() == pytest.approx(0.25, abs=0.02)
        postgres.run(
            "REVOKE ALL ON SCHEMA public FROM analyst", "REVOKE ALL ON public.patients FROM analyst", database="clinic"
        )
    postgres.run("DROP ROLE analyst")


def test_the_lines_of_a_release_file_are_those_of_one(tmp_path: Path) -> None:
    (shown,) = blocks(GUIDES / "posterior.md", "json")
    said = json.loads("{" + shown + "}")
    schema = dc.Schema({"smoker": dc.Categorical(["no", "yes"])})
    data = dc.open(patients()[["smoker"]], schema, id="patients")
    ledger = dc.Ledger.create(tmp_path / "own.ledger", dc.Budget(epsilon=3.0, delta=1e-6))
    made = dc.release(dc.DirichletCategorical("smoker"), data, dc.NoisyStatistics(rho=0.08), ledger)
    written = made.to_json()
    assert said["value"].keys() == written["value"].keys()
    assert len(said["value"]["counts"]) == len(written["value"]["counts"])
    assert said["noise"]["counts"].keys() == written["noise"]["counts"].keys()
    assert said["noise"]["counts"]["law"] == written["noise"]["counts"]["law"]


@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
def test_what_stands_beside_another_library_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The right column of a comparison; the left one is not ours."""
    (text,) = blocks(GUIDES / "coming-from.md", "text")
    place = text.index("release = ")
    code = textwrap.dedent("\n".join(line[place:] for line in text.splitlines()))
    brief(monkeypatch)
    data = dc.open(patients()[["age"]], dc.Schema({"age": dc.Bounded(0, 110)}), id="patients")
    ledger = dc.Ledger.create(tmp_path / "own.ledger", dc.Budget(epsilon=3.0))
    exec(compile(code, "coming-from.md", "exec"), {"dc": dc, "data": data, "ledger": ledger})
