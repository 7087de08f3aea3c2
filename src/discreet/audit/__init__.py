"""Attacks on our own claims: lower bounds on privacy loss, worst neighbours, calibration, deterministic replay."""

from discreet.audit.attack import audit
from discreet.audit.bounds import Audit, epsilon_lower_bound, threshold_audit
from discreet.audit.calibration import Ranks, normal_score, rank_uniformity
from discreet.audit.joint import JointTest, joint_distribution_test
from discreet.audit.neighbours import Pair, neighbouring_pairs, worst_pair
from discreet.audit.planted import CHECKS, Check, check, run_check
from discreet.audit.replay import distance, replay

__all__ = [
    "CHECKS",
    "Audit",
    "Check",
    "JointTest",
    "Pair",
    "Ranks",
    "audit",
    "check",
    "distance",
    "epsilon_lower_bound",
    "joint_distribution_test",
    "neighbouring_pairs",
    "normal_score",
    "rank_uniformity",
    "replay",
    "run_check",
    "threshold_audit",
    "worst_pair",
]
