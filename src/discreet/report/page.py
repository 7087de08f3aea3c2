"""A report: one HTML page of releases and their ledger, or an index with a page for each of many.

Pure functions of releases and ledger: the same bytes twice. Nothing runs in a page and nothing is fetched: pictures
are drawn here, once, and tables stand behind them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

from discreet.errors import QueryError
from discreet.guarantee import suspicion
from discreet.report.guarantee_section import BEFORE
from discreet.report.ledger_section import ledger_section, share_of
from discreet.report.markup import number, paragraph, slug, text
from discreet.report.release_reading import ReportedRelease, read
from discreet.report.release_section import headline, release_section, subtitle
from discreet.report.style import STYLE

__all__ = ["html_page", "report", "report_pages"]

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def report(
    releases: Any, *, ledger: Any = None, title: str = "", introduction: str = "", later: Sequence[str] = ()
) -> str:
    """The page as text: complete HTML that opens without a network.

    Parameters
    ----------
    releases
        One release, several, or a mapping of names to releases.
    ledger
        The ledger that paid for them, open: the page then has its timeline.
    title, introduction
        Of the page.
    later
        Names of what a study declares and has not released yet.
    """
    named = _named(releases)
    readings = [read(release, name) for name, release in named.items()]
    places = _places(named)
    shares = _shares(readings, ledger)
    heading = title or (readings[0].name if len(readings) == 1 else f"{len(readings)} private releases")
    alone = len(readings) == 1
    parts = [_header(heading, subtitle(readings[0]) if alone else "", introduction or _introduction(readings))]
    if len(readings) + len(later) > 1:
        parts.append(_index(readings, [f"#{place}" for place in places], shares, later))
    parts += [
        release_section(reading, place, share, version("discreet"), alone=alone)
        for reading, place, share in zip(readings, places, shares, strict=True)
    ]
    return html_page(heading, "".join([*parts, _ledger(readings, ledger), _footer()]))


def report_pages(
    releases: Any,
    *,
    name: str = "report",
    ledger: Any = None,
    title: str = "",
    introduction: str = "",
    later: Sequence[str] = (),
    progress: Callable[[int], None] | None = None,
) -> dict[str, str]:
    """An index of many releases and a page for each of them, by file name: `report.html`, `report/smoking.html`, ….

    However many releases there are, no page grows with them but the index, by a line each. The arguments are those of
    `report`; `name` is that of the index, without its ending, and of the folder of the others beside it. `progress` is
    called with 1 after each release.
    """
    named = _named(releases)
    if not isinstance(name, str) or not name or "/" in name or "\\" in name:
        raise QueryError(f"report_pages name must be that of a file, without a folder, got {name!r}")
    places, written, pages = _places(named), version("discreet"), {}
    readings = []
    for (called, release), place in zip(named.items(), places, strict=True):
        reading = read(release, called)
        (share,) = _shares([reading], ledger)
        back = f'<nav class="back"><a href="../{_address(name)}.html">{text(title or "All releases")}</a></nav>'
        head = _header(called, subtitle(reading), _introduction([reading]), back)
        body = release_section(reading, place, share, written, alone=True)
        pages[f"{name}/{place}.html"] = html_page(called, "".join([head, body, _footer()]))
        readings.append(reading)
        if progress is not None:
            progress(1)
    shares = _shares(readings, ledger)
    heading = title or f"{len(readings)} private releases"
    links = [f"{_address(name)}/{place}.html" for place in places]
    index = _header(heading, "", introduction or _introduction(readings)) + _index(readings, links, shares, later)
    return {f"{name}.html": html_page(heading, "".join([index, _ledger(readings, ledger), _footer()])), **pages}


def html_page(title: str, body: str) -> str:
    """A complete document around a body."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">'
        f"<title>{text(title, 120)}</title><style>{STYLE}</style></head><body>"
        f'<a class="skip" href="#main">Skip to the content</a>{body}</body></html>\n'
    )


def _places(names: Iterable[str]) -> list[str]:
    """Where each of them stands: a name of letters and digits that no other has."""
    places: list[str] = []
    for name in names:
        places.append(slug(name, places))
    return places


