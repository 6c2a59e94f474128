"""Reads the records of an attempt back into a conversation that can go on. All pure.

A record is what `Observer.stepped` is given: `kind` ("restatement", "step" or "end"), `step`, `messages` (the
new ones), and `usage`, `cost` (dollars as text) and `seconds` of its model call. A message has the fields
of the chat-completions interface, and under `extra` what is known of it: the command, its exit code and
seconds; the answer's finish reason; the fault that it was sent back for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from domain.claim import Restatement
from harness.agent.protocol import Message


def resume_messages(records: Iterable[Mapping[str, object]]) -> tuple[Mapping[str, object], ...]:
    """Return the working conversation in an attempt's records, for `Brief.resume_messages`.

    Empty when the work itself had not begun; the attempt then starts anew.
    """
    messages: list[Message] = []
    for record in records:
        if record.get("kind") in {"step", "end"}:
            messages += cast("Sequence[Message]", record.get("messages") or ())
    return tuple(well_formed(messages))


def well_formed(messages: Sequence[Mapping[str, object]]) -> list[Message]:
    """Return the longest beginning that a provider accepts: each tool call answered, nothing after an end.

    Empty when it does not begin with the rules and the brief, or holds no answer of the model.
    """
    kept: list[Message] = []
    good = 0
    waiting: set[object] = set()
    for message in messages:
        if message.get("role") == "exit":
            break
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in waiting:
                break
            waiting.discard(message.get("tool_call_id"))
        elif waiting:
            break
        else:
            calls = cast("Sequence[Message]", message.get("tool_calls") or ())
            waiting = {call["id"] for call in calls}
        kept.append(dict(message))
        if not waiting and message.get("role") != "assistant":
            good = len(kept)
    kept = kept[:good]
    begins_well = [message.get("role") for message in kept[:2]] == ["system", "user"]
    return kept if begins_well and len(kept) > 2 else []


def restatement_in(messages: Sequence[Mapping[str, object]]) -> Restatement | None:
    """Return the restatement that was noted when the conversation began."""
    noted = cast("Message", messages[0].get("extra") or {}).get("restatement")
    return Restatement.model_validate(noted) if noted else None


def last_step(messages: Sequence[Mapping[str, object]]) -> int:
    """Return the number of the last step on record."""
    steps = [cast("Message", message.get("extra") or {}).get("step") for message in messages]
    return max((step for step in steps if isinstance(step, int)), default=0)
