"""One object in a column of a frame is one cell: it stops nothing, warns of nothing, and changes no other row."""

import contextlib
import decimal
import warnings
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hostile_objects import ASKED, Grade, Liar, Meta, Number, Plain, Text, hostile

import discreet as dc
from discreet.queries.counts_and_sums import Counts, Sum
from discreet.queries.statistics import Statistics
from discreet.schema import arrow_cell
from discreet.schema.cell import LONGEST_TEXT, text_of

TRUTH = ("false", "true")
CLEAN: dict[str, list[Any]] = {
    "texts": ["a", "b", "1", None, "é", "a", "1.0"],
    "whole numbers": [1, 2, 2**53, -7, 0, 10, 3],
    "floats": [1.5, 2.0, float("nan"), 1e300, 0.1, -0.0, 7.0],
    "truth values": [True, False, True, None, True, False, True],
    "decimals": [Decimal("1.50"), Decimal("1E+3"), Decimal(2**53), Decimal(-7), Decimal("0.1"), Decimal(0), None],
}
SCHEMA = dc.Schema({"k": dc.Categorical(["1", "7", "a", "other"], missing="other"), "x": dc.Bounded(-8, 8, missing=2)})
QUERY = Statistics(SCHEMA, (Counts.over(SCHEMA, "k", "k"), Sum.of(SCHEMA, "x", "x")))


def texts(cells: list[Any]) -> list[str | None]:
    return arrow_cell._pandas("k", pd.Series(cells, dtype=object), TRUTH, LONGEST_TEXT).to_pylist()


def events(frame: Any, schema: dc.Schema = SCHEMA) -> tuple[Any, ...]:
    """Whatever is seen of opening and asking: exceptions, warnings, the number of rows, shapes, types, the guarantee."""
    ASKED.clear()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            data = dc.open(frame, schema, id="t")
            found = data.source.statistics(Statistics(data.schema, QUERY.statistics))
            guarantee = str(dc.NoisyStatistics(epsilon=1.0).guarantee(Statistics(data.schema, QUERY.statistics)))
            seen: Any = (data.schema.n, [(name, answer.shape) for name, answer in found.items()], guarantee)
        except Exception as error:
            seen = (type(error), str(error))
    return seen, [str(warning.message) for warning in warned], list(ASKED)


