"""`discreet.plots`: charts show the numbers of posteriors, refuse in words, and need nothing but the extra they name."""

import builtins
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kinds import SCHEMA, made
from kinds import table as rows

import discreet as dc
from discreet.report.quantity_charts import short_names

POSTERIORS = ("probability", "draws", "groups", "logistic", "naive-bayes")


def values_of(chart: Any) -> list[dict[str, Any]]:
    """Every row of data in a chart."""
    found: list[dict[str, Any]] = []

    def walk(part: Any) -> None:
        if isinstance(part, dict):
            found.extend(part.get("values", []) if isinstance(part.get("values"), list) else [])
            for inner in part.values():
                walk(inner)
        elif isinstance(part, list):
            for inner in part:
                walk(inner)

    spec = json.loads(chart.to_json())
    for held in spec.pop("datasets", {}).values():
        found.extend(held)
    walk(spec)
    return [row for row in found if isinstance(row, dict)]


@pytest.mark.parametrize("kind", POSTERIORS)
def test_every_posterior_has_a_picture(kind: str, tmp_path: Path) -> None:
    chart = made(kind).posterior().plot()
    path = dc.plots.save(chart, tmp_path / "picture.svg")
    assert path.read_text().count("role-mark") >= 1


def test_a_density_integrates_to_one_and_has_the_mean() -> None:
    posterior = made("probability").posterior()
    points = [row for row in values_of(dc.plots.density(posterior)) if row.get("curve") == "posterior"]
    x, y = (np.array([row[key] for row in points]) for key in ("x", "y"))
    assert np.trapezoid(y, x) == pytest.approx(1.0, abs=0.01)
    assert np.trapezoid(x * y, x) == pytest.approx(posterior.mean(), rel=0.01)


def test_a_density_of_draws_agrees_with_an_exact_one() -> None:
    """A chain of draws of a Beta law, and the law: a kernel of 4,000 draws is within a tenth of the peak."""
    rng = np.random.default_rng(2)
    exact = made("probability").posterior()
    from discreet.posterior import ChainsPosterior

    drawn = ChainsPosterior({"probability": exact.sample(4000, rng).reshape(4, 1000)})
    both = [
        {row["x"]: row["y"] for row in values_of(dc.plots.density(p)) if row.get("curve") == "posterior"}
        for p in (exact, drawn)
    ]
    grid = np.linspace(*exact.interval(0.9), 40)
    seen = [np.interp(grid, list(curve), list(curve.values())) for curve in both]
    assert np.max(np.abs(seen[0] - seen[1])) < 0.1 * seen[0].max()


def test_intervals_are_those_of_the_posterior() -> None:
    posterior = made("groups").posterior()
    spans = {
        row["row"]: (row["low"], row["high"])
        for row in values_of(dc.plots.groups(posterior, level=0.8))
        if "high" in row
    }
    inner = posterior.interval(0.5)
    for group in ("A", "B", "C"):
        assert spans[group] == pytest.approx(inner[group])  # the thick part is drawn last
    every = [
        (row["low"], row["high"])
        for row in values_of(dc.plots.groups(posterior, level=0.8))
        if row.get("row") == "A" and "high" in row
    ]
    assert every[0] == pytest.approx(posterior.interval(0.8)["A"])


def test_coefficients_pairs_checks_and_guarantees_are_drawn() -> None:
    logistic = made("logistic").posterior()
    names = {row["row"] for row in values_of(dc.plots.coefficients(logistic)) if "row" in row}
    assert names == {"age", "ward=A", "ward=B", "ward=C"}
    pairs = values_of(dc.plots.pairs(logistic, ["coefficients[age]", "coefficients[ward=A]"]))
    assert len(pairs) == 300
    assert {"low"} <= set().union(*values_of(dc.plots.predictive(made("naive-bayes"))))
    curve = values_of(dc.plots.guarantee_curve(dc.GaussianDP(1.0)))
    assert {row["delta"]: row["epsilon"] for row in curve}[1e-6] == dc.GaussianDP(1.0).epsilon(1e-6)


def test_a_predictive_check_sees_a_statistic_that_does_not_fit() -> None:
    """The released count is planted far from the posterior that is asked to explain it."""
    release = made("probability")
    far = dc.BetaBernoulli("smoker", prior=(1.0, 1e6))
    ((released, replicated),) = release.replicated(release.posterior(prior=far.prior)).values()
    assert not replicated.min() <= released <= replicated.max()
    ((released, replicated),) = release.replicated().values()
    assert replicated.min() <= released <= replicated.max()


