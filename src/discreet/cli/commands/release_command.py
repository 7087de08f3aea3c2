"""`discreet release`: pay for the releases of a study, compute them and write them to their files.

Nothing it prints depends on what a row contains: released values go to the files and, with --json, to the document.
What each column does with cells that are no level or no number is said every time, from the declaration alone.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from discreet.cli import balance, terminal
from discreet.cli.progress_line import Progress
from discreet.errors import DiscreetError, ReleaseError

if TYPE_CHECKING:
    from discreet.cli.study import Request, Study
    from discreet.guarantee import Guarantee
    from discreet.ledger import Entry, Ledger
    from discreet.sources import Dataset

__all__ = ["known_entries", "release"]

UNITS_OF_A_SECOND = 10**6  # that a step of a mechanism goes through: below it nothing is worth a line

HOW = {
    None: "paid now",
    "reserved": "paid by a run that stopped",
    "settled": "paid before",
}


class Step(NamedTuple):
    """One release that was made or would be made: as JSON, and as lines of text."""

    document: dict[str, Any]
    lines: list[tuple[str, str]]


def release(
    study: terminal.StudyFile,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show prices; read no data and spend nothing.")] = False,
    only: Annotated[str | None, typer.Option(metavar="NAME", help="Make only this release.")] = None,
    one_by_one: Annotated[
        bool, typer.Option("--one-by-one", help="Pay for each release only when the one before it is made.")
    ] = False,
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Make the releases of a study.

    A study is one purchase: all that is not paid yet is paid at once, before any row is read, or nothing is. Then the
    releases are made in order. The same request again writes the stored release and costs nothing.

    \b
    Example:
      discreet release study.toml --dry-run
      discreet release study.toml
      discreet release study.toml --only smoking
    """  # noqa: D301
    from discreet.cli.study import Study
    from discreet.ledger import Ledger

    loaded = Study.load(study)
    requests = loaded.only(only)
    ledger = Ledger.open(loaded.ledger)
    shown = partial(_releases, quiet=quiet)
    steps = (_quotes if dry_run else shown)(loaded, requests, ledger, one_by_one)
    screen = None if as_json else terminal.console(quiet=quiet)
    done: list[dict[str, Any]] = []
    refusal: DiscreetError | None = None
    stopped = False
    try:
        for step in steps:
            done.append(step.document)
            if screen is not None:
                terminal.facts(screen, step.document["name"], step.lines)
    except DiscreetError as problem:
        refusal = problem
    except KeyboardInterrupt:
        stopped = True
    if stopped:  # raised anew, so that no frame that has seen a row hangs on it
        raise KeyboardInterrupt(_charged(loaded, requests, ledger))
    document = {"study": str(study), "dry_run": dry_run, "releases": done, "ledger": balance.balance(ledger)}
    if refusal is not None:
        raise terminal.Incomplete(refusal, document)
    if as_json:
        terminal.emit(document)


def _charged(study: "Study", requests: Sequence["Request"], ledger: "Ledger") -> str:
    """What is paid and not made, after an interruption."""
    known = known_entries(study, requests, ledger)
    open_ones = [name for name, entry in known.items() if entry is not None and entry.status == "reserved"]
    if not open_ones:
        return "interrupted: nothing stays charged without its release"
    stay = "stays" if len(open_ones) == 1 else "stay"
    names = ", ".join(map(repr, open_ones))
    return f"interrupted: {names} {stay} charged, and the same command again makes what is missing and costs nothing"


