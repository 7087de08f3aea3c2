"""A column on the way to its declaration: what is known of it, `OPEN` where somebody has still to choose.

Drafts come from what is public: names and types of the table, a data dictionary, a table that the custodian calls
public. What an earlier source leaves open a later one may fill in; what it says stands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from discreet.errors import SchemaError
from discreet.schema import KINDS

__all__ = ["MODEL_OF", "OPEN", "Draft", "filled", "open_keys"]

OPEN = "?"
CHOSEN = ("kind", "levels", "lower", "upper")  # what may be open; elsewhere a question mark is a text like others

# The model that asks for least about a column of each kind: its law is not assumed, whatever the cells are.
MODEL_OF = {
    "binary": "BetaBernoulli",
    "categorical": "DirichletCategorical",
    "bounded": "Normal",
    "count": "Normal",
}


@dataclass(frozen=True)
class Draft:
    """The line of one column in a study; without a `spec` the column is left out, for the reason in `note`."""

    name: str
    spec: Mapping[str, Any] | None = field(default_factory=lambda: {"kind": OPEN})
    note: str = ""

    @property
    def is_declared(self) -> bool:
        """Whether nothing is open."""
        return self.spec is not None and not open_keys(self.spec)


def open_keys(spec: Mapping[str, Any]) -> list[str]:
    """What is still to be chosen."""
    return [key for key in CHOSEN if spec.get(key) == OPEN]


def filled(draft: Draft, found: Draft | None) -> Draft:
    """The draft with what it leaves open taken from another source, where that fits its kind."""
    if found is None or draft.spec is None or found.spec is None or draft.is_declared:
        return draft
    if draft.spec.get("kind") == OPEN:
        return found
    keys = open_keys(draft.spec)
    if any(key not in found.spec for key in keys):
        return draft
    spec = {**draft.spec, **{key: found.spec[key] for key in keys}}
    try:
        KINDS[spec["kind"]](**{key: value for key, value in spec.items() if key != "kind"})
    except SchemaError as problem:
        raise SchemaError(f"column {draft.name!r}, put together from its sources: {problem}") from None
    return Draft(draft.name, spec, draft.note or found.note)
