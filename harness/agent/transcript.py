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


def messages_in(records: Iterable[Mapping[str, object]]) -> tuple[Mapping[str, object], ...]:
    """Return all messages in an attempt's records, for `Brief.resume_messages`."""
    found: list[Mapping[str, object]] = []
    for record in records:
        found += cast("Sequence[Mapping[str, object]]", record.get("messages") or ())
    return tuple(found)


def working_conversation(messages: Sequence[Mapping[str, object]]) -> list[Message]:
    """Return the conversation that can go on: the last one that works, as far as a provider accepts it.

    Empty when the work had not begun: there is only a restatement, or no answer of the model yet.
    """
    beginnings = [place for place, message in enumerate(messages) if "nonce" in _extra(message)]
    return _well_formed(messages[beginnings[-1] :]) if beginnings else []


def _well_formed(messages: Sequence[Mapping[str, object]]) -> list[Message]:
    """Return the longest beginning in which each tool call is answered, without what follows an end."""
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
            waiting = {call["id"] for call in cast("Sequence[Message]", message.get("tool_calls") or ())}
        kept.append(dict(message))
        if not waiting and message.get("role") != "assistant":
            good = len(kept)
    return kept[:good] if good > 2 else []


def _extra(message: Mapping[str, object]) -> Message:
    return cast("Message", message.get("extra") or {})


def restatement_in(messages: Sequence[Mapping[str, object]]) -> Restatement | None:
    """Return the restatement that was noted when it was made."""
    noted = next(
        (_extra(message)["restatement"] for message in messages if _extra(message).get("restatement")), None
    )
    return None if noted is None else Restatement.model_validate(noted)


def last_step(messages: Sequence[Mapping[str, object]]) -> int:
    """Return the number of the last step on record."""
    steps = [_extra(message).get("step") for message in messages]
    return max((step for step in steps if isinstance(step, int)), default=0)
