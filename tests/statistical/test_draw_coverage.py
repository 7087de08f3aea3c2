"""Do 90% intervals from one private draw of a probability cover 90%, and how often does the naive band?

`make test` runs 500 simulations a mechanism: a correct interval fails with probability 3e-5 (4.2 standard errors).
`make audit` runs 20,000, prints both coverages and requires 90% ± 2% of the honest one.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms import ConcentratedSample, DiffusedSample, DirectSample, PosteriorSample
from discreet.studies.draw_coverage import draw_coverage, naive_band

PRIOR, N = (2.0, 3.0), 100
MECHANISMS = {
    "one posterior sample": PosteriorSample(epsilon=1.0, truncation=0.05),
    "diffused": DiffusedSample(epsilon=1.0, delta=1e-6),
    "concentrated": ConcentratedSample(epsilon=1.0, delta=1e-6),
}
AUDITED = {
    **MECHANISMS,
    "one posterior sample, epsilon .1": PosteriorSample(epsilon=0.1, truncation=0.05),
    "diffused, epsilon .1": DiffusedSample(epsilon=0.1, delta=1e-6),
    "concentrated, epsilon .1": ConcentratedSample(epsilon=0.1, delta=1e-6),
    "direct": DirectSample(),
}


@pytest.mark.parametrize("name", sorted(MECHANISMS))
def test_honest_intervals_cover_and_the_naive_band_does_not(name: str) -> None:
    """The naive band falls short by more than 4.2 standard errors where the prior was divided, by some elsewhere."""
    found = draw_coverage(MECHANISMS[name], prior=PRIOR, n=N, runs=500, seed=31)
    assert abs(found.honest - 0.9) < 4.2 * math.sqrt(0.09 / 500)
    assert found.naive < found.honest
    if name == "concentrated":
        assert found.naive < 0.9 - 4.2 * math.sqrt(0.09 / 500)
    assert str(found).startswith(f"honest {found.honest:.3f}, naive {found.naive:.3f}")


def test_the_naive_band_is_the_beta_law_around_the_draw() -> None:
    low, high = naive_band(np.array([0.3, 0.6]), 40.0, (0.0, 1.0))
    for i, draw in enumerate((0.3, 0.6)):
        law = stats.beta(40 * draw, 40 * (1 - draw))
        assert law.mean() == pytest.approx(draw)
        assert (low[i], high[i]) == (pytest.approx(law.ppf(0.05)), pytest.approx(law.ppf(0.95)))
    cut_low, cut_high = naive_band([0.05, 0.5], 2.0, (0.05, 0.95))
    assert np.all((cut_low > 0.05) & (cut_high < 0.95))


@pytest.mark.audit
@pytest.mark.parametrize("name", sorted(AUDITED))
def test_audit_draw_coverage(name: str, evidence: Callable[[Callable[[], list[float]]], list[float]]) -> None:
    def both() -> list[float]:
        found = draw_coverage(AUDITED[name], prior=PRIOR, n=N, runs=20_000, seed=32)
        return [found.honest, found.naive]

    honest, naive = evidence(both)
    print(f"{name}: honest {honest:.3f}, naive {naive:.3f}")
    assert abs(honest - 0.9) < 0.02
