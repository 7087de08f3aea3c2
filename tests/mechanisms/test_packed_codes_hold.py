"""A packed code stands for exactly the levels of its row, for every number of columns and levels that is not refused."""

from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dc
from discreet.mechanisms.gibbs_posterior import langevin_chains
from discreet.mechanisms.gibbs_posterior.langevin_chains import packing_of, unpacked
from discreet.queries.features import MOST_COEFFICIENTS, Features

ROWS = 5
EDGES = [2**8, 768, 4096, 2**15, 2**16]
COUNTS = [2, 3, 5, 16, 27, 28, 48] + [edge + move for edge in EDGES for move in (-1, 0, 1)]
# numbers and categories, as many of each as make packed coordinates pass 2^16 where coefficients do not
WIDE = [(64_000, [2] * 60), (65_000, [16] * 20), (63_000, [27] * 8), (63_000, [2, 3, 5] * 10), (65_535 - 4, [2, 2])]


def check(single: int, levels: list[int], seed: int = 0) -> None:
    """The members of a row's packed coordinates are its coefficients, each once."""
    starts = tuple(accumulate([single, *levels]))[:-1]
    size = single + sum(levels)
    rng = np.random.default_rng(seed)
    rows = rng.integers(levels, size=(ROWS, len(levels)))
    rows[-1] = np.array(levels) - 1
    coefficients = rows + np.array(starts)
    codes = coefficients.T[np.newaxis].astype(np.uint16)
    for packing in (packing_of(starts, size), unpacked(starts, size)):
        packed, members = packing.codes(codes), packing.members
        assert members.shape[1] <= 2**16
        for row in range(ROWS):
            found = members[:, packed[0, :, row]]
            assert sorted(found[found < size]) == sorted(coefficients[row])


@given(st.integers(0, 2**16), st.lists(st.sampled_from(COUNTS), min_size=1, max_size=40), st.integers(0, 2**32))
@settings(max_examples=150, derandomize=True, deadline=None)
def test_levels_come_back_out_of_packed_codes(numbers: int, counts: list[int], seed: int) -> None:
    room = MOST_COEFFICIENTS
    levels = [count for count, total in zip(counts, accumulate(counts), strict=True) if total <= room]
    if levels:
        check(min(numbers, room - sum(levels)), levels, seed)


@pytest.mark.parametrize(("single", "levels"), WIDE)
def test_many_numbers_leave_no_room_for_packs(single: int, levels: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    check(single, levels)
    if len(levels) > 2:
        monkeypatch.setattr(langevin_chains, "POSITIONS", 2**32)  # as if codes had no end
        with pytest.raises((AssertionError, OverflowError)):
            check(single, levels)


@pytest.mark.parametrize("levels", [[2**16 - 1], [2**15, 2**15 - 1], [2**16 - 3, 2]])
def test_as_many_levels_as_codes_tell_apart_are_held_and_one_more_is_refused(levels: list[int]) -> None:
    check(0, levels)
    names = tuple(f"c{i}" for i in range(len(levels)))
    one_more = tuple(tuple(map(str, range(count))) for count in [*levels[:-1], levels[-1] + 1])
    with pytest.raises(dc.QueryError, match="at most 65535 coefficients, got 65536"):
        Features((), names, one_more, intercept=False)


def test_too_many_levels_are_refused_before_anything_is_paid(tmp_path: Path) -> None:
    import pandas as pd

    schema = dc.Schema({"y": dc.Binary(), "x": dc.Categorical(range(2**16))}, n=2)
    dataset = dc.open(pd.DataFrame({"y": [0, 1], "x": [0, 65_535]}), schema, id="levels")
    ledger = dc.Ledger.create(tmp_path / "study.ledger", dc.Budget(1.0, 1e-5))
    with pytest.raises(dc.QueryError, match="at most 65535 coefficients"):
        dc.release(dc.LogisticRegression("y", ("x",)), dataset, dc.GibbsPosterior(1.0, 1e-6, steps=1), ledger)
    assert ledger.entries() == ()
