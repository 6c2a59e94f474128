"""Money under attack: whatever dies or lies, the ledger is never below the bill and never above a cap."""

from __future__ import annotations

import os
import signal

import pytest

from app.demo.toolchain import BASE
from domain.model import Money
from domain.states import State
from tests.redteam.arena import FIX, Act, arena

pytestmark = [
    pytest.mark.long,
    pytest.mark.journey,
    pytest.mark.skipif(
        not (BASE / "bin").is_dir(), reason="the sandbox's tool chain is made by `make setup`"
    ),
]

CAP = Money("0.20")


@pytest.mark.parametrize("call", [1, 2, 4])
def test_f125_a_worker_that_dies_between_the_bill_and_the_booking_pays_all_the_same(call: int) -> None:
    with arena(FIXWRIGHT_MAX_COST_PER_TASK_USD=str(CAP)) as ground:
        service, ledger = ground.stage.service, ground.stage.ledger
        worker = service.pid_of("work")
        killed = ground.on_bill(call, lambda: os.kill(worker, signal.SIGKILL))
        issue = ground.issue(Act([FIX, "ls"]))
        ground.label(issue)
        assert killed.wait(60)
        service.wait_ended(20)
        assert CAP >= ledger.spent_on_task(1) >= ground.model.total > 0

        service.start()
        task = ground.settled(issue)

        assert task.state is State.IN_REVIEW, (task.reason, task.detail)
        assert CAP >= ledger.spent_on_task(task.id) >= ground.model.total
        assert len(ground.model.bill) == 5, "only the call that was lost is made again"
        assert len(ground.pulls_of(task)) == 1
