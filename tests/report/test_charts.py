"""Charts show the numbers they are given, name them for people, and are written without a network."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from discreet.errors import QueryError
from discreet.report import held_out_curves, profile_bars, save, state_map, tiles

REGIONS, MONTHS = ("north", "south"), tuple(f"2020-{m:02d}" for m in range(1, 13))
STATES = np.array([[0] * 6 + [1] * 6, [1] * 12])
PROFILES = {"type": np.array([[0.2, 0.8], [0.7, 0.3]])}
LEVELS = {"type": ("fire", "flood")}


def values_of(chart: object) -> list[dict]:
    """Every row of data in a chart's specification, wherever it is kept."""
    spec = json.loads(chart.to_json())  # type: ignore[attr-defined]
    rows: list[dict] = []
    for held in [*spec.get("datasets", {}).values(), *re.findall(r"\"values\": (\[\{.*?\}\])", json.dumps(spec))]:
        rows += json.loads(held) if isinstance(held, str) else held
    return rows


def test_a_map_has_one_tile_for_each_cell_in_the_colour_of_its_state() -> None:
    chart = state_map(STATES, REGIONS, MONTHS, title="states")
    rows = values_of(chart)
    assert len(rows) == STATES.size
    found = {(row["region"], row["time"]): row["state"] for row in rows}
    for r, region in enumerate(REGIONS):
        for t, month in enumerate(MONTHS):
            assert found[region, month] == f"state {STATES[r, t] + 1}"
    bars = profile_bars(PROFILES, LEVELS)
    colours = [set(re.findall(r"#[0-9a-f]{6}", json.dumps(json.loads(c.to_json())))) for c in (chart, bars)]
    assert {"#4477aa", "#ee6677"} <= colours[0] & colours[1]  # a state looks the same in both


def test_a_state_keeps_its_colour_when_others_are_missing() -> None:
    only_second = state_map(np.ones((2, 12), dtype=int), REGIONS, MONTHS)
    spec = json.loads(only_second.to_json())
    assert spec["encoding"]["color"]["scale"] == {"domain": ["state 2"], "range": ["#ee6677"]}


def test_bars_are_the_probabilities_of_every_level_in_every_state() -> None:
    rows = values_of(profile_bars(PROFILES, LEVELS))
    found = {(row["state"], row["level"]): row["share"] for row in rows}
    assert found == {
        ("state 1", "fire"): 0.2,
        ("state 1", "flood"): 0.8,
        ("state 2", "fire"): 0.7,
        ("state 2", "flood"): 0.3,
    }


def test_curves_carry_their_bands_and_the_reference() -> None:
    chart = held_out_curves({"Laplace": [(0.1, -3.0, -3.5, -2.5), (1.0, -2.0, -2.1, -1.9)]}, reference=-1.5)
    rows = values_of(chart)
    points = [row for row in rows if "epsilon" in row]
    assert {"epsilon": 0.1, "mean": -3.0, "low": -3.5, "high": -2.5, "method": "Laplace"} in points
    assert {"mean": -1.5} in rows


@pytest.mark.parametrize("suffix", [".svg", ".png", ".html"])
def test_charts_are_written_without_a_network(tmp_path: Path, suffix: str) -> None:
    chart = tiles(state_map(STATES, REGIONS, MONTHS), profile_bars(PROFILES, LEVELS), columns=1)
    path = save(chart, tmp_path / f"chart{suffix}")
    content = path.read_bytes()
    assert len(content) > 2000
    if suffix == ".html":
        assert not re.findall(rb"<(?:script|link)[^>]+(?:src|href)=", content)  # nothing is fetched when it is opened
    if suffix == ".svg":
        assert b"north" in content
        assert b"state 2" in content


def test_what_does_not_fit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(QueryError, match="must be 2 regions"):
        state_map(STATES.T, REGIONS, MONTHS)
    with pytest.raises(QueryError, match=r"must end in \.svg"):
        save(state_map(STATES, REGIONS, MONTHS), tmp_path / "chart.pdf")
