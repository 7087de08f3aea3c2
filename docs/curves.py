"""Draw docs/theory/curves.svg: epsilon(delta) of the same forty posterior samples under each accounting.

python docs/curves.py      needs the extra `report`
"""

from pathlib import Path

import altair as alt
import numpy as np

import discreet as dc

DRAWS, EPSILON = 40, 0.1

ROUTES = {
    "basic composition": lambda _: DRAWS * EPSILON,
    "pure DP, zCDP": lambda delta: dc.ZCDP(DRAWS * dc.PureDP(EPSILON).renyi(1.0)).epsilon(delta),
    "pure DP, optimal": dc.Repeated(dc.PureDP(EPSILON), DRAWS).epsilon,
    "bounded range, zCDP": dc.ZCDP(DRAWS * EPSILON**2 / 8).epsilon,
    "bounded range, Rényi": dc.Repeated(dc.BoundedRange(EPSILON), DRAWS).epsilon,
}


def main() -> None:
    """Evaluate every route on a grid of delta and write the picture."""
    deltas = np.logspace(-10, -2, 60)
    rows = [{"delta": d, "epsilon": f(d), "accounting": name} for name, f in ROUTES.items() for d in deltas]
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X("delta:Q", title="delta", scale=alt.Scale(type="log"), axis=alt.Axis(format="~e", tickCount=5)),
            y=alt.Y("epsilon:Q", title="epsilon"),
            color=alt.Color("accounting:N", sort=list(ROUTES), title=None),
        )
        .properties(width=520, height=300, title=f"{DRAWS} draws of a posterior sample, epsilon = {EPSILON} each")
    )
    chart.save(str(Path(__file__).parent / "theory" / "curves.svg"))


if __name__ == "__main__":
    main()
