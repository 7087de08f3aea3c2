"""The text of a study that `discreet init` writes: TOML with a comment wherever a person has something to decide."""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.cli.declaring.drafts import MODEL_OF, OPEN, Draft
from discreet.schema import Csv
from discreet.visible import visible

__all__ = ["NewStudy", "inline", "key"]

BARE = re.compile(r"[A-Za-z0-9_-]+")
MOST_NOTED = 100  # letters of a comment
HEAD = """\
# A study: everything public about a table, and what is asked of it. Nothing here may be looked up in the rows.
# Paths are relative to this file. A question mark stands where you have to choose; until then no release can use the
# column. The kinds of columns:
#   {kind = "binary"}                                   cells 0 and 1; for words add zero = "no", one = "yes"
#   {kind = "categorical", levels = ["A", "B", "C"]}    other = "C": levels that are not listed count as C
#   {kind = "bounded", lower = 0, upper = 110}          a number, clipped to its bounds; cut = [18, 65]: also levels
#   {kind = "count", upper = 20}                        a whole number from 0, clipped
# missing = "exclude" leaves out rows whose cell is no number or no level, and costs some width; a value or a level
# instead is what such cells count as; without `missing` you declare that there are none."""


@dataclass(frozen=True)
class NewStudy:
    """What a study says, and which of its columns it asks about."""

    id: str
    data: str
    drafts: Sequence[Draft]
    asked: Sequence[str]
    epsilon: float  # of each release
    csv: Csv | None = None
    unit: Mapping[str, Any] | None = None
    n: int | None = None
    sources: Sequence[str] = ()

    @property
    def stems(self) -> dict[str, str]:
        """The name of the release about each column: letters, digits and signs that every file system takes, once."""
        found: dict[str, str] = {}
        for name in self.asked:
            plain = re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-")[:40] or "release"
            numbered = (plain if number == 1 else f"{plain}-{number}" for number in range(1, len(found) + 2))
            found[name] = next(stem for stem in numbered if stem not in found.values())
        return found

    @property
    def files(self) -> list[str]:
        """What the releases are written to."""
        return [f"{stem}.release.json" for stem in self.stems.values()]

    def text(self) -> str:
        """The file."""
        return "\n".join(
            [HEAD, *(f"# {visible(source)}" for source in self.sources), "", *self._facts(), *self._rest()]
        )

    def _facts(self) -> Iterator[str]:
        yield f"id = {inline(self.id)}  # public name of the table; the same table keeps the same id"
        yield f"data = {inline(self.data)}"
        if self.csv is not None:
            signs = {"delimiter": self.csv.delimiter, "decimal": self.csv.decimal, "quote": self.csv.quote}
            usual = Csv()
            told = {name: sign for name, sign in {**signs, "encoding": self.csv.encoding}.items()
                    if sign != getattr(usual, name)}  # fmt: skip
            if told:
                yield f"csv = {inline(told)}"
        yield 'ledger = "study.ledger"  # the budget every release is paid from, one ledger for one population'
        yield ""
        yield 'relation = "replace-one"  # neighbours differ in one unit and n is public; or "add-remove" with n_max'
        unit = dict(self.unit or {"kind": "record"})
        yield f"unit = {inline(unit)}  # who is protected"
        size = f"n = {self.n}" if self.n is not None else "# n = 1000"
        yield f"{size}  # how many there are; without it they are counted at the release, and plan needs --n"
        guess = self.n if self.n is not None else 1000
        yield f"# n_prior = [{guess}, 20]  # about how many rows have good cells: sharper where rows are left out"
        yield ""

    def _rest(self) -> Iterator[str]:
        yield "[columns]"
        for draft in self.drafts:
            note = f"  # {visible(draft.note, MOST_NOTED)}" if draft.note else ""
            if draft.spec is None:
                yield f"# {key(draft.name)}{note}"
            else:
                yield f"{key(draft.name)} = {inline(draft.spec)}{note}"
        yield ""
        yield "# Each release is paid once: the same request again returns the stored answer and costs nothing."
        yield "# The epsilon of each is yours to choose, as much as the ledger has; discreet plan says what it buys."
        specs = {draft.name: draft.spec for draft in self.drafts}
        for name, stem in self.stems.items():
            kind = (specs[name] or {}).get("kind", OPEN)
            model = {"kind": MODEL_OF.get(kind, OPEN), "column": name}
            yield "[[release]]"
            yield f"name = {inline(stem)}"
            yield f"model = {inline(model)}"
            yield f"mechanism = {inline({'kind': 'NoisyStatistics', 'epsilon': self.epsilon})}"
            yield f"out = {inline(f'{stem}.release.json')}"
            yield ""


def key(name: str) -> str:
    """A name as TOML writes it on the left of an equals sign."""
    return name if BARE.fullmatch(name) else _quoted(name)


def inline(value: Any) -> str:
    """A value as TOML writes it in one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key(name)} = {inline(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(inline, value))}]"
    return _quoted(value) if isinstance(value, str) else repr(value)


def _quoted(text: str) -> str:
    """A text in quotes; what cannot be seen is written as an escape."""
    return "".join(
        letter if unicodedata.category(letter)[0] != "C" else _escape(letter)
        for letter in json.dumps(text, ensure_ascii=False)
    )


def _escape(letter: str) -> str:
    code = ord(letter)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
