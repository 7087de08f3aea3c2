"""Calibration: the notes' tables through the library and the command line, safe ends, refusals."""

import json
import math
from collections.abc import Callable

import pytest

import discreet as dc
from discreet.accounting.divergences import dirichlet_renyi
from discreet.cli import main


class calibration:  # noqa: N801
    """The functions by the names of their mechanisms."""

    noisy_statistics = staticmethod(dc.NoisyStatistics.calibrate)
    posterior_sample = staticmethod(dc.PosteriorSample.calibrate)
    direct = staticmethod(dc.DirectSample.calibrate)
    diffused = staticmethod(dc.DiffusedSample.calibrate)
    concentrated = staticmethod(dc.ConcentratedSample.calibrate)
    gibbs_posterior = staticmethod(dc.GibbsPosterior.calibrate)
    private_gibbs = staticmethod(dc.PrivateGibbs.calibrate)


@pytest.mark.parametrize(
    ("epsilon", "r", "m"),
    [
        (0.01, 0.073770983316, 0.00539786785611),
        (0.1, 0.227873408741, 0.057827452467),
        (1.0, 0.428547007074, 0.405338983222),
    ],
)
def test_diffused_and_concentrated_tables(epsilon: float, r: float, m: float) -> None:
    """seeds.md G-A2, G-A3: eta0 = (6, 18), that is Beta(6, 12), n = 100, order 15."""
    diffused = calibration.diffused(prior=(6, 12), n=100, order=15, epsilon=epsilon)
    concentrated = calibration.concentrated(prior=(6, 12), n=100, order=15, epsilon=epsilon)
    assert diffused.value == pytest.approx(r, rel=1e-10)
    assert concentrated.value == pytest.approx(m, rel=1e-10)
    for found, change in ((diffused, "scale"), (concentrated, "shrink")):
        assert found.guarantee.renyi(15) <= epsilon
        assert dirichlet_renyi((6, 12), 100, 15, **{change: found.value * (1 + 1e-6)}) > epsilon


