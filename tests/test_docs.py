"""The documentation is executed and complete.

`make test` runs blocks and commands in this process, with short chains, audits of few runs and plans of few simulations;
`make audit` runs them as they stand.
"""

import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from copies import brief
from discreet.cli import main
from discreet.mechanisms import MECHANISMS
from discreet.models import MODELS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXECUTED = [
    ROOT / "README.md",
    ROOT / "docs" / "tutorials" / "first-release.md",
    ROOT / "docs" / "guides" / "audit.md",
    ROOT / "docs" / "guides" / "budget.md",
    ROOT / "docs" / "guides" / "classification.md",
    ROOT / "docs" / "guides" / "coming-from.md",
    ROOT / "docs" / "guides" / "event-logs.md",
    ROOT / "docs" / "guides" / "groups.md",
    ROOT / "docs" / "guides" / "logistic.md",
    ROOT / "docs" / "guides" / "mechanism.md",
    ROOT / "docs" / "guides" / "missing-data.md",
    ROOT / "docs" / "guides" / "persons.md",
    ROOT / "docs" / "guides" / "privacy-officer.md",
    ROOT / "docs" / "guides" / "regression.md",
    ROOT / "docs" / "guides" / "report.md",
    ROOT / "docs" / "guides" / "schema.md",
    ROOT / "docs" / "guides" / "scikit-learn.md",
    ROOT / "docs" / "guides" / "synthetic.md",
    ROOT / "docs" / "theory" / "corrections.md",
]


def write_abalones() -> None:
    """The columns of the table that the guide of regressions names; animals of our own."""
    rng = np.random.default_rng(8)
    length = rng.beta(8, 7, 1000)
    table = pd.DataFrame({"length": length, "shell_weight": 2 * length**3 * rng.uniform(0.5, 1, 1000)})
    table["rings"] = np.rint(4 + 12 * length + rng.gamma(2, 1, 1000))
    table["sex"] = np.where(length < 0.4, "I", rng.choice(["M", "F"], 1000))
    table.round(4).to_csv("abalone.csv", index=False)


PREPARED = {"regression.md": write_abalones}  # files that a page names


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "\n".join(blocks(page, "python"))
    assert code
    monkeypatch.chdir(tmp_path)
    PREPARED.get(page.name, lambda: None)()
    brief(monkeypatch)
    exec(compile(code, page.name, "exec"), {"__name__": "__main__"})


@pytest.mark.audit
@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: page.name)
def test_python_blocks_run_as_they_stand(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "\n".join(blocks(page, "python"))
    monkeypatch.chdir(tmp_path)
    PREPARED.get(page.name, lambda: None)()
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=tmp_path, capture_output=True)


def commands_of_the_readme() -> list[list[str]]:
    lines = [
        line.removeprefix("$ ").split("#")[0].split()
        for block in blocks(ROOT / "README.md", "console")
        for line in block.splitlines()
    ]
    assert lines[0][:2] == ["discreet", "init"]
    return [line[1:] for line in lines]


def write_patients() -> None:
    """What the README's commands name."""
    rows = "".join(f"{('yes', 'no')[i % 4 > 0]},{'ABC'[i % 3]},{20 + i % 60},{i % 5}\n" for i in range(1000))
    Path("patients.csv").write_text("smoker,ward,age,visits\n" + rows)
    told = re.findall(r"`(\w+,[^`]*)`", (ROOT / "README.md").read_text())
    assert len(told) == 3
    header, lines = next(line for line in told if line.startswith("column")), [line for line in told if line[0] in "sa"]
    Path("dictionary.csv").write_text("\n".join([header, *lines, "ward,,A|B|C,,", "visits,count,,,20"]))


def test_readme_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """The console block, line by line, on a table and a dictionary with the lines that the text shows."""
    monkeypatch.chdir(tmp_path)
    write_patients()
    for words in commands_of_the_readme():
        few = ["--runs", "2"] if words[0] in ("plan", "compare") else []
        assert main([*words, *few]) == 0, capsys.readouterr().err
    assert capsys.readouterr().err == ""


@pytest.mark.audit
def test_readme_commands_run_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_patients()
    discreet = str(Path(sys.executable).with_name("discreet"))
    for words in commands_of_the_readme():
        subprocess.run([discreet, *words], check=True, capture_output=True)


def said_of(command: str, output: str) -> list[str]:
    """Output as it is compared, word by word: hashes differ from run to run, and so does what a posterior says."""
    noisy = r"[0-9a-f]{7,}|\d+\.\d+" if command.split()[1] in ("posterior", "ledger") else r"[0-9a-f]{7,}"
    return [word for word in re.sub(noisy, "#", output).split() if word.strip("─")]


def test_outputs_of_the_tutorial_are_real(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """Every line that a command prints stands in the page, but for noise and hashes."""
    page = ROOT / "docs" / "tutorials" / "first-release.md"
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks(page, "python")), page.name, "exec"), {"__name__": "__main__"})
    for name, value in (("COLUMNS", "100"), ("TERM", "dumb"), ("NO_COLOR", "1")):
        monkeypatch.setenv(name, value)
    shown = [part for block in blocks(page, "console") for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    assert [part.split()[1] for part in shown] == ["init", "plan", "release", "posterior", "ledger"]
    for part in shown:
        command, _, output = part.partition("\n")
        capsys.readouterr()
        assert main(shlex.split(command)[1:]) == 0
        printed = capsys.readouterr().out.replace(f"{tmp_path}/", "")
        assert said_of(command, printed) == said_of(command, output)


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "python.md").read_text()
    missing = [name for name in dc.__all__ if f"## `{name}`" not in text]
    assert missing == []


def test_generated_pages_are_up_to_date() -> None:
    pages = runpy.run_path(str(ROOT / "docs" / "generate.py"))["pages"]()
    assert [path.name for path, text in pages.items() if not path.exists() or path.read_text() != text] == []


def test_every_model_and_mechanism_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    assert [name for name in [*MODELS, *MECHANISMS] if f"`{name}`" not in text] == []


def test_links_between_pages_lead_somewhere() -> None:
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_changelog_puts_privacy_first() -> None:
    headings = re.findall(r"^### (.*)$", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert headings[0] == "Privacy"
