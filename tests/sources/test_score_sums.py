"""Sums of noisy scores: the same bits on every number of threads, in every order and source, and by plain arithmetic.

Nothing here is random but seeded tables: every comparison is of whole numbers, and exact.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dc
from discreet.queries.scores.score_branch import EXPONENTIAL, LOGISTIC, PLACE, TABLE, ScoreBranch
from discreet.queries.scores.score_law import ScoreLaw
from discreet.sources import CodedRows, chunks
from discreet.sources.coded import NO_NUMBER
from discreet.sources.scores import score_sources
from discreet.sources.scores.kernels.public_means import means

ROWS = 3_000
COLUMNS = {
    "age": dc.Bounded(0, 90),
    "income": dc.Bounded(-5, 20, missing="exclude"),
    "ward": dc.Categorical(["A", "B", "C"]),
    "grade": dc.Categorical(["1", "2"]),
    "smoker": dc.Binary(),
    "visits": dc.Count(9),
    "pressure": dc.Bounded(80, 200),
}
FEATURES = ("age", "ward", "income", "grade")
MODELS: dict[str, Any] = {
    "logistic": dc.LogisticRegression("smoker", FEATURES),
    "shrunk": dc.LogisticRegression("smoker", FEATURES, radius=1.1),
    "interval": dc.LogisticRegression("smoker", FEATURES, interval=(0.0, 3.0)),
    "poisson": dc.PoissonRegression("visits", FEATURES, ball=0.5),
    "huber": dc.HuberRegression("pressure", FEATURES),
}
MECHANISM = dc.NoisyScore(rho=0.5)


def table(rows: int = ROWS) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    income = rng.normal(4, 4, rows)
    income[rng.random(rows) < 0.05] = np.nan
    return pd.DataFrame(
        {
            "age": rng.uniform(-5, 95, rows),
            "income": income,
            "ward": rng.choice(["A", "B", "C", "?"], rows, p=[0.5, 0.3, 0.1, 0.1]),
            "grade": rng.choice(["1", "2"], rows),
            "smoker": rng.choice(["0", "1"], rows),
            "visits": rng.integers(0, 12, rows),
            "pressure": rng.normal(130, 30, rows),
        }
    )


def maps(law: ScoreLaw, seed: int = 0) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """A map for each stage, and points, one of them far away."""
    rng, width = np.random.default_rng(seed), law.features + 1
    points = [rng.normal(size=law.directions + 1) * size for size in (0.0, 0.3, 1.0, 30.0)]
    return rng.normal(size=(law.directions, width)), 2.0 * rng.normal(size=(law.directions + 1, width)), points


def answers(source: Any, query: Any, law: ScoreLaw) -> list[int]:
    """Everything that all stages are told."""
    first, second, points = maps(law)
    with source.scores(query, law) as rows:
        found = {**rows.totals(), **rows.moments(first)}
        score = rows.scores(second)
        listed = [int(number) for array in found.values() for number in np.ravel(array)]
        return listed + [number for point in points for number in score(point)]


def opened(data: Any, **options: Any) -> dc.Dataset:
    return dc.open(data, dc.Schema(COLUMNS), id="t", **options)


def coded(data: pd.DataFrame, query: Any) -> CodedRows:
    """The same cells as codes."""
    columns: dict[str, Any] = {}
    for name in query.columns:
        column = query.schema.column(name)
        if column.holds == "numbers":
            steps = [column.steps(value) if value == value else NO_NUMBER for value in data[name].tolist()]
            columns[name] = np.array(steps)
        else:
            levels = list(column.levels)
            columns[name] = np.array([levels.index(cell) if cell in levels else 0 for cell in map(str, data[name])])
    return CodedRows(columns)


@pytest.mark.parametrize("name", MODELS)
def test_sources_orders_threads_and_blocks_give_the_same_bits(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = table()
    dataset = opened(data)
    query = MODELS[name].query(dataset.schema)
    law = MECHANISM.constants(query)
    expected = answers(dataset.source, query, law)
    shuffled = data.sample(frac=1.0, random_state=5)
    assert answers(opened(shuffled).source, query, law) == expected
    file = tmp_path / "rows.parquet"
    pq.write_table(pa.Table.from_pandas(shuffled, preserve_index=False), file, row_group_size=700)
    assert answers(opened(str(file)).source, query, law) == expected
    shuffled.to_csv(tmp_path / "rows.csv", index=False)
    assert answers(opened(str(tmp_path / "rows.csv")).source, query, law) == expected
    monkeypatch.setattr(score_sources, "WORTH_THREADS", 0)
    monkeypatch.setattr(score_sources, "FEWEST_CHUNKS", 1)
    for threads in (1, 2, 8):
        monkeypatch.setattr("numba.get_num_threads", lambda threads=threads: threads)
        assert answers(opened(shuffled).source, query, law) == expected
    monkeypatch.setattr(score_sources, "LARGEST_IN_MEMORY", 0)  # in files without a name
    monkeypatch.setattr(score_sources, "MOST_CELLS", 1)
    assert answers(opened(data).source, query, law) == expected
    assert chunks.LARGEST_IN_MEMORY > 0


def test_sums_of_doubles_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted slopes are not rounded: their sums depend on the order of the rows."""
    from discreet.sources.scores.kernels import score_sums

    def fractions(branch: Any, by_label: bool, z: Any, rows: Any, allowed: Any, first: int, last: int) -> Any:
        slope = np.concatenate([allowed[chunk] * (0.5 - rows.targets[chunk]) for chunk in range(first, last)])
        numbers = np.concatenate([rows.numbers[chunk] for chunk in range(first, last)], axis=1)
        found = np.zeros(z.size)
        for i, s in enumerate(slope):
            found[0] += s * 2.0**34
            found[1 : 1 + len(numbers)] += s * 2.0**20 * numbers[:, i]
        return found

    data = table()
    query = MODELS["logistic"].query(opened(data).schema)
    law = MECHANISM.constants(query)
    monkeypatch.setattr(score_sums, "slope_sums", fractions)
    monkeypatch.setattr(score_sources, "mapped_sums", lambda whole, sums: [int(total) for total in sums])
    shuffled = data.sample(frac=1.0, random_state=5)
    assert answers(opened(shuffled).source, query, law) != answers(opened(data).source, query, law)


