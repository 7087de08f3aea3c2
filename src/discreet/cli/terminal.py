"""What commands write: tables and JSON on standard output, one line per error on standard error."""

import json
import sys
import textwrap
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from discreet.errors import DiscreetError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

__all__ = ["AsJson", "Incomplete", "StudyFile", "console", "counter", "emit", "facts", "progress", "report", "table"]

PACKAGE = Path(__file__).parents[1]
INDENT = 14
STEPS_OF_A_SECOND = 200

T = TypeVar("T")

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]
StudyFile = Annotated[Path, typer.Argument(metavar="STUDY", help="The study, a TOML file.", show_default=False)]


class Incomplete(DiscreetError):
    """A refusal after part of a command was done: `done` is what a JSON document says about that part."""

    def __init__(self, problem: DiscreetError, done: Mapping[str, Any]) -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.done = done


def console(*, quiet: bool = False) -> "Console":
    """Standard output; names and levels are printed as they are, never read as markup."""
    from rich.console import Console

    return Console(markup=False, emoji=False, highlight=False, quiet=quiet)


def emit(document: Mapping[str, Any]) -> None:
    """Print the one JSON document of a command."""
    sys.stdout.write(json.dumps(document, indent=2, allow_nan=False) + "\n")


def facts(screen: "Console", title: str, lines: Iterable[tuple[str, str]]) -> None:
    """A titled block of labelled lines, wrapped with a hanging indent at any width."""
    from rich.text import Text

    screen.print(Text(title, style="bold"), soft_wrap=True)
    for label, text in lines:
        wrapped = textwrap.wrap(text, max(screen.width - INDENT, 20), break_long_words=False, break_on_hyphens=False)
        for number, part in enumerate(wrapped):
            head = f"  {label if number == 0 else ''}".ljust(INDENT)
            screen.print(Text.assemble((head, "dim"), part), soft_wrap=True)
    screen.print()


def table(words: Iterable[str], numbers: Iterable[str] = ()) -> "Table":
    """An empty table: first columns of words, which fold where space is short, then of numbers, which do not."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    for name in words:
        made.add_column(name)
    for name in numbers:
        made.add_column(name, justify="right", no_wrap=True)
    return made


def progress(items: Sequence[T], description: str, *, steps: int) -> Iterable[T]:
    """The items, with a bar on standard error if their public cost says that they take over a second.

    A step is one simulated run for one released number, some milliseconds. Time itself never starts a bar.
    """
    from rich.console import Console
    from rich.progress import track

    screen = Console(stderr=True)
    shown = steps >= STEPS_OF_A_SECOND and screen.is_terminal
    return track(items, description, console=screen, transient=True, disable=not shown)


def counter(description: str) -> Callable[[int], None]:
    """A line on standard error that counts what it is called with: states of chains, a public cost."""
    from rich.console import Console
    from rich.progress import Progress, TextColumn

    screen = Console(stderr=True)
    bar = Progress(TextColumn("{task.description} {task.completed:,} states"), console=screen, transient=True)
    task = bar.add_task(description, total=None)

    def advance(states: int) -> None:
        if screen.is_terminal:
            bar.start()
            bar.advance(task, states)
            bar.refresh()

    return advance


def report(problem: BaseException, *, as_json: bool) -> int:
    """Say what went wrong in one line and return the exit code.

    Errors raised on purpose speak for themselves. Of any other only the type and the place in the code are named: its
    message and its local variables may hold private values.
    """
    done = problem.done if isinstance(problem, Incomplete) else {}
    problem = problem.problem if isinstance(problem, Incomplete) else problem
    kind, code = type(problem).__name__, 1
    if isinstance(problem, DiscreetError):
        text = str(problem)
    elif callable(getattr(problem, "format_message", None)):  # the command line was not understood
        kind, code = "UsageError", 2
        text = problem.format_message()  # type: ignore[attr-defined]
    elif isinstance(problem, KeyboardInterrupt):
        text, code = "interrupted", 130
    else:
        text = f"unexpected {kind} at {_place(problem)}; its message is withheld because it may quote private values"
    line = " ".join(text.split())
    if as_json:
        emit({**done, "error": {"type": kind, "message": line}})
    sys.stderr.write(f"error: {line}\n")
    return code


def _place(problem: BaseException) -> str:
    """The innermost line of this package that was running."""
    for frame in reversed(traceback.extract_tb(problem.__traceback__)):
        if Path(frame.filename).is_relative_to(PACKAGE):
            return f"discreet/{Path(frame.filename).relative_to(PACKAGE).as_posix()}:{frame.lineno}"
    return "an unknown place"