def _shares(readings: Sequence[ReportedRelease], ledger: Any) -> list[float | None]:
    """What part of the budget each release took, where its ledger is known."""
    if ledger is not None and not hasattr(ledger, "listed"):
        raise QueryError(f"report ledger must be a Ledger, as Ledger.open gives one, got a {type(ledger).__name__}")
    return [None if ledger is None else share_of(ledger, reading.release.entry) for reading in readings]


def _header(heading: str, what: str, introduction: str, before: str = "") -> str:
    """The head of a page, and the beginning of its main part."""
    under = paragraph(what) if what else ""
    return (
        f'<header class="top">{before}<p class="over">Private Bayesian release</p><h1>{text(heading)}</h1>{under}'
        f'{paragraph(introduction, "quiet")}</header><main id="main">'
    )


def _ledger(readings: Sequence[ReportedRelease], ledger: Any) -> str:
    """The ledger as the last part of a page; nothing where none is known."""
    if ledger is None:
        return ""
    body = ledger_section(ledger, {reading.release.entry: reading.name for reading in readings}, "ledger-timeline")
    return (
        '<article id="ledger" aria-labelledby="ledger-title"><p class="over">Budget</p>'
        f'<h2 id="ledger-title">The ledger</h2>{body}</article>'
    )


def _footer() -> str:
    said = f"Written by discreet {version('discreet')}."
    return f"</main><footer>{paragraph(said, 'quiet')}</footer>"


def _address(name: str) -> str:
    """The name of a file as a part of an address."""
    return quote(name, safe="")


def _named(releases: Any) -> dict[str, Any]:
    """Releases by name, in order."""
    if isinstance(releases, Mapping):
        found = dict(releases)
    else:
        listed = list(releases) if isinstance(releases, Sequence) else [releases]
        found = {}
        for release in listed if all(hasattr(each, "recipe") for each in listed) else ():
            name = first = _subject(release)
            again = 2
            while name in found:
                name, again = f"{first} {again}", again + 1
            found[name] = release
    if not found or not all(hasattr(release, "recipe") and hasattr(release, "posterior") for release in found.values()):
        raise QueryError("report releases must be one Release, several, or a mapping of names to them, got another")
    return found


def _subject(release: Any) -> str:
    """What a release is about, where nobody named it."""
    model = release.recipe["model"]
    return str(model.get("column") or model.get("target") or model.get("region") or model["kind"])


def _introduction(readings: Sequence[ReportedRelease]) -> str:
    datasets = list(dict.fromkeys(f"“{reading.release.recipe['dataset']}”" for reading in readings))
    return (
        f"What was released of {', '.join(datasets)}: what was asked, what is promised to the people in it, what was "
        "found, and how to do it again. All of it follows from what was released; the private rows are not needed."
    )


def _index(
    readings: Sequence[ReportedRelease], links: Sequence[str], shares: Sequence[float | None], later: Sequence[str]
) -> str:
    paid = any(share is not None for share in shares)
    rows = []
    for reading, link, share in zip(readings, links, shares, strict=True):
        raised = suspicion(reading.guarantee, BEFORE)
        pure = reading.guarantee.epsilon(0.0)
        promised = (
            f"ε = {number(pure)}"
            if pure < float("inf")
            else f"ε = {number(reading.guarantee.epsilon(1e-6))} at δ = 1e−6"
        )
        limit = "no limit" if raised.after >= 1 else f"{-(-raised.after * 1000 // 1) / 10:g}%"
        cells = [
            headline(reading),
            promised,
            f"10% → {limit}",
            *([f"{share:.1%}" if share is not None else "–"] if paid else []),
        ]
        named = f'<a href="{link}">{text(reading.name)}</a>'
        rows.append(
            f'<tr><th scope="row" class="words">{named}</th>' + "".join(f"<td>{text(c)}</td>" for c in cells) + "</tr>"
        )
    head = ["Found", "Promised", "A suspicion", *(["Paid"] if paid else [])]
    rows += [
        f'<tr><th scope="row" class="words">{text(name)}</th><td colspan="{len(head)}" class="quiet">not released yet'
        "</td></tr>"
        for name in later
    ]
    top = "".join(
        f'<th scope="col"{" class=words" if k == 0 else ""}>{h}</th>' for k, h in enumerate(["Release", *head])
    )
    return (
        '<nav class="index" aria-label="Releases"><div class="scroll" tabindex="0" role="region" '
        f'aria-label="All releases"><table><thead><tr>{top}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
        "</nav>"
    )
