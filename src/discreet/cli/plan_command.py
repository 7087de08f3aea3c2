"""`discreet plan`: what every release of a study would give, from public facts alone."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.errors import QueryError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.cli.study import Request
    from discreet.guarantee import Budget
    from discreet.schema import Schema

__all__ = ["plan", "sized"]


def plan(
    study: terminal.StudyFile,
    n: Annotated[int | None, typer.Option(help="Number of units to plan for, instead of the study's.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Simulated data sets per release.")] = 200,
    only: Annotated[str | None, typer.Option(metavar="NAME", help="Plan only this release.")] = None,
    target_epsilon: Annotated[
        float | None, typer.Option(help="Say how many public records would make draws meet this epsilon.")
    ] = None,
    target_delta: Annotated[float | None, typer.Option(help="The delta at which that epsilon is meant.")] = None,
    as_json: terminal.AsJson = False,
) -> None:
    """Show what releases would give.

    Guarantee, noise, and the expected width and coverage of intervals: no data is read and nothing is spent. With a
    target, also what public records would be worth for every direct, diffused or concentrated draw of the study.

    \b
    Example:
      discreet plan study.toml
      discreet plan study.toml --only smoking --n 5000 --json
      discreet plan draws.toml --n 5000 --target-epsilon 1 --target-delta 1e-6
    """  # noqa: D301
    from discreet import planning
    from discreet.cli.study import Study

    loaded = Study.load(study)
    requests = loaded.only(only)
    schema = sized(loaded.schema, n)
    cells = sum(request.model.query(schema).cells for request in requests)
    shown = terminal.progress(requests, "planning", steps=runs * cells)
    targets = _targets(requests, target_epsilon, target_delta)
    plans = [
        (made, planning.plan(made.model, made.mechanism, schema=schema, runs=runs, target=targets[made.name]))
        for made in shown
    ]
    if as_json:
        terminal.emit({"study": str(study), "releases": [{"name": r.name, **made.to_json()} for r, made in plans]})
        return
    screen = terminal.console()
    for request, made in plans:
        terminal.facts(screen, request.name, made.lines())


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
            "Schema.n must be declared in the study or given as --n to plan without reading rows, got None"
        )
    return schema