def test_the_command_line_says_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["calibrate", "diffused", "--prior", "6,12", "--n", "100", "--order", "15", "--epsilon", "0.1", "--json"])
        == 0
    )
    answer = json.loads(capsys.readouterr().out)
    assert answer["r"] == pytest.approx(0.227873408741, rel=1e-10)
    assert answer["guarantee"]["kind"] == "RenyiDP"
    command = "calibrate gibbs-posterior --lipschitz 1 --prior-precision 1 --epsilon 1 --delta 1e-5 --json"
    assert main(command.split()) == 0
    assert json.loads(capsys.readouterr().out)["beta"] == pytest.approx(0.134025561606, rel=1e-10)
    assert main(["calibrate", "noisy-statistics", "--l1", "2", "--epsilon", "0.5", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scale"] == 4.0
    assert main(["calibrate", "posterior-sample", "--truncation", "0.2", "--epsilon", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["temperature"] == pytest.approx(2.77258872224, rel=1e-11)


@pytest.mark.parametrize(
    ("bound", "beta"), [("gdp", 0.250775844585), ("renyi", 0.232654640855), ("minami", 0.200056711143)]
)
def test_gibbs_bounds_of_the_notes(bound: str, beta: float) -> None:
    """beyond.md §1, row (2, 1e-5)."""
    found = calibration.gibbs_posterior(
        epsilon=2.0,
        delta=1e-5,
        lipschitz=1.0,
        prior_precision=1.0,
        bound=bound,  # type: ignore[arg-type]
    )
    assert found.value == pytest.approx(beta, rel=1e-10)
    assert found.proved
    assert found.guarantee.delta(2.0) <= 1e-5


def test_an_unproved_printed_bound_is_marked_and_refused_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """seeds.md M-C8: above epsilon = 1 Corollary 8 does not follow from its theorem."""
    found = calibration.gibbs_posterior(
        epsilon=2.0, delta=1e-5, lipschitz=1.0, prior_precision=1.0, bound="minami-printed"
    )
    assert found.value == pytest.approx(0.204014300649, rel=1e-10)
    assert not found.proved
    command = (
        "calibrate gibbs-posterior --lipschitz 1 --prior-precision 1 --epsilon 2 --delta 1e-5 --bound minami-printed"
    )
    assert main(command.split()) == 4
    assert "must be proved" in capsys.readouterr().err
    proved = calibration.gibbs_posterior(
        epsilon=1.0, delta=1e-5, lipschitz=1.0, prior_precision=1.0, bound="minami-printed"
    )
    assert proved.proved
    assert proved.value == pytest.approx(0.102007150324, rel=1e-10)


def test_calibration_agrees_with_the_mechanisms_that_ship() -> None:
    schema = dc.Schema({"x": dc.Categorical(["a", "b", "c"])}, n=10)
    query = dc.DirichletCategorical("x").query(schema)
    laplace = calibration.noisy_statistics(l1=2, epsilon=0.3)
    assert dc.NoisyStatistics(epsilon=0.3).laws(query)["counts"].scale == laplace.value  # type: ignore[union-attr]
    gaussian = calibration.noisy_statistics(l2=math.sqrt(2), epsilon=1.0, delta=1e-6)
    sigma = dc.NoisyStatistics(epsilon=1.0, delta=1e-6).laws(query)["counts"].sigma  # type: ignore[union-attr]
    assert sigma == pytest.approx(gaussian.value, rel=1e-14)
    hot = calibration.posterior_sample(truncation=0.1, epsilon=1.0, levels=3)
    assert dc.PosteriorSample(epsilon=1.0, truncation=0.1).temperature(query) == pytest.approx(hot.value, rel=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: calibration.noisy_statistics(l1=2), "must get l1 and epsilon"),
        (lambda: calibration.noisy_statistics(l1=2, l2=1, epsilon=1), "must get l1 and epsilon"),
        (lambda: calibration.noisy_statistics(l1=2, epsilon=float("nan")), "calibrate.epsilon must be"),
        (lambda: calibration.direct(prior=(6, 12), n=100, order=15), "order must be below 7"),
        (lambda: calibration.direct(prior=(6, 12), n=100), "order or delta"),
        (lambda: calibration.diffused(prior=(1, 1, 1), n=9, epsilon=1, delta=1e-6), "two entries"),
        (lambda: calibration.diffused(prior=(1, 1), n=9, epsilon=1, order=1), "order must be above 1"),
        (lambda: calibration.posterior_sample(truncation=0.5, epsilon=1), "truncation must be below 1/2"),
        (lambda: calibration.gibbs_posterior(epsilon=1, delta=1e-5, prior_precision=1), "lipschitz or gradient"),
        (
            lambda: calibration.gibbs_posterior(epsilon=1, delta=2, lipschitz=1, prior_precision=1),
            "calibrate.delta must be a number above 0 and below 1",
        ),
    ],
)
def test_what_has_no_answer_is_refused_with_the_reason(call, message: str) -> None:
    with pytest.raises(dc.GuaranteeError, match=message):
        call()


@pytest.mark.parametrize(
    "found",
    [
        lambda: calibration.noisy_statistics(l2=1e300, rho=1.0),
        lambda: calibration.noisy_statistics(l2=1e300, epsilon=1.0, delta=1e-6),
        lambda: calibration.noisy_statistics(l1=1e300, epsilon=1e-300),
        lambda: calibration.posterior_sample(truncation=0.2, epsilon=1e-320),
    ],
)
def test_a_parameter_that_is_no_number_is_refused(found: Callable[[], object]) -> None:
    with pytest.raises(dc.GuaranteeError, match=r"calibrate\.\w+ must be a finite number, got inf"):
        found()


def test_the_smallest_truncations_have_a_temperature() -> None:
    values = [calibration.posterior_sample(truncation=t, epsilon=1.0).value for t in (1e-300, 1e-306, 1e-320, 5e-324)]
    for value, truncation in zip(values, (1e-300, 1e-306, 1e-320, 5e-324), strict=True):
        assert value == pytest.approx(-2 * math.log(truncation), rel=1e-12)
