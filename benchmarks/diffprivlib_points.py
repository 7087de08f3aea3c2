"""diffprivlib's mean and linear regression, in an environment of its own. Imports nothing of this project.

Run as a script: `python diffprivlib_points.py arrays.npz request.json`. JSON goes out: for every sample and budget an
estimate, (constant, slopes) for a regression. There are no intervals: it has none.
"""

import json
import sys
import warnings

import numpy as np
from diffprivlib.models import LinearRegression
from diffprivlib.tools import mean


def main(arrays: str, request: str) -> None:
    warnings.simplefilter("ignore")
    with np.load(arrays) as held, open(request) as text:
        samples, asked = held["samples"], json.load(text)
    low, high = np.array(asked["low"]), np.array(asked["high"])
    found = []
    for epsilon in asked["epsilons"]:
        for seed, sample in enumerate(np.clip(samples, low, high)):
            if sample.shape[1] == 1:
                ends = (low[0], high[0])
                answer = [float(mean(sample[:, 0], epsilon=epsilon, bounds=ends, random_state=seed))]
            else:
                ends = ((low[:-1], high[:-1]), (low[-1], high[-1]))
                model = LinearRegression(epsilon=epsilon, bounds_X=ends[0], bounds_y=ends[1], random_state=seed)
                model.fit(sample[:, :-1], sample[:, -1])
                answer = [float(np.ravel(model.intercept_)[0]), *np.ravel(model.coef_).tolist()]
            found.append({"epsilon": epsilon, "estimate": answer})
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
