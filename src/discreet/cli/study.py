"""A study: one TOML file that says everything public about a table and the releases asked of it.

    id, data, csv, ledger, relation, unit, n or n_max   where the rows are, what pays for them, who the neighbours are
    [columns]      name = {kind="categorical", levels=[…]}         the keys are the arguments of that column kind
    [[release]]    name, model = {kind="…", …}, mechanism = {kind="…", …}, out

Loading a study reads no data and spends nothing, and it finds every mistake that can be found without either: unknown
keys, missing bounds and levels, columns that are not declared, privacy parameters out of range. Paths are relative to
the file that names them.
"""

import inspect
import os
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from discreet import sources
from discreet.checks import meant
from discreet.cli.declaring.undeclared import declared_part
from discreet.cli.study_data import StudyData, file_name, study_data
from discreet.errors import DiscreetError, GuaranteeError, LedgerError, QueryError, SchemaError
from discreet.guarantee import Guarantee
from discreet.ledger.postgres.postgres_address import LedgerAddress, is_address
from discreet.mechanisms import MECHANISMS, Mechanism
from discreet.models import MODELS, Model
from discreet.queries.cell_classes import cells_in_words
from discreet.queries.losses.base import Query
from discreet.recipe import build, called_like, read_text
from discreet.schema import KINDS, UNITS, Csv, Schema

__all__ = ["OF_RELEASE", "REQUIRED", "Request", "Study", "arguments_of"]

REQUIRED = ("data", "ledger", "columns", "release")
OPTIONAL = ("id", "csv", "relation", "unit", "n", "n_max", "n_prior")
LARGEST = 2**24  # bytes of a study file
MOST_DOTS = 20  # of a name that is spelled out
OF_RELEASE = ("name", "model", "mechanism", "out")


@dataclass(frozen=True)
class Request:
    """One `[[release]]` of a study: which model, protected how, and the file the release is written to."""

    name: str
    model: Model
    mechanism: Mechanism
    out: Path

    def guarantee(self, schema: Schema) -> Guarantee:
        """What this release will satisfy. Whether n is declared or counted later is known, its value is not needed."""
        return self.mechanism.guarantee(self._query(schema))

    def cells(self, schema: Schema) -> dict[str, str]:
        """What each column that is used does with cells that are no level or no number: from the declaration alone."""
        return cells_in_words(schema, self._query(schema))

    def work(self, schema: Schema) -> int:
        """The public number of steps that making it takes, reading the rows included."""
        return 1 + self.mechanism.work(self._query(schema))

    def _query(self, schema: Schema) -> Query:
        counted_later = schema.relation == "replace-one" and schema.n is None
        return self.model.query(schema.with_n(1) if counted_later else schema)


