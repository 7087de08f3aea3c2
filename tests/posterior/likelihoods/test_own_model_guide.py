"""docs/guides/own-model.md runs: its NumPy part here, the others in the environments that a variable names.

DISCREET_NUMPYRO=…/bin/python DISCREET_PYMC=…/bin/python make audit ONLY=own_model
"""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "own-model.md"
SCRIPT = Path(__file__).with_name("own_model_agreement.py")


def test_the_numpy_part_finds_the_built_in_posterior(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (code,) = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    held: dict = {"__name__": "__main__"}
    exec(compile(code, PAGE.name, "exec"), held)
    assert held["releases"]["share"].posterior().mean() == pytest.approx(held["by_hand"], rel=1e-10)


@pytest.mark.audit
@pytest.mark.parametrize("library", ["NumPyro", "PyMC"])
def test_own_models_agree_with_the_built_in_ones(library: str) -> None:
    """Means within four Monte Carlo errors: a false alarm in 3,000 runs for each of at most ten numbers."""
    python = os.environ.get(f"DISCREET_{library.upper()}")
    if not python:
        pytest.skip(f"DISCREET_{library.upper()} must name a Python with discreet[{library.lower()}]")
    done = subprocess.run([python, str(SCRIPT), library], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answers = json.loads(done.stdout.splitlines()[-1])
    assert {"share", "wards", "slope"} <= set(answers)
    for name, found in answers.items():
        assert found["effective"] > 400, (name, found)
        assert found["errors"] < 4.0, (name, found)
