"""Seeded answers of every pair stay what they were: public things exactly, numbers as closely as another machine allows.

On one machine `tests/golden/outputs.py --compare` asks for every bit. Here floats may differ by 1e-9, relatively; where a
posterior is a chain of many states, which a last bit sends elsewhere, its mean by a quarter of a deviation (false alarm
below 1e-4 with the 1,000 states and more that these chains have).
"""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from golden import outputs
from pairs import Pair, valid_pairs

GOLDEN = outputs.load(Path(__file__).parent / "golden" / "outputs.jsonl")
TEXTS = {"summary"}  # numbers as text, which are compared as numbers elsewhere
OTHERS = dict(outputs.other_tables())
QUICK = [name for name in OTHERS if not name.startswith(("compare", "logistic, bands")) and "groups" not in name]
LONG = [pair for pair in valid_pairs() if outputs.takes_long(pair)]


def changed(one: Any, other: Any, at: str = "") -> Iterator[str]:
    """Where two answers differ by more than machines do."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in sorted({*one, *other} - TEXTS):
            yield from changed(one.get(name), other.get(name), f"{at}/{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            yield from changed(a, b, f"{at}[{i}]")
    elif isinstance(one, float) and isinstance(other, float):
        if not math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12):
            yield f"{at}: {one!r} became {other!r}"
    elif one != other or type(one) is not type(other):
        yield f"{at}: {str(one)[:200]} became {str(other)[:200]}"


def shared(golden: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Of a golden case what was asked again."""
    return {name: golden[name] for name in found}


@pytest.mark.parametrize(
    "pair",
    [
        pytest.param(pair, id=pair.name, marks=[pytest.mark.audit] if pair.name[-1].isdigit() else [])
        for pair in valid_pairs()  # of each pair of names the first, and all in `make audit`
    ],
)
def test_a_pair_answers_as_it_did(pair: Pair) -> None:
    """Recipe, request key, guarantee with its words, released value; the posterior where it is no long chain."""
    found = outputs.of_pair(pair, chains=False)
    assert list(changed(shared(GOLDEN[pair.name], found), found)) == []


@pytest.mark.parametrize("name", QUICK[::4])
def test_other_tables_answer_as_they_did(name: str) -> None:
    """One in four: persons, private sizes, excluded rows, declared spaces."""
    assert list(changed(GOLDEN[name], outputs.asked(OTHERS[name]))) == []


@pytest.mark.audit
@pytest.mark.parametrize("name", [name for name in OTHERS if name not in QUICK[::3]])
def test_all_other_tables_answer_as_they_did(name: str) -> None:
    assert list(changed(GOLDEN[name], outputs.asked(OTHERS[name]))) == []


@pytest.mark.audit
@pytest.mark.parametrize("pair", LONG, ids=lambda pair: pair.name)
def test_chains_agree_within_their_monte_carlo_error(pair: Pair) -> None:
    golden, found = GOLDEN[pair.name]["posterior"], outputs.of_pair(pair, chains=True)["posterior"]
    if isinstance(golden["sd"], dict) and "refused" in golden["sd"]:
        assert list(changed(golden["mean"], found["mean"])) == []
        return
    means, others, sds = (list(numbers(answer)) for answer in (golden["mean"], found["mean"], golden["sd"]))
    assert len(means) == len(others) == len(sds) > 0
    assert all(abs(a - b) <= 0.25 * sd + 1e-12 for a, b, sd in zip(means, others, sds, strict=True))


def numbers(answer: Any) -> Iterator[float]:
    if isinstance(answer, dict | list):
        for item in (answer[name] for name in sorted(answer)) if isinstance(answer, dict) else answer:
            yield from numbers(item)
    else:
        yield float(answer)


def test_every_case_is_kept() -> None:
    assert set(GOLDEN) == {pair.name for pair in valid_pairs()} | set(OTHERS)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"value": [3]}, {"value": [4]}),
        ({"guarantee": {"epsilon": 0.5}}, {"guarantee": {"epsilon": 0.5 + 1e-8}}),
        ({"words": "epsilon"}, {"words": "Epsilon"}),
        ({"mean": 1.0}, {"mean": None}),
        ({"mean": 1}, {"mean": 1.0}),
    ],
)
def test_a_change_is_seen(one: Any, other: Any) -> None:
    assert list(changed(one, other))
