"""Regressions: every way in which a hostile reader once made a guarantee, a charge or an event wrong."""

import contextlib
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.accounting import conversions
from discreet.release import Release
from discreet.sources import CodedRows, Dataset


def test_large_deltas_do_not_make_epsilon_vanish() -> None:
    for guarantee in (
        dc.PureDP(5),
        dc.BoundedRange(5),
        dc.ApproxDP(5, 0.01),
        dc.GaussianDP(3),
        dc.Repeated(dc.PureDP(5), 1),
    ):
        for delta in (0.3, 0.5, 0.6, 0.9):
            epsilon = guarantee.epsilon(delta)
            assert guarantee.delta(epsilon) <= delta * (1 + 1e-9)
            if epsilon > 0.1:
                assert guarantee.delta(0.99 * epsilon) > delta * (1 - 1e-9)
    assert dc.PureDP(5).epsilon(0.5) == pytest.approx(math.log(0.5 * math.exp(5) - 0.5))


@pytest.mark.parametrize(
    "guarantee", [dc.PureDP(1), dc.BoundedRange(1), dc.ZCDP(1), dc.GaussianDP(1), dc.ApproxDP(1, 0.1)]
)
def test_arguments_outside_their_range_are_refused(guarantee) -> None:
    for call in (
        lambda: guarantee.epsilon(math.nan),
        lambda: guarantee.epsilon(-0.1),
        lambda: guarantee.epsilon(1.1),
        lambda: guarantee.delta(-1.0),
        lambda: guarantee.delta(math.nan),
        lambda: guarantee.renyi(0.5),
    ):
        with pytest.raises(dc.GuaranteeError):
            call()


def test_underflow_is_never_reported_as_no_loss() -> None:
    for value in (dc.ZCDP(0.01).delta(10), dc.GaussianDP(1).delta(50), dc.GaussianDP(1e-200).delta(1)):
        assert 0 < value < 1e-100
    for level in (1e-12, 1e-9, 1e-5, 1e-3, 0.1):
        for order in (1.0, 1.0001, 2.0, 10.0, 1e6):
            assert 0 < dc.PureDP(level).renyi(order) <= level
            assert 0 < dc.BoundedRange(level).renyi(order) <= level
    assert dc.Within(dc.GaussianDP(0.1), 1e-9).delta(1000.0) <= 1.0


@pytest.mark.parametrize(("epsilon", "delta"), [(1e-5, 1e-300), (1e300, 1e-6), (1e-12, 1e-12)])
def test_inverses_end_or_refuse(epsilon: float, delta: float) -> None:
    for inverse in (conversions.zcdp_rho, conversions.gaussian_mu):
        with contextlib.suppress(dc.GuaranteeError):  # refused in words, not by running forever
            assert inverse(epsilon, delta) > 0


def table(counts: list[int]) -> tuple[dc.Schema, Dataset]:
    schema = dc.Schema({"w": dc.Categorical(["a", "b", "c"])}, n=sum(counts))
    return schema, Dataset("d", schema, CodedRows({"w": np.repeat(np.arange(3), counts)}))


def test_a_vanishing_prior_is_refused_whatever_the_rows(tmp_path: Path) -> None:
    ledger = dc.Ledger.create(tmp_path / "l.ledger", dc.Budget(100.0))
    for counts in ([0, 3, 2], [1, 2, 2]):
        _, data = table(counts)
        with pytest.raises(dc.QueryError, match=r"not negligible beside 1|from 1e-06 to"):
            dc.release(
                dc.DirichletCategorical("w", prior=1e-17),
                data,
                dc.PosteriorSample(epsilon=20.0, truncation=0.1),
                ledger,
            )
    assert ledger.spent() == 0


