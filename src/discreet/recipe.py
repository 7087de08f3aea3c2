"""Objects as public recipes: `{"kind": class name, **constructor arguments}`, the form of study and release files."""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

from discreet.errors import DiscreetError

__all__ = ["build", "describe", "spelled"]

T = TypeVar("T")


def describe(thing: Any) -> dict[str, Any]:
    """A frozen dataclass as its recipe; arguments left at None are not written."""
    arguments = {field.name: _plain(getattr(thing, field.name)) for field in fields(thing)}
    return {"kind": type(thing).__name__, **{name: value for name, value in arguments.items() if value is not None}}


def spelled(thing: Any) -> str:
    """A frozen dataclass as a short text: its name and the arguments that are not the default."""
    given = {field.name: getattr(thing, field.name) for field in fields(thing)}
    said = {
        field.name: given[field.name]
        for field in fields(thing)
        if field.default is MISSING or given[field.name] != field.default
    }
    return f"{type(thing).__name__}({', '.join(f'{name}={_number(value)}' for name, value in said.items())})"


def build(where: str, kinds: Mapping[str, type[T]], spec: Any, error: type[DiscreetError]) -> T:
    """Construct what a recipe describes; an unknown kind, an unknown key or a missing argument is an error."""
    got = spec.get("kind") if isinstance(spec, Mapping) else spec
    if not isinstance(spec, Mapping) or not isinstance(got, str) or got not in kinds:
        raise error(f"{where}.kind must be one of {sorted(kinds)}, got {got!r}")
    kind = got
    arguments = {str(key): _frozen(value) for key, value in spec.items() if key != "kind"}
    try:
        return kinds[kind](**arguments)
    except TypeError as problem:
        detail = str(problem).rpartition("__init__() ")[2]
        raise error(f"{where} must be a complete {kind}: {detail}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return {key: _plain(item) for key, item in value.items()} if isinstance(value, Mapping) else value


def _frozen(value: Any) -> Any:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def _number(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else repr(value)
