"""`discreet plan`: what every release of a study would give, from public facts alone."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.errors import SchemaError

if TYPE_CHECKING:
    from discreet.pipeline import Plan
    from discreet.schema import Schema

__all__ = ["plan"]


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
    from discreet import pipeline
    from discreet.study import Study

    loaded = Study.load(study)
    requests = loaded.only(only)
    schema = _sized(loaded.schema, n)
    cells = sum(request.model.query(schema).cells for request in requests)
    shown = terminal.progress(requests, "planning", steps=runs * cells)
    plans = [(request, pipeline.plan(request.model, request.mechanism, schema=schema, runs=runs)) for request in shown]
    if as_json:
        terminal.emit({"study": str(study), "releases": [{"name": r.name, **made.to_json()} for r, made in plans]})
        return
    screen = terminal.console()
    for request, made in plans:
        terminal.facts(screen, request.name, _lines(made))


def _sized(schema: "Schema", n: int | None) -> "Schema":
    """The schema with its public size; a plan never counts rows to find it."""
    if n is not None:
        return schema.with_n(n) if schema.relation == "replace-one" else replace(schema, n_max=n)
    if schema.relation == "replace-one" and schema.n is None:
        raise SchemaError(
            "Schema.n must be declared in the study or given as --n to plan without reading rows, got None"
        )
    return schema


def _lines(made: "Plan") -> list[tuple[str, str]]:
    """The plan in words; one line of noise for statistics that share their scale."""
    lines = [("guarantee", str(made.guarantee))]
    by_scale: dict[float, list[str]] = {}
    for name, scale in made.noise.items():
        by_scale.setdefault(scale, []).append(name)
    lines += [("noise", f"standard deviation {scale:.4g} on {', '.join(names)}") for scale, names in by_scale.items()]
    if made.width is None or made.coverage is None:
        lines.append(("width", "no interval: what is released is a draw of a tempered posterior"))
    else:
        covered = f"{made.coverage:.1%} ± {made.coverage_error:.1%}"
        lines.append(("width", f"{made.width:.4g} on average for 90% intervals, which cover {covered}"))
    lines.append(("error", f"{made.error:.4g} root mean square of the estimate, over {made.runs} simulated runs"))
    for name, level in made.complete.items():
        lines.append(("complete", f"{name} is declared complete: a cell that is missing or no level counts as {level}"))
    return lines
