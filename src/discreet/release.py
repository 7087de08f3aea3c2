"""A release: all that leaves. Value, public recipe, guarantee and the ledger entry that paid for it.

The file format is JSON with a format name and a version; no pickle, nothing that runs. What may be in it is
listed by `to_json` and nothing else: no row, no exact count, no acceptance rate, no run time.
"""

import json
import math
import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from discreet import guarantee as guarantees
from discreet.errors import DiscreetError, QueryError, ReleaseError
from discreet.guarantee import Guarantee, stored
from discreet.guarantee.stored import read_today
from discreet.mechanisms import MECHANISMS, Mechanism, Reading
from discreet.models import MODELS, Model
from discreet.noise.sources import SeededNoise
from discreet.numerics.arrays import Array
from discreet.posterior import CoefficientDraws, Posterior
from discreet.posterior.exports.provenance import Provenance
from discreet.queries.losses import Query
from discreet.recipe import build, called_like, describe, parse_json, read_text, write_text
from discreet.report.release_words import release_lines
from discreet.schema import Record, Schema
from discreet.sources import CodedRows, Dataset
from discreet.visible import Told, visible

__all__ = ["Release", "load", "recipe_of"]

FORMAT, VERSION = "discreet release", 2
FIELDS = {"format", "version", "entry", "recipe", "accounting", "guarantee", "value", "noise"}
WITHOUT_NOISE = 1  # the version of files that leave the law of the noise to the recipe
SAME = 1e-12  # relative: scales are searched for in doubles, which differ between machines in their last digits
REPLICATES, MOST_REPLICATED = 100, 50_000  # tables, and rows of each
RECIPE = {"dataset", "schema", "model", "mechanism"}


def recipe_of(model: Any, dataset_id: str, schema: Schema, mechanism: Any) -> dict[str, Any]:
    """The public recipe of a request. Two requests are the same exactly if their recipes are.

    Of the schema only the columns the model uses take part: declaring one more column changes no earlier request.
    """
    return {
        "dataset": dataset_id,
        "schema": schema.only(model.query(schema).columns).to_json(),
        "model": describe(model),
        "mechanism": describe(mechanism),
    }


