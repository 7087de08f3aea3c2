"""A report says what was asked, promised, found and paid; it is a pure function; other people's texts stay texts."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from kinds import HOSTILE, MODELS, hostile, made, page

import discreet as dc
from discreet.report.markup import slug, table, text
from discreet.report.page import html_page
from pairs import one_per_pair

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")

VOID = {"meta", "link", "br", "img", "input"}
WORDS = (
    "html head meta title style body header main footer nav article section h1 h2 h3 h4 p a div span strong i dl dt dd "
    "table caption thead tbody tr th td figure figcaption details summary pre code link br svg g path rect line text"
)
TAGS = {*WORDS.split(), "circle", "tspan", "defs"}


class Read(HTMLParser):
    """Every tag and attribute, and whether tags close in order."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str]] = []
        self.ids: list[str] = []
        self.words = ""
        self.feed(document)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words += data


def problems(document: str) -> list[str]:
    """What must not be in a page: unknown tags, handlers, addresses, places that are named twice, open tags."""
    read = Read(document)
    found = sorted(read.tags - TAGS)
    found += [f"{name}=" for _, name, _ in read.attributes if name.startswith("on")]
    addresses = {value for _, name, value in read.attributes if name in ("href", "src", "xlink:href")}
    found += [value for value in addresses if not value.startswith("#") and value != "data:,"]
    found += ["twice"] if len(read.ids) != len(set(read.ids)) else []
    targets = {value[1:] for value in addresses if value.startswith("#")}
    return found + sorted(targets - set(read.ids)) + read.open + re.findall(r"url\((?!#)", document)


@pytest.mark.parametrize("kind", [name for name in MODELS if name not in ("regression", "event-log")])
def test_a_page_of_every_kind_is_whole(kind: str) -> None:
    document = page(kind)
    assert problems(document) == []
    assert len(document.encode()) < 2_000_000
    words = Read(document).words
    for title in ("What was asked", "What is promised", "What was found", "Do it again, and cite it"):
        assert title in words
    assert "can raise that suspicion to at most" in words
    assert "Simulated" in words
    named = made(kind).query.labels or [name for q in made(kind).posterior().quantities() for name in q.labels]
    assert [name for name in named if name not in words] == []


def test_what_must_not_be_in_a_page_is_found() -> None:
    faults = {
        '<p onclick="x">a</p>': "onclick=",
        '<a href="http://b.c">d</a>': "http://b.c",
        "<script></script>": "script",
        '<i id="e"></i><i id="e"></i>': "twice",
        '<a href="#f">g</a>': "f",
        '<p style="background: url(http://x.y)">h</p>': "url(",
    }
    assert problems(html_page("t", '<main id="main"></main>')) == []
    for bad, told in faults.items():
        assert problems(html_page("t", f'<main id="main">{bad}</main>')) == [told]


def test_draws_without_an_interval_say_why() -> None:
    words = Read(page("draws")).words
    assert "No interval: Draws.interval must not be read off tempered draws" in words


def test_the_numbers_of_the_page_are_those_of_the_posterior() -> None:
    words = Read(page("probability")).words
    posterior = made("probability").posterior()
    low, high = posterior.interval(0.9)
    assert f"{posterior.mean():.4g} ({low:.4g} to {high:.4g})" in words
    assert dc.suspicion(made("probability").guarantee).words in words


