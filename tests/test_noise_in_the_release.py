"""The law of the noise is in the release: enough to condition on it without this library, and never another than was used."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.release import Release
from pairs import COLUMNS, ROWS, small_table

SCHEMA = dc.Schema(COLUMNS, n=ROWS)


def body(folder: Path, model: Any, mechanism: Any) -> dict[str, Any]:
    """A release file, as another program reads it."""
    ledger = dc.Ledger.create(folder / "one.ledger", dc.Budget(1e4, 1e-2), "approximate")
    dc.release(model, dc.open(small_table(), SCHEMA, id="noise"), mechanism, ledger).save(folder / "one.json")
    return json.loads((folder / "one.json").read_text())


@pytest.mark.parametrize(
    "mechanism", [dc.NoisyStatistics(epsilon=0.5), dc.NoisyStatistics(rho=0.02)], ids=["laplace", "gauss"]
)
def test_a_reader_without_the_library_finds_the_same_posterior(tmp_path: Path, mechanism: Any) -> None:
    """By hand: sum over the unseen count of Beta(1 + k, 1 + n - k), weighted by the noise that the file states."""
    found = body(tmp_path, dc.BetaBernoulli("smoker"), mechanism)
    (released,), law = np.ravel(found["value"]["ones"]), found["noise"]["ones"]
    k = np.arange(ROWS + 1)
    gaps = released - k
    log_noise = -np.abs(gaps) / law["scale"] if law["law"] == "discrete-laplace" else -0.5 * (gaps / law["sigma"]) ** 2
    weights = np.exp(log_noise - log_noise.max())  # uniform prior: all counts are as likely
    mean = float(weights @ ((k + 1) / (ROWS + 2)) / weights.sum())
    assert law["unit"] == 1
    assert dc.load(tmp_path / "one.json").posterior().mean() == pytest.approx(mean, rel=1e-12)


def test_a_sum_says_what_its_whole_numbers_mean(tmp_path: Path) -> None:
    """With next to no noise the table's own sum can be read off."""
    found = body(tmp_path, dc.StatisticalQuery("age"), dc.NoisyStatistics(epsilon=50.0))
    told = found["noise"]["sum"]
    total = ROWS * told["centres"][0] + told["unit"] * int(np.ravel(found["value"]["sum"])[0])
    assert total == pytest.approx(small_table()["age"].sum(), rel=2e-2)


def test_draws_hold_no_noise_that_was_added(tmp_path: Path) -> None:
    assert body(tmp_path, dc.BetaBernoulli("smoker"), dc.PosteriorSample(epsilon=0.5, truncation=0.1))["noise"] == {}


@pytest.mark.parametrize(
    "change",
    [
        lambda noise: noise["ones"].update(scale=noise["ones"]["scale"] * (1 - 1e-6)),
        lambda noise: noise["ones"].update(scale=math.nextafter(0.0, 1.0)),
        lambda noise: noise["ones"].update(law="laplace"),
        lambda noise: noise["ones"].update(unit=2),
        lambda noise: noise["ones"].update(unit=True),
        lambda noise: noise["ones"].update(unit=1.0),
        lambda noise: noise["ones"].update(scale=str(noise["ones"]["scale"])),
        lambda noise: noise["ones"].update(scale=True),
        lambda noise: noise["ones"].update(more=1),
        lambda noise: noise["ones"].pop("unit"),
        lambda noise: noise.update(other=noise["ones"]),
        lambda noise: noise.pop("ones"),
    ],
)
def test_another_law_is_refused(tmp_path: Path, change: Any) -> None:
    found = body(tmp_path, dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=0.5))
    assert Release.from_json(found).noise == found["noise"]
    change(found["noise"])
    with pytest.raises(dc.ReleaseError, match=r"Release\.noise must be the law that its recipe gives"):
        Release.from_json(found)


def test_version_1_loads_and_has_no_noise(tmp_path: Path) -> None:
    """Version 2 differs from 1 in `version` and `noise` only."""
    found = body(tmp_path, dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=0.5))
    assert found["version"] == 2
    older = {name: part for name, part in found.items() if name != "noise"} | {"version": 1}
    assert Release.from_json(older) == Release.from_json(found)
    assert Release.from_json(older).to_json() == found
    with pytest.raises(dc.ReleaseError, match="only the keys"):
        Release.from_json(found | {"version": 1})
    with pytest.raises(dc.ReleaseError):
        Release.from_json(older | {"version": 2})
    for version in (0, 3, True, "2", None, 10**5000):
        with pytest.raises(dc.ReleaseError, match=r"Release\.version"):
            Release.from_json(found | {"version": version})


def test_noisy_statistics_are_whole_numbers(tmp_path: Path) -> None:
    found = body(tmp_path, dc.BetaBernoulli("smoker"), dc.NoisyStatistics(epsilon=0.5))
    found["value"]["ones"] = found["value"]["ones"] + 0.5
    with pytest.raises(dc.ReleaseError, match="could have been released"):
        Release.from_json(found)
