"""`discreet init`: a folder with a commented study and a ledger with its budget."""

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli import balance, terminal
from discreet.errors import SchemaError

if TYPE_CHECKING:
    from discreet.cli.declaring.declared_table import Given
    from discreet.cli.declaring.study_text import NewStudy
    from discreet.guarantee import Budget
    from discreet.ledger import Ledger

__all__ = ["init"]

TEMPLATE = """\
# A study: everything public about a table, and what is asked of it. Nothing here may be looked up in the rows.
# Paths are relative to this file. Try it with: discreet plan study.toml. For the eyes of who holds the data:
# discreet check study.toml counts bad cells, exactly; what it prints must not leave.

id = "patients-2026"              # public name of the table, chosen by you; the same table keeps the same id
data = "patients.csv"             # .csv or .parquet; "part-*.parquet" reads several files
# csv = {delimiter = ";", decimal = ",", encoding = "latin-1"}   # how the CSV file is written, if otherwise than usual
ledger = "study.ledger"           # the budget every release is paid from, one ledger for one population

relation = "replace-one"          # neighbours differ in one record and n is public; or "add-remove" with n_max
unit = {kind = "record"}          # who is protected: one row of the table
n = 1000                          # number of rows; without it rows are counted in the file, and plan needs --n

# Columns. Numbers are clipped to their bounds. A cell that is no number or no declared level counts as `missing`:
# a value or level, or "exclude" to leave its row out. Without `missing` you declare the column complete.
[columns]
smoker = {kind = "binary"}        # cells 0 and 1, or false and true; for no and yes add zero = "no", one = "yes"
ward = {kind = "categorical", levels = ["A", "B", "C"], missing = "exclude"}   # other = "C": unlisted levels count as C
age = {kind = "bounded", lower = 0, upper = 110, missing = 40}   # cut = [18, 65]: also a column of levels
visits = {kind = "count", upper = 20}

# Releases. Each is paid once: the same request again returns the stored answer and costs nothing.
[[release]]
name = "smoking"
model = {kind = "BetaBernoulli", column = "smoker", prior = [1, 1]}
mechanism = {kind = "NoisyStatistics", epsilon = 0.1}
out = "smoking.release.json"

[[release]]
name = "wards"
model = {kind = "DirichletCategorical", column = "ward", prior = 1.0}
mechanism = {kind = "NoisyStatistics", epsilon = 0.1}
out = "wards.release.json"

# One posterior for every ward, which can learn from each other; to plan it takes minutes.
# [[release]]
# name = "smoking-by-ward"
# model = {kind = "BetaBernoulli", column = "smoker", by = "ward"}
# mechanism = {kind = "NoisyStatistics", epsilon = 0.1}
# out = "smoking-by-ward.release.json"
"""


