"""What a release would give, before any row is read: `plan`.

Everything is simulated from the prior and the schema, which are public: no data, no ledger, nothing spent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from discreet.errors import QueryError
from discreet.guarantee import Budget, Guarantee
from discreet.ledger import Ledger
from discreet.mechanisms import Mechanism
from discreet.models import Model
from discreet.pipeline import check_types
from discreet.planning.draw_errors import DrawError
from discreet.planning.expected_tables import Expectation, expected_runs
from discreet.planning.public_records import PublicRecords, public_records
from discreet.planning.shares import Share, shares_of
from discreet.planning.simulated_runs import Runs, adjusted_runs, simulated_runs
from discreet.planning.wanted_width import Measure, Reached, least_budget
from discreet.queries.cell_classes import cells_in_words
from discreet.recipe import spelled
from discreet.schema import Binary, Categorical, Column, Schema
from discreet.schema.row_counts import Sizes, UniformSizes
from discreet.visible import Told

__all__ = ["Plan", "check_schema", "named", "plan", "plan_of"]


RUNS, SPREAD_RUNS = 200, 100
NORMAL_WIDTH = 3.29  # of a 90% interval, in deviations
EXPECTED_RUNS = 40  # of tables that are all alike
FEWEST = 20  # tables, of which it can be said where eight of ten are
FAR_APART = 1.5  # widths of different tables, above which an average alone says little
DROWNED = 0.8  # of the width of the prior: a release that leaves more of it is not worth its budget


@dataclass(frozen=True)
class Plan(Told):
    """What a release would give. Widths are of 90% intervals.

    Figures are averages over simulated tables: those that prior and schema allow, or tables as they are expected to be
    where `expected` says so. `tables` has the widths that a tenth of these tables stay below, and a tenth exceed.
    """

    guarantee: Guarantee
    noise: dict[str, float]
    width: dict[str, float] | None
    coverage: float | None
    coverage_error: float | None
    error: dict[str, float]
    runs: int
    complete: dict[str, str]
    public: PublicRecords | None = None
    law: Any = None  # of a draw: public numbers, with words
    mechanism: Mechanism | None = None
    reached: Reached | None = None  # where a width or an error was asked for
    share: Share | None = None  # of a ledger that was named
    cells: dict[str, str] = field(default_factory=dict)  # what each column does with other cells than good ones
    rows: str = ""  # what the figures mean where nothing is known of how many rows are used
    warnings: tuple[str, ...] = ()  # bounds and priors that contradict each other, budgets that say nothing
    draw: DrawError | None = None  # where one draw was asked for
    width_error: dict[str, float] | None = None  # of the average, by the chance of the simulation: two deviations
    tables: dict[str, tuple[float, float]] | None = None
    expected: bool = False

    @property
    def curve(self) -> tuple[tuple[float, float], ...]:
        """Where a width or an error was asked for, pairs: a budget around the one that reaches it, and the figure."""
        return () if self.reached is None else self.reached.curve

    def __str__(self) -> str:
        return "\n".join(f"{head:<12}{text}" for head, text in self.lines())

    def _told(self) -> tuple[str, list[tuple[str, str]]]:
        what = "a mechanism" if self.mechanism is None else spelled(self.mechanism)
        return f"Plan of {what}: nothing is read, nothing is spent", self.lines()

    def lines(self) -> list[tuple[str, str]]:
        """The plan in words; one line of noise for statistics that share their scale."""
        found = [("warning", text) for text in self.warnings]
        found += [] if self.reached is None else self.reached.lines()
        found.append(("guarantee", str(self.guarantee)))
        found += [] if self.share is None else [("share", self.share.words)]
        by_scale: dict[float, list[str]] = {}
        for name, scale in self.noise.items():
            by_scale.setdefault(scale, []).append(name)
        found += [
            ("noise", f"standard deviation {scale:.4g} on {', '.join(names)}") for scale, names in by_scale.items()
        ]
        if self.law is not None:
            found.append(("law", str(self.law)))
        found += self._widths()
        found.append(
            ("error", f"{named(self.error)} root mean square of the estimate, over {self.runs} simulated runs")
        )
        found += [("cells", f"{name}: {words}") for name, words in self.cells.items()]
        found += [("rows", self.rows)] if self.rows else []
        return found + (self.public.lines() if self.public is not None else [])

    def _widths(self) -> list[tuple[str, str]]:
        """What intervals are like, on average and from table to table."""
        if self.width is None:
            return [("width", "no interval: what is released is a draw of a tempered posterior")]
        widths = named(self.width, self.width_error)
        if self.expected:
            return [("width", f"{widths} on average for 90% intervals, of tables as they are expected to be")]
        covered = f"{self.coverage:.1%} ± {self.coverage_error:.1%}"
        lines = [("width", f"{widths} on average for 90% intervals, which cover {covered}")]
        spread = {name: ends for name, ends in (self.tables or {}).items() if ends[1] > FAR_APART * ends[0]}
        if spread:
            ends = ", ".join(
                f"{f'{name} ' if len(self.width) > 1 else ''}{low:.3g} to {high:.3g}"
                for name, (low, high) in spread.items()
            )
            lines.append(
                (
                    "tables",
                    f"{ends} in 8 of 10 tables that the prior allows; say what you expect (--expect, expect=)",
                )
            )
        return lines

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        public = None if self.public is None else self.public.to_json()
        law = None if self.law is None else vars(self.law)
        reached = None if self.reached is None else {**self.reached.to_json(), "mechanism": spelled(self.mechanism)}
        made = {
            name: value
            for name, value in vars(self).items()
            if name not in ("cells", "draw", "mechanism", "rows", "share")
        }
        made |= {} if self.draw is None else {"draw": vars(self.draw)}
        made = {name: value for name, value in made.items() if name not in ("expected", "tables") or value}
        made |= {} if self.share is None else {"share": self.share.to_json()}
        made |= {"warnings": list(self.warnings)}
        return {**made, "guarantee": self.guarantee.to_json(), "public": public, "law": law, "reached": reached}


def plan(
    model: Model,
    mechanism: Mechanism,
    *,
    schema: Schema,
    runs: int | None = None,
    target: Budget | None = None,
    width: float | Mapping[str, float] | None = None,
    rms: float | Mapping[str, float] | None = None,
    ledger: Ledger | None = None,
    expect: Expectation | None = None,
) -> Plan:
    """What to expect of a release, from public facts alone: no data, nothing spent.

    With `ledger`, also the share of its budget that the release would take now, or why it would be refused.

    With `width`, the plan is of the mechanism at the least budget at which 90% intervals are this wide on average: over
    the prior, over groups, and over the levels of a vector. The epsilon or rho that the mechanism has is where the
    search starts; all else of it stays. `plan.mechanism` is the one found, and `plan.curve` pairs of a budget and the
    width there. With `rms`, the same for the root mean square error of the estimate. Of several parameters one is
    named: `width={"mean": 0.5}`.

    With `target`, for direct, diffused and concentrated draws: also how many public records in the prior would make
    the draw meet it, and what the draw costs when some of the table's own records are made public.

    Without anything else, widths are averages over tables that are drawn from the prior: weak priors allow very
    different ones. `expect` says what is known of the table before, in public: `{"age": (50, 15), "smoker": 0.3}`, mean
    and deviation of numbers, shares of levels (of two, that of the second), for every column that is used. Widths are
    then those of such tables, their columns independent of each other; release and posterior know nothing of it.

    `runs` are simulated tables: 200, or 100 spread evenly over the prior where a width or an error is asked for,
    or 40 as they are expected to be.
    """
    check_types("plan", model, mechanism)
    check_schema("plan", schema)
    wanted: dict[Measure, Any] = {"width": width, "rms": rms}
    asked = {measure: value for measure, value in wanted.items() if value is not None}
    if len(asked) > 1:
        raise QueryError(f"plan must get width or rms, got both: width={width!r}, rms={rms!r}")
    if expect is not None and asked:
        raise QueryError("plan must get expect, or a width or an error that is asked for, got both")
    for measure, value in asked.items():
        reached, mechanism, found = least_budget(model, mechanism, schema, measure, value, runs or SPREAD_RUNS)
        made = replace(plan_of(model, mechanism, schema, found), reached=reached)
    if expect is not None:
        found = expected_runs(model, mechanism, schema, expect, runs or EXPECTED_RUNS)
        made = replace(plan_of(model, mechanism, schema, found), expected=True, tables=None, rows="")
    elif not asked:
        made = plan_of(model, mechanism, schema, adjusted_runs(model, mechanism, schema, runs or RUNS))
        made = replace(made, rows=_nearly_all(model, mechanism, schema, made))
    public = None if target is None else public_records(model, mechanism, schema, target)
    share = None if ledger is None else shares_of([made.guarantee], ledger)[0]
    return replace(made, public=public, share=share)


def plan_of(model: Model, mechanism: Mechanism, schema: Schema, runs: Runs) -> Plan:
    """The plan that simulated runs make."""
    query = model.query(schema)
    size = next(iter(runs.errors.values())).size
    return Plan(
        guarantee=mechanism.guarantee(query),
        noise={name: float(law.variance) ** 0.5 for name, law in mechanism.laws(query).items()},
        width={name: runs.width(name) for name in runs.widths} or None,
        coverage=float(runs.hits.mean()) if runs.hits.size else None,
        coverage_error=2 * float(np.sqrt(0.09 / size)) if runs.hits.size else None,
        error={name: float(np.sqrt(values.mean())) for name, values in runs.errors.items()},
        width_error=({name: 2 * runs.width_error(name) for name in runs.widths} or None) if size > 1 else None,
        tables=({name: _middle(values) for name, values in runs.widths.items()} or None) if size >= FEWEST else None,
        runs=size,
        complete=_complete(schema.only(query.columns)),
        cells=cells_in_words(schema, query),
        law=mechanism.law(query),
        mechanism=mechanism,
        warnings=(*model.implausible(schema), *_next_to_nothing(runs)),
        rows=_rows(query.sizes),
    )


def _middle(values: Any) -> tuple[float, float]:
    """Between which eight of ten of them are."""
    low, high = np.quantile(values, (0.1, 0.9))
    return float(low), float(high)


def _nearly_all(model: Model, mechanism: Mechanism, schema: Schema, made: Plan) -> str:
    """The same in words, with the width if it were declared that nearly all rows are used."""
    if not made.rows or made.width is None:
        return made.rows
    most = model.query(schema).sizes.highest
    guess = (round(0.98 * most), max(1, round(0.02 * most)))
    runs = simulated_runs(model, mechanism, replace(schema, n_prior=guess), max(1, made.runs // 10))
    width = {name: float(values.mean()) for name, values in runs.widths.items()}
    return f"{made.rows}: with n_prior = [{guess[0]}, {guess[1]}] widths are about {named(width, digits=2)}"


def _rows(sizes: Sizes) -> str:
    """What the figures mean where nothing is known of the number of rows that are used."""
    if not isinstance(getattr(sizes, "whole", sizes), UniformSizes):
        return ""
    return (
        f"how many are used is private, and these are averages over every number up to {sizes.highest}: most intervals "
        "are narrower where most rows are used; n_prior = [guess, deviation] says what you know of it"
    )


def _next_to_nothing(runs: Runs) -> tuple[str, ...]:
    """Parameters of which the release would hardly say more than the prior: the noise drowns them."""
    widths = {name: float(values.mean()) for name, values in runs.widths.items()}
    drowned = [
        name for name, width in widths.items() if width > DROWNED * NORMAL_WIDTH * runs.spread.get(name, 0.0) > 0.0
    ]
    if not drowned:
        return ()
    return (
        f"the release would say next to nothing of {', '.join(drowned)}: its intervals are hardly narrower than the "
        "prior's own; a larger budget, more rows or narrower bounds help",
    )


def named(values: dict[str, float], errors: dict[str, float] | None = None, *, digits: int = 4) -> str:
    """Figures in one line, with the names of parameters where there are several, and errors where they are known."""
    figures = {
        name: f"{value:.{digits}g}" + (f" ± {errors[name]:.2g}" if errors is not None else "")
        for name, value in values.items()
    }
    if len(figures) == 1:
        return next(iter(figures.values()))
    return ", ".join(f"{name} {figure}" for name, figure in figures.items())


def check_schema(verb: str, schema: Any) -> None:
    """A plan needs the declared columns."""
    if not isinstance(schema, Schema):
        raise QueryError(f"{verb} schema must be a Schema, got a {type(schema).__name__}")


def _complete(schema: Schema) -> dict[str, str]:
    """The columns that are declared complete, and what a bad cell of each counts as."""
    declared = {name: column for name, column in schema.columns.items() if column.missing is None}
    return {name: _fallback(column) for name, column in declared.items()}


def _fallback(column: Column) -> str:
    return repr(column.levels[0]) if isinstance(column, Binary | Categorical) else f"{column.lower:g}"
