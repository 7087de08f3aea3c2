"""What leaves the command line on neighbouring tables differs in released numbers only."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The last row of the table: what a cell should not be.
LAST = {
    "nan": "NaN,NaN,nan,NaN\n",
    "unknown level": "7,Z,2,30\n",
    "huge": "1e308,1e308,1e400,-1e400\n",
    "unparsable": "secret-4217,secret-4217,secret-4217,secret-4217\n",
    "empty": ',"", ,\n',
    "infinite": "inf,-inf,inf,-inf\n",
}


def shape(value: Any) -> Any:
    return [shape(item) for item in value] if isinstance(value, list) else "number"


def masked(body: dict[str, Any]) -> dict[str, Any]:
    return {**body, "value": {name: shape(value) for name, value in body["value"].items()}}


def leaves(run: Callable, folder: Path) -> dict[str, Any]:
    """Everything that can be seen from outside, with released numbers masked."""
    text = run("release", "study.toml")
    document = run("release", "study.toml", "--json")
    told = document.document
    for made in told["releases"]:
        made["release"] = masked(made["release"])
    return {
        "text": text,
        "json": json.dumps(told).replace(str(folder), "folder"),
        "codes": (document.code, document.err),
        "files": {
            path.name: masked(json.loads(path.read_text())) if path.name.endswith(".json") else None
            for path in folder.iterdir()
        },
    }


def under_add_remove(text: str) -> str:
    """The same study with n private; a posterior sample is defined for replace-one only."""
    return text.replace("n = 60", 'relation = "add-remove"\nn_max = 100').split('[[release]]\nname = "draw"')[0]


def test_one_replaced_row_changes_released_numbers_only(run: Callable, study: Callable) -> None:
    usual = leaves(run, study())
    assert (usual["text"].code, usual["text"].err) == (0, "")
    for name, last in LAST.items():
        folder = study(last=last, folder=name)
        assert leaves(run, folder) == usual, name
        assert b"secret-4217" not in b"".join(path.read_bytes() for path in folder.iterdir() if path.suffix != ".csv")


def test_one_added_row_changes_released_numbers_only(run: Callable, study: Callable) -> None:
    usual = leaves(run, study(change=under_add_remove, last=""))
    assert (usual["text"].code, usual["text"].err) == (0, "")
    for name in ("nan", "huge", "unparsable"):
        assert leaves(run, study(change=under_add_remove, last=LAST[name], folder=name)) == usual, name
