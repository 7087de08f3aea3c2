"""`discreet compare`: which mechanism serves a model best within a budget, from public facts alone."""

from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import terminal
from discreet.cli.commands.plan_command import sized
from discreet.errors import DiscreetError, GuaranteeError, QueryError

if TYPE_CHECKING:
    from discreet.planning import Candidate, Comparison

__all__ = ["compare"]


def compare(
    study: terminal.StudyFile,
    epsilon: Annotated[float, typer.Option(help="Epsilon of the budget of one release.")],
    delta: Annotated[float | None, typer.Option(help="Its delta; without one only pure guarantees fit.")] = None,
    n: Annotated[int | None, typer.Option(help="Number of units to compare for, instead of the study's.")] = None,
    runs: Annotated[int, typer.Option(min=1, help="Simulated data sets per mechanism.")] = 200,
    only: Annotated[
        str | None, typer.Option(metavar="NAME", help="Compare for the model of this release only.")
    ] = None,
    width: Annotated[
        float | None, typer.Option(help="Rank by the share of the budget that intervals of this width take.")
    ] = None,
    by: Annotated[
        str, typer.Option(help="Rank by the estimate, or by one draw: how far a single draw of a probability is off.")
    ] = "estimate",
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Rank mechanisms for every model of a study.

    Tables are simulated from the prior; no data is read and nothing is spent. The mechanisms are those that the budget
    alone determines, and the one the study asks for, if it stays within the budget. Without a delta only pure
    guarantees do.

    \b
    Example:
      discreet compare study.toml --epsilon 1 --delta 1e-6
      discreet compare study.toml --epsilon 1 --only smoking --n 5000 --json
    """  # noqa: D301
    from discreet import planning
    from discreet.cli.study import Study
    from discreet.guarantee import Budget

    loaded = Study.load(study)
    requests = loaded.only(only)
    schema, budget = sized(loaded.schema, n), Budget(epsilon, delta)
    cells = sum(request.model.query(schema).cells for request in requests)
    found: dict[str, Comparison] = {}
    refused: dict[str, DiscreetError] = {}
    for request in terminal.progress(requests, "comparing", steps=3 * runs * cells, quiet=quiet):
        try:
            found[request.name] = planning.compare(
                request.model,
                budget,
                schema=schema,
                also=(request.mechanism,),
                runs=runs,
                width=width,
                by=by,  # type: ignore[arg-type]  # checked there
            )
        except (
            GuaranteeError,
            QueryError,
        ) as problem:  # nothing fits this model: that is no reason to be silent about the others
            refused[request.name] = problem
    if not found:
        raise next(iter(refused.values()))
    if as_json:
        ranked = [{"name": name, **made.to_json()} for name, made in found.items()]
        nothing = [{"name": name, "candidates": [], "refused": str(reason)} for name, reason in refused.items()]
        terminal.emit({"study": str(study), "releases": [*ranked, *nothing]})
        return
    screen = terminal.console(quiet=quiet)
    for name, made in found.items():
        screen.print(name, style="bold")
        table = terminal.table(["", "mechanism"], ["90% width", "covers", "rms error", "of the budget", ""])
        for rank, one in enumerate(made.candidates, start=1):
            for line in _lines(one, rank):
                table.add_row(*line)
        screen.print(table)
        terminal.facts(screen, "", [("refused", f"{other}: {why}") for other, why in made.refused.items()])
    for name, reason in refused.items():
        terminal.facts(screen, name, [("refused", str(reason))])


def _lines(one: "Candidate", rank: int) -> list[tuple[str, ...]]:
    """The lines of one mechanism: a line for every parameter, the first of them with what is said once."""
    from discreet.recipe import spelled

    covers = "-" if one.plan.coverage is None else f"{one.plan.coverage:.1%}"
    says = [word for word, holds in (("tie", one.tie and rank > 1), ("drowned by noise", one.drowned)) if holds]
    says += [] if one.plan.draw is None else [str(one.plan.draw)]
    widths = ["none"] * len(one.plan.error) if one.plan.width is None else _numbers(one.plan.width)
    (width, error), *rest = zip(widths, _numbers(one.plan.error), strict=True)
    share = None if one.plan.share is None else one.plan.share.fraction
    taken = "refused" if share is None else f"{share:.1%}"
    first = (str(rank), spelled(one.mechanism), width, covers, error, taken, ", ".join(says))
    return [first, *(("", "", width, "", error, "", "") for width, error in rest)]


def _numbers(values: dict[str, float]) -> list[str]:
    return [f"{value:.4g}" if len(values) == 1 else f"{name} {value:.4g}" for name, value in values.items()]