def test_what_fails_after_rows_were_read_says_one_constant_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = dc.Ledger.create(tmp_path / "l.ledger", dc.Budget(1.0))
    _, data = table([4, 3, 2])

    def leak(self, noise, query, dataset):
        raise ValueError(f"secret {dataset.source.statistics(query)}")

    monkeypatch.setattr(dc.NoisyStatistics, "apply", leak)
    with pytest.raises(dc.ReleaseError) as caught:
        dc.release(dc.DirichletCategorical("w"), data, dc.NoisyStatistics(epsilon=0.5), ledger)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    assert str(ledger.spent()) == "0.5"


def test_a_truncation_near_its_limit_is_charged_in_full() -> None:
    schema, _ = table([1, 1, 1])
    query = dc.DirichletCategorical("w").query(schema)
    truncation = 1 / 3 - 1e-12
    charged = dc.PosteriorSample(epsilon=5.0, truncation=truncation).guarantee(query).epsilon(0.0)
    import mpmath

    with mpmath.workdps(60):
        a0 = mpmath.mpf(truncation)
        exact = 2 * mpmath.log((1 - 2 * a0) / a0)
        assert exact <= charged <= exact * (1 + mpmath.mpf("1e-12"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (dc.NoisyStatistics(epsilon=1), dc.NoisyStatistics(epsilon=1.0)),
        (dc.PosteriorSample(epsilon=1, truncation=0.1), dc.PosteriorSample(epsilon=1.0, truncation=0.1)),
        (dc.DirichletCategorical("w", prior=1), dc.DirichletCategorical("w", prior=1.0)),
        (dc.DirichletCategorical("w", prior=[1, 1, 1]), dc.DirichletCategorical("w", prior=(1.0, 1.0, 1.0))),  # type: ignore[arg-type]
    ],
    ids=["noise", "draw", "number", "vector"],
)
def test_the_same_request_in_other_types_has_the_same_recipe(one, other) -> None:
    from json import dumps

    from discreet.recipe import describe

    assert dumps(describe(one)) == dumps(describe(other))
    schemas = [dc.Schema({"x": dc.Bounded(lower, 10)}) for lower in (0, 0.0)]
    assert dumps(schemas[0].to_json()) == dumps(schemas[1].to_json())


def test_release_files_are_checked_against_their_recipe(tmp_path: Path) -> None:
    ledger = dc.Ledger.create(tmp_path / "l.ledger", dc.Budget(2.0))
    _, data = table([4, 3, 2])
    release = dc.release(dc.DirichletCategorical("w"), data, dc.NoisyStatistics(epsilon=0.5), ledger)
    for change in (
        lambda body: body["value"].update(foo=[1, 2, 3]),
        lambda body: body["value"].update(counts=[1, 2]),
        lambda body: body["value"].update(counts=[1.0, float("nan"), 2.0]),
        lambda body: body["recipe"]["model"].update(kind=["NaiveBayes"]),
    ):
        body = release.to_json()
        change(body)
        with pytest.raises(dc.DiscreetError):
            Release.from_json(body)
    body = release.to_json()
    body["guarantee"]["basis"]["theorem"] = "no privacy loss at all"
    assert "no privacy loss" not in str(Release.from_json(body).guarantee)
    (simulated,) = dc.simulate(dc.DirichletCategorical("w"), data, dc.NoisyStatistics(epsilon=0.5), runs=1)
    with pytest.raises(dc.ReleaseError, match="simulated"):
        simulated.to_json()


def test_simulate_draws_as_many_rows_as_asked_under_add_remove() -> None:
    schema = dc.Schema({"x": dc.Binary()}, relation="add-remove", n_max=1000)
    runs = dc.simulate(
        dc.BetaBernoulli("x"), None, dc.NoisyStatistics(epsilon=50.0), runs=20, seed=1, n=5, schema=schema
    )
    assert all(run.value["counts"].sum() == 5 for run in runs)


