"""Predictions of a regression: the least-squares line, the mixture of normal laws around it, bounds, levels."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import discreet as dc
from discreet.errors import QueryError
from discreet.posterior import GroupedPosterior, RegressionPosterior, groups
from discreet.posterior.records.declared_records import LevelCells, NumberColumn

pytestmark = pytest.mark.filterwarnings("ignore::discreet.ConvergenceWarning")  # a few draws, made by hand

FEATURES = {"age": dc.Bounded(0, 100, grid=0.5), "ward": dc.Categorical(["A", "B", "C"], missing="B")}
ROWS = pd.DataFrame({"age": [10.0, 40.0, 1000.0], "ward": ["A", "B", "C"]})
DESIGN = np.array([[1, 10, 0, 0], [1, 40, 1, 0], [1, 100, 0, 1.0]])


def regression(draws: int, spread: float = 0.3, upper: float = 1e4) -> RegressionPosterior:
    rng = np.random.default_rng(5)
    coefficients = np.array([5.0, 0.5, 2.0, -3.0]) + spread * rng.standard_normal((2, draws, 4)) * [1, 0.1, 1, 1]
    variance = 4.0 * np.exp(spread * rng.standard_normal((2, draws)))
    axes = {"coefficients": {"coefficient": ("intercept", "age", "ward=B", "ward=C")}}
    target = NumberColumn("cost", -1e4, upper, 0.25)
    return RegressionPosterior(
        {"coefficients": coefficients, "variance": variance}, axes, "regression", features=FEATURES, target=target
    )


def test_without_uncertainty_it_is_the_normal_interval() -> None:
    posterior = regression(50, spread=0.0)
    found = posterior.predict(ROWS, level=0.8)
    mean = DESIGN @ [5.0, 0.5, 2.0, -3.0]
    np.testing.assert_allclose(found["mean"], mean)
    np.testing.assert_allclose(found["lower"], stats.norm.ppf(0.1, mean, 2.0))
    np.testing.assert_allclose(found["upper"], stats.norm.ppf(0.9, mean, 2.0))


def test_intervals_hold_simulated_targets() -> None:
    """20,000 draws of each target lie in the 90% interval up to 4 standard errors, and half of them below the middle."""
    posterior = regression(200)
    found = posterior.predict(ROWS)
    drawn = posterior.simulate(20_000, np.random.default_rng(6), records=ROWS)
    assert drawn.shape == (20_000, 3)
    assert np.all(drawn % 0.25 == 0)
    for side, order in (("lower", 0.05), ("upper", 0.95)):
        below = np.mean(drawn <= found[side] + 0.125, axis=0)
        np.testing.assert_allclose(below, order, atol=0.012)
    narrow = (DESIGN @ posterior.mean()["coefficients"])[2] + 1.645 * 2.0  # a planted error: no uncertainty of the line
    assert np.mean(drawn[:, 2] <= narrow) < 0.9


def test_answers_are_within_the_bounds_of_the_target() -> None:
    posterior = regression(50, upper=20.0)
    found = posterior.predict(ROWS)
    assert found["upper"][0] < 20.0
    assert (found["mean"][2], found["upper"][2]) == (20.0, 20.0)
    assert posterior.simulate(100, np.random.default_rng(1), records=ROWS).max() == 20.0


def test_rows_come_as_frames_mappings_and_files(tmp_path) -> None:
    posterior = regression(20)
    ROWS.to_csv(tmp_path / "rows.csv", index=False)
    ROWS.to_parquet(tmp_path / "rows.parquet")
    due = posterior.predict(ROWS)
    for rows in (ROWS.to_dict("list"), tmp_path / "rows.csv", str(tmp_path / "rows.parquet")):
        for name, column in posterior.predict(rows).items():
            np.testing.assert_array_equal(column, due[name])
    assert posterior.predict({"age": [], "ward": []})["mean"].shape == (0,)
    with pytest.raises(dc.QueryError, match="readable CSV or Parquet file"):
        posterior.predict(tmp_path / "none.csv")
    with pytest.raises(dc.QueryError, match=r"must end in \.csv or \.parquet"):
        posterior.predict(tmp_path / "rows.xls")


def test_unknown_levels_are_counted_and_the_rest_refused() -> None:
    posterior = regression(20)
    with pytest.warns(dc.UnknownLevels, match="2 in column 'ward'") as told:
        found = posterior.predict({"age": [40, 40, 40], "ward": ["Z", None, "B"]})
    assert told[0].message.counts == {"ward": 2}
    assert found["mean"][0] == found["mean"][2]
    with pytest.raises(dc.QueryError, match="a number in column 'age'"):
        posterior.predict({"age": ["old"], "ward": ["B"]})
    for ask in (lambda: posterior.predict(3, None), lambda: posterior.simulate(3), lambda: posterior.table(3)):
        with pytest.raises(dc.QueryError, match=r"no law of the features|law of records"):
            ask()


def test_a_release_predicts() -> None:
    """The plug-in posterior of a release knows its columns; those of the chains are made in the same place."""
    schema = dc.Schema({"cost": dc.Bounded(0, 50), **FEATURES}, n=300)
    model = dc.LinearRegression("cost", ("ward", "age"))
    (release,) = dc.simulate(model, None, dc.NoisyStatistics(epsilon=5.0), runs=1, seed=1, n=300, schema=schema)
    posterior = release.posterior("plug-in")
    found = posterior.predict(ROWS)
    names = model.coefficient_names(schema)
    assert names == ("intercept", "age", "ward=B", "ward=C")
    np.testing.assert_allclose(found["mean"], np.clip(DESIGN @ posterior.mean()["coefficients"], 0, 50), atol=0.5)
    assert np.all((found["lower"] <= found["mean"]) & (found["mean"] <= found["upper"]))


def test_effects_are_told_against_any_level() -> None:
    rng = np.random.default_rng(9)
    chains = {"coefficients": rng.normal(size=(4, 100, 5)), "variance": rng.gamma(2.0, size=(4, 100))}
    features = {"x": dc.Bounded(0, 1), "w": dc.Categorical(["A", "B", "C"]), "s": dc.Binary(zero="no", one="yes")}
    names = ("intercept", "x", "w=B", "w=C", "s=yes")
    posterior = RegressionPosterior(chains, {"coefficients": {"coefficient": names}}, features=features)
    plain, moved = posterior.effects("w"), posterior.effects("w", against="C")
    b, c = (chains["coefficients"][..., k].ravel() for k in (2, 3))
    assert plain["A"]["mean"] == 0.0
    assert plain["C"]["mean"] == pytest.approx(c.mean())
    assert moved["C"]["sd"] == 0.0
    assert moved["B"]["lower"] == pytest.approx(np.quantile(b - c, 0.05))
    assert posterior.effects("s")["yes"]["mean"] == pytest.approx(chains["coefficients"][..., 4].mean())
    with pytest.raises(QueryError, match="effects must be of a column and a level of"):
        posterior.effects("w", against="D")


SITES = dc.Binary(zero="north", one="south", missing="exclude")


def by_site() -> GroupedPosterior:
    north, south = regression(20), regression(20)
    south.chains["coefficients"][..., 0] += 100.0
    return GroupedPosterior("site", {"0": north, "1": south}, cells=LevelCells("site", SITES))


def test_every_row_is_predicted_by_its_own_group(tmp_path) -> None:
    posterior, rows = by_site(), ROWS.assign(site=["south", "north", "south"])
    found = posterior.predict(rows, level=0.8)
    parts = {text: posterior[level].predict(ROWS, level=0.8) for level, text in (("0", "north"), ("1", "south"))}
    for name in ("mean", "lower", "upper"):
        due = [parts[site][name][i] for i, site in enumerate(rows["site"])]
        np.testing.assert_allclose(found[name], due, rtol=1e-12)  # sums of fewer rows may round otherwise
    rows.to_csv(tmp_path / "rows.csv", index=False)
    for held in (rows.to_dict("list"), tmp_path / "rows.csv"):
        np.testing.assert_array_equal(posterior.predict(held, level=0.8)["mean"], found["mean"])
    columns = posterior.predicted_columns(rows, level=0.8)
    np.testing.assert_array_equal(columns["upper"], found["upper"])
    assert list(columns) == ["site", "mean", "lower", "upper"]
    assert columns["site"].tolist() == ["south", "north", "south"]
    assert posterior.predict(rows.iloc[:0])["mean"].shape == (0,)


def test_rows_that_are_mixed_up_between_groups_are_found(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = groups.new_codes
    monkeypatch.setattr(groups, "new_codes", lambda *given: {k: np.sort(v) for k, v in right(*given).items()})
    with pytest.raises(AssertionError):
        test_every_row_is_predicted_by_its_own_group(tmp_path)


def test_rows_without_their_group_are_refused() -> None:
    posterior = by_site()
    with pytest.raises(QueryError, match=r"must have the column 'site' of their groups.*posterior\[\"0\"\].predict"):
        posterior.predict(ROWS)
    with pytest.raises(QueryError, match=r"must have a declared level.*in column 'site'.*got one in row 1"):
        posterior.predict(ROWS.assign(site=["south", "east", "south"]))
    with pytest.raises(QueryError, match="must get rows"):
        posterior.predict(3)
    with pytest.raises(QueryError, match=r"predict_proba\(rows, 'cost'\)"):
        posterior.predicted_columns(ROWS, target="cost")
