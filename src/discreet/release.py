"""A release: all that leaves. Value, public recipe, guarantee and the ledger entry that paid for it.

The file format is JSON with a format name and a version; no pickle, nothing that runs. What may be in it is
listed by `to_json` and nothing else: no row, no exact count, no acceptance rate, no run time.
"""

import json
import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, Self

import numpy as np

from discreet import files
from discreet import guarantee as guarantees
from discreet.accounting import version
from discreet.errors import DiscreetError, QueryError, ReleaseError
from discreet.guarantee import Guarantee
from discreet.guarantee.comparison import read_today
from discreet.mechanisms import (
    MECHANISMS,
    ConjugateSample,
    GibbsPosterior,
    NoisyStatistics,
    PaidChain,
    PosteriorSample,
    PrivateMetropolis,
)
from discreet.models import MODELS, EventLogHMM, GivenDraws, Model, Poolable, PredictsRecords
from discreet.posterior import (
    CoefficientDraws,
    Draws,
    GroupedPosterior,
    Posterior,
    RecordLaw,
    beta_given_draws,
    pooled_posterior,
)
from discreet.queries.families.base import Dirichlet, DirichletTables, SumFamily
from discreet.queries.losses.base import Loss, Query
from discreet.queries.statistics import Statistics
from discreet.recipe import build, describe
from discreet.schema import Schema

__all__ = ["Release", "load", "recipe_of"]