def init(
    folder: Annotated[
        Path | None, typer.Argument(metavar="FOLDER", help="Made if it is missing; by default called like the table.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The whole budget of the ledger.")] = None,
    delta: Annotated[float | None, typer.Option(help="Without it only pure guarantees can be paid.")] = None,
    table: Annotated[
        str | None,
        typer.Option("--from", metavar="TABLE", help="The private table, .csv or .parquet: only names and types."),
    ] = None,
    dictionary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A data dictionary, CSV: kinds, levels, bounds of columns.")
    ] = None,
    public: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A public table: its cells give levels and bounds.")
    ] = None,
    ask: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="A release about this column; may be repeated.")
    ] = None,
    n: Annotated[int | None, typer.Option("--n", min=1, help="The public number of units.")] = None,
    delimiter: Annotated[str | None, typer.Option(help="Between the columns of a CSV table; a comma.")] = None,
    decimal: Annotated[str | None, typer.Option(help="The decimal mark of a CSV table; a point.")] = None,
    quote: Annotated[str | None, typer.Option(help='The quote of a CSV table, "" for none.')] = None,
    encoding: Annotated[str | None, typer.Option(help="The encoding of a CSV table; UTF-8.")] = None,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print the JSON Schema of study files and do nothing else.")
    ] = False,
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Make a study and its ledger.

    They are study.toml and study.ledger in FOLDER; nothing is ever overwritten. Without a table or a dictionary the
    study is a commented example. Of a private table only the names of its columns are read, and the types that a
    Parquet file declares, never a cell; a dictionary or a public table declares the rest.

    \b
    Example:
      discreet init study --epsilon 3 --delta 1e-6
      discreet init wards --epsilon 3 --from patients.csv --dictionary dictionary.csv --ask ward --n 1000
      discreet init names --epsilon 3 --from patients.csv
      discreet init public --epsilon 3 --from patients.csv --public extract.csv
      discreet init --json-schema > study.schema.json
    """  # noqa: D301
    if json_schema:
        from discreet.cli import study_schema

        terminal.emit(study_schema.json_schema())
        return
    if folder is None and table is not None:
        folder = Path(Path(table).stem)
    if folder is None or epsilon is None:
        raise typer.BadParameter("a new study needs FOLDER and --epsilon", param_hint="init")
    from discreet.cli.declaring.declared_table import Given, new_study
    from discreet.guarantee import Budget
    from discreet.schema import Csv

    signs = {"delimiter": delimiter, "decimal": decimal, "quote": quote, "encoding": encoding}
    csv = {name: sign for name, sign in signs.items() if sign is not None}
    given = Given(table, dictionary, public, tuple(ask or ()), Csv(**csv) if csv else None, n)
    budget = Budget(epsilon, delta)
    file = folder / "study.toml"
    told: list[tuple[str, str]] = []
    if given.is_nothing:
        text, steps = TEMPLATE, [f"put your table beside it, or declare your columns in {file}"]
        steps.append(f"discreet plan {_word(file)}")
    else:
        study, told = new_study(given, folder, budget.epsilon)
        text, steps = study.text(), _next(study, file, given)
    made = _written(file, text, budget)
    if as_json:
        body = {"study": str(file), "ledger": balance.balance(made), "next": steps}
        terminal.emit({**body, "told": [{"about": label, "text": line} for label, line in told]})
        return
    lines = [
        ("study", f"{file}" + (": a commented example" if given.is_nothing else "")),
        ("ledger", f"{made.path}: {budget}, {made.filter.name} filter"),
        *told,
        *(("next", step) for step in steps),
    ]
    terminal.facts(terminal.console(quiet=quiet), "a new study", lines)


def _written(file: Path, text: str, budget: "Budget") -> "Ledger":
    """The ledger of a new study; the study is written when it is there, and neither replaces anything."""
    from discreet.ledger import Ledger

    if os.path.lexists(file):
        raise SchemaError(
            f"Study file must be new, init overwrites nothing, got {str(file)!r}, which is there: name another FOLDER, "
            f"or go on with it: discreet plan {_word(file)}"
        )
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        made = Ledger.create(file.with_name("study.ledger"), budget)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except OSError as problem:
        detail = f"{problem.strerror}"
        if file.parent.is_file():
            detail += f". A table is named by --from, as in discreet init study --epsilon 3 --from {_word(file.parent)}"
        raise SchemaError(f"Study folder must be writable, got {str(file.parent)!r}: {detail}") from None
    return made


def _next(study: "NewStudy", file: Path, given: "Given") -> list[str]:
    """What to type after it."""
    drafts = {draft.name: draft for draft in study.drafts}
    steps = []
    if any(not drafts[name].is_declared for name in study.asked):
        steps.append(f"declare the columns you ask about in {file}: a question mark stands where you have to choose")
    if given.table is None:
        steps.append(f"put the table at {file.parent / study.data}, or change data in {file}")
    if study.n is None:
        steps.append("put the public number of rows for 1000 below, or as n in the study")
    if given.table is not None:
        steps.append(f"discreet check {_word(file)}")
    size = "" if study.n is not None else " --n 1000"
    steps += [f"discreet plan {_word(file)}{size}", f"discreet release {_word(file)} --dry-run"]
    out = file.with_name(study.files[0])
    return [*steps, f"discreet release {_word(file)}", f"discreet posterior {_word(out)}"]


def _word(file: Path) -> str:
    """A path as a shell takes it."""
    return shlex.quote(str(file))
