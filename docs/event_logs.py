"""Draw the figures of docs/guides/event-logs.md: states and profiles of two real event logs, and held-out likelihoods.

python docs/event_logs.py [folder of the shared data]      needs the extra `report`; default ../shared/data

Fatal crashes by census division and by state, and traffic stops by patrol district, at epsilon = 5 with two and three
states; then a tenth of the cells is held out ten times and predicted at several epsilons. Everything is a simulation
with fixed seeds: nothing is paid and nothing is private here. With --quick only two splits are made.
"""

import json
import sys
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.report import held_out_curves, profile_bars, save, state_map, tiles
from discreet.studies.event_log_studies import METHODS, HeldOut, held_out_curve
from discreet.studies.foulds.event_tables import CRASHES, CRASHES_BY_STATE, STOPS, Log, OpenedLog
from discreet.studies.paper_tables import PaperTables

ROOT = Path(__file__).parents[1]
GUIDES = ROOT / "docs" / "guides"
EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)
SPLITS = 10

LOGS = (CRASHES, CRASHES_BY_STATE, STOPS)


def main() -> None:
    """Write all figures, and the numbers behind them to build/."""
    arguments = [argument for argument in sys.argv[1:] if argument != "--quick"]
    folder = Path(arguments[0]) if arguments else ROOT.parent / "shared" / "data"
    tables = PaperTables(folder)
    splits = 2 if "--quick" in sys.argv else SPLITS
    out = ROOT / "build" / "event-logs"
    out.mkdir(parents=True, exist_ok=True)
    for log in LOGS:
        opened = log.opened(tables)
        for states in (2, 3):
            pictures(log, opened, states, out)
    charts, numbers = [], {}
    for log in LOGS:
        opened = log.opened(tables)
        for states in (2, 3):
            found = held_out_curve(opened.model(states), opened.dataset, EPSILONS, splits)
            numbers[f"{log.name}, {states} states"] = told(f"{log.title}, {states} states", found)
            title = f"{log.title}, {states} states"
            charts.append(held_out_curves(found.curves(), title=title, reference=float(found.reference.mean())))
            (out / "held-out.json").write_text(json.dumps(numbers, indent=1))
    save(tiles(*charts, columns=2), GUIDES / "event-logs-held-out.svg")
    save(tiles(*charts, columns=2), out / "held-out.png")


def pictures(log: Log, opened: OpenedLog, states: int, out: Path) -> None:
    """The map of states and the profiles at epsilon = 5; the map of two states of crashes is in the guide."""
    (release,) = dc.simulate(opened.model(states), opened.dataset, dc.NoisyStatistics(epsilon=5.0), runs=1, seed=0)
    posterior: Any = release.posterior()
    grid = posterior.coordinates
    chart = tiles(
        state_map(posterior.states(), grid.regions, grid.times, title=f"{log.title}: most frequent state, ε = 5"),
        profile_bars(posterior.profiles(), grid.fields, title="profiles"),
        columns=1,
    )
    save(chart, out / f"{log.name}-{states}.png")
    if log.name == "crashes" and states == 2:
        save(chart, GUIDES / "event-logs-crashes.svg")
    print(log.title, states, "states: used", posterior.used_states(), flush=True)


def told(title: str, found: HeldOut) -> dict[str, Any]:
    """Print one study, and return its means."""
    print(f"\n{title}: held-out log-likelihood per event, not private {found.reference.mean():.4f}")
    for name in METHODS:
        print(f"  {name:38}" + "".join(f"{row.mean():10.4f}" for row in found.found[name]), flush=True)
    return {"not private": found.reference.mean()} | {
        name: [float(row.mean()) for row in found.found[name]] for name in METHODS
    }


if __name__ == "__main__":
    main()
