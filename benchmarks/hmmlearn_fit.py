"""Seconds of hmmlearn's EM for a multinomial HMM, in an environment of its own: python hmmlearn_fit.py counts.npy K N.

All fields of a month are one multinomial there: with as many events in each, that is the same likelihood. Prints, as
JSON, the seconds of the wanted number of passes.
"""

import json
import logging
import sys
import time

import numpy as np
from hmmlearn.hmm import MultinomialHMM


def main() -> None:
    logging.getLogger("hmmlearn").setLevel(logging.ERROR)  # it announces how its model changed between versions
    counts = np.load(sys.argv[1]).astype(np.int64)  # (regions, months, fields, levels)
    states, passes = int(sys.argv[2]), int(sys.argv[3])
    regions, months = counts.shape[:2]
    rows = counts.reshape(regions * months, -1)
    hmm = MultinomialHMM(states, n_iter=passes, tol=-np.inf, random_state=0)
    start = time.perf_counter()
    hmm.fit(rows, lengths=[months] * regions)
    seconds = time.perf_counter() - start
    print(json.dumps({"passes": seconds * passes / hmm.monitor_.iter, "made": hmm.monitor_.iter}))


if __name__ == "__main__":
    main()
