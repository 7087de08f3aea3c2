"""The documentation as a site, opened from a folder without a network: every page, the search, the formulas.

Building it and opening its pages takes about a minute; `.ci/run` and `make audit` do it.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
LOADED = re.compile(
    r"""<(?:script|img|iframe|source|embed)\b[^>]*\bsrc=["']?(?:https?:)?//[^"' >]*"""
    r"""|<link\b[^>]*\brel=["']?(?:stylesheet|preconnect|preload|icon)[^>]*\bhref=["']?(?:https?:)?//[^"' >]*"""
    r"""|@import\s+(?:url\()?["']?(?:https?:)?//[^"')]*|url\(["']?(?:https?:)?//[^"')]*"""
)

sys.path.insert(0, str(ROOT / "docs"))
from formulas import formula, is_formula  # noqa: E402


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as `make docs` builds it."""
    made = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(made)]
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    )
    assert built.returncode == 0, built.stderr
    return made


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Debian's Chromium without a network of its own."""
    chromium = shutil.which("chromium")
    if chromium is None:
        if os.environ.get("DISCREET_REQUIRE_BROWSER"):
            pytest.fail("DISCREET_REQUIRE_BROWSER is set and there is no chromium")
        pytest.skip("no chromium: pages are not opened")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, headless=True, args=FLAGS)
        yield opened
        opened.close()


def foreign(text: str) -> list[str]:
    """What a page or a style sheet would load from a host."""
    return LOADED.findall(text)


@pytest.mark.audit
def test_nothing_is_loaded_from_a_host(site: Path) -> None:
    pages = [path for path in site.rglob("*") if path.suffix in (".html", ".css")]
    assert len(pages) > 30
    assert {str(path): foreign(path.read_text()) for path in pages if foreign(path.read_text())} == {}


def test_what_would_be_loaded_is_found() -> None:
    for text in (
        '<script src="https://unpkg.com/iframe-worker/shim"></script>',
        '<link rel="stylesheet" href="https://fonts.googleapis.com/css">',
        '<img alt="a" src="//host/a.png">',
        "@import url(https://host/a.css)",
        "a { background: url('https://host/a.png') }",
    ):
        assert foreign(text)
    assert not foreign('<a href="https://example.org">a link</a>')


@pytest.mark.audit
def test_every_page_opens_without_a_host_or_an_error(site: Path, browser: Any) -> None:
    asked, told = [], []
    page = browser.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: told.append((page.url, message.text)) if message.type == "error" else None)
    page.on("pageerror", lambda error: told.append((page.url, str(error))))
    pages = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]  # which a server shows
    for path in pages:
        page.goto(path.as_uri())
        assert page.locator("h1").first.inner_text(), path
    page.close()
    assert told == []
    assert [url for url in asked if not url.startswith(("file:", "data:", "blob:", "about:"))] == []


@pytest.mark.audit
def test_the_search_finds_pages_from_a_folder(site: Path, browser: Any) -> None:
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    page.locator("input.md-search__input").click()
    page.locator("input.md-search__input").press_sequentially("dictionary")
    page.locator("a.md-search-result__link").first.wait_for(timeout=20_000)
    found = " ".join(page.locator("a.md-search-result__link").all_inner_texts())
    page.close()
    assert "data dictionary" in found


@pytest.mark.audit
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_formulas_are_set_and_nothing_is_wider_than_a_telephone(site: Path, browser: Any, scheme: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    page.goto((site / "theory" / "noisy_statistics.html").as_uri())
    assert page.locator(".formula sup, .formula sub").count() > 10
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("P(Z = k) ∝ e^{-k²/2σ²}", "P(Z = k) ∝ e<sup>-k²/2σ²</sup>"),
        ("u_i u_j", "u<sub>i</sub> u<sub>j</sub>"),
        ("Σ_{i≤j} x_{ij}^2", "Σ<sub>i≤j</sub> x<sub>ij</sub><sup>2</sup>"),
        ("e^{x_{i}}", "e<sup>x<sub>i</sub></sup>"),
    ],
)
def test_exponents_are_raised_and_indices_lowered(text: str, shown: str) -> None:
    assert is_formula(text)
    assert formula(text) == f'<span class="formula">{shown}</span>'


@pytest.mark.parametrize(
    "text",
    [
        "NoisyStatistics(epsilon=0.5)",
        "epsilon",
        "n_prior",
        "noise/sources.py",
        'posterior("plug-in")',
        "missing=",
        "dc.plan",
        "0",
    ],
)
def test_code_stays_code(text: str) -> None:
    assert not is_formula(text)
