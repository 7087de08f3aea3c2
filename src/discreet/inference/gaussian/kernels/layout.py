"""The flat arrays compiled loops read and write: what is fixed during a chain, and where the chain stands.

Ragged things lie end to end: the regressors and coefficients of node j at starts[j]:starts[j + 1], the levels of
factor f at level_starts[f]:level_starts[f + 1]. Matrices of different orders share one padded stack.

These are plain tuples: compiled code that is cached on disk must not refer to classes of ours, which may change.
"""

from discreet.numerics.arrays import Array, Integers

__all__ = ["Graph", "InverseGamma", "Noisy", "Normal", "Prior", "Reference", "SizePrior", "State"]


# Which places of the design vector each node regresses on.
Graph = tuple[
    Integers,  # regressors: places in the design vector
    Integers,  # starts
    Integers,  # dummy_starts: where the dummies of each factor begin in the design vector
    Integers,  # level_starts
]

# How values become whole numbers, and the terms that were released of them.
Noisy = tuple[
    Array,  # scales (nodes, 7): lower, upper, grid, low, 2^shift // 2, 2^-shift, reach
    Integers,  # parts (terms, 4): places of the marks that are multiplied; 0 where a part is absent
    Array,  # noise (terms, 3): released sum, scale of its noise, 1 for Gaussian or 0 for Laplace noise
]

# The conjugate prior of the coefficients.
Normal = tuple[
    Array,  # mean
    Array,  # precision (nodes, order, order), padded
    Array,  # root, lower triangular: precision = root root'
]

# Inverse gamma laws of the variances, then of the reciprocal gamma variables behind the level probabilities.
InverseGamma = tuple[
    Array,  # shape (nodes + levels)
    Array,  # rate (nodes + levels)
    Array,  # centre and
    Array,  # spread of normal laws near those of the logarithms
]

# Log-weights of the totals lowest, lowest + 1, …
SizePrior = tuple[Array, int]

Prior = tuple[Normal, InverseGamma, SizePrior]

# A normal law in the coordinates of `whitening`, around which slice moves turn.
Reference = tuple[
    Array,  # mean
    Array,  # root, lower triangular: covariance = root root'
]

# One chain: unseen records, the sums they give, and the parameters.
State = tuple[
    Integers,  # total: one entry
    Array,  # values (capacity, nodes), not clamped
    Array,  # marks (capacity, 1 + nodes + levels): 1, the clamped values, 1 or 0 for every level of every factor
    Integers,  # codes (capacity, factors)
    Array,  # sums (terms,)
    Array,  # coefficients
    Array,  # variances
    Array,  # probabilities
]
