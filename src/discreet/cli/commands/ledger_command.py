"""`discreet ledger create | show | verify | head | copy | grant`: the budget of one population and what it paid for."""

from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import balance, terminal
from discreet.cli.named_ledger import opened
from discreet.visible import visible

if TYPE_CHECKING:
    from discreet.ledger import Entry

__all__ = ["app", "copy", "create", "grant", "head", "show", "verify"]

app = typer.Typer(rich_markup_mode=None)

TAIL = 20  # entries that are shown if not all are asked for

LedgerFile = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER", help="The ledger: a file, or postgresql://user@host/database?ledger=name.", show_default=False
    ),
]


@app.callback(invoke_without_command=True)
def ledger(context: typer.Context) -> None:
    """Create, show, verify or copy a ledger.

    \b
    Example:
      discreet ledger show study.ledger
    """  # noqa: D301
    if context.invoked_subcommand is None:
        terminal.write(context.get_help())


@app.command(epilog=terminal.EXIT_CODES)
def create(
    path: LedgerFile,
    epsilon: Annotated[float, typer.Option(help="The whole budget.", show_default=False)],
    delta: Annotated[float | None, typer.Option(help="Without it only pure guarantees can be paid.")] = None,
    filter_name: Annotated[
        str | None,
        typer.Option(
            "--filter",
            help="portfolio (default with a delta), pure (default without), zcdp, gdp, approximate.",
        ),
    ] = None,
    acknowledge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="In a database: the dataset is paid for by another ledger, and both budgets add up. May be repeated.",
        ),
    ] = None,
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Make a new ledger, in a file or in a PostgreSQL database.

    Its budget is fixed for good; an existing ledger is never overwritten. A password is taken from PGPASSWORD,
    ~/.pgpass or a service file, never from the address.

    \b
    Example:
      discreet ledger create study.ledger --epsilon 3 --delta 1e-6
      discreet ledger create "postgresql://host/budgets?ledger=patients" --epsilon 3
    """  # noqa: D301
    from discreet.guarantee import Budget
    from discreet.ledger import Ledger

    made = Ledger.create(path, Budget(epsilon, delta), filter_name, acknowledge or ())
    if as_json:
        terminal.emit({**balance.balance(made), "head": made.head()})
        return
    lines = [
        ("budget", str(made.budget)),
        ("filter", f"{made.filter.name}: {made.filter.describe(made.limit, made.budget)}"),
        ("head", made.head()),
    ]
    terminal.facts(terminal.console(quiet=quiet), f"created {path}", lines)


@app.command(epilog=terminal.EXIT_CODES)
def show(
    path: LedgerFile,
    every: Annotated[bool, typer.Option("--all", help=f"Every entry, one line each; else the last {TAIL}.")] = False,
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Show the balance and the last entries; with --json or --all, every entry.

    \b
    Example:
      discreet ledger show study.ledger
      discreet ledger show study.ledger --json
    """  # noqa: D301
    found = opened(path)
    if as_json:
        body = {**balance.balance(found), "fits": found.still_fits(), "head": found.head()}
        terminal.emit_with(body, "entries", map(_document, found.listed()))
        return
    screen = terminal.console(quiet=quiet)
    tail = list(found.listed(TAIL))
    before = float((tail[0].spent_after - tail[0].spend) / found.limit) if tail else 0.0
    count = found.count
    lines = [
        ("budget", f"{found.budget}, {found.filter.name} filter"),
        *([("closed", f"copied, and spent in {found.moved_to}")] if found.moved_to else []),
        ("spent", balance.words(found, found.spent())),
        ("left", balance.words(found, found.remaining())),
        *_fitting(found.still_fits()),
        ("shares", balance.bar([*([before] if before else []), *(float(entry.spend / found.limit) for entry in tail)])),
        ("head", found.head()),
        *([("entries", f"{count:,}; the last {TAIL}:")] if count > TAIL and not every else []),
    ]
    terminal.facts(screen, path, lines)
    if every and not quiet:
        for entry in found.listed():
            terminal.write("\t".join(visible(cell) for cell in _cells(entry, found.limit)))
    elif tail:
        table = terminal.table(["entry", "dataset", "model", "mechanism", "status"], ["of the budget"])
        for entry in tail:
            table.add_row(*_cells(entry, found.limit))
        screen.print(table)


def _document(entry: "Entry") -> dict[str, Any]:
    from discreet.ledger.events import plain

    return {
        "id": entry.id,
        "status": entry.status,
        "recipe": entry.recipe,
        "guarantee": entry.guarantee.to_json(),
        "spend": plain(entry.spend),
        "spent_after": plain(entry.spent_after),
    }


