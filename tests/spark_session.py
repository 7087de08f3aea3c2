"""A Spark session for the tests, whose Java process writes into a file of ours: what it says can be read, and is nothing.

Starting one takes longer than most tests: whoever needs it is in one module, and asks for the fixture `spark`.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SETTINGS = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "900m",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # it lives for seconds
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@dataclass(frozen=True)
class Running:
    """A session, and the file into which its process writes all that it says."""

    session: Any
    said: Path

    def frame(self, table: Any, parts: int = 2) -> Any:
        """An Arrow table as a frame in so many partitions."""
        return self.session.createDataFrame(table).repartition(parts)


@contextmanager
def running(master: str = "local[2]", **settings: str) -> Iterator[Running]:
    """A session of our own, and its process, until the block ends."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    folder = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
    said = folder / "said"
    builder = SparkSession.builder.master(master).config("spark.local.dir", str(folder))
    builder = builder.config("spark.sql.warehouse.dir", str(folder / "tables"))
    for name, value in (SETTINGS | settings).items():
        builder = builder.config(name, value)
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # of the workers
    before = os.dup(2)
    with open(said, "wb") as stream:
        os.dup2(stream.fileno(), 2)
    try:
        session = builder.getOrCreate()
    finally:
        os.dup2(before, 2)
        os.close(before)
    try:
        yield Running(session, said)
    finally:
        session.stop()
        gateway = SparkContext._gateway
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
        SparkContext._gateway = SparkContext._jvm = None
        shutil.rmtree(folder, ignore_errors=True)


def missing() -> str | None:
    """Why there is no Spark here."""
    if importlib.util.find_spec("pyspark") is None:
        return "the package pyspark is not installed"
    java = shutil.which(str(Path(os.environ["JAVA_HOME"], "bin", "java")) if "JAVA_HOME" in os.environ else "java")
    if java is None or subprocess.run([java, "-version"], capture_output=True).returncode:
        return "there is no Java"
    return None


def found_or_skipped() -> None:
    """Without Spark a test is skipped in one line; where engines are required, that is a failure."""
    why = missing()
    if why is not None and os.environ.get("DISCREET_REQUIRE_ENGINES") == "1":
        pytest.fail(f"no Spark: {why}", pytrace=False)
    if why is not None:
        pytest.skip(f"no Spark: {why}")


@contextmanager
def running_or_skipped(master: str = "local[2]", **settings: str) -> Iterator[Running]:
    """A session, or a test that has none."""
    found_or_skipped()
    with running(master, **settings) as found:
        yield found