def differences(seeds: range) -> int:
    """In how many cases one hostile cell changes another cell's text, warns, raises or is asked."""
    changed = 0
    clean = {kind: texts(cells) for kind, cells in CLEAN.items()}
    for seed in seeds:
        kind = list(CLEAN)[seed // 6 % len(CLEAN)]
        cell, place = hostile(seed), seed % 7
        cells = [*CLEAN[kind][:place], cell, *CLEAN[kind][place:]]
        ASKED.clear()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = texts(cells)
            own = found.pop(place)
            changed += found != clean[kind] or bool(ASKED) or own != text_of(cell, TRUTH)
        except Exception:
            changed += 1
    return changed


def test_a_thousand_hostile_cells_change_nothing_but_themselves() -> None:
    with decimal.localcontext(decimal.Context(prec=1, Emax=1, Emin=-1, traps=list(decimal.Context().flags))):
        assert differences(range(1020)) == 0


def _as_it_was(cell: Any, truth: tuple[str, str], longest: int = LONGEST_TEXT) -> str | None:
    """The reading of one object as it was before."""
    if isinstance(cell, str):
        return cell.encode("utf-8", "replace").decode()
    if isinstance(cell, bool | np.bool_):
        return truth[bool(cell)]
    if isinstance(cell, int | np.integer | float | np.floating):
        return repr(float(cell))
    if isinstance(cell, Decimal):
        return None if not cell.is_finite() else f"{cell.normalize():f}"
    return None


def test_a_reading_that_asks_the_objects_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.schema.cell.text_of", _as_it_was)
    with pytest.raises(AssertionError):
        assert differences(range(120)) == 0


LISTED = [
    *(Decimal("1E+1000000"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1." + "3" * 99)),
    *(np.timedelta64(1, "s"), np.timedelta64("NaT"), 1j, np.longdouble("1e4000"), 10**5000, np.datetime64("2026")),
    *(pd.NA, pd.NaT, b"a", [1, [2]], {"k": 1}, Plain(), Liar(), Meta(), Text("a"), "\ud800", np.complex64(1j)),
]


@pytest.mark.parametrize(
    "library",
    [
        "pandas",
        pytest.param("inferred", marks=pytest.mark.audit),
        pytest.param("categories", marks=pytest.mark.audit),
        "polars",
    ],
)
def test_no_event_of_a_release_depends_on_the_kind_of_one_object(library: str) -> None:
    """The column of numbers is declared a number, the column of texts levels: in each stands the object, once."""

    def frame(cell: Any) -> Any:
        k, x = pd.Series(["a", "7", None, cell], dtype=object), pd.Series([1.0, 2.5, 3.0, cell], dtype=object)
        if library == "polars":
            return pl.DataFrame({"k": pl.Series(list(k), dtype=pl.Object), "x": pl.Series(list(x), dtype=pl.Object)})
        if library == "inferred":
            with contextlib.suppress(Exception):  # pandas itself may refuse: it stays a column of objects
                x = pd.Series([1.0, 2.5, 3.0, cell])
        if library == "categories":
            k = pd.Series(pd.Categorical.from_codes([0, 1, -1, 2], pd.Index(["a", "7", cell], dtype=object)))
        return pd.DataFrame({"k": k, "x": x})

    usual = events(frame("b"))
    assert usual[0][0] == 4
    cells = LISTED if library == "pandas" else LISTED[::2]
    if library == "categories":  # pandas itself compares and hashes them
        cells = ["\ud800", b"a", 1j, 10**5000, np.longdouble("1e4000"), Decimal("1E+1000000")]
    for cell in cells:
        assert events(frame(cell)) == usual, type(cell)


def test_no_event_depends_on_the_kind_of_one_identifier() -> None:
    schema = dc.Schema(dict(SCHEMA.columns), unit=dc.Person("who", 2), relation="add-remove", n_max=9)

    def frame(cell: Any) -> Any:
        who = pd.Series([1, "b", None, cell, 1], dtype=object)
        return pd.DataFrame({"k": ["a"] * 5, "x": [1.0] * 5, "who": who})

    usual = events(frame("b"), schema)
    assert len(usual[0]) == 3
    for cell in LISTED:
        assert events(frame(cell), schema) == usual, type(cell)


def test_columns_that_one_number_turns_complex_or_long_mean_the_same() -> None:
    plain = {"k": ["a"] * 5, "x": np.array([1.0, 2.5, float("nan"), -3.0, 0.0])}
    usual, base = events(pd.DataFrame(plain)), _sum(plain["x"])
    for last in (1 + 0j, 1 + 1j, complex("nan"), np.longdouble("1e4000"), np.longdouble("-1e4000")):
        x = np.array([*plain["x"][:-1], last])
        assert x.dtype.kind in "cf"
        assert x.dtype != np.float64
        assert events(pd.DataFrame(plain | {"x": x})) == usual
        assert abs(_sum(x) - base) <= 8 / SCHEMA.column("x").step * 2


def _sum(x: Any) -> int:
    data = dc.open(pd.DataFrame({"k": ["a"] * len(x), "x": x}), SCHEMA, id="t")
    return int(data.source.statistics(Statistics(data.schema, QUERY.statistics))["x"])


def test_decimals_do_not_know_the_context_of_the_caller() -> None:
    cells = [Decimal("1.23456789"), Decimal("7.00"), Decimal("0." + "1" * 60), Decimal("1E+400"), Decimal("-1E-400")]
    found = {}
    for precision in (1, 3, 28, 500):
        with decimal.localcontext(decimal.Context(prec=precision, rounding=decimal.ROUND_UP)):
            found[precision] = [text_of(cell, TRUTH) for cell in cells], _sum(pd.Series(cells, dtype=object))
    assert all(answer == found[28] for answer in found.values())
    assert found[28][0] == ["1.23456789", "7", "0.1111111111111111", "inf", "0"]


def test_what_is_read_is_read_by_value() -> None:
    read = {"1": Grade.ONE, "7": Number.SEVEN, "0.25": np.float16(0.25), "inf": 10**5000, "-inf": -(10**5000)}
    read |= {"true": np.bool_(True), "9007199254740992.0": 2**53 + 1, "é": np.str_("é")}
    assert {text: text_of(cell, TRUTH) for text, cell in read.items()} == {text: text for text in read}
    assert text_of(Text("a"), TRUTH) == "a"
    assert text_of(np.longdouble("0.1"), TRUTH) == "0.1"
    for cell in (b"1", np.timedelta64(1), 1 + 0j, "\udcff", "x" * (2**20 + 1), "é" * (2**19 + 1), float("nan")):
        assert text_of(cell, TRUTH) is None
