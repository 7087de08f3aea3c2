"""Runs docs/guides/own-model.md in the environment of this Python, and compares means with the built-in posteriors.

    python own_model_agreement.py NumPyro|PyMC

Prints one line of JSON: by model, how many Monte Carlo errors the farthest mean is off, and how many deviations.
"""

import json
import os
import re
import sys
import tempfile
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[3] / "docs" / "guides" / "own-model.md"


def effective(chains: np.ndarray) -> float:
    """How many independent draws (chains, draws) are worth, by batch means."""
    batches = chains.reshape(chains.shape[0] * 20, -1)
    return float(
        np.clip(chains.var() / max(batches.mean(axis=1).var(ddof=1) / batches.shape[0], 1e-300), 1, chains.size)
    )


def main(library: str) -> None:
    """The common block, then that of the library."""
    found = re.findall(r"^```python(?: title=\"(\w+)\")?\n(.*?)^```", PAGE.read_text(), flags=re.MULTILINE | re.DOTALL)
    held: dict = {"__name__": "__main__"}
    os.chdir(tempfile.mkdtemp())
    for title, code in found:
        if title in ("", library):
            exec(compile(code, title or "common", "exec"), held)
    answers = {}
    for name, draws in held["own"].items():
        release = held["releases"][name]
        posterior = release.posterior(pooling="partial") if name == "by ward" else release.posterior()
        mean, sd = posterior.mean(), posterior.sd()
        mean, sd = (mean["coefficients"][1], sd["coefficients"][1]) if name == "slope" else (mean, sd)
        mean, sd = ([*mean.values()], [*sd.values()]) if isinstance(mean, dict) else (mean, sd)
        mean, sd = np.atleast_1d(mean), np.atleast_1d(sd)
        draws = np.asarray(draws).reshape(*np.shape(draws)[:2], -1)
        errors = [sd[j] / np.sqrt(effective(draws[..., j])) for j in range(draws.shape[-1])]
        built_in = sd / np.sqrt(4000.0) if name == "slope" else 0.0  # chains of its own
        off = np.abs(draws.mean(axis=(0, 1)) - mean)
        answers[name] = {
            "errors": float(np.max(off / np.hypot(errors, built_in))),
            "deviations": float(np.max(off / sd)),
            "effective": float(np.min((sd / np.array(errors)) ** 2)),
        }
    print(json.dumps(answers))


if __name__ == "__main__":
    main(sys.argv[1])
