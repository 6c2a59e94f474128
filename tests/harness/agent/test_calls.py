"""A provider that fails in every way it can: what is retried, what ends the run, and what is paid."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import cast

import pytest

from app.demo.scripted_model import Fault, Json, ScriptedModel, Turn, bash, submit
from domain.errors import AgentFailure, ProviderUnavailable
from domain.model import Money
from tests.harness.agent.conftest import KEY
from tests.harness.agent.inline import InlineAgent
from tests.harness.agent.world import CLAIM, MemoryLedger, ShellSession, Watcher, a_brief, a_meter

Make = Callable[..., InlineAgent]
DONE = submit(**CLAIM.model_dump())
IMPATIENT: dict[str, object] = {"patience_seconds": 0.3, "first_wait_seconds": 0.05}
HURRIED: dict[str, object] = {"call_seconds": 0.2, "most_timeouts": 1}


def failing(fault: Fault) -> Turn:
    return bash("ls", fault=fault)


def error(message: str, code: str = "error") -> Json:
    return {"error": {"message": message, "type": code, "code": code, "param": None}}


def no_credit() -> Fault:
    return Fault(status=429, body=error("You exceeded your current quota", "insufficient_quota"))


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=429, body=error("slow down"), headers={"Retry-After": "0.01"}, times=2),
        Fault(status=503, body="<html>overloaded</html>", times=2),
        Fault(status=500, times=2),
        Fault(status=529, body=error("overloaded"), times=2),
    ],
)
def test_passing_trouble_is_waited_out_within_one_reservation(
    play: Make, endpoint: ScriptedModel, session: ShellSession, fault: Fault
) -> None:
    ledger = MemoryLedger()
    report = play(failing(fault), DONE).run(a_brief(), session, a_meter(ledger, max_iterations=2), Watcher())
    assert report.claim == CLAIM
    assert [entry.status for entry in endpoint.bill] == [fault.status, fault.status, 200, 200]
    assert ledger.spent_on_attempt(5) == endpoint.total


@pytest.mark.long
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (no_credit(), "no credit left"),
        (Fault(status=402, body=error("Payment required")), "no credit left"),
        (Fault(status=401, body=error(f"Incorrect API key provided: {KEY}")), "refuses the key"),
        (Fault(status=403, body=error("not allowed for this project")), "refuses the key"),
        (Fault(status=404, body=error("The model does not exist")), "does not know the model"),
        (Fault(status=400, body=error("content management policy", "content_filter")), "rejects the request"),
        (Fault(status=400, body=error("Unsupported parameter: 'max_tokens'")), "rejects the request"),
        (Fault(status=422, body=error("tools.0: schema invalid")), "rejects the request"),
    ],
)
def test_lasting_trouble_ends_the_run_at_the_first_call(
    play: Make, endpoint: ScriptedModel, session: ShellSession, fault: Fault, said: str
) -> None:
    ledger = MemoryLedger()
    with pytest.raises(AgentFailure, match=said) as caught:
        play(failing(fault)).run(a_brief(), session, a_meter(ledger), Watcher())
    assert not isinstance(caught.value, ProviderUnavailable)
    assert KEY not in str(caught.value)
    assert len(endpoint.bill) == 1
    assert (ledger.spent_on_attempt(5), ledger.open) == (0, {})


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=503),
        Fault(status=429, body=error("slow down"), headers={"Retry-After": "3600"}),
    ],
)
def test_an_outage_is_given_up_as_passing_and_costs_nothing(
    play: Make, endpoint: ScriptedModel, session: ShellSession, fault: Fault
) -> None:
    ledger = MemoryLedger()
    with pytest.raises(ProviderUnavailable):
        play(failing(fault), model=IMPATIENT).run(a_brief(), session, a_meter(ledger), Watcher())
    assert (ledger.spent_on_attempt(5), ledger.open) == (0, {})


@pytest.mark.parametrize(
    ("header", "seconds", "time"),
    [("3600", 3600.0, {}), ("30", 30.0, {"wall_seconds": 10.0})],
    ids=["longer than our patience", "longer than the attempt has"],
)
def test_a_wait_that_does_not_fit_is_left_to_the_queue(
    play: Make,
    endpoint: ScriptedModel,
    session: ShellSession,
    header: str,
    seconds: float,
    time: dict[str, float],
) -> None:
    fault = Fault(status=429, body=error("slow down"), headers={"Retry-After": header})
    agent = play(failing(fault), model={"patience_seconds": 300.0}, **time)
    with pytest.raises(ProviderUnavailable) as caught:
        agent.run(a_brief(), session, a_meter(), Watcher())
    assert caught.value.retry_after == seconds
    assert len(endpoint.bill) == 1


def test_a_provider_that_always_says_at_once_is_not_asked_without_end(
    play: Make, endpoint: ScriptedModel, session: ShellSession
) -> None:
    fault = Fault(status=503, headers={"Retry-After": "0"})
    with pytest.raises(ProviderUnavailable):
        play(failing(fault), model=IMPATIENT).run(a_brief(), session, a_meter(), Watcher())
    assert 1 < len(endpoint.bill) < 5


def test_a_refused_connection_costs_nothing(play: Make, session: ShellSession) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        ledger = MemoryLedger()
        agent = play(DONE, model=IMPATIENT | {"api_base": nobody})
        with pytest.raises(ProviderUnavailable, match="cannot be reached"):
            agent.run(a_brief(), session, a_meter(ledger), Watcher())
    assert (ledger.spent_on_attempt(5), ledger.open) == (0, {})


@pytest.mark.long
@pytest.mark.parametrize("kind", ["stall", "headers", "trickle"])
def test_a_connection_that_never_answers_is_given_up_and_booked_in_full(
    play: Make, endpoint: ScriptedModel, session: ShellSession, kind: str
) -> None:
    ledger = MemoryLedger()
    with pytest.raises(ProviderUnavailable, match="did not answer"):
        play(failing(Fault(kind=kind)), model=HURRIED).run(a_brief(), session, a_meter(ledger), Watcher())
    assert len(endpoint.bill) == 2
    assert [cost for _, _, cost, _ in ledger.booked] == [held.amount for held, *_ in ledger.booked]
    assert len(ledger.booked) == 2


@pytest.mark.parametrize("fault", [Fault(kind="drop", times=1), Fault(status=200, body="{", times=1)])
def test_a_lost_answer_is_booked_in_full_and_asked_for_again(
    play: Make, endpoint: ScriptedModel, session: ShellSession, fault: Fault
) -> None:
    ledger = MemoryLedger()
    report = play(failing(fault), DONE).run(a_brief(), session, a_meter(ledger), Watcher())
    assert report.claim == CLAIM
    assert len(ledger.booked) == 3
    assert ledger.booked[0][2] == ledger.booked[0][0].amount
    assert ledger.spent_on_attempt(5) > endpoint.total > 0


def test_a_retry_does_not_pass_the_cap(play: Make, endpoint: ScriptedModel, session: ShellSession) -> None:
    ledger = MemoryLedger()
    meter = a_meter(ledger, max_cost_per_task_usd=Money("0.036"))
    report = play(failing(Fault(kind="drop")), DONE).run(a_brief(), session, meter, Watcher())
    assert report.stopped_by is not None
    assert len(endpoint.bill) == 1
    assert ledger.spent_on_attempt(5) <= Money("0.036")


TOO_LONG = error("This model's maximum context length is 8192 tokens", "context_length_exceeded")


def test_an_overflow_is_answered_with_a_shorter_conversation_once(
    play: Make, endpoint: ScriptedModel, session: ShellSession
) -> None:
    big = [bash(f"head -c 6000 /dev/zero | tr '\\0' {letter}") for letter in "abcd"]
    last = bash("true", fault=Fault(status=400, body=TOO_LONG, times=1))
    report = play(*big, last, DONE).run(a_brief(), session, a_meter(), Watcher())
    assert report.claim == CLAIM
    sizes = [len(str(entry.request["messages"])) for entry in endpoint.bill]
    assert sizes[5] < sizes[4] * 0.6
    kept = cast("list[Json]", endpoint.bill[5].request["messages"])
    assert "add(2, 2) gives 0" in str(kept[1]["content"])


def test_an_overflow_that_stays_stops_with_the_work_kept(
    play: Make, endpoint: ScriptedModel, session: ShellSession
) -> None:
    turns = (bash("touch done"), bash("ls", fault=Fault(status=400, body=TOO_LONG)))
    ledger = MemoryLedger()
    report = play(*turns).run(a_brief(), session, a_meter(ledger), Watcher())
    assert (report.claim, report.stopped_by) == (None, None)
    assert "does not fit the model's context" in report.stop_detail
    assert len(endpoint.bill) == 2  # nothing can be taken out, and the same again would be too long again
    assert not ledger.open


@pytest.mark.long
def test_a_far_too_long_conversation_is_halved_a_few_times_and_no_more(
    play: Make, endpoint: ScriptedModel, session: ShellSession
) -> None:
    big = [bash(f"seq {n}000 {n}999") for n in range(1, 9)]
    report = play(*big, bash("ls", fault=Fault(status=400, body=TOO_LONG))).run(
        a_brief(), session, a_meter(), Watcher()
    )
    assert "does not fit the model's context" in report.stop_detail
    sizes = [len(str(entry.request["messages"])) for entry in endpoint.bill[8:]]
    assert 2 < len(sizes) < 5, sizes
    assert sizes == sorted(set(sizes), reverse=True)
