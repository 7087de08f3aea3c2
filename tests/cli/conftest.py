"""Small studies on disk, and commands run in this process."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from discreet.cli import main
from discreet.guarantee import Budget
from discreet.ledger import Ledger

STUDY = """
id = "patients-2026"
data = "patients.csv"
ledger = "study.ledger"
n = 60

[columns]
smoker = {kind="binary"}
ward = {kind="categorical", levels=["A","B","C"], missing="exclude"}
fever = {kind="binary", missing=0}
age = {kind="bounded", lower=0, upper=110}

[[release]]
name = "smoking"
model = {kind="BetaBernoulli", column="smoker", prior=[1,1]}
mechanism = {kind="NoisyStatistics", epsilon=0.5}
out = "smoking.release.json"

[[release]]
name = "wards"
model = {kind="DirichletCategorical", column="ward"}
mechanism = {kind="NoisyStatistics", epsilon=0.5}
out = "wards.release.json"

[[release]]
name = "fevers"
model = {kind="NaiveBayes", target="ward", features=["fever", "smoker"]}
mechanism = {kind="NoisyStatistics", epsilon=0.5}
out = "fevers.release.json"

[[release]]
name = "draw"
model = {kind="BetaBernoulli", column="smoker"}
mechanism = {kind="PosteriorSample", epsilon=0.5, truncation=0.01}
out = "draw.release.json"
"""

HEADER = "smoker,ward,fever,age\n"
ROWS = [f"{i % 2},{'ABC'[i % 3]},{i % 5 // 4},{20 + i}\n" for i in range(59)]


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Run a command in this process."""

    def ran(*arguments: object) -> Ran:
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return ran


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Write a study with its table and ledger, and work in its folder."""

    def written(
        *,
        change: Callable[[str], str] = str,
        last: str = "1,A,0,30\n",
        budget: Budget | None = None,
        folder: str = "study",
    ) -> Path:
        place = tmp_path / folder
        place.mkdir()
        (place / "study.toml").write_text(change(STUDY))
        (place / "patients.csv").write_text(HEADER + "".join(ROWS) + last)
        Ledger.create(place / "study.ledger", budget or Budget(3.0))
        monkeypatch.chdir(place)
        return place

    return written
