"""How many of ten offered states a posterior uses, with and without privacy."""

from typing import Any

import numpy as np

from discreet.posterior import EventLogPosterior
from discreet.studies.event_log_studies import METHODS, not_private
from discreet.studies.foulds.event_tables import CRASHES, STOPS
from discreet.studies.foulds.state_maps import AWARE, PLUG_IN, private_maps, whole_log
from discreet.studies.panels import Curves, Line
from discreet.studies.reproduction import Finding, Reproduction, Setting, holds

__all__ = ["STATES_IN_USE"]

STATES, EPSILONS = 10, (0.5, 5.0)


def study(setting: Setting) -> Finding:
    """Both logs, both readings of noisy counts, several draws of the noise."""
    rows: list[dict[str, Any]] = []
    made_up, panels = False, []
    for log in (STOPS, CRASHES):
        opened = log.opened(setting.tables)
        made_up = made_up or opened.synthetic
        split = whole_log(opened, STATES)
        coordinates = split.model.coordinates(opened.dataset.schema)
        plain = int(EventLogPosterior.from_draws(not_private(split, np.inf), coordinates).used_states())
        methods = {name: METHODS[name] for name in (PLUG_IN, AWARE)}
        found = private_maps(split, methods, EPSILONS, setting.runs)
        for (name, epsilon), posteriors in found.items():
            used = [int(one.used_states()) for one in posteriors]
            row = {"log": opened.title, "method": name, "epsilon": epsilon, "used": float(np.mean(used))}
            rows.append(row | {"error": float(np.std(used, ddof=1) / np.sqrt(len(used))), "not private": plain})
        of = [row for row in rows if row["log"] == opened.title]
        panels.append(_panel(opened.title, of, plain))
    at = {(row["log"], row["method"], row["epsilon"]): row for row in rows}
    logs = list(dict.fromkeys(row["log"] for row in rows))
    claims = (
        holds(
            "without privacy fewer than ten states are used",
            all(row["not private"] < STATES for row in rows),
            ", ".join(f"{log}: {at[log, AWARE, 5.0]['not private']}" for log in logs),
        ),
        holds(
            "at epsilon = 5 both readings use about as many, to two states",
            all(abs(at[log, name, 5.0]["used"] - at[log, name, 5.0]["not private"]) <= 2 for log in logs
                for name in (PLUG_IN, AWARE)),
            _told(at, logs, 5.0),
        ),
        holds(
            "at epsilon = .5 counts at face value use at least as many states as the reading that knows of the noise: "
            "noise looks like states",
            all(at[log, PLUG_IN, 0.5]["used"] >= at[log, AWARE, 0.5]["used"] for log in logs),
            _told(at, logs, 0.5),
        ),
    )  # fmt: skip
    return Finding(
        reported="Ten states are offered to the hidden Markov model, and how many are used is a finding by itself.",
        found=f"Epsilon = 5: {_told(at, logs, 5.0)}. Epsilon = .5: {_told(at, logs, 0.5)}.",
        differs="Other logs than the paper's. A naive posterior turns noise into states; a posterior that knows of the "
        "noise keeps closer to what the cells can tell.",
        tables={"used_states": rows},
        claims=claims,
        panels=tuple(panels),
        synthetic=made_up,
    )


def _told(at: dict[Any, dict[str, Any]], logs: list[str], epsilon: float) -> str:
    return "; ".join(
        f"{log} naive {at[log, PLUG_IN, epsilon]['used']:.1f}, noise-aware {at[log, AWARE, epsilon]['used']:.1f}, not "
        f"private {at[log, AWARE, epsilon]['not private']}"
        for log in logs
    )


def _panel(title: str, of: list[dict[str, Any]], plain: int) -> Curves:
    lines = []
    for name in (PLUG_IN, AWARE):
        points = [row for row in of if row["method"] == name]
        y, wide = (np.array([row[key] for row in points]) for key in ("used", "error"))
        e = [row["epsilon"] for row in points]
        lines.append(Line(f"{name}, ± 2 s.e.", e, y, y - 2 * wide, y + 2 * wide, points=True))
    return Curves(title, "ε", "states in use of 10", lines, log_x=True, levels={"not private": float(plain)})


STATES_IN_USE = Reproduction(
    "foulds-used-states",
    "Foulds et al. 2016, Section 5",
    "How many of ten states are used, with and without privacy",
    study,
    runs=3,
    steps=1500,
)
