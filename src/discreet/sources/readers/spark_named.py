"""What a study calls `{spark = "…"}`: a path or a table, read by the Spark session of this process, or one it starts.

A name with a slash, or one that ends in .parquet or .orc, is a path, relative to the folder of the study unless it says
otherwise; any other is a table of Spark's catalog. A session that is started has no page of its own, where anybody who
reaches the machine would see exact row counts, and its Java process never writes to this terminal.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from discreet.errors import SchemaError
from discreet.sources.engines.quiet_spark import quiet_spark

__all__ = ["spark_named"]

FORMATS = (".parquet", ".orc")
NOT_READ = "Study.data.spark must be a table, or a path of Parquet or ORC files, that Spark can read, got another"


def spark_named(name: str, folder: Path) -> Any:
    """The frame of this name."""
    if "@" in name:
        raise SchemaError("Study.data.spark must not hold a user or a password, got a name with an @")
    if name.lower().endswith(".csv"):
        raise SchemaError("Study.data.spark must have types, got CSV: write data as the file, or the table as Parquet")
    session = _session()
    is_path = "/" in name or name.lower().endswith(FORMATS)
    place = name if "://" in name else str((folder / name).absolute())
    read = session.read.orc if name.lower().endswith(".orc") else session.read.parquet
    try:
        with quiet_spark(session):
            return read(place) if is_path else session.table(name)
    except Exception:  # noqa: S110  # its text may quote what the name stands for
        pass
    raise SchemaError(NOT_READ)


def _session() -> Any:
    """The session that is active here; else one that is started, as the environment configures it."""
    if find_spec("pyspark") is None:
        raise SchemaError("Study.data.spark must have PySpark to read it: pip install 'discreet[spark]'")
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # workers have this library, too
    settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
    builder: Any = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    before, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)  # what the Java process inherits
        return builder.getOrCreate()
    except Exception:  # noqa: S110  # said below
        pass
    finally:
        os.dup2(before, 2)
        os.close(before)
        os.close(nowhere)
    raise SchemaError(
        "Study.data.spark must have a Spark session to read it, and none starts: it needs Java 17 or later"
    )
