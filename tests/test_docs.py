"""The documentation is executed and complete."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import discreet as dc
from discreet.mechanisms import MECHANISMS
from discreet.models import MODELS

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXECUTED = [
    ROOT / "README.md",
    ROOT / "docs" / "tutorials" / "first-release.md",
    ROOT / "docs" / "guides" / "audit.md",
    ROOT / "docs" / "guides" / "event-logs.md",
    ROOT / "docs" / "guides" / "synthetic.md",
]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", EXECUTED, ids=lambda page: page.name)
def test_python_blocks_run(page: Path, tmp_path: Path) -> None:
    code = "\n".join(blocks(page, "python"))
    assert code
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, cwd=tmp_path, capture_output=True)


def test_readme_commands_run(tmp_path: Path) -> None:
    """The console block, line by line, on the study that `init` writes; the table it names is made first."""
    lines = [
        line.removeprefix("$ ").split("#")[0].split()
        for block in blocks(ROOT / "README.md", "console")
        for line in block.splitlines()
    ]
    discreet = str(Path(sys.executable).with_name("discreet"))
    assert lines[0][:2] == ["discreet", "init"]
    subprocess.run([discreet, *lines[0][1:]], check=True, cwd=tmp_path, capture_output=True)
    rows = "".join(f"{i % 4 == 0:d},{'ABC'[i % 3]},{20 + i % 60},{i % 5}\n" for i in range(1000))
    (tmp_path / "study" / "patients.csv").write_text("smoker,ward,age,visits\n" + rows)
    for line in lines[1:]:
        subprocess.run([discreet, *line[1:]], check=True, cwd=tmp_path, capture_output=True)


def test_every_public_name_is_in_the_reference() -> None:
    text = (ROOT / "docs" / "reference" / "python.md").read_text()
    missing = [name for name in dc.__all__ if f"## `{name}`" not in text]
    assert missing == []


def test_generated_pages_are_up_to_date() -> None:
    subprocess.run([sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], check=True)


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
