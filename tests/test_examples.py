"""Every example runs, without warnings: in this process with short chains and small audits, in `make audit` as it stands."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from copies import brief

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")  # chains are short on purpose
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    brief(monkeypatch)
    runpy.run_path(str(example), run_name="__main__")
    shown = capsys.readouterr()
    assert shown.out
    assert shown.err == ""


@pytest.mark.audit
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs_as_it_stands(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout
    assert done.stderr == ""
