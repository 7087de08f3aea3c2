"""Objects as public recipes, `{"kind": class name, **constructor arguments}`, and the documents that hold them.

A document is read whole, bounded and unambiguous, and written complete or not at all. Only regular files are documents:
a pipe would wait for ever, a device would never end or would be replaced by a file.
"""

import errno
import json
import os
import secrets
import shlex
import stat
from collections.abc import Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any, TypeVar

from discreet.errors import DiscreetError

__all__ = [
    "LARGEST",
    "build",
    "called_like",
    "describe",
    "parse_json",
    "read_text",
    "spelled",
    "without_none",
    "write_text",
]

LARGEST = 2**30  # bytes; no ledger holds a larger release
MODE = 0o644  # of new files, less what the user masks: SQLite gives a ledger the same

FILES = {
    ".toml": ("study", "discreet release {} makes its releases"),
    ".json": ("release", "discreet posterior {} reads it"),
    ".ledger": ("ledger", "discreet ledger show {} tells it"),
    ".csv": ("table", "discreet init study --epsilon 3 --from {} makes a study of it"),
    ".parquet": ("table", "discreet init study --epsilon 3 --from {} makes a study of it"),
}  # by the ending of their names: no file is opened to find out what it is

T = TypeVar("T")


def describe(thing: Any) -> dict[str, Any]:
    """A frozen dataclass as its recipe; arguments left at None are not written."""
    arguments = {field.name: _plain(getattr(thing, field.name)) for field in fields(thing)}
    return {"kind": type(thing).__name__, **{name: value for name, value in arguments.items() if value is not None}}


def without_none(body: dict[str, Any]) -> dict[str, Any]:
    """The entries that say something."""
    return {key: value for key, value in body.items() if value is not None}


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


def read_text(path: str | os.PathLike[str], largest: int = LARGEST) -> str:
    """The text of a regular file of at most so many bytes; anything else is an OSError or a ValueError."""
    # without O_NONBLOCK, opening a pipe waits for somebody to write to it
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        _check_regular(status)
        body = b"" if status.st_size > largest else file.read(largest + 1)
        if status.st_size > largest or len(body) > largest:
            raise OSError(errno.EFBIG, f"it is larger than {largest} bytes")
    return body.decode("utf-8")


def parse_json(text: str) -> Any:
    """Read JSON in which no object has a key twice: readers differ in which of them they believe."""
    return json.loads(text, object_pairs_hook=_unambiguous, parse_constant=_no_number)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a file or replace it, through links; what is there and is no regular file is left alone."""
    target = Path(os.path.realpath(path))
    if os.path.lexists(target):
        _check_regular(os.stat(target))
    made = target.with_name(f".discreet-{secrets.token_hex(8)}")
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), MODE)
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(descriptor)
        made.replace(target)
    except BaseException:  # an interrupt too
        made.unlink(missing_ok=True)
        raise


def _check_regular(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a key is given twice")
    return found


def _no_number(_: str) -> Any:
    raise ValueError("NaN and Infinity are no JSON")


def called_like(path: str | os.PathLike[str], wanted: str, otherwise: str = ", which is none") -> str:
    """A file in the place of one that was wanted: its name, and if it is called like another kind, what to type."""
    name = os.fspath(path)
    kind, step = FILES.get(os.path.splitext(name)[1].lower(), (wanted, ""))
    return f"{name!r}{otherwise if kind == wanted else f', called like a {kind}: {step.format(shlex.quote(name))}'}"
