"""Real tables, outside of the project: absent ones skip, unless they are required."""

import os
from pathlib import Path

import pytest

DATA = Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture
def adult() -> Path:
    path = DATA / "adult_train.parquet"
    if not path.exists():
        if os.environ.get("DISCREET_REQUIRE_DATA"):
            pytest.fail("shared data must be present, got a skip where they were required")
        pytest.skip("shared data are absent")
    return path
