"""Files written by pandas change their types with one cell; nothing that leaves the command line does."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from test_cli_neighbours import leaves

LAST: dict[str, dict[str, Any]] = {
    "usual": {"smoker": 1, "ward": "A", "fever": 0, "age": 30},
    "missing": {"smoker": None, "ward": None, "fever": None, "age": None},
    "bytes and large numbers": {"smoker": 2**63, "ward": b"\xff", "fever": 0.5, "age": 2**63},
}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    pd.DataFrame({name: [row[name] for row in rows] for name in LAST["usual"]}).to_parquet(path)


@pytest.mark.parametrize("data", ["part-*.parquet", "whole.parquet"])
def test_one_cell_decides_no_exit_code_and_no_text(run: Callable, study: Callable, data: str) -> None:
    rows = [{"smoker": i % 2, "ward": "ABC"[i % 3], "fever": i % 5 // 4, "age": 20 + i} for i in range(59)]
    found = {}
    for name, last in LAST.items():
        folder = study(change=lambda text: text.replace("patients.csv", data), folder=name)
        write(folder / "whole.parquet", [*rows, last])
        write(folder / "part-1.parquet", rows)
        write(folder / "part-2.parquet", [last])
        found[name] = leaves(run, folder)
    assert (found["usual"]["text"].code, found["usual"]["text"].err) == (0, "")
    assert all(seen == found["usual"] for seen in found.values())