def test_a_page_is_the_same_bytes_in_every_process(tmp_path: Path) -> None:
    """Names of sets and dictionaries are in another order under another hash seed; there is no clock in a page."""
    code = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from kinds import page\n"
        "import hashlib\n"
        "print([hashlib.sha256(page(kind).encode()).hexdigest() for kind in ('probability', 'draws')])"
    )
    here = Path(__file__).parent
    found = {
        subprocess.run(
            [sys.executable, "-c", code, str(here), str(here.parent)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(found) == 1


def test_hostile_names_are_texts() -> None:
    document = dc.report({HOSTILE[0]: hostile()[0], HOSTILE[2]: hostile()[1]}, title=HOSTILE[4], later=[HOSTILE[1]])
    assert problems(document) == []
    assert len(document.encode()) < 2_000_000
    assert "<script>" not in document
    assert "\u202e" not in document
    assert "x" * 2001 not in document
    assert "\\u202egnp.exe" in Read(document).words


def test_a_text_that_is_not_escaped_is_found() -> None:
    assert problems(html_page("t", f'<p id="main">{HOSTILE[0]}</p>')) == ["script"]
    assert "<" not in text(HOSTILE[0])
    hostile_table = table([HOSTILE[0]], [[HOSTILE[4]]], caption=HOSTILE[3])
    assert problems(html_page("t", f'<main id="main">{hostile_table}</main>')) == []


def test_the_ledger_is_a_timeline(tmp_path: Path) -> None:
    from kinds import SCHEMA
    from kinds import table as rows

    ledger = dc.Ledger.create(tmp_path / "study.ledger", dc.Budget(3.0, 1e-6))
    data = dc.open(rows(), SCHEMA, id="made-up")
    first = dc.release(dc.BetaBernoulli("smoker"), data, dc.NoisyStatistics(epsilon=0.5), ledger)
    dc.release(dc.DirichletCategorical("ward"), data, dc.NoisyStatistics(rho=0.01), ledger)
    document = first.report(ledger=ledger)
    assert problems(document) == []
    words = Read(document).words
    for said in ("The ledger", "What was paid, in turn", "DirichletCategorical ward by NoisyStatistics", first.entry):
        assert said in words
    assert ledger.head() in words
    assert "by seeing everything that this budget can ever buy, together" in words
    assert "one in 100,000" in words  # the whole budget has a delta of 1e-6, and says its exception
    assert "Simulated" not in words
    assert str(tmp_path) not in document
    assert document == dc.report(dc.Release.from_json(first.to_json()), ledger=dc.Ledger.open(ledger.path))


def test_places_have_names_of_their_own() -> None:
    assert slug("Ward A/ü", []) == "ward-a"
    assert slug("ward a", ["ward-a"]) == "ward-a-2"
    assert slug("\u202e") == "release"


def test_what_is_no_release_is_refused() -> None:
    for wrong in ([], {}, 3, "a.release.json", [made("probability"), 3]):
        with pytest.raises(dc.QueryError, match="report releases must be"):
            dc.report(wrong)
    with pytest.raises(dc.QueryError, match=r"report ledger must be a Ledger, .* got a str"):
        dc.report(made("probability"), ledger="study.ledger")


@pytest.mark.audit
def test_every_pair_has_a_page() -> None:
    for pair in one_per_pair():
        (release,) = dc.simulate(pair.model, pair.dataset(), pair.mechanism, runs=1, seed=1)
        assert problems(dc.report({pair.name: release})) == [], pair.name


def many(count: int) -> dict[str, dc.Release]:
    """So many releases, of which every other is a second name of the first."""
    kinds = ("probability", "draws")
    return {f"question {k}": made(kinds[k % 2]) for k in range(count)}


def addresses(document: str) -> list[str]:
    """Where a page leads to beside itself."""
    found = {value for _, name, value in Read(document).attributes if name in ("href", "src")}
    return sorted(value for value in found if not value.startswith("#") and value != "data:,")


def test_many_releases_get_a_page_each_and_an_index_that_grows_by_a_line() -> None:
    """Names that a path could not hold are letters and digits there; the index itself may be called as one likes."""
    counted: list[int] = []
    releases = {"../up": made("probability"), **many(2)}
    pages = dc.report_pages(releases, name="what we may show", later=["not yet"], progress=counted.append)
    assert list(pages) == [
        "what we may show.html",
        "what we may show/up.html",
        "what we may show/question-0.html",
        "what we may show/question-1.html",
    ]
    assert counted == [1, 1, 1]
    index, *others = pages.values()
    apart = "what%20we%20may%20show"
    assert addresses(index) == [f"{apart}/question-0.html", f"{apart}/question-1.html", f"{apart}/up.html"]
    assert "not released yet" in index
    assert len(index) < 20_000 < len(others[0])
    for one, name in zip(others, releases, strict=True):
        assert addresses(one) == [f"../{apart}.html"]
        assert problems(one) == [f"../{apart}.html"]
        assert f"<h1>{name}</h1>" in one
    assert dc.report_pages(releases, name="what we may show", later=["not yet"]) == pages
    with pytest.raises(dc.QueryError, match="without a folder, got 'a/b'"):
        dc.report_pages(releases, name="a/b")


def test_a_page_for_each_says_what_one_page_says() -> None:
    """Found, promised, fits, again: the same words, but for the heads of the pages."""
    one = Read(dc.report(many(2))).words
    for page_of in list(dc.report_pages(many(2)).values())[1:]:
        body = Read(page_of).words.partition("What was asked")[2].partition("Written by")[0]
        assert body in one
