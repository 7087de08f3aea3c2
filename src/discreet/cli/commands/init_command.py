"""`discreet init`: a folder with a commented study and a ledger with its budget."""

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli import balance, terminal
from discreet.errors import SchemaError

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
    folder: Annotated[Path | None, typer.Argument(metavar="FOLDER", help="Made if it is missing.")] = None,
    epsilon: Annotated[float | None, typer.Option(help="The whole budget of the ledger.")] = None,
    delta: Annotated[float | None, typer.Option(help="Without it only pure guarantees can be paid.")] = None,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print the JSON Schema of study files and do nothing else.")
    ] = False,
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Make a commented study and its ledger.

    They are study.toml and study.ledger in FOLDER; nothing is ever overwritten.

    \b
    Example:
      discreet init study --epsilon 3 --delta 1e-6
      discreet init --json-schema > study.schema.json
    """  # noqa: D301
    if json_schema:
        from discreet.cli import study_schema

        terminal.emit(study_schema.json_schema())
        return
    if folder is None or epsilon is None:
        raise typer.BadParameter("a new study needs FOLDER and --epsilon", param_hint="init")
    from discreet.guarantee import Budget
    from discreet.ledger import Ledger

    budget = Budget(epsilon, delta)
    file = folder / "study.toml"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if file.exists():
            raise FileExistsError
        made = Ledger.create(folder / "study.ledger", budget)
        with file.open("x", encoding="utf-8") as stream:
            stream.write(TEMPLATE)
    except FileExistsError:
        raise SchemaError(f"Study file must be new, init overwrites nothing, got {str(file)!r}") from None
    except OSError as problem:
        raise SchemaError(f"Study folder must be writable, got {str(folder)!r}: {problem.strerror}") from None
    if as_json:
        terminal.emit({"study": str(file), "ledger": balance.balance(made)})
        return
    lines = [
        ("study", f"{file}: declare your columns and releases there"),
        ("ledger", f"{folder / 'study.ledger'}: {budget}, {made.filter.name} filter"),
        ("next", f"discreet plan {file}"),
    ]
    terminal.facts(terminal.console(quiet=quiet), "a new study", lines)
