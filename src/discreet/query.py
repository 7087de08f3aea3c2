"""What a model asks of the rows, and how far one privacy unit can move the answer.

A `Statistics` query is a tuple of count tables and fixed-point sums. Each answers, in exact integers, its own share of
the sensitivity; the shares add up because the statistics are released jointly (math: L1 adds, squared L2 adds).

| statistic | replace-one | add-remove |
|---|---|---|
| counts over all cells of a level grid | L1 = 2, L2² = 2 | L1 = 1, L2² = 1 |
| one single cell | L1 = 1, L2² = 1 | L1 = 1, L2² = 1 |
| sum of cells in [lo, hi] grid steps | hi - lo | max(abs(lo), abs(hi)) |

A row that `missing="exclude"` of any column of the query removes contributes nothing, which is one more value a
replaced row may take: it leaves the first two lines as they are and widens the third to contain 0.
"""

from dataclasses import dataclass, replace
from math import prod

from discreet.errors import QueryError
from discreet.schema import Binary, Bounded, Categorical, Count, Schema

__all__ = ["Counts", "Dirichlet", "Statistic", "Statistics", "Sum"]


@dataclass(frozen=True)
class Counts:
    """How many rows fall in each cell of a declared level grid; `cell` keeps a single one of them."""

    name: str
    columns: tuple[str, ...]
    levels: tuple[tuple[str, ...], ...]
    cell: tuple[int, ...] | None = None

    @classmethod
    def over(cls, schema: Schema, name: str, *columns: str, cell: tuple[int, ...] | None = None) -> "Counts":
        """Counts over the declared levels of `columns`."""
        levels = []
        for column in columns:
            declared = schema.column(column)
            if not isinstance(declared, Binary | Categorical):
                raise QueryError(
                    f"Counts.columns must be binary or categorical, got {column!r}, a {type(declared).__name__}"
                )
            levels.append(declared.levels)
        return cls(name, columns, tuple(levels), cell)

    @property
    def grid(self) -> tuple[int, ...]:
        """The number of levels of each column: the shape of the full table."""
        return tuple(len(levels) for levels in self.levels)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the released array."""
        return self.grid if self.cell is None else ()

    def l1(self, schema: Schema) -> int:
        """Largest change, in L1, when one unit changes."""
        return 2 if schema.relation == "replace-one" and self.cell is None else 1

    def squared_l2(self, schema: Schema) -> int:
        """Largest squared Euclidean change: the moved counts change by one each."""
        return self.l1(schema)


@dataclass(frozen=True)
class Sum:
    """The sum of one numeric column in grid steps: an exact integer."""

    name: str
    column: str
    low: int
    high: int

    @classmethod
    def of(cls, schema: Schema, name: str, column: str) -> "Sum":
        """The sum of a bounded or count column."""
        declared = schema.column(column)
        if not isinstance(declared, Bounded | Count):
            raise QueryError(f"Sum.column must be bounded or count, got {column!r}, a {type(declared).__name__}")
        return cls(name, column, declared.steps(declared.lower), declared.steps(declared.upper))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose bad cells matter."""
        return (self.column,)

    @property
    def shape(self) -> tuple[int, ...]:
        """A sum is one number."""
        return ()

    def l1(self, schema: Schema) -> int:
        """Largest change when one unit changes, in grid steps."""
        return self.high - self.low if schema.relation == "replace-one" else max(abs(self.low), abs(self.high))

    def squared_l2(self, schema: Schema) -> int:
        """One number: the square of its L1 sensitivity."""
        return self.l1(schema) ** 2


Statistic = Counts | Sum


@dataclass(frozen=True)
class Dirichlet:
    """A conjugate Dirichlet prior on the cell probabilities of one count table, in the order of its cells."""

    parameter: str
    prior: tuple[float, ...]
    coordinate: int | None = None  # a single probability is the parameter, e.g. that of the level "1"


@dataclass(frozen=True)
class Statistics:
    """Statistics released together, and the conjugate family they feed when there is a single one.

    `columns` are all the columns whose bad cells exclude a row from *every* statistic of the query, so that
    all tables count the same rows.
    """

    schema: Schema
    statistics: tuple[Statistic, ...]
    family: Dirichlet | None = None

    def __post_init__(self) -> None:
        if self.excludes:  # a row that any of the columns excludes adds 0 to every sum
            widened = (
                replace(statistic, low=min(statistic.low, 0), high=max(statistic.high, 0))
                if isinstance(statistic, Sum)
                else statistic
                for statistic in self.statistics
            )
            object.__setattr__(self, "statistics", tuple(widened))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the query touches, once, in order."""
        return tuple(dict.fromkeys(name for statistic in self.statistics for name in statistic.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the released statistics, in order."""
        return tuple(statistic.name for statistic in self.statistics)

    @property
    def levels(self) -> tuple[str, ...]:
        """The declared levels of a query that asks for one column."""
        (statistic,) = self.statistics
        assert isinstance(statistic, Counts)
        (levels,) = statistic.levels
        return levels

    @property
    def l1(self) -> int:
        """Joint L1 sensitivity: the sum over the statistics."""
        return sum(statistic.l1(self.schema) for statistic in self.statistics)

    @property
    def squared_l2(self) -> int:
        """Joint squared L2 sensitivity: the sum over the statistics (D one-hot fields: 2 D)."""
        return sum(statistic.squared_l2(self.schema) for statistic in self.statistics)

    @property
    def cells(self) -> int:
        """How many integers are released."""
        return sum(prod(statistic.shape) for statistic in self.statistics)

    @property
    def excludes(self) -> bool:
        """Whether some bad cell removes its row, which makes the number of used rows private."""
        return any(self.schema.column(name).missing == "exclude" for name in self.columns)

    @property
    def total(self) -> int | None:
        """The public number of used rows, or None when it is private."""
        return None if self.excludes else self.schema.n

    @property
    def largest_total(self) -> int:
        """A public upper bound on the number of used rows."""
        bound = self.schema.n if self.schema.relation == "replace-one" else self.schema.n_max
        if bound is None:
            raise QueryError(
                "Schema.n must be declared (or counted by dc.open) before a model can be queried, got None"
            )
        return bound
