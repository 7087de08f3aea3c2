"""Seconds of dynamax's EM for a multinomial HMM; runs in an environment of its own: python dynamax_fit.py counts.npy K.

Prints, as JSON, the seconds of the wanted number of iterations without those of compiling, and of the whole call.
"""

import json
import sys
import time

import jax.numpy as jnp
import jax.random as jr
import numpy as np
from dynamax.hidden_markov_model import MultinomialHMM

MANY = 20  # times the passes that are asked for


def main() -> None:
    counts = jnp.asarray(np.load(sys.argv[1]), dtype=jnp.float32)  # (regions, months, fields, levels)
    states, passes = int(sys.argv[2]), int(sys.argv[3])
    _, _, fields, levels = counts.shape
    hmm = MultinomialHMM(states, fields, levels, num_trials=int(counts[0, 0, 0].sum()))
    params, props = hmm.initialize(jr.PRNGKey(0))

    def seconds(iterations: int) -> float:
        start = time.perf_counter()
        _, found = hmm.fit_em(params, props, counts, num_iters=iterations, verbose=False)
        found.block_until_ready()
        return time.perf_counter() - start

    # a call compiles anew: long and short calls are compared, and the shortest of each, to see the passes alone
    one, long = min(seconds(1) for _ in range(3)), min(seconds(MANY * passes + 1) for _ in range(3))
    print(json.dumps({"passes": (long - one) / MANY, "whole": seconds(passes)}))


if __name__ == "__main__":
    main()
