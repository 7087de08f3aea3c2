"""Attacks on our own claims: lower bounds on privacy loss, worst neighbours, calibration, deterministic replay."""

from discreet.audit.attack import attack_pair, audit
from discreet.audit.bounds import Audit, epsilon_lower_bound, threshold_audit
from discreet.audit.calibration import Ranks, normal_score, rank_uniformity
from discreet.audit.joint import JointTest, joint_distribution_test
from discreet.audit.moves import l1_length, squared_length
from discreet.audit.neighbours import Pair, neighbouring_pairs, pair_of, worst_pair
from discreet.audit.planted import CHECKS, Check, check, run_check
from discreet.audit.replay import distance, replay

__all__ = [
    "CHECKS",
    "Audit",
    "Check",
    "JointTest",
    "Pair",
    "Ranks",
    "attack_pair",
    "audit",
    "check",
    "distance",
    "epsilon_lower_bound",
    "joint_distribution_test",
    "l1_length",
    "neighbouring_pairs",
    "normal_score",
    "pair_of",
    "rank_uniformity",
    "replay",
    "run_check",
    "squared_length",
    "threshold_audit",
    "worst_pair",
]
