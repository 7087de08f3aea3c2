"""Write the generated pages of the documentation: reference of names and commands, and the proofs.

python docs/generate.py          writes them
python docs/generate.py --check  fails if one is out of date
"""

import inspect
import io
import os
import shutil
import sys
from contextlib import redirect_stdout
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import discreet as dc
from discreet import posterior
from discreet.cli import main
from discreet.cli.commands.calibrate_command import commands
from discreet.posterior.exports.pictured import Pictured
from discreet.studies.index_page import PAPERS
from discreet.studies.reproductions import REPRODUCTIONS

DOCS = Path(__file__).parent
PROOFS = DOCS.parent / "src" / "discreet" / "mechanisms"
COMMANDS = [
    "demo",
    "init",
    "check",
    "plan",
    "compare",
    "release",
    "posterior",
    "report",
    "predict",
    "synthesize",
    "reproduce",
    "ledger create",
    "ledger show",
    "ledger verify",
]
COMMANDS += [f"calibrate {name}" for name in commands()]
PAPERS_INTRODUCTION = """# The papers, made again

Every figure and table with computable content of the three papers this library started from, and statements that can
be checked, by one command:

    discreet reproduce --list
    discreet reproduce foulds-figure-2 --data FOLDER --out reproduced
    discreet reproduce all --data FOLDER --out reproduced

Each writes its numbers (JSON, CSV), its picture (SVG, PNG; extra `report`), one paragraph (what the paper reports, what
we get, why they differ) and its claims: the paper's statement about its own figure, and our numbers against references
that were computed by other means. `index.html` shows all that are in the folder. A claim that does not hold ends the
command with an error, after everything is written. Without `--data` made-up tables of the same shape are used, and
marked. Nothing is paid and nothing is a release.

What the papers got wrong, and what stands in its place: [corrections](theory/corrections.md).
"""


def members(thing: type) -> list[tuple[str, str]]:
    """Public methods and properties of a class with their docstrings; those that all posteriors share come last."""
    shared = [kind for kind in thing.__mro__[1:] if issubclass(kind, posterior.Posterior) or kind is Pictured]
    found = {key: inspect.getattr_static(thing, key) for kind in (thing, *shared) for key in vars(kind)}
    public = [(key, value) for key, value in found.items() if not key.startswith("_")]
    useful = [(key, value) for key, value in public if callable(value) or isinstance(value, classmethod | property)]
    return [(key, text) for key, value in useful if (text := inspect.getdoc(value))]


def member_table(thing: type) -> str:
    """The members of a class with their signatures."""
    rows = []
    for key, text in members(thing):
        value = inspect.getattr_static(thing, key)
        plain = not isinstance(value, property) and callable(getattr(thing, key))
        arguments = str(inspect.signature(getattr(thing, key))).split(" -> ")[0] if plain else ""
        shown = arguments.replace("(self, ", "(").replace("(self)", "()").replace("|", "\\|")
        rows.append(f"| `{key}{shown}` | {text.splitlines()[0]} |")
    return "\n".join(["| member | |", "|---|---|", *rows]) + "\n" if rows else ""


def function_table(module: ModuleType) -> str:
    """The functions of a module with their signatures."""
    rows = []
    for key in module.__all__:
        arguments = str(inspect.signature(getattr(module, key))).split(" -> ")[0].replace("|", "\\|")
        rows.append(f"| `{key}{arguments}` | {inspect.getdoc(getattr(module, key)).splitlines()[0]} |")
    return "\n".join(["| function | |", "|---|---|", *rows]) + "\n"


def python_page() -> str:
    """Every public name with its signature and docstring."""
    parts = ["# Python reference\n\nGenerated from the docstrings. `import discreet as dc`.\n"]
    for name in dc.__all__:
        thing = getattr(dc, name)
        if inspect.ismodule(thing):
            parts.append(f"## `{name}`\n\n{inspect.getdoc(thing)}\n\n{function_table(thing)}")
            continue
        try:
            signature = str(inspect.signature(thing)).replace("discreet.", "")
        except ValueError:
            signature = "(...)"
        parts.append(f"## `{name}`\n\n```text\ndc.{name}{signature}\n```\n\n{inspect.getdoc(thing)}\n")
        if inspect.isclass(thing) and not issubclass(thing, Exception):
            parts.append(member_table(thing))
    parts.append("## Posteriors\n\nWhat `release.posterior()` returns, by model.\n")
    kinds = (
        posterior.BetaMixture,
        posterior.CurvePosterior,
        posterior.DirichletLattice,
        posterior.NaiveBayesPosterior,
        posterior.ChainsPosterior,
        posterior.EventLogPosterior,
        posterior.EventLogChain,
        posterior.GroupedPosterior,
        posterior.PooledPosterior,
        posterior.Draws,
        posterior.CoefficientDraws,
    )
    parts += [f"### `{kind.__name__}`\n\n{inspect.getdoc(kind)}\n\n{member_table(kind)}" for kind in kinds]
    return "\n".join(part for part in parts if part)


def help_of(command: str) -> str:
    """What a terminal of a hundred columns shows."""
    plain = {"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"}
    with patch.dict(os.environ, plain), redirect_stdout(io.StringIO()) as shown:
        main([*command.split(), "--help"])
    return shown.getvalue()


def cli_page() -> str:
    """The help of every command."""
    parts = ["# Command line\n\nGenerated from `discreet --help`.\n"]
    for command in ["", *COMMANDS]:
        body = "\n".join(line.rstrip() for line in help_of(command).strip().splitlines())
        parts.append(f"## `discreet {command}`".rstrip("` ") + f"`\n\n```text\n{body}\n```\n")
    return "\n".join(parts)


def papers_page() -> str:
    """Every figure and table that `discreet reproduce` makes, by paper."""
    parts = [PAPERS_INTRODUCTION]
    for author, title in PAPERS.items():
        listed = [one for one in REPRODUCTIONS.values() if one.name.startswith(f"{author}-")]
        rows = [f"| `{one.name}` | {one.title} | {one.source.split(', ', 1)[-1]} |" for one in listed]
        parts.append("\n".join([f"## {title}", "", "| name | what it shows | from |", "|---|---|---|", *rows, ""]))
    return "\n".join(parts)


def pages() -> dict[Path, str]:
    """Every generated page and its text."""
    proofs = {
        DOCS / "theory" / f"{proof.parent.name}.md": proof.read_text() for proof in sorted(PROOFS.glob("*/proof.md"))
    }
    written = {DOCS / "reproduce.md": papers_page(), DOCS / "reference" / "python.md": python_page()}
    return {**written, DOCS / "reference" / "cli.md": cli_page(), **proofs}


if __name__ == "__main__":
    stale = [path for path, text in pages().items() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv[1:]:
        sys.exit(f"out of date: {[path.name for path in stale]}" if stale else 0)
    for path in stale:
        path.write_text(pages()[path])
    shutil.rmtree(DOCS / "__pycache__", ignore_errors=True)