@pytest.mark.parametrize(
    "build",
    [
        lambda: dc.PureDP(10**400),
        lambda: dc.NoisyStatistics(rho=1e-310).guarantee(dc.DirichletCategorical("w").query(table([1, 1, 1])[0])),
        lambda: dc.Bounded(-1e308, 1e308),
        lambda: dc.Bounded(0, 5e-324),
        lambda: dc.Bounded(0, 10**400),
        lambda: dc.Categorical(["a", "exclude"]),
    ],
)
def test_absurd_declarations_get_our_own_errors(build) -> None:
    with pytest.raises(dc.DiscreetError):
        build()


def test_words_stay_true_for_absurd_levels() -> None:
    assert "e^1000 times" in dc.PureDP(1000).words()


def test_curves_just_above_order_one_do_not_cancel() -> None:
    for level in (1e-3, 0.01, 0.5):
        for order in (1 + 1e-15, 1 + 1e-12, 1 + 1e-9, 1 + 1e-6):
            assert dc.PureDP(level).renyi(order) >= level * math.tanh(level / 2) * (1 - 1e-12)
            assert dc.BoundedRange(level).renyi(order) >= 0.9 * level**2 / 8


def test_tiny_gaussian_levels_keep_their_profile() -> None:
    """delta(0) = 2 Phi(mu/2) - 1, about mu / sqrt(2 pi); compared with 60-digit arithmetic at ratios up to 5."""
    import mpmath

    with mpmath.workdps(60):
        for mu in (1e-16, 1e-12, 1e-8, 1e-5):
            for ratio in (0.0, 1.0, 5.0):
                m, e = mpmath.mpf(mu), mpmath.mpf(mu * ratio)
                exact = mpmath.ncdf(-e / m + m / 2) - mpmath.exp(e) * mpmath.ncdf(-e / m - m / 2)
                ours = dc.GaussianDP(mu).delta(mu * ratio)
                assert exact * (1 - mpmath.mpf("1e-12")) <= ours <= exact * (1 + mpmath.mpf("2e-4"))


def test_huge_repetitions_answer_at_once() -> None:
    assert dc.Repeated(dc.PureDP(1e-6), 10**12).epsilon(1e-6) < 1e6


def test_the_audit_removes_a_row_where_the_relation_says_so() -> None:
    schema = dc.Schema({"x": dc.Categorical(["a", "b", "c"]), "y": dc.Binary()}, relation="add-remove", n_max=3)
    found = dc.audit(dc.NaiveBayes("x", ("y",)), dc.NoisyStatistics(epsilon=1.0), schema=schema, runs=2000, seed=3)
    assert 0.3 < found.epsilon <= 1.0


def test_lower_bounds_survive_any_counts() -> None:
    from discreet.auditing import epsilon_lower_bound

    assert epsilon_lower_bound(50, 50, 100, delta=0.5) == 0.0
    with pytest.raises(dc.QueryError, match="must be below 1"):
        epsilon_lower_bound(50, 50, 100, delta=-0.5)


