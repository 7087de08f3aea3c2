"""`discreet plan`: what every release of a study would give, from public facts alone."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.errors import QueryError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.cli.study import Request, Study
    from discreet.guarantee import Budget
    from discreet.planning import Plan
    from discreet.planning.wanted_width import Reached
    from discreet.schema import Schema

__all__ = ["plan", "sized"]


def plan(
    study: terminal.StudyFile,
    n: Annotated[int | None, typer.Option(help="Number of units to plan for, instead of the study's.")] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Simulated data sets per release: 200, or 100 to find an epsilon.")
    ] = None,
    only: Annotated[str | None, typer.Option(metavar="NAME", help="Plan only this release.")] = None,
    width: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Find the least epsilon (or rho) whose 90% intervals are this wide."),
    ] = None,
    rms: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Find the least epsilon (or rho) with this root mean square error."),
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN=NUMBERS",
            help="What is known in public of a column: mean,deviation of numbers, shares of levels. Repeatable.",
            show_default=False,
        ),
    ] = None,
    target_epsilon: Annotated[
        float | None, typer.Option(help="Say how many public records would make draws meet this epsilon.")
    ] = None,
    target_delta: Annotated[float | None, typer.Option(help="The delta at which that epsilon is meant.")] = None,
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Show what releases would give.

    Guarantee, share of the ledger, noise, and the expected width and coverage of intervals: no data is read and nothing
    is spent. With a
    width or an error, the plan is of the least epsilon (or rho) that reaches it, beside the curve around it; of several
    parameters one is named, as in --width mean=0.5. Widths are averages over tables that the prior allows, or over
    those that are expected: --expect age=50,15 --expect smoker=0.3. With a target, also what public records would be
    worth for every direct, diffused or concentrated draw of the study.

    \b
    Example:
      discreet plan study.toml
      discreet plan study.toml --only smoking --n 5000 --json
      discreet plan study.toml --only smoking --width 0.05
      discreet plan study.toml --only smoking --rms 0.02
      discreet plan study.toml --only smoking --expect smoker=0.3
      discreet plan draws.toml --n 5000 --target-epsilon 1 --target-delta 1e-6
    """  # noqa: D301
    from discreet import planning
    from discreet.cli.study import Study

    loaded = Study.load(study)
    requests = loaded.only(only)
    schema = sized(loaded.schema, n)
    cells = sum(request.model.query(schema).cells for request in requests)
    shown = terminal.progress(requests, "planning", steps=(runs or 200) * cells, quiet=quiet)
    targets = _targets(requests, target_epsilon, target_delta)
    wide, error = _wanted("width", width), _wanted("rms", rms)
    known = _expected(expect)
    plans: list[tuple[Request, Plan]] = []
    refused: dict[str, QueryError] = {}
    for request in shown:
        model, mechanism, target = request.model, request.mechanism, targets[request.name]
        try:
            found = planning.plan(
                model, mechanism, schema=schema, runs=runs, target=target, width=wide, rms=error, expect=known
            )
            plans.append((request, found))
        except QueryError as problem:  # what one release cannot reach another may
            if wide is None and error is None:
                raise
            refused[request.name] = problem
    if not plans:
        raise next(iter(refused.values()))
    plans = _shared(loaded, plans)
    if as_json:
        answers = [{"name": request.name, **made.to_json(), "cells": made.cells} for request, made in plans]
        nothing = [{"name": name, "refused": str(reason)} for name, reason in refused.items()]
        terminal.emit({"study": str(study), "releases": [*answers, *nothing]})
        return
    screen = terminal.console(quiet=quiet)
    for request, made in plans:
        terminal.facts(screen, request.name, [line for line in made.lines() if line[0] != "curve"])
        if made.reached is not None:
            screen.print(_curve(made.reached))
            screen.print()
    for name, reason in refused.items():
        terminal.facts(screen, name, [("refused", str(reason))])


def _shared(study: "Study", plans: "list[tuple[Request, Plan]]") -> "list[tuple[Request, Plan]]":
    """The plans with the share that each release would take of the study's ledger: what is not paid, bought at once."""
    from discreet.cli.commands.release_command import known_entries
    from discreet.ledger import Ledger
    from discreet.ledger.places import store_at
    from discreet.planning.shares import Share, shares_of

    if not store_at(study.ledger).is_there():
        return plans
    ledger = Ledger.open(study.ledger)
    known = known_entries(study, [request for request, _ in plans], ledger)
    paid = [made.reached is None and known[request.name] is not None for request, made in plans]
    new = [made.guarantee for (_, made), known in zip(plans, paid, strict=True) if not known]
    shares = iter(shares_of(new, ledger))
    before = Share(0.0, "paid before: nothing more")
    return [
        (request, replace(made, share=before if known else next(shares)))
        for (request, made), known in zip(plans, paid, strict=True)
    ]


def _wanted(option: str, text: str | None) -> "float | dict[str, float] | None":
    """A number, or the name of a parameter and its number."""
    if text is None:
        return None
    name, sign, digits = text.rpartition("=")
    try:
        number = float(digits)
    except ValueError:
        raise QueryError(f"plan --{option} must be a number, or NAME=NUMBER, got {text!r}") from None
    return {name: number} if sign else number


def _expected(said: "Sequence[str] | None") -> "dict[str, list[float]] | None":
    """The figures of every column that is named."""
    if not said:
        return None
    found = {}
    for text in said:
        name, sign, figures = text.rpartition("=")
        try:
            found[name] = [float(figure) for figure in figures.split(",")]
        except ValueError:
            sign = ""
        if not sign or not name:
            raise QueryError(f"plan --expect must be COLUMN=NUMBERS, as in age=50,15 or smoker=0.3, got {text!r}")
    return found


def _curve(reached: "Reached") -> terminal.Table:
    """What other budgets would give, a line each."""
    table = terminal.table([], [reached.argument, {"width": "90% width", "rms": "rms error"}[reached.measure], ""])
    for level, figure in reached.curve:
        table.add_row(f"{level:.4g}", f"{figure:.4g}", "asked" if level == reached.level else "")
    return table


def _targets(requests: "Sequence[Request]", epsilon: float | None, delta: float | None) -> "dict[str, Budget | None]":
    """The target for every release that draws from a conjugate posterior; for all of them where there is no such one.

    A target that no release can answer is then refused in the words of the plan.
    """
    from discreet.guarantee import Budget

    if epsilon is None and delta is None:
        return {request.name: None for request in requests}
    if epsilon is None or delta is None:
        raise QueryError("plan must get --target-epsilon and --target-delta together, got one of them")
    draws = {request.name for request in requests if request.mechanism.is_strengthened}
    target = Budget(epsilon, delta)
    return {request.name: target if request.name in draws or not draws else None for request in requests}


def sized(schema: "Schema", n: int | None) -> "Schema":
    """The schema with its public size; a plan never counts rows to find it."""
    if n is not None:
        return replace(schema, n=n) if schema.relation == "replace-one" else replace(schema, n_max=n)
    if schema.relation == "replace-one" and schema.n is None:
        raise SchemaError(
            "Schema.n must be declared in the study, as n = 1000, or given, as --n 1000, to plan without reading rows"
        )
    return schema
