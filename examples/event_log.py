"""Hidden states of an event log from one paid release: a map of regions and months, and a profile for every state."""

import tempfile
from pathlib import Path

import discreet as dc

log = dc.synthetic_event_log(regions=6, months=36, levels=(5, 8, 2), states=3, median=150, seed=11)
data = dc.open(log.table, log.schema, id="incidents-2026")
model = dc.EventLogHMM(region="region", time="month", fields=("field_1", "field_2", "field_3"), states=4)

with tempfile.TemporaryDirectory() as folder:
    ledger = dc.Ledger.create(Path(folder) / "incidents.ledger", dc.Budget(epsilon=3.0))
    release = dc.release(model, data, dc.NoisyStatistics(epsilon=3.0), ledger)
    print(f"{log.schema.n:,} events, {release.query.cells:,} noisy counts\n{release.guarantee}\n")

    posterior = release.posterior()  # free, like everything below: the tables were paid once
    print(posterior)

    naive = release.posterior("plug-in")
    print("\nHow much of the true map is found (adjusted Rand index, 1 is all of it):")
    print(f"  noise-aware {log.adjusted_rand(posterior.states()):.3f}")
    print(f"  plug-in     {log.adjusted_rand(naive.states()):.3f}")
    print(ledger)
