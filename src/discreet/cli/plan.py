"""`discreet plan`: what every release of a study would give, from public facts alone."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.errors import SchemaError

if TYPE_CHECKING:
    from discreet.schema import Schema

__all__ = ["plan", "sized"]


def plan(
    study: terminal.StudyFile,
    n: Annotated[int | None, typer.Option(help="Number of units, where the study leaves it to be counted.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Simulated data sets per release.")] = 200,
    only: Annotated[str | None, typer.Option(metavar="NAME", help="Plan only this release.")] = None,
    as_json: terminal.AsJson = False,
) -> None:
    """Show what releases would give.

    Guarantee, noise, and the expected width and coverage of intervals: no data is read and nothing is spent.

    \b
    Example:
      discreet plan study.toml
      discreet plan study.toml --only smoking --n 5000 --json
    """  # noqa: D301
    from discreet import planning
    from discreet.study import Study

    loaded = Study.load(study)
    requests = loaded.only(only)
    schema = sized(loaded.schema, n)
    cells = sum(request.model.query(schema).cells for request in requests)
    shown = terminal.progress(requests, "planning", steps=runs * cells)
    plans = [(request, planning.plan(request.model, request.mechanism, schema=schema, runs=runs)) for request in shown]
    if as_json:
        terminal.emit({"study": str(study), "releases": [{"name": r.name, **made.to_json()} for r, made in plans]})
        return
    screen = terminal.console()
    for request, made in plans:
        terminal.facts(screen, request.name, made.lines())


def sized(schema: "Schema", n: int | None) -> "Schema":
    """The schema with its public size; a plan never counts rows to find it."""
    if n is not None:
        return schema.with_n(n) if schema.relation == "replace-one" else replace(schema, n_max=n)
    if schema.relation == "replace-one" and schema.n is None:
        raise SchemaError(
            "Schema.n must be declared in the study or given as --n to plan without reading rows, got None"
        )
    return schema
