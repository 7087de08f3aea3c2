"""A finding on disk: numbers as JSON and CSV, the picture as SVG and PNG, one paragraph; and the page that shows all.

NAME.json        source, paragraph, claims with the numbers that decide them, and all tables
NAME.TABLE.csv   one file for each table
NAME.svg, .png   the picture, where the extra `report` is installed
index.html       everything in the folder, in one file that opens without a network
"""

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ReleaseError
from discreet.report.charts import save
from discreet.studies.index_page import Shown, index_page
from discreet.studies.panels import picture
from discreet.studies.reproduction import Finding, Reproduction

__all__ = ["as_document", "write_finding", "write_index"]

INDEX = "index.html"


def as_document(reproduction: Reproduction, finding: Finding, runs: int) -> dict[str, Any]:
    """Everything but the picture, as plain data; what is infinite or no number is None."""
    return {
        "name": reproduction.name,
        "source": reproduction.source,
        "title": reproduction.title,
        "runs": runs,
        "data": "synthetic, of the same shape" if finding.synthetic else "as published",
        "reported": finding.reported,
        "found": finding.found,
        "differs": finding.differs,
        "claims": [{"claim": one.text, "holds": one.holds, "numbers": one.numbers} for one in finding.claims],
        "tables": {name: [_plain(row) for row in rows] for name, rows in finding.tables.items()},
    }


def write_finding(reproduction: Reproduction, finding: Finding, folder: Path, runs: int) -> list[Path]:
    """Write the files of one finding and return them."""
    document = as_document(reproduction, finding, runs)
    texts = {f"{reproduction.name}.json": json.dumps(document, indent=1, allow_nan=False) + "\n"}
    texts |= {f"{reproduction.name}.{name}.csv": _csv(rows) for name, rows in document["tables"].items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    except (OSError, ValueError) as problem:  # a path may hold what no file name can
        detail = getattr(problem, "strerror", None) or "it is no name of a folder"
        raise ReleaseError(f"reproduce --out must be a folder to write in, got {str(folder)!r}: {detail}") from None
    return [*(folder / name for name in texts), *_pictures(reproduction.name, finding, folder)]


def write_index(folder: Path, order: Sequence[str]) -> Path:
    """The page of all findings in a folder, in the given order of names."""
    shown = []
    for name in order:
        document = folder / f"{name}.json"
        if document.exists():
            drawn = folder / f"{name}.svg"
            svg = drawn.read_text(encoding="utf-8") if drawn.exists() else ""
            shown.append(Shown(json.loads(document.read_text(encoding="utf-8")), svg))
    target = folder / INDEX
    target.write_text(index_page(shown), encoding="utf-8")
    return target


def _pictures(name: str, finding: Finding, folder: Path) -> list[Path]:
    """SVG and PNG; none without the extra `report`, whose absence loses no number."""
    if not finding.panels:
        return []
    try:
        chart = picture(finding.panels)
    except ImportError:
        return []
    return [save(chart, folder / f"{name}{suffix}") for suffix in (".svg", ".png")]


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: _value(value) for key, value in row.items()}


def _value(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _csv(lines: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(
        text, fieldnames=list(dict.fromkeys(key for row in lines for key in row)), lineterminator="\n"
    )
    writer.writeheader()
    writer.writerows(lines)
    return text.getvalue()