def by_hand(query: Any, law: ScoreLaw, rows: CodedRows) -> list[int]:
    """All stages in Python's own numbers, record by record, from the formulas of the proof."""
    first, second, points = maps(law)
    features, link = query.features, law.link
    whole = [[[round(entry * 2**16) for entry in line] for line in matrix.tolist()] for matrix in (first, second)]
    dz = law.directions
    totals: dict[str, list[int]] = {"count": [0], "levels": [0] * sum(law.blocks), "sums": [0] * law.numbers}
    squares, moments, scores = 0, [[0] * dz for _ in range(dz)], [[0] * (dz + 1) for _ in points]
    z = [[round(sum(line[j] / 2**16 * v for line, v in zip(whole[1], p, strict=True)) * 2**22) for j in range(
        law.features + 1)] for p in points]  # fmt: skip
    for i in range(len(next(iter(rows.columns.values())))):
        cells = {name: int(column[i]) for name, column in rows.columns.items()}
        if any(query.schema.column(name).excluded == cell for name, cell in cells.items()):
            continue
        low, high = features.interval
        real = [0.5 * (low + high) + 0.5 * (high - low) * ((2 * (cells[a.column] - a.low) - a.reach) / a.reach)
                for a in features.numbers]  # fmt: skip
        shrink = 1.0
        if features.shrinks:
            length = math.sqrt(sum((x**2 for x in real), float(len(features.categories))))
            shrink = min(1.0, features.radius / length)
        x = [2**14, *(math.floor(shrink * value / law.scale * 2**14 + 0.5) for value in real)]
        for name, levels in zip(features.categories, features.levels, strict=True):
            x += [math.floor(shrink * 2**14 + 0.5) if cells[name] == code else 0 for code in range(len(levels))]
        totals["count"][0] += 1
        totals["sums"] = [a + b for a, b in zip(totals["sums"], x[1 : 1 + law.numbers], strict=True)]
        totals["levels"] = [a + b // 2**14 for a, b in zip(totals["levels"], x[1 + law.numbers :], strict=True)]
        squares += sum(value**2 for value in x[1 : 1 + law.numbers])
        k = [sum(w * value for w, value in zip(line, x, strict=True)) for line in whole[0]]
        length = math.sqrt(sum(value**2 for value in map(float, k))) * 2.0**-30
        kappa = [math.floor(value * (min(1.0, 1.25 / length) * 2.0**-16) + 0.5) for value in map(float, k)]
        moments = [
            [m + a * b for m, b in zip(line, kappa, strict=True)] for line, a in zip(moments, kappa, strict=True)
        ]
        target = query.target
        if target.axis is None:
            y = float(cells[target.column])
        else:
            y = (cells[target.column] - target.axis.low) / target.axis.reach
        u = [sum(w * value for w, value in zip(line, x, strict=True)) for line in whole[1]]
        length = math.sqrt(sum(value**2 for value in map(float, u))) * 2.0**-30
        half = 0.5 * math.sqrt(dz + 1.0) * (1 - 2.0**-36)
        allowed = min(half / length, 2.0)
        for number, coefficients in enumerate(z):
            margin = sum(c * value for c, value in zip(coefficients, x, strict=True)) * 2.0**-36
            f = float(link.mean(np.array(margin)))
            s = min(1.0, allowed / max(f, 1.0 - f)) * 2**20 * (f - y)
            s = min(max(math.floor(s + 0.5), -math.floor(allowed * 2**20)), math.floor(allowed * 2**20))
            scores[number] = [g + s * value for g, value in zip(scores[number], u, strict=True)]
    found = {**totals, "squares": [(squares + 2**13) // 2**14]}
    listed = [number for name in law.shapes if name in found for number in found[name]]
    listed += [moments[j][j] for j in range(dz)] + [moments[j][i] for j in range(dz) for i in range(j + 1, dz)]
    return listed + [(number + 2**29) >> 30 for score in scores for number in score]


@pytest.mark.parametrize("name", MODELS)
def test_sums_are_those_of_plain_arithmetic(name: str) -> None:
    """All whole numbers agree exactly, but that a library's means may change a slope by one step of 2^-20."""
    data = table(200)
    dataset = opened(data)
    query = MODELS[name].query(dataset.schema)
    law = MECHANISM.constants(query)
    rows = coded(data, query)
    expected, found = by_hand(query, law, rows), answers(rows, query, law)
    assert answers(dataset.source, query, law) == found
    scores = 4 * (law.directions + 1)
    assert found[:-scores] == expected[:-scores]
    apart = np.abs(np.array(found[-scores:]) - np.array(expected[-scores:]))
    assert apart.max() <= 50.0  # one record's length |u| times few steps, of sums of 200


BRANCHES: dict[str, tuple[ScoreBranch, Callable[[Any], Any]]] = {
    "logistic": (ScoreBranch(LOGISTIC), lambda mp_t: 1 / (1 + _exp(-mp_t))),
    "exponential": (ScoreBranch(EXPONENTIAL, setting=1.0 / 7.0), lambda mp_t: min(_exp(mp_t) / 7, 1)),
    "place": (ScoreBranch(PLACE, -1.0, 1.0), lambda mp_t: (min(max(mp_t, -1), 1) + 1) / 2),
    "table": (ScoreBranch(TABLE, -1.0, 1.0, table=np.array([0.0, 0.5, 1.0])), lambda mp_t: (min(max(mp_t, -1), 1) + 1) / 2),
}  # fmt: skip


def _exp(t: Any) -> Any:
    import mpmath

    return mpmath.exp(t)


@pytest.mark.parametrize("name", BRANCHES)
def test_means_are_within_their_stated_error_and_rise(name: str) -> None:
    import mpmath

    branch, true = BRANCHES[name]
    rng = np.random.default_rng(0)
    margins = np.sort(np.concatenate([rng.uniform(-45, 45, 500), rng.normal(size=1500), [-1e9, -40.0, 0.0, 40.0, 1e9]]))
    found = margins.copy()
    means(branch.code, branch.low, branch.high, branch.setting, branch.table, found)
    assert (np.diff(found) >= -2e-16).all()
    assert ((found >= 0.0) & (found <= 1.0)).all()
    with mpmath.workdps(40):
        exact = [float(true(mpmath.mpf(min(max(t, -40.0), 40.0)))) for t in margins.tolist()]
    assert np.abs(found - exact).max() <= 1e-15


def test_the_means_have_the_same_bits_in_another_language() -> None:
    """Python's own floats, one operation after another in the written order."""
    margins = np.random.default_rng(1).uniform(-41, 41, 2_000)
    found = margins.copy()
    means(LOGISTIC, -40.0, 40.0, 1.0, np.zeros(2), found)
    terms = [1.0 / math.factorial(k) for k in range(14)]
    for t, mean in zip(margins.tolist(), found.tolist(), strict=True):
        a = -min(max(t, -40.0), 40.0)
        k = (a * 1.4426950408889634 + 1.5 * 2.0**52) - 1.5 * 2.0**52
        r = (a - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
        e = terms[13]
        for term in reversed(terms[:13]):
            e = term + r * e
        assert mean == 1.0 / (1.0 + math.ldexp(e, int(k)))


def test_numbers_that_do_not_fit_change_no_guarantee() -> None:
    """Maps and points of any size are cut: a rule that fails asks another question, and nothing overflows."""
    data = table(300)
    query = MODELS["logistic"].query(opened(data).schema)
    law = MECHANISM.constants(query)
    rows = coded(data, query)
    for size in (0.0, 1e-300, 1e30, math.inf, math.nan):
        shape = (law.directions + 1, law.features + 1)
        with rows.scores(query, law) as source:
            score = source.scores(np.full(shape, size))
            assert max(map(abs, score(np.full(shape[0], size)))) <= 300 * 2**19 * math.sqrt(shape[0]) + 1


def test_a_law_is_a_function_of_public_facts() -> None:
    """Another table of the same schema has the same law, and another unit another one."""
    schema = opened(table()).schema
    law = MECHANISM.constants(MODELS["logistic"].query(schema))
    assert law.sigmas == MECHANISM.constants(MODELS["logistic"].query(opened(table().iloc[::-1]).schema)).sigmas
    person = replace(MECHANISM, steps=20).constants(MODELS["logistic"].query(schema))
    assert person.sigmas["scores"] == pytest.approx(law.sigmas["scores"] / 2**0.5, rel=1e-12)


def test_many_blocks_of_second_moments_are_added_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """More than 64 bits hold in one go, which the planted run of all blocks overflows."""
    largest, many = 2**51 - 1, 2**13
    exact = [many * largest, -many * largest]

    def found() -> list[int]:
        return list(score_sources._added(np.array([largest, -largest]) for _ in range(many)).tolist())

    assert found() == exact
    monkeypatch.setattr(score_sources, "RUN", many)
    assert found() != exact
