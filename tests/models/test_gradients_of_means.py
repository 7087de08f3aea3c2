"""The gradients of a quadratic mean differ as its rows do: by their diameter, wherever the declared interval lies."""

import itertools
import random

import numpy as np
import pytest

import discreet as dc


def widest(query: object, rows: int = 200) -> float:
    """The largest distance of two rows of features found: corners of the box, and random points, shrunk as declared."""
    features = query.features  # type: ignore[attr-defined]
    low, high = features.interval
    rng = random.Random(1)
    points = [*itertools.product((low, high), repeat=len(features.numbers))]
    points += [[rng.uniform(low, high) for _ in features.numbers] for _ in range(rows)]
    z = np.array(points)
    length = np.linalg.norm(z, axis=1, keepdims=True)
    z = z * np.minimum(1.0, features.radius / np.maximum(length, 1e-300))
    return float(np.linalg.norm(z[:, None] - z[None], axis=2).max())


def check(gradient_of: object) -> None:
    rng = random.Random(7)
    for _ in range(40):
        low = rng.choice([-1.0, 0.0, 1.0, 1e6, -3.0, rng.uniform(-5, 5)])
        interval = (low, low + rng.choice([1.0, 2.0, 0.25, rng.uniform(0.1, 9)]))
        columns = ("x", "y", "z")[: rng.randint(1, 3)]
        radius = rng.choice([None, None, rng.uniform(0.1, 3) * max(map(abs, interval))])
        schema = dc.Schema({name: dc.Bounded(0, 1) for name in columns}, n=100)
        query = dc.QuadraticMean(columns, interval=interval, radius=radius).query(schema)
        found, claimed = widest(query), gradient_of(query)  # type: ignore[operator]
        assert found <= claimed * (1 + 1e-9)
        if radius is None:
            assert claimed <= found * (1 + 1e-6), interval  # attained


def test_the_diameter_is_charged_and_attained() -> None:
    check(lambda query: query.gradient)


def test_twice_the_largest_end_is_found() -> None:
    """Planted twin: right for symmetric intervals only."""
    with pytest.raises(AssertionError):
        check(lambda query: 2.0 * query.features.radius)


def test_an_interval_from_zero_costs_half_of_a_symmetric_one() -> None:
    schema = dc.Schema({"x": dc.Bounded(0, 1)}, n=100)
    one, two = (dc.QuadraticMean(("x",), interval=each).query(schema) for each in ((0.0, 1.0), (-1.0, 1.0)))
    assert one.gradient == pytest.approx(1.0)
    assert two.gradient == pytest.approx(2.0)
    assert two.gradient == 2.0 * two.features.radius  # what was charged for symmetric intervals stays
