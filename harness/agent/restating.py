"""Asks the model to restate the issue before it may work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from pydantic import ValidationError

from domain.claim import Restatement
from harness.agent.calls import PaidCaller
from harness.agent.link import Link
from harness.agent.loop import record_of
from harness.agent.model import paid_extra
from harness.agent.protocol import Message
from harness.agent.tools import CUT_OFF, arguments_of, problems_of, restate_tools

TRIES = 3


def ask_for_restatement(
    caller: PaidCaller, link: Link, opening: Sequence[Message], *, first_step: int, most_steps: int
) -> tuple[Restatement | None, int]:
    """Return the restatement, or None if the model gives none in three tries, and the last step's number.

    Every try is on record. Raises CapReached, ContextOverflow, ProviderUnavailable, AgentFailure.
    """
    conversation: list[Message] = list(opening)
    recorded = 0
    last = min(first_step + TRIES - 1, most_steps)
    for step in range(first_step, last + 1):
        sent = [{key: value for key, value in message.items() if key != "extra"} for message in conversation]
        paid = caller.call(sent, restate_tools())
        cut = paid.completion.finish_reason in CUT_OFF
        found, replies = _read(paid.completion.message, cut=cut)
        answer = _answerable(paid.completion.message, cut=cut)
        notes = {"step": step, "restatement": found.model_dump() if found else None}
        conversation += [answer | {"extra": paid_extra(paid) | notes}, *replies]
        link.ask("stepped", step=step, record=record_of("restatement", step, conversation[recorded:]))
        recorded = len(conversation)
        if found is not None:
            return found, step
    return None, last


def _answerable(message: Message, *, cut: bool) -> Message:
    """Return the answer as it may stay in the conversation."""
    if message.get("tool_calls") and not cut:
        return message
    return {"role": "assistant", "content": message.get("content") or "(no answer)"}


def _read(message: Message, *, cut: bool) -> tuple[Restatement | None, list[Message]]:
    """Return the restatement in an answer, or the messages that say what is wrong with it."""
    calls = cast("Sequence[Message]", message.get("tool_calls") or ())
    if cut or not calls:
        why = "was cut off" if cut else "did not call the tool"
        return None, [{"role": "user", "content": f"Your answer {why}. Call the tool `restate`, briefly."}]
    found: Restatement | None = None
    replies: list[Message] = []
    for call in calls:
        read = _restatement_of(call)
        found = read if found is None and isinstance(read, Restatement) else found
        content = "Received." if isinstance(read, Restatement) else read
        replies.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    return found, replies


def _restatement_of(call: Message) -> Restatement | str:
    arguments = arguments_of(call)
    if isinstance(arguments, str):
        return f"error: {arguments}"
    if cast("Message", call["function"]).get("name") != "restate":
        return "error: the only tool now is restate"
    try:
        return Restatement.model_validate(arguments)
    except ValidationError as error:
        return "error: the restatement was not accepted:\n" + problems_of(error)
