"""What a release would give, before any row is read: `plan` for one mechanism, `compare` for several."""

from discreet.planning.comparisons import Candidate, Comparison, compare
from discreet.planning.plans import Plan, plan

__all__ = ["Candidate", "Comparison", "Plan", "compare", "plan"]
