"""Pages as people see them: opened in Chromium, at two widths and in both colour schemes.

How large each page is, how long it took to write and how long to open, is printed; only the size is asserted. Skipped in one line where there is no Chromium, unless DISCREET_REQUIRE_BROWSER says that there must be one.
"""

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from kinds import HOSTILE, MODELS, SCHEMA, hostile, made, page, table

import discreet as dc

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SLOW = ("regression", "event-log")  # their chains, whose kernels compile
WIDTHS, SCHEMES = (1280, 390), ("light", "dark")
MOST_BYTES = 2_000_000

# marks that can be seen, by chart; a chart without one is blank
MARKS = """() => [...document.querySelectorAll('.chart')].map(chart => ({
  name: chart.getAttribute('aria-label'),
  marks: [...chart.querySelectorAll('svg g.role-mark path, svg g.role-mark line, svg g.role-mark rect')].filter(mark => {
    const box = mark.getBoundingClientRect(), style = getComputedStyle(mark);
    const painted = [style.fill, style.stroke].some(paint => paint && paint !== 'none' && !/, 0\\)$/.test(paint));
    return painted && (box.width > 0 || box.height > 0) && style.visibility === 'visible' && style.opacity > 0;
  }).length }))"""

# letters that hardly differ from what is behind them: contrast of text and ground below 4.5
FAINT = """() => {
  const light = colour => { const [r, g, b] = colour.match(/[\\d.]+/g).map(Number).map(v => v / 255)
      .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = element => { for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor; if (!/, 0\\)$|transparent/.test(colour)) return colour; }
      return 'rgb(255,255,255)'; };
  const faint = new Set();
  for (const element of document.querySelectorAll('body *')) {
    const own = [...element.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!own || !element.getClientRects().length) continue;
    const style = getComputedStyle(element), svg = element instanceof SVGElement;
    const a = light(svg ? style.fill : style.color), b = light(ground(element));
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) faint.add(element.textContent.slice(0, 40));
  }
  return [...faint]; }"""

