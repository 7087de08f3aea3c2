"""`discreet reproduce`: figures and tables of the papers, made again. Needs no ledger: nothing is released."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import terminal
from discreet.cli.terminal import Incomplete
from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from discreet.studies.reproduction import Finding, Reproduction

__all__ = ["reproduce"]


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(help="A name that --list shows, foulds, minami, geumlek, or all.", show_default=False),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Show all names and what they make.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the public tables; made-up ones without it.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for numbers, pictures and index.html.")] = Path("reproduced"),
    runs: Annotated[
        int | None, typer.Option(min=2, help="Repetitions, instead of each one's own number.", show_default=False)
    ] = None,
    quiet: terminal.Quiet = False,
    as_json: terminal.AsJson = False,
) -> None:
    """Make figures and tables of the papers again, with the corrected formulas beside the printed ones.

    Each writes its numbers (JSON, CSV), its picture (SVG, PNG; extra `report`) and a paragraph, and index.html shows
    all that are in the folder. Claims that do not hold end the command with an error, after everything is written.

    \b
    Example:
      discreet reproduce --list
      discreet reproduce minami-corollary-8
      discreet reproduce all --data tables --out reproduced
    """  # noqa: D301
    from discreet.studies.paper_tables import PaperTables
    from discreet.studies.reproductions import REPRODUCTIONS, chosen
    from discreet.studies.written_findings import write_finding, write_index

    if name is None or listed:
        _show_list(as_json)
        return
    selected, tables, screen = chosen(name), PaperTables(data), terminal.console(quiet=quiet or as_json)
    done, failed, drawn = [], [], True
    steps = sum(one.steps for one in selected)
    for one in terminal.progress(selected, "reproducing", steps=steps, quiet=quiet):
        repeated = one.runs if runs is None else min(runs, one.runs)
        finding = one.run(tables, repeated)
        files = write_finding(one, finding, out, repeated)
        drawn = drawn and (not finding.panels or any(file.suffix == ".svg" for file in files))
        wrong = [claim.text for claim in finding.claims if not claim.holds]
        failed += [f"{one.name}: {text}" for text in wrong]
        done.append({"name": one.name, "claims": len(finding.claims), "failed": wrong, "synthetic": finding.synthetic})
        _show(screen, one, finding)
    page = write_index(out, list(REPRODUCTIONS))
    lines = [("page", str(page)), *([] if drawn else [("no pictures", "they need the extra `report`: altair")])]
    terminal.facts(screen, f"{len(done)} made, {len(failed)} claims do not hold", lines)
    document: dict[str, Any] = {"index": str(page), "reproduced": done}
    if failed:
        raise Incomplete(
            DiscreetError(f"reproduce claims must hold, but {len(failed)} do not: {'; '.join(failed)}"), document
        )
    if as_json:
        terminal.emit(document)


def _show(screen: terminal.Screen, one: "Reproduction", finding: "Finding") -> None:
    """What the paper says, what was found, and what of it does not hold."""
    held = sum(claim.holds for claim in finding.claims)
    wrong = [("DOES NOT HOLD", f"{claim.text}: {claim.numbers}") for claim in finding.claims if not claim.holds]
    lines = [("paper", finding.reported), ("here", finding.found), ("why", finding.differs)]
    lines += [("claims", f"{held} of {len(finding.claims)} hold"), *wrong]
    made_up = ", on synthetic data of the same shape" if finding.synthetic else ""
    terminal.facts(screen, f"{one.name}  {one.title} ({one.source}{made_up})", lines)


def _show_list(as_json: bool) -> None:
    from discreet.studies.reproductions import REPRODUCTIONS

    if as_json:
        keys = ("name", "source", "title", "runs", "steps")
        terminal.emit({"reproductions": [{key: getattr(one, key) for key in keys} for one in REPRODUCTIONS.values()]})
        return
    table = terminal.table(["name", "what it shows", "from"])
    for one in REPRODUCTIONS.values():
        table.add_row(one.name, one.title, one.source)
    terminal.console().print(table)
