"""Pictures of hidden states: the map of regions and times, and the profile of every state in every field."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array
from discreet.posterior.records.event_records import EventGrid
from discreet.report.charts import profile_bars, state_map
from discreet.report.pictures import Cell, Picture
from discreet.report.quantity_charts import short_names
from discreet.visible import visible

__all__ = ["hidden_pictures"]

SURE = 0.9
MOST_LEVELS = 12  # of a field, in its bars


def hidden_pictures(
    grid: EventGrid, states: NDArray[np.int64], probabilities: Array, profiles: Mapping[str, Array]
) -> tuple[Picture, ...]:
    """Of the most frequent state of every cell, and of the mean profiles; other people's names are made visible."""
    regions, times = (short_names([visible(name) for name in names]) for names in (grid.regions, grid.times))
    used = np.unique(states)
    unsure = int(np.sum(probabilities.max(axis=-1) < SURE))
    cells = np.bincount(states.ravel(), minlength=probabilities.shape[-1])
    rows: list[tuple[Cell, ...]] = [
        (region, *(int(state) + 1 for state in line)) for region, line in zip(regions, states, strict=True)
    ]
    said = ", ".join(f"state {k + 1} in {cells[k]} cells" for k in used)
    kept = {name: _frequent(np.asarray(table)[used]) for name, table in profiles.items()}
    shown = {visible(name, 40): np.asarray(table)[used][:, kept[name]] for name, table in profiles.items()}
    levels = {
        visible(name, 40): short_names([visible(grid.fields[name][k]) for k in kept[name]], 18) for name in profiles
    }
    bars: list[tuple[Cell, ...]] = [
        (f"{field}: {level}", *map(float, shares))
        for field, table in shown.items()
        for level, shares in zip(levels[field], table.T, strict=True)
    ]
    return (
        Picture(
            "The most probable state of every region and time",
            f"Each tile is one region at one time: {said}; {unsure} of {cells.sum()} cells are in their state with "
            f"probability below {SURE:g}.",
            lambda: state_map(states, regions, times),
            (grid.region, *times),
            tuple(rows),
            wide=True,
        ),
        Picture(
            "What the states are",
            "The probability of every level of every field in each state: posterior means.",
            lambda: profile_bars(shown, levels, states=used.tolist(), columns=2),
            ("level", *(f"state {k + 1}" for k in used)),
            tuple(bars),
            wide=True,
        ),
    )


def _frequent(table: Array) -> NDArray[np.int64]:
    """The levels that some state has most often, in their declared order."""
    return np.sort(np.argsort(-table.max(axis=0), kind="stable")[:MOST_LEVELS])