FORMAT, VERSION = "discreet release", 1
FIELDS = {"format", "version", "entry", "recipe", "accounting", "guarantee", "value"}
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
class Release:
    """What left the private side, and what is needed to read it."""

    recipe: Mapping[str, Any]
    guarantee: Guarantee
    value: Mapping[str, np.ndarray[Any, Any]]
    entry: str
    private: bool = True
    truth: Mapping[str, Any] | None = field(default=None, repr=False)
    accounting: int = version.ACCOUNTING  # that priced it
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
    def mechanism(self) -> Any:
        """The mechanism that answered."""
        return build("Release.mechanism", MECHANISMS, self.recipe["mechanism"], ReleaseError)

    @property
    def query(self) -> Query:
        """What was asked of the rows."""
        return self.model.query(Schema.from_json(self.recipe["schema"]))

    def posterior(
        self,
        kind: Literal["noise-aware", "plug-in"] = "noise-aware",
        *,
        prior: Any = None,
        pooling: Literal["partial"] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> Posterior | CoefficientDraws:
        """The posterior this release leads to: free post-processing, as often as wanted.

        `"noise-aware"` conditions on the noise and covers what it says; `"plug-in"` is the papers' naive one. `prior`
        re-reads noisy statistics with another public prior. A release with groups has a posterior for each of them;
        with `pooling="partial"` their parameters come from one population, and groups learn from each other. A release
        of draws has one posterior, `Draws`, or `CoefficientDraws` for a model with a loss. `progress` is called with
        the number of states that chains have made since the last call; exact posteriors have no chains and never call
        it.
        """
        if kind not in ("noise-aware", "plug-in"):
            raise QueryError(f'Release.posterior kind must be "noise-aware" or "plug-in", got {kind!r}')
        model, mechanism, query = self.model, self.mechanism, self.query
        if not isinstance(mechanism, NoisyStatistics):
            if prior is not None or kind == "plug-in" or pooling is not None:
                raise QueryError("Release.posterior of released draws must keep their own prior and kind, got another")
            if isinstance(mechanism, GibbsPosterior):
                assert isinstance(query, Loss)
                law, stationary = mechanism.law(query), mechanism.steps == "stationary"
                return CoefficientDraws(
                    self.value, query, law.beta, law.precision, stationary or law.steps == 0, mechanism.note(query)
                )
            assert isinstance(query, Statistics)
            if isinstance(mechanism, PaidChain):
                assert isinstance(model, EventLogHMM)
                return model.given_chain(query, *mechanism.kept(self.value), mechanism.note(query))
            if isinstance(mechanism, PrivateMetropolis):
                return Draws(self.value, {}, mechanism.note(query), record=self._record(query))
            return replace(self._draws(mechanism, query), record=self._record(query))
        assert isinstance(query, Statistics)
        if pooling is not None and (pooling != "partial" or not query.groups or kind == "plug-in"):
            raise QueryError(
                'Release.posterior pooling must be "partial", of a noise-aware release with by=, '
                f"got pooling={pooling!r}, kind={kind!r}, by={query.by!r}"
            )
        if prior is not None:
            model = replace(model, prior=prior)  # type: ignore[type-var]  # models are dataclasses
            query = model.query(query.schema)
            assert isinstance(query, Statistics)
        laws = mechanism.laws(query)  # once: their calibration is a search

        def one(value: Mapping[str, Any]) -> Posterior:
            """Of the table, or of one group of it."""
            return model.plug_in(query, value) if kind == "plug-in" else model.posterior(query, value, laws, progress)

        if query.by is None:
            return one(self.value)
        values = {level: {name: array[g] for name, array in self.value.items()} for g, level in enumerate(query.groups)}
        if pooling is None:
            return GroupedPosterior(query.by, {level: one(value) for level, value in values.items()})
        if not isinstance(model, Poolable):
            raise QueryError(
                f"Release.posterior pooling must have a model of one parameter, got {type(model).__name__}"
            )
        likelihoods = {level: model.likelihood(query, value, laws) for level, value in values.items()}
        return pooled_posterior(query.by, likelihoods, model.population(query.schema))

    def _draws(self, mechanism: PosteriorSample | ConjugateSample, query: Statistics) -> Draws:
        """The draws, and for one parameter what their law says of it."""
        family, note = query.family, mechanism.note(query)
        if isinstance(family, DirichletTables):
            counted = {statistic.name: statistic for statistic in query.statistics}
            levels = {t.parameter: counted[t.statistic].levels[len(t.shape) - 1] for t in family.tables}
            return Draws(self.value, levels, note)
        if not isinstance(family, Dirichlet):
            model = self.model
            if not isinstance(family, SumFamily) or not isinstance(model, GivenDraws):
                return Draws(self.value, {}, note)
            drawn = self.value[family.parameter]
            return Draws(self.value, {}, note, model.given_draws(query, partial(mechanism.log_law, query, drawn)))
        if family.coordinate is None or query.total is None:
            return Draws(self.value, {} if family.coordinate is not None else {family.parameter: query.levels}, note)
        draws, (b, a) = self.value[family.parameter], family.prior
        counts = np.arange(query.total + 1)
        given = beta_given_draws(query.total, (a, b), mechanism.log_law(query, draws, counts))
        return Draws(self.value, {}, note, given)

    def _record(self, query: Statistics) -> RecordLaw | None:
        """How the model draws a record given its parameters, if it says so."""
        model = self.model
        return model.record_law(query.schema) if isinstance(model, PredictsRecords) else None

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
        }

    @classmethod
    def from_json(cls, body: Any) -> Self:
        """Read a release; anything that is not one is refused with a ReleaseError."""
        if not isinstance(body, Mapping) or body.get("format") != FORMAT:
            raise ReleaseError("Release file must be a discreet release, got something else")
        if body.get("version") != VERSION:
            raise ReleaseError(f"Release.version must be {VERSION}, got {body.get('version')!r}")
        for name, found, known in (("file", body, FIELDS), ("recipe", body.get("recipe"), RECIPE)):
            if isinstance(found, Mapping) and not known.issuperset(found):
                raise ReleaseError(f"Release {name} must have only the keys {sorted(known)}, got others")
        priced = version.read_version("Release.accounting", body.get("accounting", version.UNVERSIONED), ReleaseError)
        try:
            value = {str(name): _array(name, numbers) for name, numbers in body["value"].items()}
            release = cls(body["recipe"], guarantees.from_json(body["guarantee"]), value, str(body["entry"]))
            query, mechanism = release.query, release.mechanism
            declared, shapes = mechanism.guarantee(query), mechanism.shapes(query)
            # theorem and sampler are told in the words of this version, never in those of a file
            stored = guarantees.from_json(body["guarantee"], words=declared.basis)
            reading = read_today(stored, declared, older=priced < version.ACCOUNTING)
        except DiscreetError:
            raise
        except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError, RecursionError):
            raise ReleaseError("Release file must be complete, got missing or misshapen fields") from None
        if reading is None:
            raise ReleaseError(f"Release.guarantee must be what its recipe gives, {declared!r}, got {stored!r}")
        if {name: array.shape for name, array in value.items()} != shapes:
            raise ReleaseError(f"Release.value must be arrays of shapes {shapes}, got others")
        if isinstance(mechanism, PaidChain) and not mechanism.holds(query, value):
            raise ReleaseError("Release.value must hold states and profiles that could have been released, got others")
        return replace(release, guarantee=reading.shown, paid=reading.paid, accounting=priced)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the release as JSON: complete or not at all."""
        if not self.private:
            raise ReleaseError("Release.save must be called on a private release, got a simulated one")
        text = json.dumps(self.to_json(), indent=2, sort_keys=True, allow_nan=False) + "\n"
        try:
            files.write_text(path, text)
        except (OSError, ValueError) as problem:  # a path may hold what no file name can
            detail = getattr(problem, "strerror", None) or "it is no name of a file"
            raise ReleaseError(f"Release.save must be able to write {str(path)!r}: {detail}") from None


def load(path: str | os.PathLike[str]) -> Release:
    """Read a saved release."""
    try:
        body = files.parse_json(files.read_text(path))
    except OSError as problem:
        raise ReleaseError(f"Release file must be readable, got {str(path)!r}: {problem.strerror}") from None
    except (ValueError, RecursionError):
        raise ReleaseError(f"Release file must be JSON with every key once, got {str(path)!r}") from None
    return Release.from_json(body)


def _array(name: Any, numbers: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(numbers)
    big = array.dtype.kind == "O" and all(isinstance(item, int) for item in array.flat)
    if not big and (array.dtype.kind not in "iuf" or not np.all(np.isfinite(array))):
        raise ReleaseError(f"Release.value[{name!r}] must be an array of finite numbers, got another type")
    return array
