"""The conversation stays within its budget, and what is pinned stays in it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast

from harness.agent.context import Context
from harness.agent.protocol import Message


def count(message: Mapping[str, object]) -> int:
    return len(json.dumps(message)) // 4


def conversation(steps: int, size: int = 4000, command: str = "ls") -> list[Message]:
    messages: list[Message] = [
        {"role": "system", "content": "rules " * 200, "extra": {"nonce": "n"}},
        {"role": "user", "content": "brief " * 200},
    ]
    for n in range(steps):
        function = {"name": "bash", "arguments": json.dumps({"command": command})}
        call = {"id": f"c{n}", "type": "function", "function": function}
        messages.append(
            {"role": "assistant", "content": f"step {n}", "tool_calls": [call], "extra": {"n": n}}
        )
        messages.append({"role": "tool", "tool_call_id": f"c{n}", "content": str(n) * size})
    return messages


def total(view: list[Message]) -> int:
    return sum(count(message) for message in view)


def test_a_short_conversation_is_sent_whole_without_our_notes() -> None:
    whole = conversation(3)
    view = Context(budget=10**6, count=count).fit([*whole, {"role": "exit", "content": "bye"}])
    assert [message["content"] for message in view] == [message["content"] for message in whole]
    assert not any("extra" in message for message in view)


def test_old_output_goes_first_and_the_pinned_and_recent_stay() -> None:
    whole = conversation(12)
    view = Context(budget=8000, count=count).fit(whole)
    assert total(view) <= 8000
    assert view[:2] == [{"role": m["role"], "content": m["content"]} for m in whole[:2]]
    assert [message["content"] for message in view[-6:]] == [message["content"] for message in whole[-6:]]
    assert view[3]["content"] == "[4000 characters of old output left out; run the command again if needed]"
    assert view[2]["tool_calls"] == whole[2]["tool_calls"]


def test_what_was_taken_out_stays_out_and_frees_room_for_a_while() -> None:
    context = Context(budget=8000, count=count)
    first = context.fit(conversation(9))
    second = context.fit(conversation(10))
    assert second[: len(first)] == first


def test_long_commands_are_shortened_and_stay_json() -> None:
    view = Context(budget=4000, count=count).fit(conversation(6, size=10, command="x" * 9000))
    calls = cast("list[Message]", view[2]["tool_calls"])
    arguments = json.loads(str(cast("Message", calls[0]["function"])["arguments"]))
    assert "characters left out" in arguments["command"]
    assert len(arguments["command"]) <= 1500


def test_squeezing_halves_and_never_grows_again() -> None:
    context = Context(budget=10**6, count=count)
    whole = conversation(10)
    before = total(context.fit(whole))
    assert total(context.squeeze(whole)) <= before / 2
    assert total(context.fit([*whole, *conversation(1)[2:]])) <= before / 2