TINY = """() => [...document.querySelectorAll('.chart svg')].filter(svg => {
  const drawn = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  return [...svg.querySelectorAll('text')].some(text => parseFloat(getComputedStyle(text).fontSize) * drawn < 8);
}).length"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if not CHROMIUM and not os.environ.get("DISCREET_REQUIRE_BROWSER"):
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as engine:
        opened = engine.chromium.launch(executable_path=CHROMIUM or None, args=FLAGS)
        yield opened
        opened.close()


class Seen:
    """A page that is open, what it said and what it asked for."""

    def __init__(self, browser: Any, file: Path, width: int, scheme: str) -> None:
        self.context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.view = self.context.new_page()
        self.said: list[str] = []
        self.view.on("console", lambda message: self.said.append(message.text))
        self.view.on("pageerror", lambda error: self.said.append(str(error)))
        self.view.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.view.on("request", lambda asked: self._asked(asked.url))
        begun = time.perf_counter()
        self.view.goto(file.as_uri())
        self.opened_in = time.perf_counter() - begun

    def _asked(self, address: str) -> None:
        if not address.startswith(("file:", "data:")):
            self.said.append(address)

    def problems(self) -> list[str]:
        """Everything that nobody should see."""
        found = list(self.said)
        charts = self.view.evaluate(MARKS)
        found += ["no chart"] if not charts else [f"blank: {chart['name']}" for chart in charts if chart["marks"] < 1]
        wide = self.view.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        found += [f"{wide} pixels too wide"] if wide > 0 else []
        found += [f"faint: {words}" for words in self.view.evaluate(FAINT)]
        tiny = self.view.evaluate(TINY)
        return found + ([f"{tiny} charts with tiny letters"] if tiny else [])

    def keep(self, name: str) -> None:
        """A picture of the page, where the environment names a folder for it."""
        if folder := os.environ.get("DISCREET_SCREENSHOTS"):
            self.view.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def look(browser: Any, document: str, folder: Path, name: str, widths: tuple[int, ...] = WIDTHS) -> list[str]:
    """What is wrong with a page, at every width and in both schemes."""
    file = folder / f"{name}.html"
    file.write_text(document, encoding="utf-8")
    size, slowest = len(document.encode()), 0.0
    found = [] if size < MOST_BYTES else [f"{size} bytes"]
    for width in widths:
        for scheme in SCHEMES:
            seen = Seen(browser, file, width, scheme)
            found += [f"{width} {scheme}: {problem}" for problem in seen.problems()]
            seen.keep(f"{name}-{width}-{scheme}")
            slowest = max(slowest, seen.opened_in)
            seen.context.close()
    print(f"{name:<26}{size / 1000:8.0f} kB, opened in at most {slowest:.2f} s")
    return found


def written(name: str, document: Callable[[], str]) -> str:
    """A document, and how long it took this process, whatever else the machine did; kernels may compile in it."""
    begun = time.process_time()
    found = document()
    print(f"{name:<26}written in {time.process_time() - begun:.2f} s of CPU")
    return found


@pytest.mark.parametrize("kind", MODELS)
def test_a_page_of_every_kind_is_legible(browser: Any, tmp_path: Path, kind: str) -> None:
    made(kind)
    assert look(browser, written(kind, lambda: page(kind)), tmp_path, kind) == []


def test_the_index_of_several_releases_is_legible(browser: Any, tmp_path: Path) -> None:
    document = dc.report({kind: made(kind) for kind in MODELS if kind not in SLOW}, later=["not yet"])
    assert look(browser, document, tmp_path, "index") == []
    seen = Seen(browser, tmp_path / "index.html", 390, "light")
    seen.view.click("nav.index a >> nth=2")
    top = seen.view.evaluate("document.querySelector(location.hash).getBoundingClientRect().top")
    assert abs(top) < 5
    seen.context.close()


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the index of a study of fourteen paid releases, one of them of a hostile name, and their pages."""
    folder = tmp_path_factory.mktemp("study")
    ledger = dc.Ledger.create(folder / "study.ledger", dc.Budget(4.0, 1e-6))
    data = dc.open(table(), SCHEMA, id="made-up")
    share = dc.BetaBernoulli("smoker")
    weekly = [dc.NoisyStatistics(epsilon=0.1, label=f"week {k}") for k in range(1, 13)]
    releases = {f"smoking, {each.label}": dc.release(share, data, each, ledger) for each in weekly}
    releases["wards"] = dc.release(dc.DirichletCategorical("ward"), data, dc.NoisyStatistics(rho=0.05), ledger)
    releases[HOSTILE[0]] = dc.release(dc.BetaBernoulli("smoker"), data, dc.NoisyStatistics(epsilon=0.5), ledger)
    pages = dc.report_pages(releases, name="index", ledger=ledger, title="A study", later=["stage by ward"])
    for name, document in pages.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(document, encoding="utf-8")
    return folder


LINES = """() => [...document.querySelectorAll('nav.index tbody tr')].map(row => ({
  name: row.querySelector('th').innerText, link: row.querySelector('a') && row.querySelector('a').getAttribute('href'),
  cells: [...row.querySelectorAll('td')].map(cell => cell.innerText) }))"""

HIDDEN = """() => { const table = document.querySelector('nav.index .scroll');
  return table.scrollWidth - table.clientWidth; }"""  # of the columns, on a phone


def test_the_index_of_a_study_is_legible_and_counts_its_releases(browser: Any, study: Path, tmp_path: Path) -> None:
    """A line for each release, what it found, promised and cost, one for what is to come, and a bar for each payment."""
    assert look(browser, (study / "index.html").read_text(), tmp_path, "study-index") == []
    seen = Seen(browser, study / "index.html", 1280, "light")
    lines = seen.view.evaluate(LINES)
    assert [line["name"] for line in lines[:12]] == [f"smoking, week {k}" for k in range(1, 13)]
    assert [line["name"] for line in lines[12:]] == ["wards", HOSTILE[0], "stage by ward"]
    *paid, later = lines
    assert all(len(line["cells"]) == 4 and all(line["cells"]) for line in paid)
    assert sum(float(line["cells"][-1].rstrip("%")) for line in paid) <= 100
    assert (later["link"], later["cells"]) == (None, ["not released yet"])
    assert len({line["link"] for line in paid}) == 14
    (bars,) = (chart["marks"] for chart in seen.view.evaluate(MARKS))
    assert bars >= 14
    seen.context.close()


