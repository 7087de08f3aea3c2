"""The straight line: `release`, several at once, `release_all`, and their twin without a ledger, `simulate`."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np

from discreet.errors import DiscreetError, QueryError, ReleaseError
from discreet.guarantee import Guarantee
from discreet.ledger import Entry, Ledger
from discreet.mechanisms import MECHANISMS, Mechanism
from discreet.models import MODELS, Model
from discreet.noise.sources import NoiseSource, SeededNoise, SystemNoise
from discreet.queries.losses import Query
from discreet.release import Release, recipe_of
from discreet.schema import Person, Schema
from discreet.schema.row_counts import ShareSizes
from discreet.sources import CodedRows, Dataset

__all__ = [
    "Paid",
    "check_dataset",
    "check_types",
    "drawn_table",
    "purchase",
    "query_of",
    "release",
    "release_all",
    "simulate",
    "simulations",
]

T = TypeVar("T")

FAILED = (
    "the release could not be computed: the request stays charged, and the same request again resumes it and costs "
    "nothing"
)
INTERRUPTED = "interrupted: the request stays charged, and the same request again resumes it and costs nothing"
ORDERS = {
    "release": "release(model, dataset, mechanism, ledger)",
    "simulate": "simulate(model, dataset, mechanism, runs=…)",
    "plan": "plan(model, mechanism, schema=…)",
    "compare": "compare(model, budget, schema=…, mechanisms=[…])",
}
NOT_SIMULATED = "the simulation could not be computed on this dataset"


def release(
    model: Model,
    dataset: Dataset,
    mechanism: Mechanism,
    ledger: Ledger,
    *,
    progress: Callable[[int], None] | None = None,
) -> Release:
    """Pay for a private answer, then compute it: the only function that turns rows into something that leaves.

    The same request (recipe, dataset id, label) returns the stored release and spends nothing. `progress` is called
    with the steps of the mechanism's public `work` since its last call; mechanisms that are quick never call it.
    """
    (paid,) = purchase([(model, dataset, mechanism)], ledger)
    return paid.release(progress)


def release_all(
    requests: Sequence[tuple[Model, Dataset, Mechanism]],
    ledger: Ledger,
    *,
    progress: Callable[[int], None] | None = None,
) -> list[Release]:
    """Buy several releases at once and compute them: all of them are paid before the first is seen, or none is.

    What is chosen together is priced together, which costs less than one after another. Each settles on its own: after
    an interruption the same call goes on where it stopped, and pays for nothing twice.
    """
    return [paid.release(progress) for paid in purchase(requests, ledger)]


@dataclass(frozen=True)
class Paid:
    """A request that is reserved: its answer may be computed, or is stored already."""

    request: tuple[Model, Dataset, Mechanism]
    query: Query
    entry: Entry
    ledger: Ledger

    def release(self, progress: Callable[[int], None] | None = None) -> Release:
        """The answer, settled; a stored one is not computed again."""
        entry, (_, dataset, mechanism) = self.entry, self.request
        if entry.release is not None:
            return Release.from_json(entry.release)

        def answer() -> dict[str, Any]:
            value = _apply(mechanism, self.query, dataset, progress)  # the only line that touches rows
            paid = Release(entry.recipe, entry.guarantee, value, entry.id, accounting=entry.accounting)
            return self.ledger.settle(entry, paid.to_json())

        return Release.from_json(_bare(answer, FAILED, INTERRUPTED))


def purchase(requests: Sequence[tuple[Model, Dataset, Mechanism]], ledger: Ledger) -> tuple[Paid, ...]:
    """Reserve the requests in one transaction, durably and before any row is read; may refuse."""
    asked: list[tuple[Guarantee, dict[str, Any]]] = []
    queries: list[Query] = []
    for model, dataset, mechanism in requests:
        check_types("release", model, mechanism)
        check_dataset("release", dataset)
        queries.append(query_of(model, mechanism, dataset.schema))
        mechanism.check_source(queries[-1], dataset)
        asked.append((mechanism.guarantee(queries[-1]), recipe_of(model, dataset.id, dataset.schema, mechanism)))
    if not isinstance(ledger, Ledger):
        raise QueryError(f"release ledger must be a Ledger, got {_got(ledger)}{_order('release')}")
    entries = ledger.reserve_all(asked)
    return tuple(Paid(*each, ledger) for each in zip(requests, queries, entries, strict=True))


def check_types(verb: str, model: Any, mechanism: Any) -> None:
    """Arguments in the wrong place get words, not an AttributeError."""
    for name, thing, registry in (("model", model, MODELS), ("mechanism", mechanism, MECHANISMS)):
        if type(thing) not in registry.values():  # a subclass could do anything under the name of its parent
            raise QueryError(f"{verb} {name} must be one of {sorted(registry)}, got {_got(thing)}{_order(verb)}")


def check_dataset(verb: str, dataset: Any) -> None:
    """Rows are seen through what `dc.open` returns."""
    if not isinstance(dataset, Dataset):
        raise QueryError(f"{verb} dataset must be what dc.open returns, got {_got(dataset)}{_order(verb)}")


def _got(thing: Any) -> str:
    """What was given, by its type alone: the text of a frame would show its rows."""
    if isinstance(thing, type):
        return f"the class {thing.__name__}, which is to be called with its arguments"
    return "nothing" if thing is None else f"a {type(thing).__name__}"


def _order(verb: str) -> str:
    return f": the order is {ORDERS[verb]}" if verb in ORDERS else ""


def query_of(model: Model, mechanism: Mechanism, schema: Schema) -> Query:
    """What the model asks, if the mechanism can answer it: statistics, or a loss."""
    query = model.query(schema)
    if query.asks != mechanism.answers:
        able = sorted(name for name, kind in MECHANISMS.items() if kind.answers == query.asks)
        raise QueryError(f"{type(model).__name__} must be asked by one of {able}, got {type(mechanism).__name__}")
    return query


def _apply(
    mechanism: Mechanism, query: Query, dataset: Dataset, progress: Callable[[int], None] | None
) -> dict[str, Any]:
    """Apply the mechanism; whatever goes wrong becomes one sentence."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning that depends on a row would be seen
            return mechanism.apply(SystemNoise(), query, dataset, progress)
    except Exception:  # noqa: S110  # its text and its frames may hold private values
        pass
    raise ReleaseError(FAILED)


