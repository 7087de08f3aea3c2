"""`discreet demo`: the whole line, from a study to posteriors, on a synthetic table whose truth is known."""

import tempfile
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import balance, demo_events, example, terminal
from discreet.cli.commands import report_command
from discreet.cli.estimates import Estimate, estimates
from discreet.errors import BudgetExceeded, QueryError, ReleaseError

if TYPE_CHECKING:
    from discreet.cli.study import Study
    from discreet.ledger import Ledger
    from discreet.release import Release
    from discreet.sources import Dataset

__all__ = ["demo"]

RUNS = 25
PAGE = "discreet-demo.html"


def demo(
    folder: Annotated[Path | None, typer.Option(help="Keep the files in this new folder.", show_default=False)] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            help="Where the report is written: by default report.html in the folder, or discreet-demo.html.",
            show_default=False,
        ),
    ] = None,
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Run everything on a synthetic table.

    It makes a table with a known truth, a study and a ledger, plans, releases, reads the posteriors, and writes a
    report: one HTML page to open.

    \b
    Example:
      discreet demo
      discreet demo --folder demo
    """  # noqa: D301
    screen = terminal.console(quiet=as_json or quiet)
    if folder is None:
        with tempfile.TemporaryDirectory(prefix="discreet-demo-") as temporary:
            document = _demo(Path(temporary), page or Path(PAGE), screen)
    else:
        try:
            folder.mkdir(parents=True)
        except OSError as problem:
            raise ReleaseError(f"demo --folder must be a new folder, got {str(folder)!r}: {problem.strerror}") from None
        document = _demo(folder, page or folder / "report.html", screen)
        terminal.facts(screen, "Kept", [("folder", f"{folder}: study.toml, study.ledger and the releases")])
    if as_json:
        terminal.emit(document)


def _demo(folder: Path, page: Path, screen: terminal.Screen) -> dict[str, Any]:
    from discreet.cli.study import Study
    from discreet.guarantee import Budget
    from discreet.ledger import Ledger

    example.write_table(folder / "patients.csv")
    (folder / "study.toml").write_text(example.STUDY, encoding="utf-8")
    study = Study.load(folder / "study.toml")
    ledger = Ledger.create(study.ledger, Budget(*example.BUDGET))
    lines = [
        ("table", f"{example.PATIENTS:,} synthetic patients, drawn from a known law: smoker, ward, flu, fever, cough"),
        ("study", "study.toml declares columns, levels, neighbours and four releases"),
        ("ledger", f"may spend {ledger.budget}, on guarantees of every kind"),
    ]
    terminal.facts(screen, "1  A study: public facts only", lines)
    planned = _plan(study, screen)
    dataset = study.open()
    made = _release(study, dataset, ledger, screen)
    posterior = _posterior(made, screen)
    settled = _settle_up(study, dataset, ledger, screen)
    events = demo_events.event_log(folder, screen)
    written = _report({**made, "events": demo_events.read_back(folder)}, ledger, page, screen)
    return {
        "plans": planned,
        "releases": {name: release.to_json() for name, release in made.items()},
        "posterior": posterior,
        **settled,
        "events": events,
        "page": written,
    }


def _report(made: dict[str, "Release"], ledger: "Ledger", page: Path, screen: terminal.Screen) -> str | None:
    """One page of everything; its path, or None where the extra of pictures is not installed."""
    title = "A demonstration: synthetic patients, and an event log"
    try:
        (size,) = report_command.write_pages(page, made, ledger, title).values()
    except QueryError as problem:
        terminal.facts(screen, "7  Report", [("page", str(problem))])
        return None
    terminal.facts(screen, "7  Report", [("page", str(page)), ("size", f"{size / 1000:,.0f} kB; open it in a browser")])
    return str(page)


def _plan(study: "Study", screen: terminal.Screen) -> dict[str, Any]:
    """What to expect, before any row is read."""
    from discreet import planning

    screen.print("2  Plan: what to expect, before any row is read", style="bold")
    table = terminal.table(["release", "model", "mechanism"], ["noise sd", "90% width", "rms error"])
    plans = {}
    cells = sum(request.model.query(study.schema).cells for request in study.releases)
    for request in terminal.progress(study.releases, "planning", steps=RUNS * cells, quiet=screen.quiet):
        plan = planning.plan(request.model, request.mechanism, schema=study.schema, runs=RUNS)
        plans[request.name] = plan.to_json()
        noise = f"{max(plan.noise.values()):.1f}" if plan.noise else "-"
        width = "-" if plan.width is None else f"{fmean(plan.width.values()):.4f}"
        kinds = (type(request.model).__name__, type(request.mechanism).__name__)
        table.add_row(request.name, *kinds, noise, width, f"{fmean(plan.error.values()):.4f}")
    screen.print(table)
    screen.print()
    return plans


def _release(study: "Study", dataset: "Dataset", ledger: "Ledger", screen: terminal.Screen) -> dict[str, "Release"]:
    """Pay, then read: the guarantee of every release in words."""
    from discreet import pipeline

    made, lines = {}, []
    bought = pipeline.purchase([(each.model, dataset, each.mechanism) for each in study.releases], ledger)
    for request, paid in zip(study.releases, bought, strict=True):
        release = paid.release()
        release.save(request.out)
        made[request.name] = release
        price = balance.share(ledger, paid.entry.spend)
        lines += [(request.name, release.guarantee.words()), ("", f"Paid {price}.")]
    terminal.facts(screen, "3  Release: pay first, then read the rows once", lines)
    return made


def _posterior(made: dict[str, "Release"], screen: terminal.Screen) -> dict[str, Any]:
    """Posteriors beside the truth that nobody else knows."""
    screen.print("4  Posteriors: free, as often as wanted, beside the truth", style="bold")
    table = terminal.table(["parameter"], ["truth", "noise-\naware", "90%\ninterval", "plug-\nin", "90%\ninterval"])
    rows: list[tuple[Estimate, Estimate]] = []
    for name in ("smoking", "wards", "flu"):
        query = made[name].query
        both = [estimates(query, made[name].posterior(kind), 0.9) for kind in ("noise-aware", "plug-in")]
        rows += [pair for pair in zip(*both, strict=True) if pair[0].parameter in example.TRUTH]
    for aware, naive in rows:
        truth = example.TRUTH[aware.parameter]
        cells = [f"{truth:.3f}"]
        for row in (aware, naive):
            cells += [f"{row.mean:.3f}", f"{row.low:.3f} to {row.high:.3f}"]
        table.add_row(aware.parameter, *cells)
    screen.print(table)
    (draw,) = estimates(made["draw"].query, made["draw"].posterior(), 0.9)
    hits = [sum(row.contains(example.TRUTH[row.parameter]) for row in column) for column in zip(*rows, strict=True)]
    lines = [
        (
            "cover",
            f"noise-aware intervals contain the truth {hits[0]} times of {len(rows)}, plug-in ones {hits[1]} times",
        ),
        (
            "draw",
            f"{draw.parameter} = {draw.mean:.4f}: one private tempered draw; given it, {draw.interval}",
        ),
    ]
    terminal.facts(screen, "", lines)
    return {
        "truth": example.TRUTH,
        "noise_aware": [aware.to_json() for aware, _ in rows],
        "plug_in": [naive.to_json() for _, naive in rows],
        "draw": draw.to_json(),
    }


def _settle_up(study: "Study", dataset: "Dataset", ledger: "Ledger", screen: terminal.Screen) -> dict[str, Any]:
    """The balance; the same request again is free, and what the budget cannot pay is refused."""
    from discreet import pipeline
    from discreet.mechanisms import NoisyStatistics

    first, spent = study.releases[0], ledger.spent()
    pipeline.release(first.model, dataset, first.mechanism, ledger)
    repeated = ledger.spent() - spent
    refusal = "none"
    try:
        pipeline.release(first.model, dataset, NoisyStatistics(epsilon=2.0, label="once more"), ledger)
    except BudgetExceeded as problem:
        refusal = str(problem)
    lines = [
        ("spent", balance.words(ledger, ledger.spent())),
        ("left", balance.words(ledger, ledger.remaining())),
        ("repeated", f"the request {first.name!r} again cost {balance.words(ledger, repeated)}"),
        ("refused", refusal),
    ]
    terminal.facts(screen, "5  Ledger", lines)
    return {"ledger": balance.balance(ledger), "repeated": balance.amount(ledger, repeated), "refusal": refusal}
