"""Run every benchmark, or those named on the command line."""

import sys
from importlib import import_module

NAMES = [
    "startup",
    "ledgers",
    "statistics",
    "growth",
    "spark_statistics",
    "databases",
    "moments",
    "posterior",
    "posteriors",
    "accounting",
    "draws",
    "glm_speed",
    "gibbs_bounds",
    "score_speed",
    "league",
    "intervals",
    "synthetic_tables",
    "event_logs",
]

for name in sys.argv[1:] or NAMES:
    module = import_module(f"benchmarks.{name}")
    print(f"\n== {name}: {(module.__doc__ or '').splitlines()[0]}", flush=True)
    module.run()
