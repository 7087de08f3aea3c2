"""Sixty-four processes race for the last shares of a portfolio: exactly as many as it admits get one."""

import os
from pathlib import Path

import pytest

from discreet.errors import BudgetExceeded
from discreet.guarantee import Budget, PureDP
from discreet.ledger import Ledger

PROCESSES = 64
ASKED = PureDP(0.1)


def admitted_in_turn(path: Path, budget: Budget) -> int:
    ledger, count = Ledger.create(path, budget), 0
    try:
        while True:
            ledger.reserve(ASKED, {"i": count})
            count += 1
    except BudgetExceeded:
        return count


@pytest.mark.parametrize("last", [pytest.param(1, marks=pytest.mark.audit), 5])
def test_as_many_pass_as_one_after_another(tmp_path: Path, last: int) -> None:
    budget = Budget(1, 1e-6)
    whole = admitted_in_turn(tmp_path / "alone.ledger", budget)  # its prices are known to every child
    assert whole == 10
    ledger = Ledger.create(tmp_path / "raced.ledger", budget)
    for i in range(whole - last):
        ledger.reserve(ASKED, {"before": i})
    begin, go = os.pipe()
    children = []
    for number in range(PROCESSES):
        child = os.fork()
        if child == 0:
            code = 2
            try:
                os.close(go)
                os.read(begin, 1)  # ends for all at once
                ledger.reserve(ASKED, {"process": number})
                code = 0
            except BudgetExceeded:
                code = 1
            finally:
                os._exit(code)
        children.append(child)
    os.close(go)
    os.close(begin)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert (codes.count(0), codes.count(1)) == (last, PROCESSES - last)
    assert len(ledger.entries()) == whole
    with pytest.raises(BudgetExceeded):
        ledger.reserve(ASKED, {"more": True})
    ledger.verify()
