"""`discreet synthesize` and `discreet predict`: new records from a release. Free: no private table is read."""

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli import terminal
from discreet.cli.commands.posterior_command import convergence
from discreet.cli.progress_line import Progress
from discreet.errors import ConvergenceWarning, UnknownLevels
from discreet.schema import Csv

__all__ = ["predict", "synthesize"]

MOST_ROWS, MOST_TABLES = 10**8, 10**4

ReleaseFile = Annotated[Path, typer.Argument(metavar="RELEASE", help="A saved release, JSON.", show_default=False)]


def synthesize(
    file: ReleaseFile,
    count: Annotated[
        int, typer.Option("--rows", min=1, max=MOST_ROWS, help="Records of a table; of every group, where there are.")
    ],
    tables: Annotated[
        int, typer.Option(min=1, max=MOST_TABLES, help="Tables, each given its own draw of the parameters.")
    ] = 5,
    out: Annotated[
        Path | None,
        typer.Option(help="A new .csv or .parquet file; several tables are numbered. Default: next to the release."),
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Make the same tables again.")] = None,
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Write synthetic tables from a release, free.

    They follow its posterior and have the declared columns and levels; a number that the model cuts into levels is a
    number again, evenly within its range. What several of them say is put together by `dc.combine_tables`, so that
    intervals count the privacy noise: take at least as many rows as the private table has.

    \b
    Example:
      discreet synthesize smoking.release.json --rows 10000 --tables 5
      discreet synthesize smoking.release.json --rows 1000 --tables 1 --out one.parquet --seed 7 --json
    """  # noqa: D301
    import numpy as np

    from discreet.posterior.records.record_files import check_written, numbered, write_records
    from discreet.release import load

    release = load(file)
    stem = file.name.removesuffix(".json").removesuffix(".release")
    chosen = file.parent / f"{stem}.synthetic.csv" if out is None else out
    names = numbered(chosen, tables)
    for name in names:
        check_written(name)
    posterior = release.posterior(progress=Progress("sampling", free=True, quiet=quiet))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is a line of the output
        made = posterior.tables(tables, count, np.random.default_rng(seed))
    write_records(dict(zip(names, made, strict=True)))
    columns, records = made[0].column_names, made[0].num_rows
    if as_json:
        body = {"release": str(file), "records": records, "columns": columns, "tables": [str(name) for name in names]}
        body |= {} if seed is None else {"seed": seed}
        body |= convergence(posterior)
        body |= {"notice": release.notice} if release.notice else {}
        terminal.emit({**body, "guarantee": release.guarantee.to_json(), "words": str(release.guarantee)})
        return
    lines = [
        ("guarantee", f"{release.guarantee} It is that of the release: no more is spent."),
        ("records", f"{records} in each of {len(names)} table{'s' if len(names) > 1 else ''}"),
        ("columns", ", ".join(columns)),
        *(("file", str(name)) for name in names),
    ]
    lines += _warning(posterior)
    lines += [("notice", release.notice)] if release.notice else []
    terminal.facts(terminal.console(quiet=quiet), str(file), lines)


def predict(
    file: ReleaseFile,
    new: Annotated[
        Path, typer.Argument(metavar="ROWS", help="New rows, .csv or .parquet; public.", show_default=False)
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="A new .csv or .parquet file.", show_default=False)],
    target: Annotated[str | None, typer.Option(help="Of a network: the column that is wanted.")] = None,
    level: Annotated[float, typer.Option(help="Probability of the intervals of a regression.")] = 0.9,
    delimiter: Annotated[str | None, typer.Option(help="Between the columns of a CSV file; a comma.")] = None,
    decimal: Annotated[str | None, typer.Option(help="The decimal mark of a CSV file; a point.")] = None,
    quote: Annotated[str | None, typer.Option(help='The quote of a CSV file, "" for none.')] = None,
    encoding: Annotated[str | None, typer.Option(help="The encoding of a CSV file; UTF-8.")] = None,
    as_json: terminal.AsJson = False,
    quiet: terminal.Quiet = False,
) -> None:
    """Predict the target of new rows from a release, free.

    The new rows are your own: they are read in full, and cells that are no declared level or number are counted. Of
    a CSV file that is not written with commas and points in UTF-8 say how it is, as `csv` does in a study.

    \b
    Example:
      discreet predict smokers.release.json new.csv -o predictions.csv
      discreet predict smokers.release.json new.csv -o others.csv --delimiter ";" --decimal "," --encoding latin-1
    """  # noqa: D301
    import pyarrow as pa

    from discreet.posterior.records.record_files import check_written, read_records, write_records
    from discreet.release import load

    csv = _csv(delimiter=delimiter, decimal=decimal, quote=quote, encoding=encoding)
    release = load(file)
    check_written(out)
    records = read_records(new, csv)
    posterior = release.posterior(progress=Progress("sampling", free=True, quiet=quiet))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        made = pa.table(posterior.predicted_columns(records, target=target, level=level))
    write_records({out: made})
    unknown = [warning.message for warning in told if isinstance(warning.message, UnknownLevels)]
    if as_json:
        body = {"release": str(file), "rows": made.num_rows, "columns": made.column_names, "out": str(out)}
        terminal.emit(
            {
                **body,
                **convergence(posterior),
                "unknown": {name: n for each in unknown for name, n in each.counts.items()},
            }
        )
        return
    lines = [("rows", str(made.num_rows)), ("columns", ", ".join(made.column_names)), ("file", str(out))]
    lines += _warning(posterior)
    lines += [("unknown", str(each)) for each in unknown]
    terminal.facts(terminal.console(quiet=quiet), str(file), lines)


def _csv(**signs: str | None) -> Csv | None:
    """How the new rows are written, where anything is said of it."""
    given = {name: sign for name, sign in signs.items() if sign is not None}
    return Csv(**given) if given else None


def _warning(posterior: Any) -> list[tuple[str, str]]:
    """What is told of chains that did not converge."""
    found = convergence(posterior)
    return [] if found["converged"] else [("warning", found["convergence"])]
