"""Whole sweeps of one chain: records, their number, parameters given records, parameters given residuals."""

import numpy as np

from discreet.inference.gaussian.kernels.compiled import entry
from discreet.inference.gaussian.kernels.imputation import refresh_records, resize
from discreet.inference.gaussian.kernels.interweaving import block_reference, interweave
from discreet.inference.gaussian.kernels.layout import Graph, Noisy, Prior, Reference, State
from discreet.inference.gaussian.kernels.normal_update import draw_parameters
from discreet.inference.gaussian.kernels.whitening import coordinates
from discreet.numerics.arrays import Array, Integers

__all__ = ["run_sweeps"]


RESIZES = 10  # proposals to change the number of records, per sweep
COORDINATES_PER_MOVE = 16  # the more coordinates, the smaller a slice move
PRIOR_SHARE = 0.25


@entry
def run_sweeps(
    rng: np.random.Generator,
    graph: Graph,
    noisy: Noisy,
    prior: Prior,
    reference: Reference,
    state: State,
    heats: Array,
    points: Array,
    parameters: tuple[Array, Array, Array],
    totals: Integers,
) -> None:
    """One sweep for every entry of `heats` (1 is the posterior itself); where the chain stands after each is stored.

    `reference` should be near the posterior, in the coordinates of `whitening`, and fixed but for warm-up.
    """
    coefficients, variances, probabilities = parameters
    normal, inverse_gamma, sizes = prior
    log_sizes, _ = sizes
    now_total, _, _, codes, _, now_coefficients, now_variances, now_probabilities = state
    blocks = now_variances.size + (1 if codes.shape[1] > 0 else 0)
    most = max(20, log_sizes.size // 3)
    size = points.shape[1]
    for step in range(heats.size):
        heat = heats[step]
        refresh_records(rng, graph, noisy, state, heat)
        if log_sizes.size > 1:
            for _ in range(RESIZES):
                resize(rng, graph, noisy, sizes, state, most, heat)
        draw_parameters(rng, graph, normal, inverse_gamma, state)
        for _ in range(1 + size // COORDINATES_PER_MOVE):
            interweave(rng, graph, noisy, normal, inverse_gamma, reference, state, heat)
        if rng.random() < PRIOR_SHARE:
            # around the prior, of everything or of a part: helps where the reference fits badly
            block = int((blocks + 1) * rng.random()) - 1 if blocks > 1 else -1
            around = block_reference(graph, size, block)
            interweave(rng, graph, noisy, normal, inverse_gamma, around, state, heat)
        point = coordinates(rng, graph, normal, inverse_gamma, state)
        for p in range(size):
            points[step, p] = point[p]
        for p in range(coefficients.shape[1]):
            coefficients[step, p] = now_coefficients[p]
        for j in range(variances.shape[1]):
            variances[step, j] = now_variances[j]
        for k in range(probabilities.shape[1]):
            probabilities[step, k] = now_probabilities[k]
        totals[step] = now_total[0]