def _bare(work: Callable[[], T], failed: str, interrupted: str) -> T:
    """What `work` gives. Whatever stops it is raised anew: its frames may hold rows, or an answer that was not settled.

    The new exception is raised after the old one is gone: inside the handler, it would hold it as its context.
    """
    raised: BaseException
    try:
        return work()
    except DiscreetError as problem:
        raised = type(problem)(str(problem))
    except KeyboardInterrupt:
        raised = KeyboardInterrupt(interrupted)
    except SystemExit as problem:  # what a server's own handler of signals raises
        raised = SystemExit(problem.code if isinstance(problem.code, int) else 1)
    except BaseException:  # memory, panics of compiled libraries
        raised = ReleaseError(failed)
    raise raised


def simulate(
    model: Model,
    dataset: Dataset | None,
    mechanism: Mechanism,
    *,
    runs: int,
    seed: int | None = None,
    n: int | None = None,
    schema: Schema | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[Release]:
    """Test-mode releases in one process, for audits and studies: no ledger, `private=False`, cannot be saved.

    With a dataset every run answers on it. Without one, every run draws parameters from the prior (kept in
    `release.truth`) and rows from the model: `n` of them, or, where the schema makes their number private, as many as
    its prior says when `n` is not given. `schema` declares the columns where the model does not imply them. Without a
    seed the real noise source is used. `progress` is called with the number of runs done.
    """
    releases = []
    for release, _ in simulations(model, dataset, mechanism, runs=runs, seed=seed, n=n, schema=schema):
        releases.append(release)
        if progress is not None:
            progress(len(releases))
    return releases


def simulations(
    model: Model,
    dataset: Dataset | None,
    mechanism: Mechanism,
    *,
    runs: int,
    seed: int | None = None,
    n: int | None = None,
    schema: Schema | None = None,
) -> Iterator[tuple[Release, Dataset]]:
    """The releases of `simulate` one by one, each with the table that it is of."""
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < 1:
        raise QueryError(f"simulate runs must be a whole number from 1, got {runs!r}")
    check_types("simulate", model, mechanism)
    if dataset is not None:
        check_dataset("simulate", dataset)
    if dataset is not None and (n is not None or schema is not None):
        raise QueryError("simulate must get either a dataset or n= and schema=, got both")
    facts = dataset.schema if dataset is not None else _sized(schema or model.implied_schema(), n)
    query = query_of(model, mechanism, facts)
    if dataset is None and n is None and query.sizes.lowest == query.sizes.highest and facts.n is None:
        raise QueryError("simulate without a dataset must get n=, the number of rows, got nothing")
    guarantee = mechanism.guarantee(query)
    recipe = recipe_of(model, "simulation" if dataset is None else dataset.id, facts, mechanism)
    rng = np.random.default_rng(seed)
    noise: NoiseSource = SystemNoise() if seed is None else SeededNoise(np.random.SeedSequence([seed, 1]))
    for _ in range(runs):
        truth, table = (None, dataset) if dataset is not None else drawn_table(model, query, n, rng)
        assert table is not None
        truth = None if truth is None else mechanism.reported(query, truth)
        work = partial(mechanism.apply, noise, query, table)
        value = work() if dataset is None else _bare(work, NOT_SIMULATED, "interrupted: nothing was charged")
        yield Release(recipe, guarantee, value, "", private=False, truth=truth), table


def _sized(schema: Schema | None, n: int | None) -> Schema:
    if schema is None:
        raise QueryError("simulate without a dataset must get schema=, the declaration of the model's columns")
    if n is not None and (not isinstance(n, int) or isinstance(n, bool) or n < 0):
        raise QueryError(f"simulate n must be a whole number from 0, got {n!r}")
    if n is not None and schema.relation == "replace-one":
        return schema.with_n(n)
    if schema.relation == "replace-one" and schema.n is None:
        raise QueryError("simulate without a dataset must get n=, the number of rows, got nothing")
    if n is not None and n > (schema.n_max or 0):
        raise QueryError(f"simulate n must be at most n_max = {schema.n_max}, got {n}")
    return schema


def drawn_table(
    model: Model, query: Query, n: int | None, rng: np.random.Generator, most: int | None = None
) -> tuple[dict[str, Any], Dataset]:
    """Parameters and the rows that are used: those that a rule excludes add nothing and are left out.

    With `most`, a smaller table of the same law: as many rows as if this were the largest number of them.
    """
    sizes = query.sizes
    whole = sizes.whole if isinstance(sizes, ShareSizes) else sizes
    used = n if n is not None and query.schema.relation == "add-remove" else whole.sample(rng)
    if most is not None and query.largest_total > most:
        used = round(used * most / query.largest_total)
    truth, columns = _rows(model, query, used, rng)
    unit = query.schema.unit
    persons = np.arange(used) % max(query.largest_total // unit.max_records, 1) if isinstance(unit, Person) else None
    return truth, Dataset("simulation", query.schema, CodedRows(columns, persons))


def _rows(model: Model, query: Query, used: int, rng: np.random.Generator) -> tuple[dict[str, Any], dict[str, Any]]:
    """One table; with groups, of shares uniform on the simplex, each with parameters of its own."""
    if query.by is None:
        return model.simulate(query.schema, used, rng)
    counts = rng.multinomial(used, rng.dirichlet(np.ones(len(query.groups))))
    groups = [model.simulate(query.schema, int(count), rng) for count in counts]
    truth = {name: np.array([found[name] for found, _ in groups]) for name in groups[0][0]}
    columns = {name: np.concatenate([table[name] for _, table in groups]) for name in groups[0][1]}
    return truth, {**columns, query.by: np.repeat(np.arange(len(counts)), counts)}