@dataclass(frozen=True)
class Study:
    """Everything public about a table and what is asked of it."""

    id: str
    folder: Path
    source: StudyData
    ledger: Path | str
    schema: Schema
    releases: tuple[Request, ...]

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read and check a study file."""
        file = Path(path)
        body: Mapping[str, Any] = _read(file)
        _check_keys("Study", body, REQUIRED, OPTIONAL, SchemaError)
        body = declared_part(str(file), body)
        source = study_data(body["data"], _csv(body["csv"]) if "csv" in body else None)
        schema = _schema(body)
        requests = body["release"]
        if not isinstance(requests, list) or not requests:
            raise SchemaError("Study.release must be at least one [[release]] table, got none")
        study = cls(
            id=_text("Study.id", body.get("id", source.name)),
            folder=file.parent,
            source=source,
            ledger=_ledger(body["ledger"], file.parent),
            schema=schema,
            releases=tuple(_request(number, spec, file.parent) for number, spec in enumerate(requests, start=1)),
        )
        study._check_files(file)
        for request in study.releases:
            with _named(f"release {request.name!r}", QueryError):
                request.guarantee(schema)
        return study

    @property
    def data(self) -> str:
        """What the study calls its data."""
        return self.source.name

    @property
    def columns(self) -> list[str]:
        """The names of all columns that the data have, declared or not."""
        return self.source.columns(self.folder)

    def open(self) -> sources.Dataset:
        """The dataset of the study; under replace-one its units are counted, and no cell is looked at."""
        return self.source.open(self.folder, self.schema, self.id)

    def only(self, name: str | None) -> tuple[Request, ...]:
        """All releases, or the one called `name`."""
        chosen = tuple(request for request in self.releases if name in (None, request.name))
        if not chosen:
            names = [request.name for request in self.releases]
            raise QueryError(f"Study.release must contain {name!r}, got {names}{meant(name, names)}")
        return chosen

    def _check_files(self, file: Path) -> None:
        """Names and files are used once; a release never overwrites the data, the ledger or the study."""
        taken = {Path(self.ledger).resolve(): "ledger", file.resolve(): "study file"}
        held = self.source.file(self.folder)
        taken |= {} if held is None else {held.resolve(): "data"}
        names: set[str] = set()
        for request in self.releases:
            out = request.out.resolve()
            if request.name in names:
                raise SchemaError(f"Study.release names must be different, got {request.name!r} twice")
            if out in taken:
                raise SchemaError(
                    f"release {request.name!r}: out must be a file of its own, got {request.out.name!r}, "
                    f"which is the {taken[out]}"
                )
            taken[out] = f"out of release {request.name!r}"
            names.add(request.name)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(read_text(file, LARGEST))
    except OSError as problem:
        inside = file / "study.toml"
        found = f"there is {str(inside)!r}" if os.path.isfile(inside) else "discreet init makes one"
        raise SchemaError(f"Study file must be readable, got {str(file)!r} ({problem.strerror}): {found}") from None
    except (ValueError, RecursionError) as problem:
        # a decoding error would quote bytes of whatever file was named by mistake, perhaps the data
        detail = f": {problem}" if isinstance(problem, tomllib.TOMLDecodeError) else ""
        raise SchemaError(f"Study file must be TOML, got {called_like(file, 'study', detail)}") from None


def _ledger(given: Any, folder: Path) -> Path | str:
    """A file beside the study, or the address of a ledger in a database."""
    if not is_address(given):
        return folder / file_name("Study.ledger", given)
    try:
        return str(LedgerAddress.read(given))
    except LedgerError as problem:
        raise SchemaError(f"Study.ledger: {problem}") from None


def _schema(body: Mapping[str, Any]) -> Schema:
    columns = body["columns"]
    if not isinstance(columns, Mapping):
        raise SchemaError(f"Study.columns must be a table of columns, got {columns!r}")
    for name, spec in columns.items():
        with _named(f"column {name!r}", SchemaError):
            _check_dots(name, spec)
            _build("Column", KINDS, spec, SchemaError)
    if "unit" in body:
        _build("Unit", UNITS, body["unit"], SchemaError)
    public = {key: body[key] for key in ("columns", "relation", "unit", "n", "n_max", "n_prior") if key in body}
    return Schema.from_json(public)


def _check_dots(name: str, spec: Any) -> None:
    """Refuse a table of tables, which is what TOML makes of a name with dots, in words that help."""
    path, inner = [name], spec
    while isinstance(inner, Mapping) and inner and "kind" not in inner and len(path) < MOST_DOTS:
        key, inner = next(iter(inner.items()))
        path.append(key)
    if len(path) > 1 and isinstance(inner, Mapping):
        raise SchemaError(
            f'Study.columns must have names in quotes where they have dots, as in "{".".join(path)}" = {{kind = …}}; '
            "TOML makes tables within tables of names with dots"
        )


def _csv(spec: Any) -> Csv:
    """How the data file is written."""
    with _named("csv", SchemaError):
        if not isinstance(spec, Mapping):
            raise SchemaError(f"Study.csv must be a table, got {spec!r}")
        _check_keys("Csv", spec, (), arguments_of(Csv)[1], SchemaError)
        return Csv(**spec)


def _request(number: int, spec: Any, folder: Path) -> Request:
    if not isinstance(spec, Mapping):
        raise SchemaError(f"Study.release must be [[release]] tables, got {spec!r}")
    name = spec.get("name")
    where = f"release {name!r}" if isinstance(name, str) else f"release number {number}"
    with _named(where, QueryError):
        _check_keys("Release", spec, OF_RELEASE, (), SchemaError)
        out = file_name("Release.out", spec["out"])
        if not out.endswith(".json"):
            raise SchemaError(f"Release.out must end in '.json', got {out!r}")
        return Request(
            name=_text("Release.name", name),
            model=_build("Model", MODELS, spec["model"], QueryError),
            mechanism=_build("Mechanism", MECHANISMS, spec["mechanism"], GuaranteeError),
            out=folder / out,
        )


@contextmanager
def _named(where: str, otherwise: type[DiscreetError]) -> Iterator[None]:
    """Say which part of the study an error is about; arguments of a wrong type are errors of the study, too."""
    try:
        yield
    except DiscreetError as problem:
        raise type(problem)(f"{where}: {problem}") from None
    except (TypeError, ValueError, AttributeError, ArithmeticError):
        raise otherwise(f"{where}: arguments must have the types of the study's JSON Schema, got another") from None


def _build(noun: str, kinds: Mapping[str, type[Any]], spec: Any, error: type[DiscreetError]) -> Any:
    """`recipe.build`, after naming the key that is missing or unknown."""
    kind = spec.get("kind") if isinstance(spec, Mapping) else spec
    if not isinstance(spec, Mapping) or not isinstance(kind, str) or kind not in kinds:
        raise error(f"{noun}.kind must be one of {sorted(kinds)}, got {kind!r}{meant(kind, kinds)}")
    needed, optional = arguments_of(kinds[kind])
    _check_keys(kinds[kind].__name__, spec, ("kind", *needed), optional, error)
    return build(noun, kinds, spec, error)


def arguments_of(kind: type[Any]) -> tuple[list[str], list[str]]:
    """The required and the optional arguments of a constructor."""
    given = inspect.signature(kind).parameters
    needed = [name for name, argument in given.items() if argument.default is inspect.Parameter.empty]
    return needed, [name for name in given if name not in needed]


def _check_keys(noun: str, body: Mapping[str, Any], required: Any, optional: Any, error: type[DiscreetError]) -> None:
    for key in required:
        if key not in body:
            raise error(f"{noun}.{key} must be given, got nothing")
    for key in body:
        if key not in required and key not in optional:
            raise error(f"{noun} must have only the keys {[*required, *optional]}, got {key!r}")


def _text(field: str, value: Any) -> str:
    if not (isinstance(value, str) and value and len(value) <= 200 and value.isprintable()):
        raise SchemaError(f"{field} must be a printable text of 1 to 200 characters, got {value!r}")
    return value
