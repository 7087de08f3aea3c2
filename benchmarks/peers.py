"""Peers in environments of their own, with their results kept: diffprivlib needs another scikit-learn than ours."""

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

FOLDER = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "discreet-bench"
PACKAGES = ("diffprivlib", "scikit-learn<1.7")
SCRIPT = Path(__file__).with_name("diffprivlib_fit.py")


def diffprivlib_fits(
    arrays: dict[str, NDArray[Any]], request: dict[str, Any], keep: bool = True, script: Path = SCRIPT
) -> list[Any]:
    """What a script of diffprivlib's finds for these arrays and this request."""
    return peer_answers(arrays, request, "venv", PACKAGES, script, keep)


def peer_answers(
    arrays: dict[str, NDArray[Any]],
    request: dict[str, Any],
    name: str,
    packages: tuple[str, ...],
    script: Path,
    keep: bool = True,
) -> list[Any]:
    """What a script finds in an environment of its own; kept under a hash of all of it."""
    key = hashlib.sha256(script.read_bytes() + json.dumps([request, packages]).encode())
    for array in sorted(arrays):
        key.update(np.ascontiguousarray(arrays[array]).tobytes())
    kept = FOLDER / f"{key.hexdigest()[:24]}.json"
    if keep and kept.exists():
        print(f"  (the peer's results are cached: {kept})")
        return list(json.loads(kept.read_text()))
    with tempfile.TemporaryDirectory() as folder:
        held, asked = Path(folder) / "arrays.npz", Path(folder) / "request.json"
        np.savez(held, **arrays)  # type: ignore[arg-type]
        asked.write_text(json.dumps(request))
        found = subprocess.check_output([environment(name, packages), script, held, asked], text=True)
    if keep:
        kept.write_text(found)
    return list(json.loads(found))


def environment(name: str, packages: tuple[str, ...]) -> Path:
    """The interpreter of an environment with these packages, which is made where it is missing."""
    python, done = FOLDER / name / "bin" / "python", FOLDER / name / "installed"
    if not done.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run([sys.executable, "-m", "venv", "--clear", FOLDER / name], check=True)
        install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
        subprocess.run(install, check=True, stdout=subprocess.DEVNULL)
        done.touch()
    return python
