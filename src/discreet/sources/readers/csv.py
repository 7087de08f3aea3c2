"""CSV files, read totally and locally: one line is one record, whatever bytes it holds.

Readers that follow quotes across lines let one row swallow its neighbours, and readers that fail print the row they
failed on. Here a line ends at a line feed and nowhere else; a carriage return just before it is dropped. Within a
line the delimiter separates unless an odd number of quotes stands before it; a field in quotes loses them, and doubled
quotes become one. Quoted line breaks are therefore not supported. Bytes that are no text become U+FFFD, a missing
field is a missing cell, fields beyond the header are ignored, and in a line longer than `LONGEST_LINE` bytes every cell
is missing. An empty line is a record; the line feed that ends the file is not followed by one.

The first line is the header. It is public: names of columns, never of people. A file may have none by mistake, and its
first line is then a person: where declared columns are not in it, nothing of it is shown, and nothing guessed from it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from discreet.errors import SchemaError
from discreet.schema import Csv, Schema
from discreet.schema.arrow_cell import columns_read, require_columns
from discreet.sources.readers.identifiers import Owner, identifier
from discreet.sources.sql.cell_sql import RAW, Held, handed_over

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["CsvFiles", "csv_files", "header_of"]

LONGEST_LINE = 2**20
BLOCK = 2**20
LINE_FEED, CARRIAGE_RETURN = b"\n\r"
MOST_SHOWN = 12  # columns


@dataclass(frozen=True)
class CsvFiles:
    """The fields at `positions` of every line of the files, as texts."""

    paths: tuple[str, ...]
    positions: tuple[int, ...]
    view: str  # over the fields
    written: Csv
    files: Sequence[str] = ()  # read here, not by DuckDB

    def count(self) -> int:
        """The number of lines after the headers."""
        return sum(block.count(b"\n") for block in self._blocks())

    def attach(self, connection: Any, name: str) -> None:
        """A stream of batches under `name`; column i of it holds the field at positions[i]."""
        import pyarrow as pa

        names = [f"c{i}" for i in range(len(self.positions))]
        schema = pa.schema([(column, pa.string()) for column in names])
        connection.register(RAW, pa.RecordBatchReader.from_batches(schema, self.batches(names)))
        connection.execute(f"CREATE OR REPLACE TEMP VIEW {name} AS {self.view}")

    def batches(self, columns: Sequence[str]) -> "Iterator[pa.RecordBatch]":
        """These columns, c0, c1, …, in order."""
        import pyarrow as pa

        positions = [self.positions[int(column[1:])] for column in columns]
        for block in self._blocks():
            yield pa.record_batch(_fields(block, positions, self.written), names=list(columns))

    def _blocks(self) -> Iterator[bytes]:
        for path in self.paths:
            with open(path, "rb") as file:
                file.readline()
                yield from _whole_lines(file)


def csv_files(paths: tuple[str, ...], schema: Schema, written: Csv) -> tuple[tuple[CsvFiles], dict[str, Held]]:
    """The files and where each declared column is; they must share one header."""
    headers = {tuple(header_of(path, written)) for path in paths}
    if len(headers) != 1:
        raise SchemaError("open.source must be CSV files with one and the same header, got different headers")
    (header,) = headers
    columns = columns_read(schema)
    absent = [name for name in columns if name not in header]
    if absent:
        more = f" and {len(absent) - MOST_SHOWN} more" if len(absent) > MOST_SHOWN else ""
        raise SchemaError(
            f"Schema.columns must be columns of the source, got {', '.join(map(repr, absent[:MOST_SHOWN]))}{more}, "
            f"which it does not have in its first line, the header, read as {written}: "
            "declare csv= if it is written otherwise"
        )
    require_columns(columns, header)
    commas = written.decimal == ","
    held = {name: Held(f"c{i}", "comma" if commas else "text") for i, name in enumerate(columns)}
    owner = schema.unit.identifier
    persons = [] if owner is None else [identifier(Owner(held[owner].column, "comma" if commas else "field"), RAW)]
    positions = tuple(header.index(name) for name in columns)
    return (CsvFiles(paths, positions, handed_over(schema, held, persons).sql(dialect="duckdb"), written),), held


def header_of(path: str, written: Csv) -> list[str]:
    """The fields of the first line: names of columns, or a person where the header is forgotten."""
    import csv

    with open(path, "rb") as file:
        line = file.readline(LONGEST_LINE + 1)
    if len(line) > LONGEST_LINE:
        raise SchemaError(f"open.source must be CSV files whose first line is a header of at most {LONGEST_LINE} bytes")
    try:
        text = line.decode("utf-8-sig" if written.encoding == "utf-8" else written.encoding).rstrip("\r\n")
    except UnicodeDecodeError:
        text = None
    if text is None:  # raised here, where no exception with a line of the file hangs on it
        raise SchemaError(
            f"open.source must be CSV files whose header is {written.encoding}, got other bytes: declare their "
            'encoding, as in Csv(encoding="latin-1"), csv = {encoding = "latin-1"} or --encoding latin-1'
        )
    if not written.quote:
        return text.split(written.delimiter)
    return next(csv.reader([text], delimiter=written.delimiter, quotechar=written.quote), [])


def _whole_lines(rows: IO[bytes]) -> Iterator[bytes]:
    """Blocks of lines that each end with a line feed; a line that is too long stays so, but is cut."""
    tail = b""
    while block := rows.read(BLOCK):
        end = block.rfind(b"\n") + 1
        if end == 0:
            tail = (tail + block)[: LONGEST_LINE + 1]
        else:
            yield tail + block[:end]
            tail = block[end:]
    if tail:
        yield tail + b"\n"


def _fields(rows: bytes, positions: Sequence[int], written: Csv) -> "list[pa.StringArray]":
    """The fields at the given positions of each line of a block, without a loop over lines."""
    import pyarrow as pa

    text = rows if rows.isascii() else rows.decode(written.encoding, "replace").encode()
    octets = np.frombuffer(text, dtype=np.uint8)
    ends = np.flatnonzero(octets == LINE_FEED)
    quotes = np.flatnonzero(octets == ord(written.quote)) if written.quote else ends[:0]
    starts = np.concatenate(([0], ends[:-1] + 1))
    separators = np.flatnonzero((octets == LINE_FEED) | (octets == ord(written.delimiter)))
    if quotes.size:
        line = np.searchsorted(ends, separators)
        before = np.searchsorted(quotes, separators) - np.searchsorted(quotes, starts)[line]
        separators = separators[(before % 2 == 0) | (octets[separators] == LINE_FEED)]
    last = np.searchsorted(separators, ends)  # the index of each line's last field
    first = np.concatenate(([0], last[:-1] + 1))
    # Arrow slices are contiguous: every other one is a separator, with the carriage return of a line end
    bounds = np.zeros(2 * separators.size + 1, dtype=np.int32)
    returns = (octets[separators] == LINE_FEED) & (octets[separators - 1] == CARRIAGE_RETURN)
    bounds[1::2], bounds[2::2] = separators - returns, separators + 1
    slices = pa.StringArray.from_buffers(bounds.size - 1, pa.py_buffer(bounds), pa.py_buffer(text))
    short_enough = ends - starts <= LONGEST_LINE
    columns = []
    for position in positions:
        present = (first + position <= last) & short_enough
        chosen = slices.take(pa.array(np.where(present, 2 * (first + position), 0), mask=~present))
        columns.append(_unquoted(chosen, written.quote) if quotes.size else chosen)
    return columns


def _unquoted(rows: "pa.StringArray", quote: str) -> "pa.StringArray":
    import pyarrow.compute as pc

    closed = pc.and_(pc.ends_with(rows, quote), pc.greater(pc.binary_length(rows), 1))
    quoted = pc.and_(pc.starts_with(rows, quote), closed)
    inside = pc.replace_substring(pc.utf8_slice_codeunits(rows, 1, -1), 2 * quote, quote)
    return pc.if_else(quoted, inside, rows)
