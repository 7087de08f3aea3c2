"""Synthetic tables by SmartNoise's synthesizers, in an environment of its own. Imports nothing of this project.

Run as a script: `python smartnoise_tables.py arrays.npz request.json`. It gets codes, and writes for every method,
budget and run a table of the same size as codes, with the seconds it took. Levels are declared, so that no budget goes
to finding them. Where a method fails, it writes what it said.
"""

import contextlib
import io
import json
import sys
import time
import warnings

import numpy as np
import pandas as pd
from snsynth import Synthesizer
from snsynth.transform import LabelTransformer, TableTransformer


def main(arrays: str, request: str) -> None:
    warnings.simplefilter("ignore")
    with np.load(arrays) as held, open(request) as text:
        codes, asked = held["codes"], json.load(text)
    columns, sizes = asked["columns"], [len(asked["levels"][name]) for name in asked["columns"]]
    frame = pd.DataFrame(codes, columns=columns)
    found = []
    for method in asked["methods"]:
        for epsilon in asked["epsilons"]:
            for seed in range(asked["runs"]):
                np.random.seed(seed)
                start = time.perf_counter()
                one = {"method": method, "epsilon": epsilon}
                try:
                    with contextlib.redirect_stdout(io.StringIO()):
                        made = table_of(method, epsilon, frame, sizes)
                    one |= {"codes": made.T.tolist(), "seconds": time.perf_counter() - start}
                except Exception as problem:  # what a peer cannot do is told, not hidden
                    one |= {"problem": f"{type(problem).__name__}: {problem}"}
                found.append(one)
    print(json.dumps(found))


def table_of(method: str, epsilon: float, frame: pd.DataFrame, sizes: list[int]) -> np.ndarray:
    transformer = TableTransformer([LabelTransformer(nullable=False) for _ in sizes])
    every = pd.DataFrame({name: np.arange(max(sizes)) % size for name, size in zip(frame.columns, sizes, strict=True)})
    transformer.fit(every)  # of the declared levels alone
    synthesizer = Synthesizer.create(method, epsilon=epsilon, verbose=False)
    synthesizer.fit(frame, transformer=transformer, preprocessor_eps=0.0)
    return synthesizer.sample(len(frame)).to_numpy(dtype=np.int64)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