def test_one_more_declared_column_changes_no_earlier_request(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({"w": ["a", "b", "c"] * 5, "los": [1, 2, 3] * 5})
    ledger = dc.Ledger.create(tmp_path / "l.ledger", dc.Budget(1.0))
    wards = dc.Categorical(["a", "b", "c"])
    releases = [
        dc.release(
            dc.DirichletCategorical("w"), dc.open(frame, schema, id="d"), dc.NoisyStatistics(epsilon=0.5), ledger
        )
        for schema in (dc.Schema({"w": wards}), dc.Schema({"w": wards, "los": dc.Count(9)}))
    ]
    assert releases[0].to_json() == releases[1].to_json()
    assert str(ledger.spent()) == "0.5"


def test_arguments_in_the_wrong_place_get_words(tmp_path: Path) -> None:
    ledger = dc.Ledger.create(tmp_path / "l.ledger", dc.Budget(1.0))
    schema, data = table([1, 1, 1])
    model, mechanism = dc.DirichletCategorical("w"), dc.NoisyStatistics(epsilon=0.1)
    for call in (
        lambda: dc.release(model, schema, mechanism, ledger),  # type: ignore[arg-type]
        lambda: dc.release(model, data, 0.1, ledger),  # type: ignore[arg-type]
        lambda: dc.release(mechanism, data, model, ledger),  # type: ignore[arg-type]
        lambda: dc.release(model, data, mechanism, "l.ledger"),  # type: ignore[arg-type]
        lambda: dc.plan(model, mechanism, schema=data),  # type: ignore[arg-type]
        lambda: dc.Ledger("l.ledger"),  # type: ignore[arg-type]
    ):
        with pytest.raises(dc.DiscreetError, match="must be"):
            call()
    assert ledger.spent() == 0


@pytest.mark.parametrize(
    ("unit", "by"), [(dc.Person("id", 20), None), (dc.Person("id", 1), None), (dc.Record(), "ward")], ids=str
)
def test_a_posterior_sample_is_refused_for_persons_and_groups(unit: dc.Person | dc.Record, by: str | None) -> None:
    """Its temperature knows one row: for a person with 20 rows a claim of 1 was audited at 3.8."""
    schema = dc.Schema({"smoker": dc.Binary(), "ward": dc.Categorical(["A", "B"])}, unit=unit, n=10)
    with pytest.raises(dc.QueryError, match="PosteriorSample must have"):
        dc.PosteriorSample(epsilon=1.0, truncation=0.1).guarantee(dc.BetaBernoulli("smoker", by=by).query(schema))


def test_every_row_of_a_person_has_the_same_chance_to_be_kept() -> None:
    """A value seen once among ten rows must not weigh as much as one seen nine times."""
    import pandas as pd

    frame = pd.DataFrame({"id": np.repeat(np.arange(2000), 10), "b": np.tile([1] + [0] * 9, 2000)})
    for k in (1, 3):
        schema = dc.Schema({"b": dc.Binary()}, unit=dc.Person("id", k))
        data = dc.open(frame, schema, id="visits")
        query = dc.BetaBernoulli("b").query(data.schema)
        zeros, ones = data.source.statistics(query)["counts"]
        assert zeros + ones == 2000 * k
        assert abs(ones - 200 * k) < 5 * np.sqrt(2000 * k * 0.09)
        coded = CodedRows({"b": frame.b.to_numpy()}, frame.id.to_numpy().astype(str).astype(object), "visits")
        assert tuple(coded.statistics(query)["counts"]) == (zeros, ones)


def test_the_size_of_a_group_follows_a_sharp_guess_of_the_whole() -> None:
    from discreet.schema.row_counts import NormalSizes, ShareSizes, UniformSizes

    sharp = ShareSizes(NormalSizes(1000, 5.0, 10**6), 2).log_weight(np.array([0, 1, 100, 500, 900]))
    assert np.ptp(sharp) < 0.1  # given about 1,000 in two groups, every size below is alike
    flat = np.exp(ShareSizes(UniformSizes(10**5), 2).log_weight(np.array([0, 5])))
    assert flat[0] / flat[1] == pytest.approx(1.23, abs=0.03)
    big = NormalSizes(1e8, 1e8, 10**10)
    assert np.exp(big.log_weight(np.array([10**8])))[0] == pytest.approx(4.74e-9, rel=0.01)
    assert big.sample(np.random.default_rng(0)) >= 0


def test_a_column_named_like_a_statistic_is_refused_before_anything_is_paid() -> None:
    schema = dc.Schema({"n": dc.Bounded(0, 1)}, relation="add-remove", n_max=10)
    with pytest.raises(dc.QueryError, match="different names"):
        dc.Normal("n").query(schema)


@pytest.mark.parametrize(
    "model",
    [
        dc.MultivariateNormal(("x", "y"), prior=((0, 0), 1.0, 5.0, ((1, 2), (2, 1)))),
        dc.MultivariateNormal(("x", "y"), prior=((0, 0), 1.0, 0.5, ((1, 0), (0, 1)))),
        dc.NaiveBayes("b", ("c",), feature_prior={"c": ((1, 1), (1, 1))}),
        dc.NormalMean("x", sd=1e-9),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_prior_that_leads_to_no_posterior_is_refused_by_the_query(model) -> None:
    columns = {"x": dc.Bounded(-3, 3), "y": dc.Bounded(0, 1), "b": dc.Binary(), "c": dc.Categorical(["u", "v", "w"])}
    with pytest.raises(dc.QueryError):
        model.query(dc.Schema(columns, n=20))


def test_a_subclass_does_not_pass_for_its_parent() -> None:
    class NoisyStatistics(dc.NoisyStatistics):
        pass

    with pytest.raises(dc.QueryError, match="release mechanism must be one of"):
        dc.release(dc.BetaBernoulli("b"), None, NoisyStatistics(epsilon=1.0), None)  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [5, None, ["x", "x"]])
def test_columns_that_are_no_names_get_words(bad) -> None:
    with pytest.raises(dc.QueryError, match="names of different columns"):
        dc.MultivariateNormal(bad)


@pytest.mark.parametrize("grid", [4e-309, 2.0**-1001, 2.0**1001, 0.0, True, 0.1, -0.5, math.nan, math.inf, 10**400])
def test_a_grid_that_is_no_power_of_two_is_refused(grid: float) -> None:
    """An overflow after the draw would fail, or not, depending on the draw, and the request could be made again."""
    for make in (
        lambda: dc.PosteriorSample(epsilon=1.0, truncation=0.1, grid=grid),
        lambda: dc.DirectSample(grid=grid),
        lambda: dc.GibbsPosterior(1.0, 1e-5, grid=grid),
    ):
        with pytest.raises(dc.GuaranteeError, match=r"grid must be a power of two from 2\^-1000"):
            make()


def test_every_branch_of_a_gibbs_posterior_can_be_paid(tmp_path: Path) -> None:
    frame = pd.DataFrame({"y": [0, 1] * 20, "x": np.linspace(-1, 1, 40)})
    schema = dc.Schema({"y": dc.Binary(), "x": dc.Bounded(-1, 1)})
    data = dc.open(frame, schema, id="table")
    model = dc.LogisticRegression("y", ["x"], precision=50.0)
    cases = {
        "gdp": (model, dc.GibbsPosterior(0.5, 1e-6)),
        "zcdp": (model, dc.GibbsPosterior(0.5, 1e-6, steps=3)),
        "approximate": (model, dc.GibbsPosterior(0.5, 1e-7, sampler="exact")),
        "pure": (replace(model, ball=1.0), dc.GibbsPosterior(0.5, sampler="exact")),
    }
    for name, (asked, mechanism) in cases.items():
        budget = dc.Budget(1.0) if name == "pure" else dc.Budget(3.0, 1e-5)
        ledger = dc.Ledger.create(tmp_path / f"{name}.ledger", budget, filter=name)
        release = dc.release(asked, data, mechanism, ledger)
        assert release.posterior().draws == 1
        assert dc.release(asked, data, mechanism, ledger).value["coefficients"] == pytest.approx(
            release.value["coefficients"], abs=0.0
        )


def test_a_source_that_grew_after_it_was_counted_is_not_read_beyond_its_size(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    for missing in (None, "exclude"):
        path.write_text("y,x\n" + "1,0.5\n" * 100)
        schema = dc.Schema({"y": dc.Binary(), "x": dc.Bounded(-1, 1, missing=missing)})
        data = dc.open(str(path), schema)
        path.write_text("y,x\n" + "1,0.5\n" * 110)
        ledger = dc.Ledger.create(tmp_path / f"{missing}.ledger", dc.Budget(3.0, 1e-5), filter="gdp")
        with pytest.raises(dc.ReleaseError, match="could not be computed"):
            dc.release(dc.LogisticRegression("y", ["x"]), data, dc.GibbsPosterior(1.0, 1e-6, steps=2), ledger)


def test_exact_draws_that_would_not_end_are_refused_before_they_are_paid() -> None:
    schema = dc.Schema({"y": dc.Binary(), **{f"x{j}": dc.Bounded(-1, 1) for j in range(3)}}, n=20_000)
    model = dc.LogisticRegression("y", ["x0", "x1", "x2"], ball=2.0)
    with pytest.raises(dc.QueryError, match="too many proposals"):
        dc.GibbsPosterior(1.0, sampler="exact").guarantee(model.query(schema))


@pytest.mark.parametrize(
    "make",
    [
        lambda: dc.LogisticRegression("y", ["x"], interval=(-1e200, 1e200)),
        lambda: dc.LogisticRegression("y", ["x"], interval=(-2.6e-162, 2.6e-162)),
        lambda: dc.LogisticRegression(["y"], ["x"]),
        lambda: dc.LogisticRegression("y", ["x"], precision=1e-320),
        lambda: dc.QuadraticMean(["x"], interval=(0,)),
        lambda: dc.QuadraticMean(["x"], interval=3),
        lambda: dc.ConvexLoss("y", ["x"], slope="t*" + "9" * 450),
        lambda: dc.ConvexLoss("y", ["x"], slope="exp(t, y)"),
        lambda: dc.ConvexLoss("y", ["x"], slope="-t"),
        lambda: dc.ConvexLoss("y", ["x"], slope="__import__('os')"),
        lambda: dc.NormalMean("x", sd=1.0, prior=(0, 1e-160)),
    ],
)
def test_odd_declarations_get_words(make: Callable[[], Any]) -> None:
    with pytest.raises(dc.QueryError, match="must"):
        make()


def test_a_grid_that_is_too_fine_for_its_space_is_refused() -> None:
    """A grid below what hides the rounding of doubles is never made; rates of any size have one that does."""
    query = dc.GammaExponential("t").query(dc.Schema({"t": dc.Bounded(0, 3)}, n=4))
    with pytest.raises(dc.GuaranteeError, match=r"PosteriorSample\.grid must be at least"):
        dc.PosteriorSample(epsilon=1.0, interval=(1.0, 1e300), grid=2.0**-60).guarantee(query)
    assert dc.PosteriorSample(epsilon=1.0, interval=(1.0, 1e300)).guarantee(query).epsilon(0.0) == 1.0


@pytest.mark.parametrize(
    ("model", "column", "mechanism", "tables"),
    [
        (
            dc.StatisticalQuery("x", prior=(0.5, 0.5)),
            dc.Bounded(1e6, 1e6 + 1, grid=2.0**-10),
            dc.PrivateMetropolis(1.0, 1, truncation=1e-12),
            [[1024 * 10**6 + 1024] * k + [1024 * 10**6] * (100 - k) for k in (27, 28)],
        ),
        (
            dc.BetaBernoulli("x", prior=(1.0, 0.5)),
            dc.Binary(),
            dc.PrivateMetropolis(1.0, 1, truncation=1e-17),
            [[0] * k + [1] * (200 - k) for k in (39, 40)],
        ),
    ],
    ids=["a mean far from zero", "a probability near one"],
)
def test_barkers_walk_never_takes_the_logarithm_of_zero(model: Any, column: Any, mechanism: Any, tables: Any) -> None:
    """Neighbours on both sides of an exponent's change of sign: shares of every state within e^1 and five deviations."""
    schema = dc.Schema({"x": column}, n=len(tables[0]))
    shares = []
    for rows in tables:
        data = Dataset("t", schema, CodedRows({"x": np.array(rows)}))
        runs = dc.simulate(model, data, mechanism, runs=1500, seed=3)
        values, counts = np.unique([next(iter(run.value.values()))[0] for run in runs], return_counts=True)
        shares.append(dict(zip(values.tolist(), (counts / 1500).tolist(), strict=True)))
    for state in {*shares[0], *shares[1]}:
        one, other = (share.get(state, 0.0) for share in shares)
        assert one <= math.e * other + 5 * math.sqrt(max(one, 1e-3) * math.e / 1500), (state, one, other)
        assert other <= math.e * one + 5 * math.sqrt(max(other, 1e-3) * math.e / 1500), (state, one, other)


def test_truncations_that_leave_only_roundings_are_refused() -> None:
    for make in (
        lambda t: dc.PrivateGibbs(1.0, 2, truncation=t),
        lambda t: dc.PrivateAnnealing((1.0,), 2, truncation=t),
    ):
        with pytest.raises(dc.GuaranteeError, match="truncation must be"):
            make(1 - 2.0**-53)


@pytest.mark.parametrize(
    ("name", "place", "entry"),
    [
        ("hidden state", (0, 0, 0), 99),
        ("hidden state", (0, 0, 0), -1),
        ("hidden state", (0, 0, 0), 0.5),
        ("field_1", (0, 0, 0), -5.0),
        ("field_1", (0, 0, 0), 0.9999),
        ("index", (0,), 7),
        ("index", (0,), 0.5),
    ],
)
def test_states_that_no_chain_has_are_refused_in_files(name: str, place: tuple, entry: float, tmp_path: Path) -> None:
    log = dc.synthetic_event_log(2, 6, (3, 2), median=20, seed=1)
    model = dc.EventLogHMM("region", "month", ("field_1", "field_2"))
    mechanism = dc.PrivateAnnealing((0.1, 0.2), 3) if name == "index" else dc.PrivateGibbs(0.1, 4)
    ledger = dc.Ledger.create(tmp_path / "study.ledger", dc.Budget(5.0))
    body = dc.release(model, dc.open(log.table, log.schema, id="log"), mechanism, ledger).to_json()
    Release.from_json(body)
    value = body["value"][name]
    for i in place[:-1]:
        value = value[i]
    value[place[-1]] = entry
    with pytest.raises(dc.ReleaseError, match="could have been released"):
        Release.from_json(body)


def test_a_printed_map_lists_the_states_it_shows() -> None:
    """Ties between states may leave an earlier one without a cell: what is listed is what the map has."""
    from discreet.inference.hidden_markov.hidden_chains import HiddenDraws
    from discreet.posterior import EventGrid, EventLogPosterior

    grid = EventGrid("r", "t", ("a",), tuple("123456"), {"f": ("x", "y")})
    rng = np.random.default_rng(0)
    for _ in range(100):
        draws = HiddenDraws(
            rng.integers(4, size=(1, 2, 1, 6)),
            rng.dirichlet(np.ones(4), size=(1, 2)),
            rng.dirichlet(np.ones(4), size=(1, 2, 4)),
            {"f": rng.dirichlet(np.ones(2), size=(1, 2, 4))},
        )
        posterior = EventLogPosterior.from_draws(draws, grid)
        listed = [line.split()[1] for line in str(posterior).splitlines() if line.startswith("state ")]
        assert listed == [str(k + 1) for k in np.unique(posterior.states())]


@pytest.mark.parametrize(
    "make",
    [
        lambda: dc.PrivateMetropolis(1, 2, interval=(10**400, 10**401)),
        lambda: dc.PosteriorSample(1, interval=(10**400, 10**401)),
        lambda: dc.EventLogHMM(["region"], "month", ("f",)),
        lambda: dc.EventLogHMM(3, "month", ("f",)),
    ],
)
def test_odd_arguments_of_chains_get_words(make: Callable[[], Any]) -> None:
    with pytest.raises(dc.DiscreetError, match="must"):
        make()


def test_a_column_called_state_is_planned_like_any_other() -> None:
    """Only the names of hidden states have no average."""
    schema = dc.Schema({"state": dc.Categorical(["NY", "TX"]), "sick": dc.Binary()}, n=50)
    plan = dc.plan(dc.NaiveBayes("sick", ("state",)), dc.NoisyStatistics(epsilon=1.0), schema=schema, runs=3)
    assert set(plan.error) == {"class", "state"}
