"""Records are read back into a conversation that a provider accepts, wherever they break off."""

from __future__ import annotations

import pytest

from harness.agent.protocol import Message
from harness.agent.transcript import last_step, messages_in, restatement_in, working_conversation

SAID = {"expected": "four", "actual": "zero", "confidence": 0.9}
RESTATING: list[Message] = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": "restate"},
    {"role": "assistant", "tool_calls": [{"id": "r"}], "extra": {"step": 1, "restatement": SAID}},
    {"role": "tool", "tool_call_id": "r", "content": "Received."},
]
BEGINNING: list[Message] = [
    {"role": "system", "content": "rules", "extra": {"nonce": "n", "restatement": SAID}},
    {"role": "user", "content": "work"},
]
STEP: list[Message] = [
    {"role": "assistant", "tool_calls": [{"id": "a"}, {"id": "b"}], "extra": {"step": 2}},
    {"role": "tool", "tool_call_id": "a", "content": "1"},
    {"role": "tool", "tool_call_id": "b", "content": "2"},
]
FAULT: list[Message] = [
    {"role": "assistant", "content": "(empty answer)", "extra": {"step": 3}},
    {"role": "user", "content": "Your answer was empty."},
]
WHOLE = [*RESTATING, *BEGINNING, *STEP, *FAULT]


def test_the_work_goes_on_where_it_stood() -> None:
    records = [{"messages": RESTATING}, {"messages": BEGINNING + STEP}, {"messages": FAULT}, {"kind": "odd"}]
    messages = messages_in(records)
    assert working_conversation(messages) == [*BEGINNING, *STEP, *FAULT]
    assert last_step(messages) == 3
    restatement = restatement_in(messages)
    assert restatement is not None
    assert restatement.expected == "four"


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        (WHOLE[:-1], [*BEGINNING, *STEP]),
        (WHOLE[:8], []),
        (WHOLE[:6], []),
        (RESTATING, []),
        ([], []),
        ([*WHOLE, {"role": "exit", "content": "stuck"}, *STEP], [*BEGINNING, *STEP, *FAULT]),
        ([*WHOLE, {"role": "tool", "tool_call_id": "z", "content": "?"}], [*BEGINNING, *STEP, *FAULT]),
        ([*WHOLE, STEP[0], FAULT[1]], [*BEGINNING, *STEP, *FAULT]),
    ],
)
def test_only_what_a_provider_accepts_is_kept(messages: list[Message], kept: list[Message]) -> None:
    assert working_conversation(messages) == kept


def test_nothing_is_known_of_an_attempt_without_records() -> None:
    assert (restatement_in(()), last_step(())) == (None, 0)
