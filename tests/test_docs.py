"""The documentation is executed and complete.

`make test` runs blocks and commands in this process, with short chains, audits of few runs and plans of few simulations;
`make audit` runs them as they stand.
"""

import re
import runpy
import subprocess
import sys
from pathlib import Path

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
    ROOT / "docs" / "guides" / "event-logs.md",
    ROOT / "docs" / "guides" / "logistic.md",
    ROOT / "docs" / "guides" / "report.md",
    ROOT / "docs" / "guides" / "synthetic.md",
]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")
@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "\n".join(blocks(page, "python"))
    assert code
    monkeypatch.chdir(tmp_path)
    brief(monkeypatch)
    exec(compile(code, page.name, "exec"), {"__name__": "__main__"})


@pytest.mark.audit
@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: page.name)
def test_python_blocks_run_as_they_stand(page: Path, tmp_path: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=tmp_path, capture_output=True)


def commands_of_the_readme() -> list[list[str]]:
    lines = [
        line.removeprefix("$ ").split("#")[0].split()
        for block in blocks(ROOT / "README.md", "console")
        for line in block.splitlines()
    ]
    assert lines[0][:2] == ["discreet", "init"]
    return [line[1:] for line in lines]


def write_patients(folder: Path) -> None:
    rows = "".join(f"{i % 4 == 0:d},{'ABC'[i % 3]},{20 + i % 60},{i % 5}\n" for i in range(1000))
    (folder / "study" / "patients.csv").write_text("smoker,ward,age,visits\n" + rows)


def test_readme_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    """The console block, line by line, on the study that `init` writes; the table it names is made first."""
    monkeypatch.chdir(tmp_path)
    for words in commands_of_the_readme():
        few = ["--runs", "2"] if words[0] in ("plan", "compare") else []
        assert main([*words, *few]) == 0, capsys.readouterr().err
        if words[0] == "init":
            write_patients(tmp_path)
    assert capsys.readouterr().err == ""


@pytest.mark.audit
def test_readme_commands_run_as_they_stand(tmp_path: Path) -> None:
    discreet = str(Path(sys.executable).with_name("discreet"))
    for words in commands_of_the_readme():
        subprocess.run([discreet, *words], check=True, cwd=tmp_path, capture_output=True)
        if words[0] == "init":
            write_patients(tmp_path)


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
