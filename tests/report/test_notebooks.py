"""In a notebook and as text every noun says itself at a glance; other people's names stay texts."""

from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from kinds import HOSTILE, SCHEMA, hostile, made
from kinds import table as rows

import discreet as dc

pytestmark = pytest.mark.filterwarnings("ignore::discreet.errors.ConvergenceWarning")


class Told(HTMLParser):
    def __init__(self, markup: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.depth = 0
        self.feed(markup)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        self.tags.add(tag)
        self.depth += 1

    def handle_endtag(self, tag: str) -> None:
        self.depth -= 1


def shown(thing: Any) -> str:
    markup: str = thing._repr_html_()
    told = Told(markup)
    assert told.depth == 0
    assert told.tags <= {"div", "style", "p", "b", "table", "thead", "tbody", "tr", "th", "td", "caption"}
    assert "<script" not in markup
    assert "\u202e" not in markup
    assert "color:#" not in markup.replace(" ", "")  # the colours of the notebook, light or dark
    return markup


def test_every_noun_says_itself(tmp_path: Path) -> None:
    ledger = dc.Ledger.create(tmp_path / "a.ledger", dc.Budget(2.0))
    release = dc.release(
        dc.BetaBernoulli("smoker"), dc.open(rows(), SCHEMA, id="made-up"), dc.NoisyStatistics(epsilon=0.5), ledger
    )
    schema = dc.Schema({"smoker": dc.Binary()}, n=50)
    plan = dc.plan(release.model, release.mechanism, schema=schema, runs=3)
    compared = dc.compare(release.model, dc.Budget(1.0), schema=schema, runs=3)
    for thing, said in (
        (SCHEMA, ["numbers from 0 to 100", "n = 400, public"]),
        (release, ["BetaBernoulli(column=&#x27;smoker&#x27;)", "at most 15.5%", release.entry]),
        (release.guarantee, ["0.5-differential privacy", "one record"]),
        (ledger, ["25.0% of the budget", "BetaBernoulli smoker by NoisyStatistics"]),
        (release.posterior(), ["probability", "lower"]),
        (made("draws").posterior(), ["draws"]),
        (plan, ["nothing is spent", "guarantee"]),
        (compared, ["1  NoisyStatistics"]),
    ):
        markup = shown(thing)
        for words in said:
            assert words in markup
    assert str(SCHEMA).splitlines()[1].split() == [
        "smoker",
        "0,",
        "1;",
        "any",
        "cell",
        "but",
        "0,",
        "1,",
        "true,",
        "false",
        "counts",
        "as",
        "0",
        "(declared",
        "complete)",
    ]
    assert str(release).startswith("Release of made-up\n  model      BetaBernoulli(column='smoker')")
    assert "array" not in str(release)


def test_hostile_names_stay_texts() -> None:
    for release in hostile():
        schema = dc.Schema.from_json(release.recipe["schema"])
        for thing in (release, schema, release.guarantee, release.posterior()):
            markup = shown(thing)
            assert len(markup) < 40_000
        assert all(len(line) < 2_000 for line in str(release).splitlines() + str(schema).splitlines())
        assert "\x1b" not in str(release)
    assert "&lt;script&gt;" in shown(dc.Schema({HOSTILE[0]: dc.Binary()}))
