"""CONTRIBUTING keeps its word: its skeletons run, and its map leads to files that are there."""

import importlib.util
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from copies import command, seeded, walked
from discreet.mechanisms import MECHANISMS
from discreet.models import MODELS

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")  # chains are short on purpose

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "CONTRIBUTING.md").read_text()
SOURCE = ROOT / "src" / "discreet"
MODEL, MECHANISM = dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=0.5)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    seeded(monkeypatch)
    return command(capsys, monkeypatch)


def skeleton(name: str, folder: Path) -> type:
    """The class of a code block of the page, from a file of its own."""
    (text,) = (block for block in re.findall(r"```python\n(.*?)```", TEXT, re.S) if f"class {name}(" in block)
    file = folder / f"{name.lower()}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    kind: type = getattr(module, name)
    return kind


def test_the_skeleton_of_a_mechanism_runs(tmp_path: Path, run: Callable[..., str], monkeypatch: Any) -> None:
    """Through every verb, and with the posterior that the shipped mechanism has at the same epsilon."""
    kind = skeleton("LaplaceSums", tmp_path)
    monkeypatch.setitem(MECHANISMS, "LaplaceSums", kind)
    found, shipped = (
        walked(MODEL, made, tmp_path / str(i), run) for i, made in enumerate((kind(epsilon=0.5), MECHANISM))
    )
    assert found["command posterior"]["parameters"] == shipped["command posterior"]["parameters"]
    assert found["score"] == shipped["score"]
    assert found["posterior"] == shipped["posterior"]


def test_the_skeleton_of_a_model_runs(tmp_path: Path, run: Callable[..., str], monkeypatch: Any) -> None:
    kind = skeleton("Coin", tmp_path)
    monkeypatch.setitem(MODELS, "Coin", kind)
    found = walked(kind("smoker"), MECHANISM, tmp_path / "coin", run)
    assert 0.0 < found["command posterior"]["parameters"][0]["mean"] < 1.0
    public = dc.open(pd.DataFrame({"smoker": [0, 1, 1]}), dc.Schema({"smoker": dc.Binary()}), id="public")
    assert kind("smoker").updated(public).prior == (3.0, 2.0)


def missing(text: str) -> list[str]:
    """Paths of the map that lead nowhere."""
    section = text[text.index("## The map") : text.index("## House rules")]
    cells = re.findall(r"^\|[^|]*\|([^|]*)\|", section.replace("\\|", ""), re.M)
    paths = [p for cell in cells for p in re.findall(r"`([\w/]+(?:\.py|/))`", cell)]
    assert len(paths) > 25
    return [
        path
        for path in paths
        if not any((folder / path).exists() for folder in (SOURCE, ROOT))
        and not (path.endswith("/") and list(SOURCE.rglob(path)))
    ]


def test_every_look_leads_somewhere() -> None:
    questions = re.findall(r"^\| [^|]*\? \| `", TEXT, re.M)
    assert len(questions) >= 15
    assert missing(TEXT) == []
    assert missing(TEXT.replace("ledger/filters.py", "accounting/filters.py")) == ["accounting/filters.py"]


def test_names_in_the_map_are_where_it_says() -> None:
    for path, name in re.findall(r"`([\w/]+\.py)`, `([\w.]+)`", TEXT):
        assert re.search(rf"(def|class) {name.split('.')[-1]}\b", (SOURCE / path).read_text()), (path, name)
