"""The JSON Schema of study files, generated from the registries: editors check a study while it is written."""

import inspect
from collections.abc import Mapping
from typing import Any, get_type_hints

from discreet.cli.study import OF_RELEASE, REQUIRED, arguments_of
from discreet.cli.study_data import FORMS
from discreet.mechanisms import MECHANISMS
from discreet.models import MODELS
from discreet.schema import KINDS, UNITS, Csv

__all__ = ["json_schema"]


def json_schema() -> dict[str, Any]:
    """The JSON Schema of study files, generated from the registries of columns, models and mechanisms."""
    text, size = {"type": "string", "minLength": 1}, {"type": "integer", "minimum": 0}
    release = _object(
        {
            "name": text,
            "model": _variants(MODELS),
            "mechanism": _variants(MECHANISMS),
            "out": {"type": "string", "pattern": r"\.json$"},
        },
        required=OF_RELEASE,
    )
    properties = {
        "id": text,
        "data": {"anyOf": [text, *(_table(form) for form in FORMS.values())]},
        "csv": _object(_properties(Csv), required=()),
        "ledger": text,
        "relation": {"enum": ["replace-one", "add-remove"], "default": "replace-one"},
        "unit": _variants(UNITS),
        "n": size,
        "n_max": size,
        "n_prior": {"type": "array", "items": {"type": "number", "minimum": 0}, "minItems": 2, "maxItems": 2},
        "columns": {"type": "object", "minProperties": 1, "additionalProperties": _variants(KINDS)},
        "release": {"type": "array", "minItems": 1, "items": release},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "discreet study",
        **_object(properties, required=REQUIRED),
    }


def _table(form: Any) -> dict[str, Any]:
    """Data that are not in files."""
    summary = (inspect.getdoc(form) or "").partition("\n")[0]
    return {"description": summary, **_object({**form.required, **form.optional}, required=form.required)}


def _variants(kinds: Mapping[str, type[Any]]) -> dict[str, Any]:
    """One object per kind: `kind` is its name, the other keys are the arguments of its constructor."""
    variants = []
    for name, kind in kinds.items():
        properties = {"kind": {"const": name}, **_properties(kind)}
        summary = (inspect.getdoc(kind) or "").partition("\n")[0]
        variants.append({"description": summary, **_object(properties, required=("kind", *arguments_of(kind)[0]))})
    return {"oneOf": variants}


def _properties(kind: type[Any]) -> dict[str, Any]:
    """The arguments of a constructor."""
    from pydantic import TypeAdapter

    hints, (needed, optional) = get_type_hints(kind.__init__), arguments_of(kind)
    properties: dict[str, Any] = {}
    for argument in (*needed, *optional):
        hint: Any = list[str | int] if hints[argument] is Any else hints[argument]  # levels: anything iterable
        properties[argument] = _without_null(TypeAdapter(hint).json_schema())
        if argument in ("epsilon", "rho", "delta"):
            properties[argument] = {"type": "number", "exclusiveMinimum": 0}
    return properties


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """An argument that may be None is left out of a TOML file instead."""
    choices = [choice for choice in schema.get("anyOf", []) if choice != {"type": "null"}]
    if not choices:
        return schema
    return choices[0] if len(choices) == 1 else {"anyOf": choices}


def _object(properties: dict[str, Any], *, required: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}
