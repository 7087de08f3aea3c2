"""Second moments of simulated tables with their noise: what is computed of thousands agrees with a release of one."""

import numpy as np
import pytest

import discreet as dc
from discreet.planning.noisy_moments import NoisyMoments
from discreet.planning.simulated_runs import adjusted_runs
from discreet.queries.statistics import moment_axes

SCHEMA = dc.Schema(
    {"age": dc.Bounded(0, 100), "pressure": dc.Bounded(80, 200), "ward": dc.Categorical(["A", "B"])}, n=50
)
MODEL, MECHANISM = dc.LinearRegression("pressure", ("age",)), dc.NoisyStatistics(epsilon=1.0)
QUERY = MODEL.query(SCHEMA)
LAWS = MECHANISM.laws(QUERY)


def steps(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Fifty ages and pressures, on the grid."""
    age = rng.uniform(20, 80, 50)
    numbers = {"age": age, "pressure": 90 + 0.8 * age + rng.normal(0, 5, 50)}
    axes = moment_axes(SCHEMA, tuple(numbers))
    return {axis.column: axis.of_values(numbers[axis.column]).astype(float) for axis in axes}


def half_ranges(columns: dict[str, np.ndarray]) -> np.ndarray:
    axes = moment_axes(SCHEMA, ("age", "pressure"))
    return np.array([axis.centred(columns[axis.column].astype(int)) / axis.reach for axis in axes])


def test_without_noise_they_are_the_moments_of_the_table() -> None:
    """Where there is next to no noise: with more of it, variances below it count as much."""
    columns = steps(np.random.default_rng(1))
    moments = NoisyMoments.of(QUERY, dc.NoisyStatistics(epsilon=1000.0).laws(QUERY))
    assert moments is not None
    assert set(moments.columns) == {"age", "pressure"}
    found = [each.item() for each in moments.features([columns], np.zeros((1, 5)), np.ones(1))]
    x, y = half_ranges(columns)
    covariance = np.cov(x, y, ddof=0)
    residual = np.mean((y - np.polyval(np.polyfit(x, y, 1), x)) ** 2)
    floor = moments.deviations[0, 0]
    expected = [np.arctanh(0.999 * x.mean()), np.arctanh(0.999 * y.mean())]
    expected += [np.arcsinh(covariance[0, 0] / floor), np.arcsinh(covariance[1, 1] / floor)]
    expected += [np.arctanh(0.999 * np.corrcoef(x, y)[0, 1]), np.arcsinh(residual / floor)]
    assert np.allclose(found, expected)


def test_noise_is_added_where_it_is_released() -> None:
    """Released sums of a table, in half-ranges: those of the table and the noise, each at its place."""
    columns = steps(np.random.default_rng(2))
    moments = NoisyMoments.of(QUERY, LAWS)
    assert moments is not None
    names = [statistic.name for statistic in QUERY.statistics]
    added = np.array([[2.0, -1.0, 3.0, 0.5, -0.7]])
    found = [each.item() for each in moments.features([columns], added, np.ones(1))]
    x, y = half_ranges(columns)
    exact = {"age": x, "pressure": y, "age * age": x * x, "age * pressure": x * y, "pressure * pressure": y * y}
    units = {statistic.name: statistic.unit for statistic in QUERY.statistics}
    released = {
        name: exact[name].mean() + noise * float(LAWS[name].variance) ** 0.5 / units[name] / 50
        for name, noise in zip(names, added[0], strict=True)
    }
    variance = released["age * age"] - released["age"] ** 2
    floor = moments.deviations[0, 0]
    assert found[0] == pytest.approx(np.arctanh(0.999 * released["age"]))
    assert found[2] == pytest.approx(np.arcsinh(variance / floor))
    assert found != pytest.approx([each.item() for each in moments.features([columns], 0 * added, np.ones(1))])


def test_a_table_without_rows_and_noise_beyond_every_moment_are_numbers() -> None:
    moments = NoisyMoments.of(QUERY, LAWS)
    assert moments is not None
    empty = {"age": np.empty(0), "pressure": np.empty(0)}
    found = moments.features([empty, steps(np.random.default_rng(3))], np.full((2, 5), -40.0), np.array([0.01, 1.0]))
    assert np.isfinite(found).all()


def test_what_has_no_squares_has_no_moments() -> None:
    for model in (dc.DirichletCategorical("ward"), dc.StatisticalQuery("age", prior=(6.0, 12.0))):
        query = model.query(SCHEMA)
        assert NoisyMoments.of(query, MECHANISM.laws(query)) is None


def test_categories_and_a_private_number_of_rows_keep_their_places() -> None:
    schema = dc.Schema({**SCHEMA.columns, "age": dc.Bounded(0, 100, missing="exclude")}, n=50)
    for model in (MODEL, dc.LinearRegression("pressure", ("age", "ward"))):
        query = model.query(schema)
        moments = NoisyMoments.of(query, MECHANISM.laws(query))
        assert moments is not None
        sizes = [int(np.prod(statistic.shape)) for statistic in query.statistics]
        starts = dict(zip(query.names, np.cumsum([0, *sizes[:-1]]), strict=True))
        squares = {moments.axes[j].column: moments.places[j, j] for j in range(2)}
        assert squares == {name: starts[f"{name} * {name}"] for name in ("age", "pressure")}


def test_averages_of_a_regression_are_adjusted_by_them() -> None:
    found = adjusted_runs(dc.Normal("age"), MECHANISM, SCHEMA, 25)
    plain = {name: values.std(ddof=1) / values.size**0.5 for name, values in found.widths.items()}
    assert all(0 < found.averages[name][1] < plain[name] for name in plain)
