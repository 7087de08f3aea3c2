"""Studies that are not filled in yet: what nobody asks about may stay open, and the rest is said with what to type."""

from collections.abc import Iterator, Mapping
from typing import Any

from discreet.cli.declaring.drafts import MODEL_OF, OPEN, open_keys
from discreet.cli.declaring.study_text import inline, key
from discreet.errors import SchemaError

__all__ = ["declared_part"]

SPELLED = {
    "binary": {"kind": "binary", "zero": "no", "one": "yes"},
    "categorical": {"kind": "categorical", "levels": ["A", "B", "C"]},
    "bounded": {"kind": "bounded", "lower": 0, "upper": 110},
    "count": {"kind": "count", "upper": 20},
}


def declared_part(file: str, body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The study without columns that are still open; refused where a release asks about one of them."""
    columns, releases = body.get("columns"), body.get("release")
    if not isinstance(columns, Mapping) or not isinstance(releases, list):
        return body
    left = {name: spec for name, spec in columns.items() if isinstance(spec, Mapping) and open_keys(spec)}
    for release in releases:
        model = release.get("model") if isinstance(release, Mapping) else None
        asked = list(dict.fromkeys(_texts(model)))
        used = [name for name in asked if name in left]
        if used:
            raise SchemaError(_not_declared(file, used[0], left[used[0]]))
        if isinstance(model, Mapping) and model.get("kind") == OPEN:
            raise SchemaError(_not_chosen(file, release, columns))
    return {**body, "columns": {name: spec for name, spec in columns.items() if name not in left}} if left else body


def _texts(value: Any) -> Iterator[str]:
    """Every text within a declaration: names of columns are among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def _not_declared(file: str, name: str, spec: Mapping[str, Any]) -> str:
    keys, kind = open_keys(spec), spec.get("kind")
    lines = [SPELLED[kind]] if kind in SPELLED else list(SPELLED.values())
    choices = " or ".join(f"{key(name)} = {inline(line)}" for line in lines)
    return (
        f"column {name!r} has still to be declared, and a release asks about it: {' and '.join(keys)} must be given, "
        f"got '?'. In {file}, under [columns], write {choices}, from what is known of the table and not from its rows. "
        f"Then type: discreet plan {file}"
    )


def _not_chosen(file: str, release: Mapping[str, Any], columns: Mapping[str, Any]) -> str:
    column = release["model"].get("column")
    spec = columns.get(column) if isinstance(column, str) else None
    kind = spec.get("kind") if isinstance(spec, Mapping) else None
    if kind in MODEL_OF:
        line = inline({"kind": MODEL_OF[kind], "column": column})
        choice = f"column {column!r} is {kind}: write model = {line}"
    else:
        choice = "write the name of a model, such as " + ", ".join(
            f"{model} for a {kind} column" for kind, model in MODEL_OF.items()
        )
    return f"release {release.get('name')!r}: Model.kind must be chosen in {file}, got '?'; {choice}"