def test_every_line_of_the_index_leads_to_its_page_and_back(browser: Any, study: Path) -> None:
    seen = Seen(browser, study / "index.html", 390, "dark")
    assert seen.view.evaluate(HIDDEN) == 0
    for line in seen.view.evaluate(LINES)[:-1]:
        seen.view.click(f'nav.index a[href="{line["link"]}"]')
        assert seen.view.inner_text("h1") == line["name"]
        assert seen.problems() == []
        assert Path(seen.view.url.removeprefix("file://")).stat().st_size < MOST_BYTES
        seen.view.click("nav.back a")
        assert seen.view.inner_text("h1") == "A study"
    seen.context.close()


def test_hostile_names_do_nothing(browser: Any, tmp_path: Path) -> None:
    document = dc.report({HOSTILE[0]: hostile()[0], HOSTILE[2]: hostile()[1]}, title=HOSTILE[4], later=[HOSTILE[1]])
    assert look(browser, document, tmp_path, "hostile") == []


def test_keys_and_screen_readers_reach_everything(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page("naive-bayes"), encoding="utf-8")
    seen = Seen(browser, file, 1280, "light")
    seen.view.keyboard.press("Tab")
    assert seen.view.evaluate("document.activeElement.className") == "skip"
    levels = seen.view.evaluate("[...document.querySelectorAll('h1,h2,h3,h4')].map(h => +h.tagName[1])")
    assert levels[0] == 1
    assert levels.count(1) == 1
    images = seen.view.evaluate("[...document.querySelectorAll('svg')].map(s => [s.getAttribute('role'), s.ariaLabel])")
    assert images
    assert all(role == "img" and len(name) > 40 for role, name in images)
    tables = seen.view.evaluate(
        "[...document.querySelectorAll('figure')].map(f => f.querySelectorAll('details table').length)"
    )
    assert set(tables) == {1}
    cells = seen.view.evaluate("[...document.querySelectorAll('table')].every(t => t.querySelector('th[scope]'))")
    assert cells
    seen.view.focus("figure summary")
    seen.view.keyboard.press("Enter")
    assert seen.view.evaluate("document.querySelector('figure details').open")
    seen.context.close()


def test_it_prints_dark_on_white(browser: Any, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page("probability"), encoding="utf-8")
    seen = Seen(browser, file, 1280, "dark")
    seen.view.emulate_media(media="print")
    assert seen.view.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert seen.view.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    seen.context.close()


def test_planted_faults_are_seen(browser: Any, tmp_path: Path) -> None:
    """A blank chart, a script, an address, a wide line and pale letters: each is found."""
    document = page("probability")
    blank = document.replace("role-mark", "role-none")
    assert any("blank" in problem for problem in look(browser, blank, tmp_path, "blank", (1280,)))
    open_policy = document.replace("default-src 'none'", "default-src * 'unsafe-inline'")
    for fault, told in (
        ("<script>console.error('planted')</script>", "planted"),
        ("<img src='http://127.0.0.1:9/a.png'>", "127.0.0.1"),
        ("<div style='width: 3000px'>wide</div>", "too wide"),
        ("<p style='color: #9a9a9a; background: #ffffff'>pale</p>", "faint: pale"),
    ):
        faulty = open_policy.replace("</main>", f"{fault}</main>").replace("img-src data:;", "")
        found = look(browser, faulty, tmp_path, "faulty", (390,))
        assert any(told in problem for problem in found), (fault, found)
