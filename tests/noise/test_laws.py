"""Noise laws as data: what is written is read back, and nothing else is taken for a law."""

import json
from typing import Any

import numpy as np
import pytest

from discreet.errors import GuaranteeError
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Laplace, NoiseLaw, law_from_json

LAWS = [DiscreteGaussian(2.5), DiscreteLaplace(0.3), Laplace(7.0)]


@pytest.mark.parametrize("law", LAWS)
def test_a_law_survives_json(law: NoiseLaw) -> None:
    assert law_from_json(json.loads(json.dumps(law.to_json()))) == law


def test_laws_are_written_by_name_and_parameter() -> None:
    assert [law.to_json() for law in LAWS] == [
        {"law": "discrete-gaussian", "sigma": 2.5},
        {"law": "discrete-laplace", "scale": 0.3},
        {"law": "laplace", "scale": 7.0},
    ]


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "laplace",
        {},
        {"law": "laplace"},
        {"law": "laplace", "sigma": 1.0},
        {"law": "discrete-gaussian", "scale": 1.0},
        {"law": "gaussian", "sigma": 1.0},
        {"law": "laplace", "scale": 1.0, "unit": 2.0},
        {"law": "laplace", "scale": True},
        {"law": "laplace", "scale": "1.0"},
        {"law": "laplace", "scale": 0.0},
        {"law": "laplace", "scale": float("nan")},
        {"law": "laplace", "scale": float("inf")},
        {"law": "laplace", "scale": 10**400},
        {"law": ["laplace"], "scale": 1.0},
    ],
)
def test_anything_else_is_refused(body: Any) -> None:
    with pytest.raises(GuaranteeError):
        law_from_json(body)


@pytest.mark.parametrize("law", LAWS)
def test_the_width_is_the_unit_of_the_density(law: NoiseLaw) -> None:
    fall = float(law.log_density(0.0) - law.log_density(3.0))
    assert fall == pytest.approx(0.5 * (3.0 / law.width) ** 2 if law.gaussian else 3.0 / law.width)
    assert np.isfinite(law.variance)
