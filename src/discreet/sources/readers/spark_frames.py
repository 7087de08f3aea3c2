"""Spark frames: their declared columns under names of ours, in a session of ours, where no setting of the user reaches.

| type in the frame | read as |
|---|---|
| BOOLEAN | a truth value |
| TINYINT … BIGINT, FLOAT, DOUBLE, DECIMAL, VOID | the nearest double |
| STRING, VARCHAR, BINARY, CHAR | a text, by its bytes whatever its collation; CHAR without blanks at its end |

A number that is held as a text is refused: Spark reads texts of levels only. Identifiers are texts, whole numbers and
decimals by their digits, and floats below 2^53 by those of the whole number they are; a fraction is as Spark prints it.
Bytes that are not UTF-8 are nobody's name.

Columns are renamed by their places before anything is said about them, so that dots, quotes, capitals and names that
are there twice mean nothing. A frame that another look changes (`rand()`, a user's function that is not
deterministic) is refused: what is read twice must be the same rows. What depends on the order in which rows happen to
come (`limit`, `sample`, one of several rows) Spark does not tell: whoever opens such a frame writes it down first.
"""

from typing import TYPE_CHECKING, Any

from discreet.errors import SchemaError
from discreet.schema import Schema
from discreet.schema.arrow_cell import columns_read, require_columns, wrong_type
from discreet.schema.cell import LARGEST_WHOLE_FLOAT, MENDED, Storage, longest_text
from discreet.schema.columns import Column
from discreet.sources.readers.identifiers import Owner, identifier
from discreet.sources.sql.cell_sql import RAW, Held, handed_over

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["spark_rows"]

CHAR = "__CHAR_VARCHAR_TYPE_STRING"  # under which Spark keeps the declared type of a text
OWNER = "owner"

# What a statement of ours means, and what a session may have set otherwise. All else is the user's, for their source.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.variable.substitute": "false",
}


PARTITIONS = "spark.sql.shuffle.partitions"
PARTITION_BYTES = 2**24  # of what Spark takes for the size of a frame; files are several times smaller than their rows


def spark_rows(frame: Any, schema: Schema) -> "tuple[Any, exp.Select, dict[str, Held]]":
    """The declared columns in a session of their own, what hands over that relation RAW, and how cells are held."""
    if not hasattr(frame, "_jdf"):
        raise SchemaError("open.source must be a frame of a Spark session in this process, got one of Spark Connect")
    if frame.isStreaming:
        raise SchemaError("open.source must be a table, got a stream")
    fields = {field.name: place for place, field in enumerate(frame.schema.fields)}
    require_columns(columns_read(schema), [field.name for field in frame.schema.fields])
    places = frame.schema.fields
    held = {
        name: Held(f"c{i}", _storage(name, places[fields[name]].dataType, column))
        for i, (name, column) in enumerate(schema.columns.items())
    }
    owner = schema.unit.identifier
    renamed = _apart(frame).toDF(*(f"p{i}" for i, _ in enumerate(places)))
    cells = [
        _cell(f"p{fields[name]}", places[fields[name]], held[name], schema.columns[name]) for name in schema.columns
    ]
    persons = []
    if owner is not None:
        cells.append(_owner(owner, f"p{fields[owner]}", places[fields[owner]]))
        persons.append(identifier(Owner(OWNER, "text"), RAW))
    raw = renamed.select(*cells)
    plan = raw._jdf.queryExecution().optimizedPlan()
    raw.sparkSession.conf.set(PARTITIONS, _partitions(raw.sparkSession, int(str(plan.stats().sizeInBytes()))))
    if not plan.deterministic():
        raise SchemaError("open.source must hold the same rows whenever it is read, got a frame that is made by chance")
    return raw, handed_over(schema, held, persons), held


def _apart(frame: Any) -> Any:
    """The same plan in a new session: of the user's it has the settings, and no view and no function."""
    user = frame.sparkSession
    own = user.newSession()
    theirs, ours = user.conf.getAll, own.conf.getAll
    for name, value in ({key: value for key, value in theirs.items() if ours.get(key) != value} | SETTINGS).items():
        if own.conf.isModifiable(name):
            own.conf.set(name, value)
    plan = frame._jdf.queryExecution().analyzed()
    return type(frame)(user._jvm.org.apache.spark.sql.classic.Dataset.ofRows(own._jsparkSession, plan), own)


def _partitions(session: Any, size: int) -> str:
    """The user's number of partitions, or fewer where a table is so small that most of them would be empty."""
    most, cores = int(session.conf.get(PARTITIONS)), session.sparkContext.defaultParallelism
    return str(min(most, max(cores, -(-size // PARTITION_BYTES))))


def _storage(name: str, kind: Any, column: Column) -> Storage:
    from pyspark.sql import types as are

    if isinstance(kind, are.BooleanType):
        return "boolean"
    if isinstance(kind, are.NumericType | are.NullType):
        return "float"
    if not isinstance(kind, are.StringType | are.CharType | are.VarcharType | are.BinaryType):
        raise wrong_type(name, kind.typeName())
    if column.holds == "numbers":
        raise SchemaError(f"Schema.columns[{name!r}] must be a number in Spark, got a text: cast it in the frame")
    return "text"


def _cell(place: str, field: Any, held: Held, column: Column) -> Any:
    from pyspark.sql import functions as f

    cell = f.col(place)
    if held.storage == "text":
        cell = _bytewise(cell, field)
        if any(MENDED in text for text in column.compared):
            cell = f.when(f.bit_length(cell) <= 8 * longest_text(column.compared), f.make_valid_utf8(cell))
    elif held.storage == "float":
        cell = cell.cast("double")
    return cell.alias(held.column)


def _bytewise(cell: Any, field: Any) -> Any:
    from pyspark.sql import functions as f

    text = f.collate(cell.cast("string"), "UTF8_BINARY")
    declared = (field.metadata or {}).get(CHAR, field.dataType.typeName())
    return f.rtrim(text) if declared.startswith("char") else text


def _owner(name: str, place: str, field: Any) -> Any:
    """The identifier of a row as a text."""
    from pyspark.sql import functions as f
    from pyspark.sql import types as are

    kind, cell = field.dataType, f.col(place)
    if isinstance(kind, are.StringType | are.CharType | are.VarcharType | are.BinaryType):
        text = _bytewise(cell, field)
        text = f.when(f.is_valid_utf8(text), text)
    elif isinstance(kind, are.FloatType | are.DoubleType):
        value = cell.cast("double")
        whole = value.try_cast("bigint")
        digits = f.when(whole.cast("double") == value, whole.cast("string")).otherwise(value.cast("string"))
        text = f.when(f.abs(value) < float(LARGEST_WHOLE_FLOAT), digits)
    elif isinstance(kind, are.DecimalType) and kind.scale > 0:
        text = f.regexp_replace(cell.cast("string"), r"\.?0+$", "")
    elif isinstance(kind, are.NumericType | are.BooleanType | are.NullType):
        text = cell.cast("string")
    else:
        raise wrong_type(name, kind.typeName())
    return text.alias(OWNER)
