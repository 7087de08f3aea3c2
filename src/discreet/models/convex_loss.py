"""A user's margin loss, given by its slope as a formula in the margin t and the target y.

    ConvexLoss("y", ["x"], slope="tanh(t - y)", bound=1.0, reach=6.0)

The formula is evaluated on a public grid of margins and targets and never on rows; what the rows meet is the table that
results, linear between its entries. The table is checked: its rows must rise, so the loss is convex, and its bound and
curvature are read off it. Nothing rests on what the formula does between the grid points.
"""

import ast
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import QueryError
from discreet.models.loss_model import MarginModel, checked_size
from discreet.numerics.arrays import Array
from discreet.queries.losses import Loss, Tabulated, Target
from discreet.schema import Bounded, Schema

__all__ = ["ConvexLoss"]

MARGINS, TARGETS = 513, 33

FUNCTIONS = {
    name: getattr(np, name)
    for name in ("abs", "arctan", "cosh", "exp", "log", "log1p", "maximum", "minimum", "sign", "sinh", "sqrt", "tanh")
}
ALLOWED = (
    ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Load, ast.Constant,
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.USub, ast.UAdd,
)  # fmt: skip


@dataclass(frozen=True)
class ConvexLoss(MarginModel):
    """A convex loss of the margin.

    Parameters
    ----------
    slope
        The derivative of the loss in the margin t, a formula in t and y: + - * / ** and the functions abs, arctan,
        cosh, exp, log, log1p, maximum, minimum, sign, sinh, sqrt, tanh. y is ±1 for two levels, else in [-1, 1].
    bound
        Slopes are clipped to [-bound, bound].
    reach
        Margins at which the formulas are tabled go from -reach to reach; beyond, both stay as they are there.
    mean
        The mean of the target at a margin, a formula in t: what noisy scores need. It must rise, and stay in [-1, 1]:
        the place of a number between its bounds, or the probability of the second level less that of the first.
    """

    slope: str = "tanh(t - y)"
    bound: float = 1.0
    reach: float = 8.0
    mean: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("bound", "reach"):
            object.__setattr__(self, name, checked_size(f"ConvexLoss.{name}", getattr(self, name)))
        table = self._table()
        self._place()
        if not np.all(np.diff(table, axis=1) >= 0.0):
            raise QueryError(f"ConvexLoss.slope must not fall with t for any y, got {self.slope!r}, which falls")
        if not np.any(table != 0.0) or not np.any(np.diff(table, axis=1) > 0.0):
            raise QueryError(f"ConvexLoss.slope must rise somewhere within reach, got {self.slope!r}")

    def query(self, schema: Schema) -> Tabulated:
        """The loss of the tabled slopes."""
        table, features = tuple(map(tuple, self._table().tolist())), self._features(schema)
        at = (self.precision, self._ball)
        return Tabulated(
            schema, features, self._target(schema), *at, table=table, reach=self.reach, place=self._place()
        )

    def _place(self) -> tuple[float, ...] | None:
        """The mean at the grid of margins, from [-1, 1] to [0, 1]."""
        if self.mean is None:
            return None
        found = _tabled("mean", self.mean, np.linspace(-self.reach, self.reach, MARGINS)[None], None)[0]
        if not np.all(np.diff(found) >= 0.0) or not found[-1] > found[0]:
            raise QueryError(f"ConvexLoss.mean must rise with t, got {self.mean!r}")
        if not (found[0] >= -1.0 and found[-1] <= 1.0):
            raise QueryError(f"ConvexLoss.mean must stay within [-1, 1], got {self.mean!r}")
        return tuple((0.5 + 0.5 * found).tolist())

    def _table(self) -> Array:
        """Slopes at the grid of targets and margins, clipped."""
        t, y = np.meshgrid(np.linspace(-self.reach, self.reach, MARGINS), np.linspace(-1.0, 1.0, TARGETS))
        return np.asarray(np.clip(_tabled("slope", self.slope, t, y), -self.bound, self.bound))

    def _target(self, schema: Schema) -> Target:
        column = schema.column(self.target)
        return self._number(schema, Bounded) if isinstance(column, Bounded) else self._label(schema, (-1.0, 1.0))

    def _drawn_targets(self, query: Loss, margins: Array, rng: np.random.Generator) -> NDArray[Any]:
        """Labels that a logistic law gives, or the margin with an error: a loss is no likelihood."""
        assert query.target is not None
        if query.target.axis is None:
            return (rng.logistic(size=margins.size) < 2.0 * margins).astype(np.int64)
        return self._with_errors(query, margins, 0.25, rng)


def _tabled(name: str, formula: Any, t: Array, y: Array | None) -> Array:
    """A formula at a grid of margins, and of targets if there are some."""
    if not isinstance(formula, str) or len(formula) > 500:
        raise QueryError(f"ConvexLoss.{name} must be a formula of at most 500 characters, got {formula!r}")
    known = {"t": t} if y is None else {"t": t, "y": y}
    words = " and ".join(known)
    try:
        tree = ast.parse(formula, mode="eval")
    except (SyntaxError, ValueError):
        raise QueryError(f"ConvexLoss.{name} must be a formula in {words}, got {formula!r}") from None
    for node in ast.walk(tree):
        named = isinstance(node, ast.Name) and node.id not in (*known, *FUNCTIONS)
        called = isinstance(node, ast.Call) and not _is_plain(node)
        odd = isinstance(node, ast.Constant) and not isinstance(node.value, int | float)
        if not isinstance(node, ALLOWED) or named or called or odd:
            raise QueryError(f"ConvexLoss.{name} must use {words}, numbers and {sorted(FUNCTIONS)}, got {formula!r}")
        if isinstance(node, ast.Constant) and isinstance(node.value, int) and node.value > 2**1000:
            raise QueryError(f"ConvexLoss.{name} must have numbers that doubles can hold, got a larger one")
        if isinstance(node, ast.Constant):
            node.value = float(node.value)  # type: ignore[arg-type]  # whole numbers could grow without end
    try:
        with np.errstate(all="ignore"):
            found = eval(  # noqa: S307  # only numbers, t, y and the functions above passed the check
                compile(tree, "slope", "eval"), {"__builtins__": {}}, {**known, **FUNCTIONS}
            )
            found = np.broadcast_to(np.asarray(found, dtype=float), t.shape)
    except (ArithmeticError, TypeError, ValueError):
        raise QueryError(f"ConvexLoss.{name} must be a formula in {words}, got {formula!r}") from None
    if np.isnan(found).any():
        raise QueryError(f"ConvexLoss.{name} must be a number for every {words}, got {formula!r}")
    return np.asarray(found)


def _is_plain(call: ast.Call) -> bool:
    """A call of a known function with as many arguments as it has: numpy would take more as places to write to."""
    arguments = 2 if isinstance(call.func, ast.Name) and call.func.id in ("maximum", "minimum") else 1
    return isinstance(call.func, ast.Name) and not call.keywords and len(call.args) == arguments
