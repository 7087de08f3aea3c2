"""Numbers of records: probabilities that sum to one, and samplers that follow them."""

import numpy as np
import pytest

from discreet.schema.row_counts import KnownSize, NormalSizes, ShareSizes, Sizes, UniformSizes

SIZES: list[Sizes] = [
    KnownSize(20),
    UniformSizes(20),
    NormalSizes(15.0, 2.0, 20),
    NormalSizes(90.0, 3.0, 20),
    ShareSizes(KnownSize(20), 4),
    ShareSizes(UniformSizes(20), 4),
    ShareSizes(NormalSizes(15.0, 2.0, 20), 2),
    ShareSizes(KnownSize(20), 1),
]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_draws_follow_the_probabilities(sizes: Sizes) -> None:
    """Every bin within five deviations of its expectation: false-alarm rate about 1e-5 for each law."""
    totals = np.arange(-2, 25)
    probabilities = np.exp(sizes.log_weight(totals))
    assert probabilities.sum() == pytest.approx(1.0)
    rng = np.random.default_rng(1)
    draws = np.bincount([sizes.sample(rng) + 2 for _ in range(4000)], minlength=totals.size) / 4000
    assert np.all(np.abs(draws - probabilities) <= 5 * np.sqrt(probabilities / 4000))


def test_a_share_of_everything_is_everything() -> None:
    assert ShareSizes(KnownSize(20), 1).log_weight(20) == 0.0
