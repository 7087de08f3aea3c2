"""One quiet look for all charts, and the one place that imports Altair."""

from typing import Any

from discreet.errors import QueryError

__all__ = ["COLOURS", "FONT", "INK", "RULE", "altair", "missing_extra", "styled", "vl_convert"]

# ten colours that stay apart for colour-blind readers and in print
COLOURS = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#ccbb44",
    "#66ccee",
    "#aa3377",
    "#999999",
    "#dd8833",
    "#664488",
    "#99bb88",
)
FONT = "system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif"
INK, RULE = "#222222", "#e4e4e4"


def altair() -> Any:
    """Altair, or words that say how to get it."""
    try:
        import altair as found
    except ImportError:
        raise missing_extra("altair") from None
    return found


def vl_convert() -> Any:
    """What draws charts without a browser, or words that say how to get it."""
    try:
        import vl_convert as found
    except ImportError:
        raise missing_extra("vl-convert-python") from None
    return found


def missing_extra(package: str) -> QueryError:
    """The refusal where the extra of pictures is not installed."""
    return QueryError(f"pictures must have the extra \"report\" (pip install 'discreet[report]'), got no {package}")


def styled(chart: Any) -> Any:
    """The same quiet look for all: configuration is set on the outermost chart only."""
    found = chart.copy()
    found.config = {
        "font": FONT,
        "background": "white",
        "view": {"stroke": None},
        "axis": {
            "gridColor": RULE,
            "domainColor": "#888888",
            "tickColor": "#888888",
            "labelColor": INK,
            "titleColor": INK,
            "titleFontWeight": 500,
            "labelOverlap": "parity",
            "labelSeparation": 6,
        },
        "title": {"anchor": "start", "fontSize": 13, "color": INK, "fontWeight": 600},
        "legend": {"labelColor": INK, "titleColor": INK, "symbolType": "square"},
    }
    return found
