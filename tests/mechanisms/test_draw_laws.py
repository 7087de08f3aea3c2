"""Log-probabilities of rounded draws, against scipy."""

import numpy as np
import pytest
from scipy import stats

from discreet.errors import QueryError
from discreet.mechanisms.conjugate_sample.conjugate_sample import conjugate_draws
from discreet.mechanisms.draws.draw_laws import log_beta_draws, log_gamma_draws, log_normal_draws
from discreet.mechanisms.draws.real_laws import log_draws
from discreet.mechanisms.draws.tempered import on_scale
from discreet.queries.counts_and_sums import Axis
from discreet.queries.families import BoundedMean, ExponentialRate, GaussianMean, PoissonRate
from discreet.schema import Bounded, Schema

LAWS = {
    "normal": (log_normal_draws, lambda: stats.norm(0.3, 0.2)),
    "gamma": (log_gamma_draws, lambda: stats.gamma(3.0, scale=0.1)),
    "beta": (log_beta_draws, lambda: stats.beta(2.0, 5.0)),
}
PARAMETERS = {"normal": (0.3, 0.2), "gamma": (3.0, 10.0), "beta": (2.0, 5.0)}
AXIS = Axis.of(Schema({"x": Bounded(0, 4)}), "x")


@pytest.mark.parametrize("name", sorted(LAWS))
def test_fine_cells_are_densities_and_coarse_cells_are_masses(name: str) -> None:
    laws_of, law = LAWS[name]
    draws = np.array([0.125, 0.25, 0.25, 0.5])
    fine = laws_of(draws, 2.0**-32, *PARAMETERS[name])
    assert float(fine) == pytest.approx(law().logpdf(draws).sum(), abs=1e-9)
    coarse = laws_of(draws, 0.125, *PARAMETERS[name])
    masses = law().cdf(draws + 0.0625) - law().cdf(draws - 0.0625)
    assert float(coarse) == pytest.approx(np.log(masses / 0.125).sum(), abs=1e-9)


@pytest.mark.parametrize("name", ["gamma", "beta"])
@pytest.mark.parametrize("grid", [2.0**-60, 2.0**-32, 0.01])
def test_a_draw_that_was_rounded_to_the_end_of_the_support(name: str, grid: float) -> None:
    laws_of, _ = LAWS[name]
    law = stats.gamma(0.05) if name == "gamma" else stats.beta(0.05, 1.0)
    expected = np.log(law.cdf(0.5 * grid) / grid)
    assert float(laws_of(np.zeros(1), grid, 0.05, 1.0)) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", sorted(LAWS))
def test_laws_cut_to_an_interval(name: str) -> None:
    laws_of, law = LAWS[name]
    inside = law().cdf(0.4) - law().cdf(0.1)
    draws = np.array([0.15, 0.3])
    found = laws_of(draws, 2.0**-32, *PARAMETERS[name], (0.1, 0.4))
    assert float(found) == pytest.approx(law().logpdf(draws).sum() - 2 * np.log(inside), abs=1e-9)
    with pytest.raises(QueryError, match=r"released draws must lie between 0.1 and 0.4"):
        laws_of(np.array([0.7]), 2.0**-32, *PARAMETERS[name], (0.1, 0.4))


@pytest.mark.parametrize(
    "family",
    [
        GaussianMean("mean", (1.0, 2.0), 0.7, AXIS),
        PoissonRate("rate", (2.0, 1.5), AXIS),
        ExponentialRate("rate", (2.0, 1.5), AXIS),
        BoundedMean("mean", (2.0, 3.0), AXIS),
    ],
    ids=lambda family: type(family).__name__,
)
def test_densities_are_those_of_what_is_drawn(family) -> None:
    """The CDF of 200,000 draws is the integral of the density; false alarm 1e-6."""
    n, scale, shrink = 20, 0.4, 0.7
    statistic = 3 * AXIS.reach
    draws = np.sort(
        on_scale(
            family, conjugate_draws(family, {"sum": statistic}, n, scale, shrink, 200_000, np.random.default_rng(5))
        )
    )
    law = family.update(family.exponents / shrink, scale, np.array([statistic]), n)
    at = np.linspace(draws[0], draws[-1], 801)
    density = np.exp([float(log_draws(family, x, 1e-9, law)[0]) for x in at])
    cdf = np.cumsum(np.diff(at) * 0.5 * (density[1:] + density[:-1]))
    gap = np.abs(np.searchsorted(draws, at[1:]) / draws.size - cdf).max()
    assert gap < 2.7 / np.sqrt(draws.size)
