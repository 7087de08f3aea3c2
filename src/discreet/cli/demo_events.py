"""The last part of `discreet demo`: hidden states of a synthetic event log, found from counts that were paid once."""

from pathlib import Path
from typing import Any

from discreet.cli import balance, terminal

__all__ = ["event_log", "read_back"]

REGIONS, MONTHS, LEVELS, EVENTS = 8, 36, (5, 3, 2), 400
EPSILON = 2.0
SEED = 7
FILE = "events.release.json"


def read_back(folder: Path) -> Any:
    """The release that was saved there."""
    from discreet.release import load

    return load(folder / FILE)


def event_log(folder: Path, screen: terminal.Screen) -> dict[str, Any]:
    """Release the counts of every region and month once, run a sampler on them for free, compare with the truth."""
    from discreet import pipeline
    from discreet.guarantee import Budget
    from discreet.ledger import Ledger
    from discreet.mechanisms import NoisyStatistics
    from discreet.models import EventLogHMM
    from discreet.sources.open import open_dataset
    from discreet.studies.synthetic_event_log import synthetic_event_log

    log = synthetic_event_log(REGIONS, MONTHS, LEVELS, median=EVENTS, seed=SEED)
    dataset = open_dataset(log.table, log.schema, id="synthetic-events")
    ledger = Ledger.create(folder / "events.ledger", Budget(EPSILON))
    model = EventLogHMM("region", "month", tuple(log.profiles), states=2)
    release = pipeline.release(model, dataset, NoisyStatistics(epsilon=EPSILON), ledger)
    release.save(folder / FILE)
    posterior: Any = release.posterior()
    index = log.adjusted_rand(posterior.states())
    price = balance.share(ledger, ledger.spent())
    lines = [
        ("log", f"{dataset.schema.n:,} synthetic events in {REGIONS} regions and {MONTHS} months, two hidden states"),
        ("paid", f"{price}, once; the chains run on what was released"),
        ("found", f"adjusted Rand index {index:.3f} against the true states (1 is equal, 0 is chance)"),
    ]
    terminal.facts(screen, "6  Hidden states of an event log", lines)
    screen.block(posterior.map())
    screen.print()
    return {"release": release.to_json(), "states": posterior.states().tolist(), "adjusted_rand": index}
