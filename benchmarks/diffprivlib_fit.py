"""Test errors of diffprivlib's logistic regression, in an environment of its own: arrays come in a file, JSON goes out.

Run as a script: `python diffprivlib_fit.py arrays.npz request.json`. It imports nothing of this project.
"""

import json
import sys
import time
import warnings

import numpy as np
from diffprivlib.models import LogisticRegression
from threadpoolctl import threadpool_limits


def main(arrays: str, request: str) -> None:
    warnings.simplefilter("ignore")  # of optimisers that stop at their own limit
    with np.load(arrays) as held, open(request) as text:
        train, labels, test, truth = (held[name] for name in ("train", "labels", "test", "truth"))
        asked = json.load(text)
    found = []
    with threadpool_limits(1):
        for epsilon in asked["epsilons"]:
            for c in asked["cs"]:
                errors, seconds = [], []
                for seed in range(asked["fits"]):
                    model = LogisticRegression(epsilon=epsilon, data_norm=asked["norm"], C=c, random_state=seed)
                    start = time.perf_counter()
                    model.fit(train, labels)
                    seconds.append(time.perf_counter() - start)
                    errors.append(float(np.mean(model.predict(test) != truth)))
                found.append({"epsilon": epsilon, "c": c, "errors": errors, "seconds": seconds})
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