@dataclass(frozen=True, eq=False)
class Release(Told):
    """What left the private side, and what is needed to read it."""

    recipe: Mapping[str, Any]
    guarantee: Guarantee
    value: Mapping[str, np.ndarray[Any, Any]]
    entry: str
    private: bool = True
    truth: Mapping[str, Any] | None = field(default=None, repr=False)
    accounting: int = stored.ACCOUNTING  # that priced it
    paid: Guarantee | None = None  # where an older accounting asked less than today's guarantee says

    def __eq__(self, other: object) -> bool:
        """The same request, entry and numbers."""
        if not isinstance(other, Release):
            return NotImplemented
        same = all(getattr(self, name) == getattr(other, name) for name in ("recipe", "guarantee", "entry", "private"))
        named = self.value.keys() == other.value.keys()
        return same and named and all(np.array_equal(self.value[name], other.value[name]) for name in self.value)

    def __hash__(self) -> int:
        return hash((self.entry, self.private))

    def _told(self) -> tuple[str, list[tuple[str, str]]]:
        return f"Release of {visible(self.recipe['dataset'], 100)}", release_lines(self)

    @property
    def notice(self) -> str:
        """What a reader of the guarantee must know besides; most releases have nothing to say."""
        if self.paid is None:
            return ""
        return (
            f"Accounting {self.accounting} charged less, {self.paid!r}: the guarantee is what today's accounting "
            f"certifies for this release."
        )

    @property
    def model(self) -> Model:
        """The model that was asked."""
        model: Model = build("Release.model", MODELS, self.recipe["model"], ReleaseError)
        return model

    @property
    def mechanism(self) -> Mechanism:
        """The mechanism that answered."""
        mechanism: Mechanism = build("Release.mechanism", MECHANISMS, self.recipe["mechanism"], ReleaseError)
        return mechanism

    @property
    def query(self) -> Query:
        """What was asked of the rows."""
        return self.model.query(Schema.from_json(self.recipe["schema"]))

    @property
    def noise(self) -> dict[str, Any]:
        """The law of the noise on every released statistic, and what its whole numbers mean: enough to condition on.

        A released number is the sum over rows of products of (x - centre), in steps of `unit`, plus noise of this law
        in the same steps; a count has no centres and the unit 1. Draws hold no noise that was added. Sums of a second
        stage are of numbers in [0, 1] (`of` each reported number), by functions of what the first released.
        """
        query: Any = self.query  # with noise on its statistics, if any
        laws = self.mechanism.laws(query)
        meaning = query.meanings if laws else {}
        return {name: {**law.to_json(), **meaning[name]} for name, law in laws.items()}

    def posterior(
        self,
        kind: Literal["noise-aware", "plug-in", "joint"] = "noise-aware",
        *,
        prior: Any = None,
        pooling: Literal["partial"] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Posterior | CoefficientDraws:
        """The posterior this release leads to: free post-processing, as often as wanted.

        `"noise-aware"` conditions on the noise and covers what it says; `"plug-in"` is the papers' naive one; `"joint"`
        conditions on all tables of a network together, by chains, where the default reads each by itself. `prior`
        re-reads noisy statistics with another public prior. A release with groups has a posterior for each of them;
        with `pooling="partial"` their parameters come from one population, and groups learn from each other. A release
        of draws has one posterior, `Draws`, or `CoefficientDraws` for a model with a loss. `progress` is called with
        the number of states that chains have made since the last call; exact posteriors have no chains and never call
        it.
        """
        if kind not in ("noise-aware", "plug-in", "joint"):
            raise QueryError(f'Release.posterior kind must be "noise-aware", "plug-in" or "joint", got {kind!r}')
        reading = Reading(kind, prior, pooling, progress)
        posterior: Posterior | CoefficientDraws = self.mechanism.read(self.model, self.query, self.value, reading)
        return posterior.of_release(self._provenance(reading))

    def _provenance(self, reading: Reading) -> Provenance:
        """What every summary and export of a posterior says of this release."""
        noisy = self.mechanism.laws(self.query)
        return Provenance(
            guarantee=str(self.guarantee),
            certificate=self.guarantee.to_json(),
            recipe=self.recipe,
            entry=self.entry,
            reading=reading.kind if noisy else "draws",
            private=self.private,
            prior=partial(_from_prior, self, reading.prior),
        )

    def replicated(self, posterior: Posterior | CoefficientDraws | None = None) -> dict[str, tuple[Array, Array]]:
        """By statistic the released numbers, and those of tables drawn from the posterior and released the same way.

        Nothing where that is not possible or would take long, which public facts alone decide: for draws, for models
        without a law of records, and where the number of rows is private or large.
        """
        query, schema = self.query, Schema.from_json(self.recipe["schema"])
        size, read = schema.n or 0, posterior or self.posterior()
        known = isinstance(schema.unit, Record) and 0 < size <= MOST_REPLICATED and self.mechanism.laws(query)
        if not known or query.groups or not isinstance(read, Posterior):
            return {}
        try:
            tables = read.coded_tables(REPLICATES, size, np.random.default_rng(0))
        except QueryError:  # which the kind of the posterior decides
            return {}
        noise = SeededNoise(np.random.SeedSequence(0))
        made = [
            self.mechanism.apply(noise, query, Dataset("replicated", query.schema, CodedRows(table)))
            for table in tables
        ]
        return {name: (np.asarray(found), np.array([one[name] for one in made])) for name, found in self.value.items()}

    def report(self, *, ledger: Any = None, title: str = "") -> str:
        """One HTML page of this release, and of the ledger that paid for it: complete, without scripts or network."""
        from discreet.report.page import report

        return report(self, ledger=ledger, title=title)

    def to_json(self) -> dict[str, Any]:
        """The whole release as plain data; a simulated one has no such form, so that it cannot pass for a paid one."""
        if not self.private:
            raise ReleaseError("Release.to_json must be called on a private release, got a simulated one")
        return {
            "format": FORMAT,
            "version": VERSION,
            "entry": self.entry,
            "recipe": deepcopy(dict(self.recipe)),
            "accounting": self.accounting,
            "guarantee": (self.paid or self.guarantee).to_json(),
            "value": {name: array.tolist() for name, array in self.value.items()},
            "noise": self.noise,
        }

    @classmethod
    def from_json(cls, body: Any) -> Self:
        """Read a release; anything that is not one is refused with a ReleaseError."""
        if not isinstance(body, Mapping) or body.get("format") != FORMAT:
            raise ReleaseError("Release file must be a discreet release, got something else")
        written = body.get("version")
        if written not in (WITHOUT_NOISE, VERSION) or isinstance(written, bool):
            raise ReleaseError(f"Release.version must be {WITHOUT_NOISE} or {VERSION}, got another")
        fields = FIELDS if written == VERSION else FIELDS - {"noise"}
        for name, found, known in (("file", body, fields), ("recipe", body.get("recipe"), RECIPE)):
            if isinstance(found, Mapping) and not known.issuperset(found):
                raise ReleaseError(f"Release {name} must have only the keys {sorted(known)}, got others")
        priced = stored.read_version("Release.accounting", body.get("accounting", stored.UNVERSIONED), ReleaseError)
        try:
            value = {str(name): _array(name, numbers) for name, numbers in body["value"].items()}
            release = cls(body["recipe"], guarantees.from_json(body["guarantee"]), value, str(body["entry"]))
            query, mechanism = release.query, release.mechanism
            declared, shapes = mechanism.guarantee(query), mechanism.shapes(query)
            # theorem and sampler are told in the words of this version, never in those of a file
            promised = guarantees.from_json(body["guarantee"], words=declared.basis)
            reading = read_today(promised, declared, older=priced < stored.ACCOUNTING)
            noise = release.noise
            same_noise = written == WITHOUT_NOISE or _same_noise(body["noise"], noise)
        except DiscreetError:
            raise
        except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RecursionError):
            raise ReleaseError("Release file must be complete, got missing or misshapen fields") from None
        if reading is None:
            raise ReleaseError(f"Release.guarantee must be what its recipe gives, {declared!r}, got {promised!r}")
        if {name: array.shape for name, array in value.items()} != shapes:
            raise ReleaseError(f"Release.value must be arrays of shapes {shapes}, got others")
        if not same_noise:
            raise ReleaseError(f"Release.noise must be the law that its recipe gives, {noise}, got another")
        if not mechanism.holds(query, value):
            raise ReleaseError("Release.value must be one that could have been released, got another")
        return replace(release, guarantee=reading.shown, paid=reading.paid, accounting=priced)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release as JSON: complete or not at all."""
        if not self.private:
            raise ReleaseError("Release.save must be called on a private release, got a simulated one")
        text = json.dumps(self.to_json(), indent=2, sort_keys=True, allow_nan=False) + "\n"
        try:
            write_text(path, text)
        except (OSError, ValueError) as problem:  # a path may hold what no file name can
            detail = getattr(problem, "strerror", None) or "it is no name of a file"
            raise ReleaseError(f"Release.save must be able to write {str(path)!r}: {detail}") from None


def _from_prior(release: Release, prior: Any, draws: int, rng: np.random.Generator) -> dict[str, Any]:
    """Draws of the parameters from the prior that a release is read with, (draws, …), groups first."""
    model: Any = release.model  # another prior is read by models of statistics only
    model = model if prior is None else model.with_prior(prior)
    query = model.query(Schema.from_json(release.recipe["schema"]))
    groups = max(1, len(query.groups))
    drawn = model.from_prior(query.schema, draws * groups, rng)
    found = [release.mechanism.reported(query, dict(one)) for one in drawn]
    arrays = {name: np.array([one[name] for one in found]) for name in (found[0] if found else ())}
    if not query.groups:
        return arrays
    return {name: values.reshape(draws, groups, *values.shape[1:]) for name, values in arrays.items()}


def load(path: str | os.PathLike[str]) -> Release:
    """Read a saved release."""
    try:
        body = parse_json(read_text(path))
    except OSError as problem:
        beside = f"{os.fspath(path)}.release.json"
        there = f"; there is {beside!r}" if os.path.isfile(beside) else ": discreet release writes it to its out"
        raise ReleaseError(f"Release file must be readable, got {str(path)!r} ({problem.strerror}){there}") from None
    except (ValueError, RecursionError):
        got = called_like(path, "release")
        raise ReleaseError(f"Release file must be JSON with every key once, got {got}") from None
    return Release.from_json(body)


def _same_noise(stored: Any, own: Any) -> bool:
    """Whether two laws say the same; numbers may differ as those of two machines do."""
    if isinstance(own, Mapping):
        keys = isinstance(stored, Mapping) and stored.keys() == own.keys()
        return keys and all(_same_noise(stored[key], own[key]) for key in own)
    if isinstance(own, list):
        listed = isinstance(stored, list) and len(stored) == len(own)
        return listed and all(map(_same_noise, stored, own))
    if not isinstance(own, float):
        return type(stored) is type(own) and bool(stored == own)
    return type(stored) in (int, float) and math.isclose(stored, own, rel_tol=SAME)


def _array(name: Any, numbers: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(numbers)
    big = array.dtype.kind == "O" and all(isinstance(item, int) for item in array.flat)
    if not big and (array.dtype.kind not in "iuf" or not np.all(np.isfinite(array))):
        raise ReleaseError(f"Release.value[{name!r}] must be an array of finite numbers, got another type")
    return array
