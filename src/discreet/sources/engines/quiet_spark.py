"""Spark without a word: whatever its log or its exceptions say may quote a cell, and goes nowhere while we ask.

A filter that lets nothing pass stands before every logger of the driver for as long as it takes, and before the two
loggers of Python to which PySpark reports what failed. No level and no setting of the session is touched. Other threads
of the same process are as quiet meanwhile. What executors on other machines log, they log there.
"""

import logging
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

__all__ = ["quiet_spark"]

REPORTS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")


class _Nothing(logging.Filter):
    """Lets nothing pass."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Never."""
        return False


@contextmanager
def quiet_spark(session: Any) -> Iterator[None]:
    """No log line of Spark, until the block ends."""
    from pyspark.logger import PySparkLogger

    with ExitStack() as stack:
        for name in REPORTS:
            logger = PySparkLogger.getLogger(name)
            nothing = _Nothing()
            logger.addFilter(nothing)
            stack.callback(logger.removeFilter, nothing)
        log4j = session._jvm.org.apache.logging.log4j
        context = log4j.LogManager.getContext(False)
        shut = log4j.core.filter.DenyAllFilter.newBuilder().build()
        context.addFilter(shut)
        stack.callback(context.removeFilter, shut)
        yield
