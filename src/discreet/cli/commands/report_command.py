"""`discreet report`: one HTML page of releases, for people who decide: what was asked, promised, found and paid."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from discreet.cli import named_ledger, terminal
from discreet.errors import QueryError, ReleaseError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.cli.study import Study
    from discreet.release import Release

__all__ = ["report", "write_pages"]

ENDINGS = (".release.json", ".json")
PAGES = (".html", ".htm")
MOST_TOGETHER = 12  # releases on one page; more get a page each, beside an index


def report(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[RELEASE]...", help="Saved releases, JSON.", show_default=False)
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path("report.html"),
    ledger: Annotated[
        Path | None, typer.Option(help="The ledger that paid: the page then has its timeline.", show_default=False)
    ] = None,
    study: Annotated[
        Path | None,
        typer.Option(help="A study: every release of it, under its name, and its ledger.", show_default=False),
    ] = None,
    title: Annotated[str, typer.Option(help="Of the page.", show_default=False)] = "",
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Write one page about releases, free.

    What was asked, what is promised to the people in the table, what was found, whether the model fits, what was paid,
    and how to do it again. The page is one file: it opens without a network, prints, and follows light or dark. Of more
    than 12 releases it is an index, and every release has a page of its own in a folder of the same name beside it.

    \b
    Example:
      discreet report smoking.release.json -o report.html
      discreet report --study study.toml -o report.html
      discreet report smoking.release.json --ledger study.ledger -o smoking.html
    """  # noqa: D301
    from discreet.release import load
    from discreet.report.ledger_section import not_paid

    for file in files or []:
        if file.suffix == ".toml":
            raise QueryError(
                f"report RELEASE must be a saved release, got the study {str(file)!r}: write --study {file}"
            )
    if out.suffix.lower() not in PAGES:
        raise QueryError(f"report --out must end in .html: a page is written, got {str(out)!r}")
    found: dict[str, Release] = {}
    later: list[str] = []
    declared = None if study is None else _study(study)
    for request in [] if declared is None else declared.releases:
        if Path(request.out).exists():
            found[request.name] = load(request.out)
        else:
            later.append(request.name)
    for file in files or []:
        found[_free_name(file, found)] = load(file)
    if not found:
        waiting = f"of this study {', '.join(later)} are not released yet" if later else "name its file, or --study"
        raise QueryError(f"report must be of one release at least, got none: {waiting}")
    paid_by = ledger if ledger is not None or declared is None else declared.ledger
    known = paid_by is not None and (ledger is not None or Path(paid_by).exists())
    paying = named_ledger.opened(str(paid_by)) if known else None
    strangers = not_paid({one.entry: name for name, one in found.items()}, paying)
    sizes = write_pages(out, found, paying, title, later, quiet=quiet)
    pages = [str(page) for page in sizes]
    if as_json:
        apart = {} if len(pages) == 1 else {"pages": pages[1:]}
        document = {"page": pages[0], "bytes": sizes[out], "releases": list(found), "not_released": later}
        terminal.emit({**document, "not_paid": strangers, **apart})
        return
    lines = [("page", pages[0]), ("releases", ", ".join(found))]
    lines += [("pages", f"one for each release, in {str(Path(pages[1]).parent)!r}")] if len(pages) > 1 else []
    lines += [("size", f"{sum(sizes.values()) / 1000:,.0f} kB; opens offline")]
    lines += [("missing", f"{', '.join(later)}: not released yet")] if later else []
    if strangers:
        lines.append(("ledger", f"has no entry of {', '.join(strangers)}: name the one that paid, --ledger"))
    terminal.facts(terminal.console(quiet=quiet), "Report", lines)


def write_pages(
    out: Path,
    releases: "dict[str, Release]",
    ledger: Any,
    title: str = "",
    later: "Sequence[str]" = (),
    *,
    quiet: bool = False,
) -> dict[Path, int]:
    """Write the page of these releases, or an index and a page for each; the sizes in bytes, the first page first."""
    from discreet.cli.progress_line import Progress
    from discreet.recipe import write_text
    from discreet.report import report as page
    from discreet.report import report_pages

    if len(releases) <= MOST_TOGETHER:
        texts = {out: page(releases, ledger=ledger, title=title, later=later)}
    else:
        with Progress("reading", work=len(releases), free=True, quiet=quiet) as shown:
            found = report_pages(releases, name=out.stem, ledger=ledger, title=title, later=later, progress=shown)
        texts = {out.parent / name if "/" in name else out: text for name, text in found.items()}
    for target, text in texts.items():
        try:
            if target != out:
                target.parent.mkdir(exist_ok=True)
            write_text(target, text)
        except (OSError, ValueError) as problem:
            detail = getattr(problem, "strerror", None) or "it is no name of a file"
            detail += "" if target.parent.is_dir() else f": make {str(target.parent)!r}"
            raise ReleaseError(
                f"report --out must be a file that can be written, got {str(target)!r}: {detail}"
            ) from None
    return {target: len(text.encode()) for target, text in texts.items()}


def _study(path: Path) -> "Study":
    from discreet.cli.study import Study

    return Study.load(path)


def _free_name(file: Path, taken: "dict[str, Release]") -> str:
    """The name of a file without its endings, and of a second one with a number."""
    name = file.name
    for ending in ENDINGS:
        if name.endswith(ending) and name != ending:
            name = name.removesuffix(ending)
            break
    found, again = name, 2
    while found in taken:
        found, again = f"{name} {again}", again + 1
    return found
