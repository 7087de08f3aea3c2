"""The ledger in a page: every purchase in turn, its share of the budget, what is left, and what all of it promises."""

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from discreet.guarantee import ApproxDP, PureDP, suspicion
from discreet.report.guarantee_section import officer
from discreet.report.look import COLOURS, INK, altair
from discreet.report.markup import code, facts, paragraph, text
from discreet.report.pictures import Picture
from discreet.report.quantity_charts import row_chart, short_names
from discreet.report.vector import figure
from discreet.visible import visible

__all__ = ["ledger_picture", "ledger_section", "not_paid", "share_of", "timeline"]

EVERYTHING = "everything that this budget can ever buy, together"
MOST_SHOWN = 60  # entries on the picture; the table has all


def ledger_section(ledger: Any, names: Mapping[str, str], place: str) -> str:
    """Of an open ledger; `names` are those of the releases of the page by their entries."""
    entries = list(islice(ledger.listed(), 1))
    lines = [
        ("Budget", text(f"{ledger.budget}, by the {ledger.filter.name} filter")),
        ("Spent", text(_amount(ledger, ledger.spent()))),
        ("Left", text(_amount(ledger, ledger.remaining()))),
        ("Head", code(ledger.head())),
    ]
    strangers = not_paid(names, ledger)
    told = f"It has no entry of {', '.join(strangers)}: another ledger paid."
    parts = [*([paragraph(told, "warning")] if strangers else []), facts(lines)]
    if entries:
        parts.append(f'<div class="figures">{figure(ledger_picture(ledger, names), place)}</div>')
        parts.append(
            "<h3>What the whole budget promises</h3>" + officer(_whole(ledger, entries[0].guarantee), EVERYTHING)
        )
    return "".join(parts)


def not_paid(names: Mapping[str, str], ledger: Any) -> list[str]:
    """The names of releases, by their entries, that a ledger has no entry of; none where no ledger is known."""
    held = set(names) if ledger is None else {entry.id for entry in ledger.listed()}
    return [name for entry, name in names.items() if entry not in held]


def share_of(ledger: Any, entry: str) -> float | None:
    """What part of the budget an entry took; None where the ledger does not have it."""
    found = [float(each.spend / ledger.limit) for each in ledger.listed() if each.id == entry]
    return found[0] if found else None


def timeline(shares: Sequence[tuple[str, float]]) -> Any:
    """Purchases one after another: where each begins, the ones before it end; the rule is the whole budget."""
    alt = altair()
    names, start, values = short_names([visible(name) for name, _ in shares], 26), 0.0, []
    for name, (_, share) in zip(names, shares, strict=True):
        values.append({"name": name, "start": start, "end": start + share, "share": f"{share:.1%}"})
        start += share
    base = alt.Chart(alt.InlineData(values=values))
    row = alt.Y("name:N", sort=names, title=None, axis=alt.Axis(labelLimit=220, ticks=False, domain=False))
    axis = alt.Axis(format=".0%", tickCount=5)
    x = alt.X("start:Q", title="share of the budget", scale=alt.Scale(domain=[0, max(1.0, start)]), axis=axis)
    bars = base.mark_bar(color=COLOURS[0], height=12).encode(x, row, x2="end:Q")
    words = base.mark_text(align="left", dx=4, color=INK, fontSize=10).encode(alt.X("end:Q"), row, text="share:N")
    rule = alt.Chart(alt.InlineData(values=[{"start": 1.0}])).mark_rule(color=INK, strokeDash=[3, 2]).encode(x)
    return row_chart(alt.layer(bars, words, rule).properties(width=250), names)


def ledger_picture(ledger: Any, names: Mapping[str, str]) -> Picture:
    """What was paid, in turn; `names` are those of entries that have one."""
    entries = list(ledger.listed())
    shares = [(names.get(entry.id) or _asked(entry), float(entry.spend / ledger.limit)) for entry in entries]
    rows, total = [], 0.0
    for entry, (name, share) in zip(entries, shares, strict=True):
        total = float(entry.spent_after / ledger.limit)
        rows.append((name, entry.id[:7], _asked(entry), entry.status, f"{share:.1%}", f"{total:.1%}"))
    first = f" The first {MOST_SHOWN} of {len(entries)}." if len(entries) > MOST_SHOWN else ""
    return Picture(
        "What was paid, in turn",
        f"Every bar begins where the one before it ended; the dashed rule is the whole budget. Spent: {total:.1%}."
        f"{first}",
        lambda: timeline(shares[:MOST_SHOWN]),
        ("release", "entry", "asked", "status", "share", "spent with it"),
        tuple(rows),
    )


def _whole(ledger: Any, like: Any) -> Any:
    """Everything that this ledger will ever pay for, together."""
    budget = ledger.budget
    if budget.delta is None:
        return suspicion(PureDP(budget.epsilon, like.basis))
    chance = min(10 * budget.delta, 0.5)
    return suspicion(ApproxDP(budget.epsilon, budget.delta, like.basis), chance=chance)


def _asked(entry: Any) -> str:
    model, mechanism = (entry.recipe.get(key, {}) for key in ("model", "mechanism"))
    about = model.get("column") or model.get("target") or ""
    label = f" {mechanism['label']!r}" if mechanism.get("label") else ""
    return " ".join(f"{model.get('kind', '')} {about} by {mechanism.get('kind', '')}{label}".split())


def _amount(ledger: Any, value: Any) -> str:
    share = f"{float(value / ledger.limit):.1%} of the budget"
    unit = ledger.filter.unit == "share"
    return share if unit else f"{share}: {ledger.filter.describe(value, ledger.budget)}"