def _cells(entry: "Entry", limit: Decimal) -> tuple[str, ...]:
    """What was asked, in a few words each."""
    model, mechanism = (entry.recipe.get(key, {}) for key in ("model", "mechanism"))
    label = f" {mechanism['label']!r}" if mechanism.get("label") else ""
    about = model.get("column") or model.get("target") or ""
    asked = (entry.recipe.get("dataset", ""), f"{model.get('kind', '')} {about}".strip())
    how, share = f"{mechanism.get('kind', '')}{label}", f"{float(entry.spend / limit):.1%}"
    return entry.id[:7], *map(str, asked), how, entry.status, share


def _fitting(fits: dict[str, Any]) -> list[tuple[str, str]]:
    """What still fits, in words."""
    like = [] if fits["like the last"] is None else [f"{fits['like the last']:,} more like the last request"]
    pure = [f"a count of epsilon up to {fits['epsilon']:g}"] if fits["epsilon"] else []
    gaussian = [f"a Gaussian release of mu up to {fits['mu']:g}"] if fits["mu"] else []
    said = [*like, *pure, *gaussian]
    return [("still fits", "; or ".join(said))] if pure or gaussian or like else [("still fits", "nothing")]


@app.command(epilog=terminal.EXIT_CODES)
def verify(
    path: LedgerFile,
    head: Annotated[str | None, typer.Option(help="A head noted earlier, which must still be in the chain.")] = None,
    accept_head: Annotated[
        bool, typer.Option("--accept-head", help="The head file is lost: take the chain as it is, and record that.")
    ] = False,
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Check every hash, total and limit.

    \b
    Example:
      discreet ledger verify study.ledger
      discreet ledger verify study.ledger --head 3f5a…
    """  # noqa: D301
    from discreet.ledger import Ledger

    found = Ledger.accept_head(path, head) if accept_head else opened(path)
    notices = found.verify(head)
    accepted = [{"event": event, "time": time} for event, time in found.accepted()]
    if as_json:
        body = {"path": str(path), "verified": True, "entries": found.count, "head": found.head()}
        terminal.emit({**body, "accepted": accepted, "notices": list(notices)})
        return
    lines = [
        ("entries", str(found.count)),
        ("spent", balance.words(found, found.spent())),
        ("head", found.head()),
        *(("accepted", f"without a head file at event {each['event']}, {each['time']}") for each in accepted),
        *(("notice", notice) for notice in notices),
    ]
    terminal.facts(terminal.console(quiet=quiet), f"{path} is consistent", lines)


@app.command(epilog=terminal.EXIT_CODES)
def head(path: LedgerFile, as_json: terminal.AsJson = False, quiet: terminal.Quiet = False) -> None:
    """Print the last hash of the chain, to be noted elsewhere.

    \b
    Example:
      discreet ledger head study.ledger
      discreet ledger verify study.ledger --head 3f5a…
    """  # noqa: D301
    found = opened(path).head()
    if as_json:
        terminal.emit({"path": path, "head": found})
    elif not quiet:
        terminal.write(found)


@app.command(epilog=terminal.EXIT_CODES)
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="The ledger, a file or address.", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TO", help="Its new place, a file or address.", show_default=False)],
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Move a ledger to another place, and close it where it was.

    The copy is verified. The old place pays nothing from then on, and its refusals name the new one. After a crash the
    same command goes on where it stopped.

    \b
    Example:
      discreet ledger copy study.ledger "postgresql://host/budgets?ledger=patients"
    """  # noqa: D301
    made = opened(source).copy_to(target)
    if as_json:
        terminal.emit({**balance.balance(made), "from": source, "head": made.head()})
        return
    lines = [
        ("spent", balance.words(made, made.spent())),
        ("head", made.head()),
        ("closed", f"{source} pays nothing any more"),
    ]
    terminal.facts(terminal.console(quiet=quiet), f"copied to {made.path}", lines)


@app.command(epilog=terminal.EXIT_CODES)
def grant(
    path: LedgerFile,
    role: Annotated[str, typer.Argument(metavar="ROLE", help="A role of the database.", show_default=False)],
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Let a role of a PostgreSQL database pay from its ledgers: it may read them and append, and nothing else.

    \b
    Example:
      discreet ledger grant "postgresql://host/budgets?ledger=patients" analysts
    """  # noqa: D301
    opened(path).grant(role)
    if as_json:
        terminal.emit({"role": role})
        return
    terminal.facts(terminal.console(quiet=quiet), f"{role} may pay", [("may", "read the ledgers and append to them")])
