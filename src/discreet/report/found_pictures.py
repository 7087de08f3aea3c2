"""The pictures of what was found: prior to posterior, with the plug-in posterior as a ghost, and the numbers behind."""

from functools import partial
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from discreet.report.pictures import Cell, Picture
from discreet.report.quantities import INNER, Quantity
from discreet.report.quantity_charts import MOST_ROWS, density_chart, draws_chart, interval_chart
from discreet.report.release_reading import ReportedRelease, prior_of

__all__ = ["found_pictures", "number_rows", "replicated_pictures"]

EDGE = 0.12  # of the width of what is shown: where a wider prior is cut

Array = NDArray[np.float64]


def found_pictures(reading: ReportedRelease) -> list[Picture]:
    """A density for every single number, rows of intervals for several, strokes for draws that are all there is."""
    return [*reading.posterior.pictures(), *(_picture(quantity, reading) for quantity in reading.quantities)]


def number_rows(quantity: Quantity, *, full: bool = True) -> tuple[tuple[str, ...], tuple[tuple[Cell, ...], ...]]:
    """Heads and rows of the table of a quantity."""
    head = ["", "average of draws" if quantity.released else "mean"]
    columns: list[Array] = [quantity.mean]
    if quantity.sd is not None:
        head.append("sd")
        columns.append(quantity.sd)
    if quantity.outer is not None:
        head += [f"{quantity.level:.0%} from", "to"]
        columns += list(quantity.outer)
    for name, values in (("R-hat", quantity.rhat), ("effective draws", quantity.ess)):
        if values is not None:
            head.append(name)
            columns.append(values)
    names = quantity.names if full else quantity.rows
    rows = zip(names, *(map(float, column) for column in columns), strict=True)
    return tuple(head), tuple(rows)


def _picture(quantity: Quantity, reading: ReportedRelease) -> Picture:
    plug_in = reading.plug_in.get(quantity.name)
    plug_in = plug_in if plug_in is not None and plug_in.labels == quantity.labels else None
    prior = prior_of(quantity, reading.prior)
    head, rows = number_rows(quantity, full=False)
    ghost = "; dashed, the plug-in posterior, which takes the noisy numbers as exact" if plug_in is not None else ""
    title = _title(quantity)
    if quantity.outer is None and quantity.released:
        words = f"Each stroke is a released draw. No interval: {quantity.reason}."
        return Picture(title, words, lambda: draws_chart(quantity), head, rows)
    if quantity.single and quantity.outer is not None and np.all(np.isfinite(np.array(quantity.outer))):
        ground = "" if prior is None else "; pale, the prior"
        words = (
            f"The posterior, with its mean, its {quantity.level:.0%} interval and the half of it on the floor"
            f"{ground}{ghost}{', cut where it is far higher' if ghost else ''}."
        )
        draws = None if prior is None else prior[:, 0]
        return Picture(title, words, lambda: density_chart(quantity, plug_in, draws), head, rows)
    band = None if prior is None else _band(prior, quantity)
    ground = "" if band is None else "; pale, that of the prior, cut at the edge of the picture"
    more = f" The first {MOST_ROWS} of {len(rows)}." if len(rows) > MOST_ROWS else ""
    words = f"Means, {quantity.level:.0%} intervals and, thicker, {INNER:.0%} intervals{ground}{ghost}.{more}"
    shown = _without_intercept(quantity)
    if shown is not quantity:
        words += " The intercept, far from the others, is in the table only."
        kept = [k for k, label in enumerate(quantity.labels) if label != "intercept"]
        plug_in = None if plug_in is None else plug_in.without("intercept")
        band = None if prior is None else _band(prior[:, kept], shown)
    return Picture(title, words, lambda: interval_chart(shown, plug_in, band), head, rows)


def replicated_pictures(reading: ReportedRelease) -> list[Picture]:
    """Released statistics beside those of tables that were drawn from the posterior."""
    found = []
    for name, (released, replicated) in reading.replicated.items():
        flat, others = np.ravel(released).astype(float), replicated.reshape(len(replicated), -1).astype(float)
        rows = _cells(name, flat.size, reading)
        ends = np.quantile(others, [0.05, 0.95], axis=0)
        inner = np.quantile(others, [0.25, 0.75], axis=0)
        centre = np.median(others, axis=0)
        tail = np.minimum((others >= flat).mean(axis=0), (others <= flat).mean(axis=0))
        outer, inner = ((low - centre, high - centre) for low, high in (ends, inner))
        check = Quantity(name, rows, flat - centre, 0.9, outer, inner, kind="check")
        table = tuple(zip(rows, *(map(float, c) for c in (flat, ends[0], ends[1], tail)), strict=True))
        words = (
            "The released number (point) less the median of what tables drawn from the posterior would have released, "
            "noise and all, and where 90% and half of those lie. A point far outside says that the model does not fit."
        )
        head = ("", "released", "90% from", "to", "share at least as far out")
        found.append(Picture(f"Released: {name}", words, partial(interval_chart, check, zero=True), head, table))
    return found


def _cells(name: str, size: int, reading: ReportedRelease) -> tuple[str, ...]:
    """What the numbers of a statistic are counts of, where its levels or a quantity say it."""
    if size == 1:
        return (name,)
    asked = {statistic.name: statistic for statistic in reading.release.query.statistics}
    levels = getattr(asked.get(name), "levels", ())
    if levels and prod(map(len, levels)) == size:
        return tuple(", ".join(texts) for texts in product(*levels))
    fitting = [quantity for quantity in reading.quantities if len(quantity.labels) == size]
    named = [quantity for quantity in fitting if quantity.name == name] or fitting
    return named[0].rows if named else tuple(str(k + 1) for k in range(size))


def _title(quantity: Quantity) -> str:
    if quantity.single:
        return quantity.names[0]
    over = f" by {', '.join(quantity.dimensions)}" if len(quantity.dimensions) > 1 and not quantity.called else ""
    return f"{quantity.name}{over}"


def _band(prior: Array, quantity: Quantity) -> tuple[Array, Array] | None:
    """The 90% interval of the prior as far as the picture goes, which the posterior decides."""
    assert quantity.outer is not None
    ends = np.array(quantity.outer)
    if not np.all(np.isfinite(ends)):
        return None
    low, high = float(ends.min()), float(ends.max())
    edge = EDGE * (high - low)
    band = np.clip(np.quantile(prior, [0.05, 0.95], axis=0), low - edge, high + edge)
    return (band[0], band[1]) if np.all(band[1] >= band[0]) else None


def _without_intercept(quantity: Quantity) -> Quantity:
    """Coefficients whose intercept would press all others together, without it."""
    if quantity.kind != "coefficients" or "intercept" not in quantity.labels or len(quantity.labels) < 3:
        return quantity
    place = quantity.labels.index("intercept")
    others = quantity.without("intercept")
    ends = others.mean if others.outer is None else np.array(others.outer)
    return others if abs(quantity.mean[place]) > 3 * np.abs(ends).max() else quantity