def _releases(
    study: "Study", requests: Sequence["Request"], ledger: "Ledger", one_by_one: bool, *, quiet: bool
) -> Iterator[Step]:
    """Pay for all releases, or for each in turn; then make and write them. A file appears once its entry is settled."""
    from discreet import pipeline

    dataset = study.open()
    for request in requests:
        _check_out(request, dataset)
    asked = [(request.model, dataset, request.mechanism) for request in requests]
    if one_by_one:
        for _ in _quotes(replace(study, schema=dataset.schema), requests, ledger, one_by_one):
            pass  # refuses a study that does not fit as a whole before its first release is paid
    before = known_entries(replace(study, schema=dataset.schema), requests, ledger)
    purchases = [[each] for each in asked] if one_by_one else [asked]
    bought = (paid for together in purchases for paid in pipeline.purchase(together, ledger))
    work = [request.work(dataset.schema) for request in requests]
    units = dataset.schema.n or dataset.schema.n_max or 0  # public
    shown = Progress("releasing", sum(work), quiet=quiet or units * sum(work) < UNITS_OF_A_SECOND)
    for number, (request, paid) in enumerate(zip(requests, bought, strict=True)):
        shown.begin(f"{request.name}, {number + 1} of {len(requests)}", sum(work[:number]))
        made = paid.release(shown)
        made.save(request.out)
        earlier = before[request.name]
        status = None if earlier is None else earlier.status
        price = Decimal(0) if status else paid.entry.spend
        step = _step(study, request, made.guarantee, price, ledger.limit - paid.entry.spent_after, HOW[status], ledger)
        step.document["release"] = made.to_json()
        if made.notice:
            step.document["notice"] = made.notice
            step.lines.append(("notice", made.notice))
        yield step


def _quotes(study: "Study", requests: Sequence["Request"], ledger: "Ledger", one_by_one: bool) -> Iterator[Step]:
    """What each release would cost and leave, from the study and the ledger alone."""
    earlier, left = known_entries(study, requests, ledger), ledger.remaining()
    asked = [(request, request.guarantee(study.schema), earlier[request.name]) for request in requests]
    new = [guarantee for _, guarantee, known in asked if known is None]
    charges = iter(ledger.quote_in_turn(new) if one_by_one else ledger.quote(new))
    for request, guarantee, known in asked:
        if known is not None:
            yield _step(study, request, guarantee, Decimal(0), left, HOW[known.status], ledger)
            continue
        charge = next(charges)
        left = ledger.limit - charge.spent_after
        how = "would be paid, and close the ledger: nothing fits after it" if charge.closes else "would be paid"
        yield _step(study, request, guarantee, charge.spend, left, how, ledger)


def _step(
    study: "Study",
    request: "Request",
    guarantee: "Guarantee",
    price: Decimal,
    left: Decimal,
    how: str,
    ledger: "Ledger",
) -> Step:
    cells = request.cells(study.schema)
    document = {
        "name": request.name,
        "out": str(request.out),
        "guarantee": guarantee.to_json(),
        "words": str(guarantee),
        "price": balance.amount(ledger, price),
        "left": balance.amount(ledger, left),
        "how": how,
        "cells": cells,
    }
    lines = [
        ("guarantee", str(guarantee)),
        ("price", f"{balance.share(ledger, price)}, {how}"),
        ("left", balance.words(ledger, left)),
        *(("cells", f"{name}: {words}") for name, words in cells.items()),
        ("file", str(request.out)),
    ]
    return Step(document, lines)


def known_entries(study: "Study", requests: Sequence["Request"], ledger: "Ledger") -> "dict[str, Entry | None]":
    """The entries of the same requests, by their keys; where n is still to be counted, all are compared without it."""
    from discreet.release import recipe_of

    asked = {each.name: recipe_of(each.model, study.id, study.schema, each.mechanism) for each in requests}
    found = {name: ledger.find(recipe) for name, recipe in asked.items()}
    if study.schema.n is not None or study.schema.relation != "replace-one":
        return found
    for entry in ledger.listed():
        schema = {key: value for key, value in entry.recipe.get("schema", {}).items() if key != "n"}
        for name, recipe in asked.items():
            if found[name] is None and {**entry.recipe, "schema": schema} == recipe:
                found[name] = entry
    return found


def _check_out(request: "Request", dataset: "Dataset") -> None:
    """Refuse, before anything is paid, a file that could not be written or that holds another release."""
    from discreet.release import load, recipe_of

    if not os.access(request.out.parent, os.W_OK):
        raise ReleaseError(f"release {request.name!r}: out must be in a writable folder, got {str(request.out)!r}")
    if not request.out.exists():
        return
    try:
        held = load(request.out).recipe
    except DiscreetError:
        held = None
    if held != recipe_of(request.model, dataset.id, dataset.schema, request.mechanism):
        raise ReleaseError(
            f"release {request.name!r}: out must be a new file or hold this same release, got {str(request.out)!r}, "
            "which holds something else: move it away or choose another name"
        )
