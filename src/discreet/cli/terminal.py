"""What commands write: tables and JSON on standard output, one line per error on standard error."""

import json
import sys
import textwrap
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from discreet.cli.progress_line import LINE
from discreet.errors import DiscreetError
from discreet.visible import visible

if TYPE_CHECKING:
    from rich.table import Table as RichTable

__all__ = [
    "EXIT_CODES",
    "AsJson",
    "Incomplete",
    "Quiet",
    "Screen",
    "StudyFile",
    "Table",
    "console",
    "emit",
    "emit_with",
    "facts",
    "progress",
    "report",
    "table",
    "write",
]

PACKAGE = Path(__file__).parents[1]
INDENT = 14
STEPS_OF_A_SECOND = 200
USAGE, FAILED, INTERRUPTED = 2, DiscreetError.exit_code, 130
EXIT_CODES = (
    "Exit codes: 0 done; 2 the command was not understood; 3 the budget refuses; 4 the study or an argument is wrong; "
    "5 it could not be computed, read or written; 130 interrupted."
)

T = TypeVar("T")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No text and no progress: JSON and errors alone.")]
StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="The study, a TOML file.", show_default=False)]


class Incomplete(DiscreetError):
    """A refusal after part of a command was done: `done` is what a JSON document says about that part."""

    def __init__(self, problem: DiscreetError, done: Mapping[str, Any]) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.done = done


class Screen:
    """Standard output for people: the one place where texts of other people meet a terminal."""

    def __init__(self, *, quiet: bool = False) -> None:
        from rich.console import Console

        self._console = Console(markup=False, emoji=False, highlight=False, quiet=quiet)

    @property
    def width(self) -> int:
        """Characters in a line."""
        return self._console.width

    @property
    def quiet(self) -> bool:
        """Whether nothing is shown."""
        return self._console.quiet

    def print(self, thing: "str | Table" = "", style: str = "") -> None:
        """A text, made visible, or a table, folded where it is wider than the screen."""
        from rich.text import Text

        LINE.erase()
        self._console.print(thing.rendered() if isinstance(thing, Table) else Text(visible(thing), style))

    def block(self, text: str) -> None:
        """Lines that were laid out before, each made visible and none of them folded."""
        for line in text.split("\n"):
            self.line((line, ""))

    def line(self, *parts: tuple[str, str]) -> None:
        """One line of texts with their styles, which is not folded."""
        from rich.text import Text

        LINE.erase()
        self._console.print(Text.assemble(*((visible(text), style) for text, style in parts)), soft_wrap=True)


@dataclass(frozen=True)
class Table:
    """First columns of words, which fold where space is short, then of numbers, which do not."""

    words: tuple[str, ...]
    numbers: tuple[str, ...]
    cells: list[tuple[str, ...]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        """One more line of the table."""
        self.cells.append(tuple(visible(cell) for cell in cells))

    def rendered(self) -> "RichTable":
        """The table as it is printed; only headings, which are ours, have several lines."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table as RichTable

        made = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
        for name in self.words:
            made.add_column(name, overflow="fold")
        for name in self.numbers:
            made.add_column(name, justify="right", no_wrap=True)
        for line in self.cells:
            made.add_row(*line)
        return made


def console(*, quiet: bool = False) -> Screen:
    """Standard output."""
    return Screen(quiet=quiet)


def write(text: str) -> None:
    """Print lines of this package, such as help, as they are."""
    LINE.erase()
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def emit(document: Mapping[str, Any]) -> None:
    """Print the one JSON document of a command; JSON escapes whatever is not plain ASCII.

    One that says it is private is a single line, so that no line of it stands without that word.
    """
    write(json.dumps(document, indent=None if "private" in document else 2, allow_nan=False))


def emit_with(document: Mapping[str, Any], name: str, things: Iterable[Any]) -> None:
    """Print one JSON document whose last member is a long list, item by item as it comes."""
    LINE.erase()
    body = json.dumps({**document, name: []}, indent=2, allow_nan=False)
    sys.stdout.write(body.removesuffix("]\n}"))
    between = ""
    for thing in things:
        item = textwrap.indent(json.dumps(thing, indent=2, allow_nan=False), "    ")
        sys.stdout.write(f"{between}\n{item}")
        between = ","
    sys.stdout.write(("\n  " if between else "") + "]\n}\n")
    sys.stdout.flush()


def facts(screen: Screen, title: str, lines: Iterable[tuple[str, str]]) -> None:
    """A titled block of labelled lines, wrapped with a hanging indent at any width."""
    screen.line((title, "bold"))
    for label, text in lines:
        width = max(screen.width - INDENT, 20)
        wrapped = textwrap.wrap(visible(text), width, break_long_words=False, break_on_hyphens=False)
        for number, part in enumerate(wrapped):
            screen.line((f"  {visible(label) if number == 0 else ''}".ljust(INDENT), "dim"), (part, ""))
    screen.print()


def table(words: Iterable[str], numbers: Iterable[str] = ()) -> Table:
    """An empty table."""
    return Table(tuple(words), tuple(numbers))


def progress(items: Sequence[T], description: str, *, steps: int, quiet: bool) -> Iterable[T]:
    """The items, with a bar on standard error if their public cost says that they take over a second.

    A step is one simulated run for one released number, some milliseconds. Time itself never starts a bar.
    """
    from rich.console import Console
    from rich.progress import track

    screen = Console(stderr=True)
    shown = steps >= STEPS_OF_A_SECOND and screen.is_terminal and not quiet
    return track(items, description, console=screen, transient=True, disable=not shown)  # the description is ours


def report(problem: BaseException, *, as_json: bool) -> int:
    """Say what went wrong in one line and return the exit code.

    Errors raised on purpose speak for themselves. Of any other only the type and the place in the code are named: its
    message and its local variables may hold private values.
    """
    done = problem.done if isinstance(problem, Incomplete) else {}
    problem = problem.problem if isinstance(problem, Incomplete) else problem
    kind, code = type(problem).__name__, FAILED
    if isinstance(problem, DiscreetError):
        text, code = str(problem), problem.exit_code
    elif callable(getattr(problem, "format_message", None)):  # the command line was not understood
        kind, code = "UsageError", USAGE
        text = problem.format_message().rstrip(".") + _as_in(problem)  # type: ignore[attr-defined]
    elif isinstance(problem, KeyboardInterrupt):
        text, code = str(problem) or "interrupted", INTERRUPTED
    else:
        text = f"unexpected {kind} at {_place(problem)}; its message is withheld because it may quote private values"
    line = visible(" ".join(text.split()))
    LINE.erase()
    sys.stderr.write(f"error: {line}\n")
    sys.stderr.flush()
    if as_json:
        emit({**done, "error": {**done.get("error", {}), "type": kind, "message": line}})
    return code


def _as_in(problem: BaseException) -> str:
    """The first example of the command that was not understood."""
    context: Any = getattr(problem, "ctx", None)
    asked = getattr(getattr(context, "command", None), "help", None) or ""
    lines = [line.strip() for line in asked.partition("Example:")[2].splitlines() if line.strip()]
    return f"; for example: {lines[0]}" if lines else ""


def _place(problem: BaseException) -> str:
    """The innermost line of this package that was running."""
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        if Path(frame.filename).is_relative_to(PACKAGE):
            return f"discreet/{Path(frame.filename).relative_to(PACKAGE).as_posix()}:{frame.lineno}"
    return "an unknown place"
