"""Attacks on our own claims: lower bounds on privacy loss, worst neighbours, calibration, deterministic replay."""

from discreet.auditing.attack import attack_pair, audit
from discreet.auditing.change_of_a_unit import l1_length, squared_length
from discreet.auditing.joint_test import JointTest, joint_distribution_test
from discreet.auditing.loss_bounds import Audit, epsilon_lower_bound, threshold_audit
from discreet.auditing.neighbours import Pair, neighbouring_pairs, pair_of, worst_pair
from discreet.auditing.planted import CHECKS, Check, check, run_check
from discreet.auditing.rank_tests import Ranks, normal_score, rank_uniformity
from discreet.auditing.replay import distance, replay

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
