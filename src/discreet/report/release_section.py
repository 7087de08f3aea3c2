"""One release in a page: asked, promised, found, checked, and how to do it again."""

import hashlib
import inspect
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from discreet.guarantee import suspicion
from discreet.queries.cell_classes import cells_in_words
from discreet.recipe import spelled
from discreet.report.found_pictures import found_pictures, number_rows, replicated_pictures
from discreet.report.guarantee_section import BEFORE, guarantee_section
from discreet.report.markup import code, facts, number, paragraph, table, text
from discreet.report.release_reading import ReportedRelease
from discreet.report.vector import figure
from discreet.schema import Schema
from discreet.schema.columns import declared_words
from discreet.visible import visible

__all__ = ["headline", "release_section", "subtitle"]

MOST_NAMES = 3
READINGS = {
    "noise-aware": "Means and intervals take the privacy noise into account: it is part of the model.",
    "draws": "What was released are private draws of a tempered posterior, wider than the posterior itself.",
}


def headline(reading: ReportedRelease) -> str:
    """The answer in a few words: the number where there is one, else how many there are."""
    first = reading.quantities[0]
    if len(reading.quantities) == 1 and first.single:
        interval = ""
        if first.outer is not None:
            interval = f" ({number(float(first.outer[0][0]))} to {number(float(first.outer[1][0]))})"
        return f"{number(float(first.mean[0]))}{interval}"
    count = sum(len(quantity.labels) for quantity in reading.quantities)
    names = list(dict.fromkeys(quantity.name for quantity in reading.quantities))
    more = ", …" if len(names) > MOST_NAMES else ""
    return f"{count} numbers: {', '.join(visible(name, 40) for name in names[:MOST_NAMES])}{more}"


def release_section(reading: ReportedRelease, place: str, share: float | None, version: str, *, alone: bool) -> str:
    """The article of a release; `place` is its anchor, `share` its part of the budget where a ledger is known.

    A release that has the page to itself has its name in the head of the page.
    """
    release = reading.release
    parts = [
        ("What was asked", _asked(reading)),
        ("What is promised", guarantee_section(release.guarantee, release.notice, f"{place}-curve")),
        ("What was found", _found(reading, place)),
        ("Does the model fit?", _checked(reading, place)),
        ("How the computation went", _diagnostics(reading)),
        ("Do it again, and cite it", _again(reading, version)),
    ]
    body = "".join(
        f'<section aria-labelledby="{place}-h{k}"><h3 id="{place}-h{k}">{title}</h3>{part}</section>'
        for k, (title, part) in enumerate(parts)
        if part
    )
    simulated = "" if release.private else '<p class="warning">Simulated, of no private table: nothing is promised.</p>'
    if alone:
        head = f'<article class="alone" id="{place}" aria-label="The release">'
    else:
        head = (
            f'<article class="release" id="{place}" aria-labelledby="{place}-title"><p class="over">Release</p>'
            f'<h2 id="{place}-title">{text(reading.name)}</h2>{paragraph(subtitle(reading), "quiet")}'
        )
    return f"{head}{simulated}{_keys(reading, share)}{body}</article>"


def subtitle(reading: ReportedRelease) -> str:
    """What it is, in a line."""
    kinds = type(reading.release.model).__name__, type(reading.release.mechanism).__name__
    return f"{kinds[0]} of the dataset “{reading.release.recipe['dataset']}”, by {kinds[1]}"


def _keys(reading: ReportedRelease, share: float | None) -> str:
    """Three or four figures that everybody looks for first."""
    guarantee, raised = reading.guarantee, suspicion(reading.guarantee, BEFORE)
    first = reading.quantities[0]
    several = len(reading.quantities) > 1 or not first.single
    what = "one by one below" if several else first.names[0]
    level = f"mean and {first.level:.0%} interval of " if first.outer is not None and not several else ""
    pure = guarantee.epsilon(0.0)
    promised = (
        (f"ε = {number(pure)}", "without any δ")
        if np.isfinite(pure)
        else (f"ε = {number(guarantee.epsilon(1e-6))}", "at δ = 1e−6")
    )
    limit = "no limit" if raised.after >= 1 else f"at most {np.ceil(raised.after * 1000) / 10:g}%"
    keys = [
        ("Found", headline(reading), f"{level}{what}"),
        ("Promised", promised[0], promised[1]),
        ("A 10% suspicion becomes", limit, "of somebody who knows everyone else"),
    ]
    keys += [] if share is None else [("Paid", f"{share:.1%}", "of the budget of the ledger")]
    return (
        '<div class="keys">'
        + "".join(
            f'<div><p class="over">{text(a)}</p><strong>{text(b)}</strong><span class="quiet">{text(c, 120)}</span>'
            "</div>"
            for a, b, c in keys
        )
        + "</div>"
    )


