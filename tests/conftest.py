"""Shared by all tests: evidence of `make audit` is stored as it is made, so that an interrupted run resumes."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def source_hash() -> str:
    """A fingerprint of the library: evidence about other code is never reused."""
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src").rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@pytest.fixture
def evidence(request: pytest.FixtureRequest) -> Callable[[Callable[[], Any]], Any]:
    """Compute a JSON value once for this code and test, or read it back from audit-results/."""

    def stored(compute: Callable[[], Any]) -> Any:
        name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
        path = ROOT / "audit-results" / source_hash() / f"{name}.json"
        if not path.exists():
            value = compute()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value))
        return json.loads(path.read_text())

    return stored
