"""Noise laws as data."""

import numpy as np
import pytest

from discreet.noise import DiscreteGaussian, DiscreteLaplace, Laplace, NoiseLaw

LAWS = [DiscreteGaussian(2.5), DiscreteLaplace(0.3), Laplace(7.0)]


def test_laws_are_written_by_name_and_parameter() -> None:
    assert [law.to_json() for law in LAWS] == [
        {"law": "discrete-gaussian", "sigma": 2.5},
        {"law": "discrete-laplace", "scale": 0.3},
        {"law": "laplace", "scale": 7.0},
    ]


@pytest.mark.parametrize("law", LAWS)
def test_the_width_is_the_unit_of_the_density(law: NoiseLaw) -> None:
    fall = float(law.log_density(0.0) - law.log_density(3.0))
    assert fall == pytest.approx(0.5 * (3.0 / law.width) ** 2 if law.gaussian else 3.0 / law.width)
    assert np.isfinite(law.variance)