def _asked(reading: ReportedRelease) -> str:
    release = reading.release
    schema = Schema.from_json(release.recipe["schema"])
    size = f"{schema.n:,}, public" if schema.n is not None else f"private, at most {schema.n_max:,}"
    if schema.n is None and schema.n_max is None:
        size = "not declared"
    unit = str(schema.unit).partition(" (")[0]
    prior = getattr(release.model, "prior", None)  # said even where it is the default: it is a part of the answer
    lines = [
        ("Dataset", code(release.recipe["dataset"])),
        (f"Number of {unit}s", text(size)),
        ("Model", f"{text(_sentence(release.model), 600)}<br>{code(spelled(release.model))}"),
        *([] if prior is None else [("Prior", code(f"prior={prior}"))]),
        ("Mechanism", f"{text(_sentence(release.mechanism), 600)}<br>{code(spelled(release.mechanism))}"),
    ]
    lines += [("Ledger entry", code(release.entry))] if release.entry else []
    words = cells_in_words(schema, release.query)
    columns = [(name, declared_words(schema.column(name)), words[name]) for name in words]
    return facts(lines) + table(
        ("column", "declared", "what becomes of other cells"), columns, caption="The declared columns it uses"
    )


def _sentence(thing: Any) -> str:
    """What a kind says of itself in its first lines."""
    said = (inspect.getdoc(type(thing)) or "").partition("\n\n")[0]
    return " ".join(said.replace("`", "").split())


def _found(reading: ReportedRelease, place: str) -> str:
    warning = f'<p class="warning" role="note">{text(reading.warning, 600)}</p>' if reading.warning else ""
    noisy = bool(reading.release.mechanism.laws(reading.release.query))
    how = READINGS["noise-aware" if noisy else "draws"]
    title = str(reading.posterior).partition("\n")[0]
    pictures = "".join(figure(each, f"{place}-f{k}") for k, each in enumerate(found_pictures(reading)))
    numbers = "".join(f"<h4>{text(q.name)}</h4>{table(*number_rows(q), caption=q.name)}" for q in reading.quantities)
    every = f"<details><summary>All numbers<span class='hidden'> of this release</span></summary>{numbers}</details>"
    said = paragraph(f"{title[:1].upper()}{title[1:]}.") if title else ""
    return f'{warning}{said}{paragraph(how, "quiet")}<div class="figures">{pictures}</div>{every}'


def _checked(reading: ReportedRelease, place: str) -> str:
    pictures = replicated_pictures(reading)
    if not pictures:
        return ""
    count = len(next(iter(reading.replicated.values()))[1])
    words = (
        f"The released numbers beside those of {count} tables drawn from the posterior, released in the same way. Only "
        "what was released is used; the rows are not looked at again."
    )
    shown = "".join(figure(each, f"{place}-r{k}") for k, each in enumerate(pictures))
    return f'{paragraph(words, "quiet")}<div class="figures">{shown}</div>'


def _diagnostics(reading: ReportedRelease) -> str:
    mixing = getattr(reading.posterior, "mixing", None)
    if mixing is None:
        return ""
    said = f"{mixing.words[:1].upper()}{mixing.words[1:]}."
    kind = "" if mixing.converged else "warning"
    limits = "Good enough for intervals: R-hat at most 1.01 and at least 400 effective draws for every number."
    return paragraph(said, kind) + paragraph(limits, "quiet")


def _again(reading: ReportedRelease, version: str) -> str:
    release = reading.release
    basis = release.guarantee.basis
    neighbours = f"one {basis.unit} {'replaced' if basis.relation == 'replace-one' else 'added or removed'}"
    lines = [
        "import discreet as dc",
        'release = dc.load("….release.json")',
        "release.posterior().summary()",
    ]
    asked = f"{spelled(release.model)} on the dataset “{release.recipe['dataset']}”"
    said = (
        f"{asked}, released by {spelled(release.mechanism)}: {release.guarantee!r} for {neighbours}; ledger entry "
        f"{release.entry or 'none'}; discreet {version}."
    )
    shown = "\n".join(map(text, lines))
    facts_ = [("To cite", text(said, 1500)), *_fingerprint(release)]
    return (
        paragraph("The release file is all that is needed; reading it is free, as often as wanted.", "quiet")
        + f'<pre tabindex="0" aria-label="Python"><code>{shown}</code></pre>'
        + facts(facts_)
    )


def _fingerprint(release: Any) -> Iterator[tuple[str, str]]:
    if release.private:
        body = json.dumps(release.to_json(), sort_keys=True, separators=(",", ":"), allow_nan=False)
        yield "SHA-256", code(hashlib.sha256(body.encode()).hexdigest())