def test_a_ledger_and_a_plan_are_drawn(tmp_path: Path) -> None:
    ledger = dc.Ledger.create(tmp_path / "a.ledger", dc.Budget(2.0))
    data = dc.open(rows(), SCHEMA, id="made-up")
    dc.release(dc.BetaBernoulli("smoker"), data, dc.NoisyStatistics(epsilon=0.5), ledger)
    (bar,) = (row for row in values_of(dc.plots.ledger(ledger)) if "share" in row)
    assert (bar["start"], bar["end"], bar["share"]) == (0.0, 0.25, "25.0%")
    plan = dc.plan(dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=1.0), schema=SCHEMA, runs=5, width=0.2)
    assert [(row["budget"], row["figure"]) for row in values_of(dc.plots.budget_curve(plan))] == [
        (float(a), float(b)) for a, b in plan.curve
    ]


def test_what_cannot_be_drawn_is_refused_in_words() -> None:
    draws, probability = made("draws").posterior(), made("probability").posterior()
    with pytest.raises(dc.QueryError, match=r"must be of a posterior with intervals: Draws\.interval must not"):
        dc.plots.interval(draws)
    with pytest.raises(dc.QueryError, match="must be of a single number with a known law"):
        dc.plots.density(made("naive-bayes").posterior(), "class")
    with pytest.raises(dc.QueryError, match="got one without coefficients"):
        dc.plots.coefficients(probability)
    with pytest.raises(dc.QueryError, match="a model with by="):
        dc.plots.groups(probability)
    with pytest.raises(dc.QueryError, match="must be one of"):
        dc.plots.interval(probability, "nope")
    with pytest.raises(dc.QueryError, match="must be of 2 to 4 numbers"):
        dc.plots.pairs(probability)
    with pytest.raises(dc.QueryError, match="noisy statistics of records"):
        dc.plots.predictive(made("draws"))
    with pytest.raises(dc.QueryError, match=r"what release\.posterior\(\) returns"):
        dc.plots.interval(made("probability"))
    for draw, wanted in (
        (dc.plots.predictive, "a release, as dc.release or dc.load gives it"),
        (dc.plots.budget_curve, "a plan with width= or rms="),
        (dc.plots.guarantee_curve, r"a guarantee, such as release\.guarantee"),
        (dc.plots.ledger, r"a ledger, as dc\.Ledger\.open gives it"),
    ):
        with pytest.raises(dc.QueryError, match=rf"plots\.{draw.__name__} must be of {wanted}.*, got a str"):
            draw("study.ledger")


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    right = builtins.__import__

    def without(name: str, *args: Any, **options: Any) -> Any:
        if name in ("altair", "vl_convert"):
            raise ImportError(name)
        return right(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(dc.QueryError, match=r"pip install 'discreet\[report\]'"):
        made("probability").posterior().plot()


def test_short_names_stay_different() -> None:
    names = ["a" * 40, "a" * 39 + "b", "a" * 39 + "c", "short"]
    found = short_names(names)
    assert len(set(found)) == 4
    assert max(map(len, found)) <= 24
    assert found[-1] == "short"


def test_a_picture_that_cannot_be_saved_is_refused_in_words(tmp_path: Path) -> None:
    chart = dc.plots.density(made("probability").posterior())
    with pytest.raises(dc.QueryError, match=r"in a folder that is there, got .*: make "):
        dc.plots.save(chart, tmp_path / "no" / "where.svg")
    with pytest.raises(dc.QueryError, match=r"must be a chart of dc\.plots, got a Release"):
        dc.plots.save(made("probability"), tmp_path / "release.svg")
    (tmp_path / "folder.svg").mkdir()
    with pytest.raises(dc.QueryError, match=r"a file that can be written, got .*: Is a directory"):
        dc.plots.save(chart, tmp_path / "folder.svg")
    with pytest.raises(dc.QueryError, match="must end in"):
        dc.plots.save(chart, tmp_path / "chart.pdf")
    assert dc.plots.save(chart, tmp_path / "chart.svg").read_text().startswith("<svg")
