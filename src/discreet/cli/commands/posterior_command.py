"""`discreet posterior`: read a release as a posterior. Free: nothing is read but the release."""

import math
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from discreet.cli import terminal
from discreet.cli.estimates import estimates
from discreet.cli.progress_line import Progress
from discreet.errors import QueryError

__all__ = ["convergence", "posterior"]


def posterior(
    file: Annotated[Path, typer.Argument(metavar="RELEASE", help="A saved release, JSON.", show_default=False)],
    plug_in: Annotated[
        bool, typer.Option("--plug-in", help="Pretend that the noisy statistics are exact: over-confident.")
    ] = False,
    joint: Annotated[
        bool, typer.Option("--joint", help="All tables of a network together, by chains: slower.")
    ] = False,
    prior: Annotated[str | None, typer.Option(help="Another public prior, e.g. 2,5, at no cost.")] = None,
    pooling: Annotated[
        str | None, typer.Option(help='"partial": groups come from one population and learn from each other.')
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of the intervals.")] = 0.9,
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Read a release as a posterior, free.

    Means and intervals take the privacy noise into account. The estimand is what they are of, and what their widths
    assume of the data; a warning says where chains have not converged.

    \b
    Example:
      discreet posterior smoking.release.json
      discreet posterior smoking.release.json --prior 2,5 --level 0.95 --json
      discreet posterior smoking-by-ward.release.json --pooling partial
    """  # noqa: D301
    from discreet.posterior import EventLogPosterior
    from discreet.release import load

    if not 0 < level < 1:
        raise QueryError(f"Posterior.interval level must be a number above 0 and below 1, got {level!r}")
    release = load(file)
    if pooling not in (None, "partial"):
        raise QueryError(f'Release.posterior pooling must be "partial", got {pooling!r}')
    chosen: Literal["partial"] | None = None if pooling is None else "partial"
    if plug_in and joint:
        raise QueryError("Release.posterior kind must be one of --plug-in and --joint, got both")
    asked: Literal["noise-aware", "plug-in", "joint"] = "plug-in" if plug_in else "joint" if joint else "noise-aware"
    read = release.posterior(
        asked,
        prior=_prior(prior),
        pooling=chosen,
        progress=Progress("sampling", free=True, quiet=quiet),
    )
    rows = estimates(release.query, read, level)
    noisy = release.mechanism.laws(release.query)
    kind = asked if noisy else "draws"
    if as_json:
        body = {"release": str(file), "kind": kind, "level": level, "guarantee": release.guarantee.to_json()}
        body |= {"notice": release.notice} if release.notice else {}
        body |= {"estimand": _estimand(read)} if noisy else {}
        body |= convergence(read)
        terminal.emit(
            {**body, "words": str(release.guarantee), "parameters": [row.to_json() for row in rows]} | _states(read)
        )
        return
    screen = terminal.console(quiet=quiet)
    found = convergence(read)
    words = KINDS[kind] if found["converged"] else KINDS[kind].split(", and the intervals")[0]
    lines = [("model", repr(release.model)), ("guarantee", str(release.guarantee)), ("posterior", words)]
    lines += [("estimand", _estimand(read))] if noisy else []
    lines += [("notice", release.notice)] if release.notice else []
    lines += [] if found["converged"] else [("warning", found["convergence"])]
    terminal.facts(screen, str(file), lines)
    known = all(row.interval for row in rows)
    table = terminal.table(["parameter"], ["mean", *([f"{100 * level:.4g}% interval"] if known else [])])
    for row in rows:
        table.add_row(row.parameter, f"{row.mean:.4g}", *([row.interval] if known else []))
    screen.print(table)
    if isinstance(read, EventLogPosterior):
        screen.print()
        screen.block(read.map())


def _estimand(read: Any) -> str:
    """What the numbers are of, and what their widths assume: the first line of a posterior's own text."""
    return str(read).splitlines()[0]


def convergence(read: Any) -> dict[str, Any]:
    """Whether the chains behind a posterior converged, and in words where they did not; all others are exact."""
    mixed = getattr(read, "mixing", None)
    if mixed is None or mixed.converged:
        return {"converged": True}
    return {"converged": False, "convergence": mixed.words}


def _states(read: Any) -> dict[str, Any]:
    """The map of an event log: the most frequent state of every region and time, from 0."""
    from discreet.posterior import EventLogPosterior

    return {"states": read.states().tolist()} if isinstance(read, EventLogPosterior) else {}


KINDS = {
    "noise-aware": "noise-aware: the privacy noise is part of the model, and the intervals count it",
    "joint": "noise-aware, from all tables together: the privacy noise is part of the model, and the intervals count "
    "it",
    "plug-in": "plug-in: the noisy statistics are taken as exact, and the intervals are too narrow",
    "draws": "private draws of a tempered posterior, wider than the posterior itself; the mean is theirs; an interval "
    "is given where the law of a draw given the parameter is known",
}


def _prior(text: str | None) -> float | tuple[float, ...] | None:
    """One number, or several with commas between them."""
    if text is None:
        return None
    try:
        numbers = tuple(float(part) for part in text.split(","))
    except ValueError:
        numbers = (math.nan,)
    if not all(math.isfinite(number) for number in numbers):
        raise QueryError(f"Release.posterior prior must be numbers with commas between them, got {text!r}")
    return numbers[0] if len(numbers) == 1 else numbers
