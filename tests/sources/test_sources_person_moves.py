"""What one person can move, whatever rows that person has, and a planted twin that moves more."""

from dataclasses import replace

import pyarrow as pa
import pytest
from cell_oracle import EXCLUDING, SCHEMA, distances, of_persons, query_of, table_of

from discreet.sources.open import open_dataset
from discreet.sources.sql import statements as sql


def answers_of_neighbours(schema, seeds=range(12)):
    """Tables that differ in the rows of one person, who has none, few or very many of them, ordinary and hostile."""
    query = query_of(schema)
    others = table_of(15, people=["1", "2", "3"])
    answers = []
    for seed in seeds:
        own = table_of(6 * seed, seed, people=["hostile"], bad=0.8, nobody=False)
        if seed % 3 == 0:  # rows at the ends of every scale move most
            ends = {"age": ["-1e308", "inf"], "visits": ["-inf", "1e308"], "ward": ["A", "B"], "smoker": ["0", "1"]}
            own = [{**row, **{name: cells[seed % 2] for name, cells in ends.items()}} for row in own]
        table = pa.Table.from_pylist(others + own)
        answers.append(open_dataset(table, schema, id="t").source.statistics(query))
    return query, answers


def worst_moves(query, answers):
    moves = [distances(query, one, other) for one in answers for other in answers]
    return max(move[0] for move in moves), max(move[1] for move in moves)


@pytest.mark.parametrize(
    ("relation", "schema"),
    [
        pytest.param("replace-one", SCHEMA, id="replace-one-default", marks=pytest.mark.audit),
        pytest.param("replace-one", EXCLUDING, id="replace-one-exclude"),
        pytest.param("add-remove", SCHEMA, id="add-remove-default"),
        pytest.param("add-remove", EXCLUDING, id="add-remove-exclude", marks=pytest.mark.audit),
    ],
)
def test_a_person_moves_the_statistics_by_at_most_the_declared_sensitivity(schema, relation):
    schema = replace(of_persons(schema, 2), relation=relation, n_max=None if relation == "replace-one" else 9)
    query, answers = answers_of_neighbours(schema)
    if relation == "add-remove":  # against the table without the person
        moves = [distances(query, answers[0], other) for other in answers]
    else:
        moves = [distances(query, one, other) for one in answers for other in answers]
    assert 0 < max(move[0] for move in moves) <= query.l1
    assert 0 < max(move[1] for move in moves) <= query.squared_l2


def test_a_source_that_forgets_the_bound_is_caught(monkeypatch):
    monkeypatch.setattr(sql, "kept", lambda query, dataset, max_records, coded: coded)
    query, answers = answers_of_neighbours(of_persons(SCHEMA, 2))
    l1, squared_l2 = worst_moves(query, answers)
    assert l1 > query.l1
    assert squared_l2 > query.squared_l2
