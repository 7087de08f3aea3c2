"""Test errors and log losses of diffprivlib's logistic regression, in an environment of its own.

Arrays come in a file, JSON goes out. Run as a script: `python diffprivlib_fit.py arrays.npz request.json`. It
imports nothing of this project.

Rows that are mostly zeros are given as sparse ones: the same loss, noise and optimiser and the same coefficients to 12
digits, in a third of the time. What shortens long rows takes no sparse ones, so that none is too long is checked here.
"""

import json
import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression
from scipy.sparse import csr_matrix
from threadpoolctl import threadpool_limits

SMALLEST = 1e-15  # probability that a log loss is taken of
SPARSE = 0.3  # of the cells of rows that are worth it
ROUNDED = 1.0 + 1e-9  # times the norm: a row of exactly that length may be a last bit longer


class SparseRegression(LogisticRegression):
    """Of rows that are known not to be too long."""

    @staticmethod
    def _clip_to_norm(rows, norm):  # noqa: ARG004 - the signature of what it stands for
        return rows


def main(arrays: str, request: str) -> None:
    warnings.simplefilter("ignore")  # of optimisers that stop at their own limit
    with np.load(arrays) as held, open(request) as text:
        train, labels, test, truth = (held[name] for name in ("train", "labels", "test", "truth"))
        asked = json.load(text)
    found, made = [], LogisticRegression
    short = np.linalg.norm(train, axis=1).max() <= asked["norm"] * ROUNDED
    if short and np.count_nonzero(train) < SPARSE * train.size:
        made, train, test = SparseRegression, csr_matrix(train), csr_matrix(test)
    with threadpool_limits(1):
        for epsilon in asked["epsilons"]:
            for c in asked["cs"]:
                errors, log_losses, seconds = [], [], []
                for seed in range(asked["fits"]):
                    model = made(epsilon=epsilon, data_norm=asked["norm"], C=c, random_state=seed)
                    start = time.perf_counter()
                    model.fit(train, labels)
                    seconds.append(time.perf_counter() - start)
                    errors.append(float(np.mean(model.predict(test) != truth)))
                    given = model.predict_proba(test)[np.arange(len(truth)), truth]
                    log_losses.append(float(-np.log(np.maximum(given, SMALLEST)).mean()))
                kept = {"errors": errors, "log_losses": log_losses, "seconds": seconds}
                found.append({"epsilon": epsilon, "c": c, **kept})
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
