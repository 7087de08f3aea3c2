"""What a release would give, before any row is read: `plan` for one mechanism, `compare` for several."""

from discreet.planning.plans import Candidate, Comparison, Plan, compare, plan

__all__ = ["Candidate", "Comparison", "Plan", "compare", "plan"]
