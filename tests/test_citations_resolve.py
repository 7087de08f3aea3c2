"""Every citation in code, proofs and pages stands in the bibliography."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIBLIOGRAPHY = ROOT / "docs" / "bibliography.md"

# F-OPS, KOV2015, and the sections of notes that are not part of the repository
KEYS = re.compile(r"\b(?:[FGMB]-[A-Z0-9§]+|[A-Z]{2,4}(?:19|20)\d\d)\b|\bbeyond(?:\.md)? §")
NAME = r"[^\W\d_a-z][^\W\d_]+"
AUTHORS = re.compile(rf"\b({NAME})(?:(?:, {NAME})*(?:,? (?:and|&) {NAME})?|,? et al\.),? \(?((?:19|20)\d\d)\b")
NOT_AUTHORS = {("States", "2013")}  # a place and the year of its data


def unresolved(text: str, bibliography: str) -> set[str]:
    """Citations of a text that the bibliography does not hold."""
    text = re.sub(r"\s+", " ", text)
    keys = {
        f"{key}" for key in KEYS.findall(text) if not re.search(rf"(\| |\*\*){re.escape(key)}( \||\*\*)", bibliography)
    }
    works = {(author, year) for author, year in AUTHORS.findall(text)} - NOT_AUTHORS
    listed = [line for line in bibliography.splitlines() if re.search(r"\b(19|20)\d\d\. \*", line)]
    return keys | {
        f"{author} {year}"
        for author, year in works
        if not any(re.search(rf"\b{author}\b.* {year}\. ", line) for line in listed)
    }


def pages() -> list[Path]:
    code = [*(ROOT / "src").rglob("*.py"), *(ROOT / "src").rglob("*.md")]
    return [*code, *(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")]


def test_every_citation_resolves() -> None:
    bibliography = BIBLIOGRAPHY.read_text()
    found = {str(page.relative_to(ROOT)): unresolved(page.read_text(), bibliography) for page in pages()}
    assert {name: missing for name, missing in found.items() if missing} == {}


@pytest.mark.parametrize(
    "text",
    [
        "sharper by the same proof  [F-XYZ]",
        "[G-A1, G-A9]",
        "[beyond §4]",
        "as in beyond.md §9",
        "[ABC2019, Thm 3]",
        "[Nobody et al. 2016, Theorem 18]",
        "by Nobody, Other\n2021, Lemma 2",
        "[Foulds et al. 2015]",
    ],
)
def test_a_citation_that_leads_nowhere_is_caught(text: str) -> None:
    assert unresolved(text, BIBLIOGRAPHY.read_text()) != set()


def test_the_page_is_in_the_navigation() -> None:
    assert "bibliography.md" in (ROOT / "mkdocs.yml").read_text()
