"""Which files one release walks through, from `dc.open` to the posterior: `python tests/walk.py` prints them.

A profiler sees every function that is called; importing a module, and the body of a class, is no step of the walk.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import discreet as dc
from pairs import COLUMNS, ROWS, small_table

SOURCE = str(Path(dc.__file__).parent)
MOST = {"BetaBernoulli": 45, "LinearRegression": 59, "LogisticRegression": 46}

WALKS: dict[str, tuple[Any, Any]] = {
    "BetaBernoulli": (dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=0.5)),
    "LinearRegression": (dc.LinearRegression("pressure", ("age", "ward")), dc.NoisyStatistics(epsilon=0.5)),
    "LogisticRegression": (
        dc.LogisticRegression("smoker", ("age", "ward")),
        dc.GibbsPosterior(epsilon=1.0, delta=1e-5, steps=50),
    ),
}


def visited(action: Callable[[], Any]) -> list[str]:
    """The files of the package in which a function was called, by path."""
    codes: set[CodeType] = set()

    def see(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call":
            codes.add(frame.f_code)

    sys.setprofile(see)
    try:
        action()
    finally:
        sys.setprofile(None)
    bodies = ("<module>",)
    files = {code.co_filename for code in codes if code.co_name not in bodies and not _is_class_body(code)}
    return sorted(Path(file).relative_to(SOURCE).as_posix() for file in files if file.startswith(SOURCE))


def _is_class_body(code: CodeType) -> bool:
    return "__qualname__" in code.co_names and "__module__" in code.co_names and code.co_argcount == 0


def walk(name: str) -> list[str]:
    """The files of one of the walks, from the table to the posterior's mean.

    The ledger is there before, and a first walk has imported and compiled what is needed.
    """
    model, mechanism = WALKS[name]
    table = small_table()[list(model.query(dc.Schema(COLUMNS, n=ROWS)).columns)]
    schema = dc.Schema({column: COLUMNS[column] for column in table})

    def steps(ledger: dc.Ledger) -> None:
        data = dc.open(table, schema, id="walk")
        dc.release(model, data, mechanism, ledger).posterior().mean()

    with tempfile.TemporaryDirectory() as folder:
        ledgers = [dc.Ledger.create(Path(folder) / f"{i}.ledger", dc.Budget(100.0, 1e-2)) for i in range(2)]
        steps(ledgers[0])
        return visited(lambda: steps(ledgers[1]))


if __name__ == "__main__":
    for name, most in MOST.items():
        files = walk(name)
        print(f"{name}: {len(files)} files (at most {most})", *files, sep="\n  ")
