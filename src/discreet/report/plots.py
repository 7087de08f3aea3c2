"""`discreet.plots`: pictures of posteriors, releases, plans and ledgers, as Altair charts (extra `report`).

Every function answers with a chart: a notebook shows it, `save(chart, "picture.svg")` writes it without a network.
Colours mean the same everywhere: blue is the posterior, the pale ground is the prior, and the dashed red ghost is the
plug-in posterior, which takes the noisy numbers as exact.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from discreet.errors import ConvergenceWarning, DiscreetError, QueryError
from discreet.guarantee import Guarantee
from discreet.report.charts import save, tiles
from discreet.report.found_pictures import replicated_pictures
from discreet.report.guarantee_section import curve_picture
from discreet.report.ledger_section import ledger_picture
from discreet.report.look import COLOURS, altair, styled
from discreet.report.quantities import Quantity
from discreet.report.quantity_charts import density_chart, draws_chart, interval_chart, pairs_chart
from discreet.report.release_reading import prior_of, read

__all__ = [
    "budget_curve",
    "coefficients",
    "density",
    "groups",
    "guarantee_curve",
    "interval",
    "ledger",
    "pairs",
    "posterior",
    "predictive",
    "save",
]

SEED, PAIRS = 0, 4
PRIOR_DRAWS = 400


def posterior(read_from: Any) -> Any:
    """The picture that suits a posterior: a density of each single number, rows of intervals of several."""
    charts = [_one(quantity) for quantity in _quantities(read_from)]
    return charts[0] if len(charts) == 1 else tiles(*charts)


def density(read_from: Any, parameter: str | None = None, *, plug_in: Any = None) -> Any:
    """The density of one number over that of its prior; `plug_in` is another posterior to lay over it as a ghost."""
    quantity = _named(_quantities(read_from), parameter)
    if not quantity.single or (quantity.outer is None and quantity.density is None):
        why = quantity.reason or f"{quantity.name} is {len(quantity.labels)} numbers: ask plots.interval"
        raise QueryError(f"plots.density must be of a single number with a known law: {why}")
    ghost = None if plug_in is None else _named(_quantities(plug_in), quantity.name)
    prior = _prior(read_from, quantity)
    return density_chart(quantity, ghost, None if prior is None else prior[:, 0], title=quantity.names[0])


def interval(read_from: Any, parameter: str | None = None, *, level: float = 0.9, plug_in: Any = None) -> Any:
    """A row for each number: mean, interval, and the half of it."""
    quantities = _quantities(read_from, level)
    chosen = list(quantities) if parameter is None else [_named(quantities, parameter)]
    ghosts = {} if plug_in is None else {quantity.name: quantity for quantity in _quantities(plug_in, level)}
    charts = []
    for quantity in chosen:
        if quantity.outer is None:
            raise QueryError(f"plots.interval must be of a posterior with intervals: {quantity.reason}")
        charts.append(interval_chart(quantity, ghosts.get(quantity.name), title=quantity.name))
    return charts[0] if len(charts) == 1 else tiles(*charts)


def groups(read_from: Any, parameter: str | None = None, *, level: float = 0.9) -> Any:
    """The same number of every group, a row for each: of a posterior of a model with `by`."""
    found = [quantity for quantity in _quantities(read_from, level) if quantity.kind == "groups"]
    if not found:
        raise QueryError("plots.groups must be of a posterior of groups: a model with by=, got one without")
    chosen = found if parameter is None else [_named(found, parameter)]
    charts = [interval_chart(quantity, title=quantity.name) for quantity in chosen]
    return charts[0] if len(charts) == 1 else tiles(*charts)


def coefficients(read_from: Any, *, level: float = 0.9, intercept: bool = False) -> Any:
    """A forest of coefficients around zero."""
    found = [quantity for quantity in _quantities(read_from, level) if quantity.kind == "coefficients"]
    if not found:
        raise QueryError("plots.coefficients must be of the posterior of a regression, got one without coefficients")
    quantity = found[0] if intercept else found[0].without("intercept")
    if quantity.outer is None:
        return draws_chart(quantity, title=quantity.name)
    return interval_chart(quantity, title=quantity.name, zero=True)


def pairs(read_from: Any, names: Sequence[str] | None = None) -> Any:
    """Joint draws of up to four numbers, each against each; `names` are those of the summary."""
    columns: dict[str, Any] = {}
    for quantity in _quantities(read_from):
        if quantity.draws is not None:
            columns |= dict(zip(quantity.names, quantity.draws.T, strict=True))
    chosen = list(columns)[:PAIRS] if names is None else list(names)
    unknown = [name for name in chosen if name not in columns]
    if unknown:
        raise QueryError(f"plots.pairs names must be of {list(columns)[:12]}, got {unknown}")
    return pairs_chart({name: columns[name] for name in chosen})


def predictive(release: Any) -> Any:
    """Released numbers beside those that tables drawn from the posterior would have released, noise and all."""
    _check("predictive", release, "replicated", "a release, as dc.release or dc.load gives it")
    reading = read(release, "")
    pictures = replicated_pictures(reading)
    if not pictures:
        raise QueryError(
            "plots.predictive must be of noisy statistics of records whose public number is at most 50,000, under a "
            "model that says how records are drawn; got another release"
        )
    return tiles(*(picture.chart() for picture in pictures)) if len(pictures) > 1 else pictures[0].chart()


def budget_curve(plan: Any) -> Any:
    """How the width of intervals (or the error) falls as the budget grows: of a plan with `width=` or `rms=`."""
    _check("budget_curve", plan, "curve", "a plan with width= or rms=, as dc.plan gives it")
    if not plan.curve:
        raise QueryError("plots.budget_curve must be of a plan with width= or rms=, got one without a curve")
    alt = altair()
    values = [{"budget": float(budget), "figure": float(figure)} for budget, figure in plan.curve]
    base = alt.Chart(alt.InlineData(values=values))
    x = alt.X(
        "budget:Q", title="budget", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(tickCount=5, format=",~r")
    )
    y = alt.Y("figure:Q", title="expected width or error", scale=alt.Scale(zero=True), axis=alt.Axis(format=",~r"))
    line = base.mark_line(strokeWidth=2, color=COLOURS[0]).encode(x, y)
    dots = base.mark_point(filled=True, size=34, color=COLOURS[0], opacity=1).encode(x, y)
    return styled(alt.layer(line, dots).properties(width=320, height=200))


def guarantee_curve(guarantee: Guarantee) -> Any:
    """Epsilon at every delta."""
    _check("guarantee_curve", guarantee, "epsilon", "a guarantee, such as release.guarantee")
    return curve_picture(guarantee).chart()


def ledger(opened: Any) -> Any:
    """What was paid from a ledger, in turn, as shares of its budget."""
    _check("ledger", opened, "listed", "a ledger, as dc.Ledger.open gives it")
    return ledger_picture(opened, {}).chart()


def _check(name: str, given: Any, can: str, wanted: str) -> None:
    if not hasattr(given, can):
        raise QueryError(f"plots.{name} must be of {wanted}, got a {type(given).__name__}")


def _one(quantity: Quantity) -> Any:
    if quantity.outer is None and quantity.released:
        return draws_chart(quantity, title=quantity.name)
    if quantity.single and quantity.outer is not None and np.all(np.isfinite(np.ravel(quantity.outer))):
        return density_chart(quantity, title=quantity.names[0])
    return interval_chart(quantity, title=quantity.name)


def _quantities(read_from: Any, level: float = 0.9) -> tuple[Quantity, ...]:
    if not hasattr(read_from, "quantities"):
        raise QueryError(f"plots must be of what release.posterior() returns, got a {type(read_from).__name__}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found: tuple[Quantity, ...] = read_from.quantities(level)
    return found


def _named(quantities: Sequence[Quantity], parameter: str | None) -> Quantity:
    names = [quantity.name for quantity in quantities]
    if parameter is None and len(names) == 1:
        return quantities[0]
    if parameter not in names:
        raise QueryError(f"plots parameter must be one of {names}, got {parameter!r}")
    return quantities[names.index(parameter)]


def _prior(read_from: Any, quantity: Quantity) -> Any:
    provenance = getattr(read_from, "provenance", None)
    if provenance is None or provenance.prior is None:
        return None
    try:
        drawn = provenance.prior(PRIOR_DRAWS, np.random.default_rng(SEED))
    except DiscreetError:
        return None
    return prior_of(quantity, {name: np.asarray(values, dtype=float) for name, values in drawn.items()})
