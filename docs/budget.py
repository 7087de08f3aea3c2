"""Draw docs/guides/budget.svg: how many equal requests a ledger of (3, 1e-6) admits, counted by ledgers themselves.

python docs/budget.py      needs the extra `report`
"""

import tempfile
from itertools import count
from pathlib import Path

import altair as alt

import discreet as dc
from discreet.guarantee import Guarantee

BUDGET = dc.Budget(epsilon=3.0, delta=1e-6)
ASKED = {
    "counts of ε = 0.5": dc.PureDP(0.5),
    "draws of ε = 0.5, bounded range": dc.BoundedRange(0.5),
    "Gaussian releases of μ = 0.1": dc.GaussianDP(0.1),
    "tables of ρ = 0.005": dc.ZCDP(0.005),
}


def in_turn(path: Path, guarantee: Guarantee, name: str | None) -> int:
    """How many are admitted one after another."""
    ledger = dc.Ledger.create(path, BUDGET, name)
    for number in count():
        try:
            ledger.reserve(guarantee, {"request": number})
        except dc.BudgetExceeded:
            return number
    raise AssertionError


def at_once(folder: Path, guarantee: Guarantee) -> int:
    """How many are admitted as one purchase."""
    for number in count(1):
        ledger = dc.Ledger.create(folder / f"{number}.ledger", BUDGET)
        try:
            ledger.quote([guarantee] * number)
        except dc.BudgetExceeded:
            return number - 1
    raise AssertionError


def main() -> None:
    """Ask until refused, and write the picture."""
    rows = []
    for i, (name, guarantee) in enumerate(ASKED.items()):
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            counted = {
                "zCDP filter": in_turn(folder / "zcdp", guarantee, "zcdp"),
                "one after another": in_turn(folder / "portfolio", guarantee, None),
                "one purchase": at_once(folder, guarantee),
            }
        rows += [{"asked": name, "order": i, "bought": how, "admitted": number} for how, number in counted.items()]
    order = ["zCDP filter", "one after another", "one purchase"]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("admitted:Q", axis=None),
        y=alt.Y("bought:N", sort=order, title=None),
    )
    bars = base.mark_bar().encode(color=alt.Color("bought:N", sort=order, legend=None))
    numbers = base.mark_text(align="left", dx=4).encode(text="admitted:Q")
    chart = (
        (bars + numbers)
        .properties(width=430, height=66)
        .facet(
            row=alt.Row(
                "asked:N", sort=list(ASKED), title=None, header=alt.Header(labelOrient="top", labelAnchor="start")
            )
        )
        .resolve_scale(x="independent")
        .properties(title=f"Requests that a ledger of {BUDGET} admits")
    )
    chart.save(str(Path(__file__).parent / "guides" / "budget.svg"))


if __name__ == "__main__":
    main()
