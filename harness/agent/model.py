"""mini-swe-agent's model, ours: a paid call, and its answer read into actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from minisweagent.exceptions import InterruptAgentFlow, LimitsExceeded
from pydantic import BaseModel

from domain.errors import CapReached
from domain.text import clip
from harness.agent.calls import ContextOverflow, PaidCall, PaidCaller
from harness.agent.context import Context
from harness.agent.observations import messages_of
from harness.agent.protocol import Message
from harness.agent.tools import read_answer, work_tools

SQUEEZES = 3
"""How often one call's conversation is halved: a model's window may be far smaller than was thought."""

LONGEST_THOUGHTS = 8000
"""Characters of what a model thought aloud that are kept in the transcript."""


def exit_message(status: str, detail: str, **extra: object) -> Message:
    """Return the message that ends mini-swe-agent's loop."""
    return {
        "role": "exit",
        "content": detail,
        "extra": {"exit_status": status, "submission": "", "detail": detail, **extra},
    }


class ModelConfig(BaseModel):
    """What mini-swe-agent may show of the model: never a key."""

    model_name: str


class PaidModel:
    """Implements mini-swe-agent's Model over a `PaidCaller`."""

    def __init__(
        self, name: str, caller: PaidCaller, context: Context, *, nonce: str, observation_characters: int
    ) -> None:
        self.config = ModelConfig(model_name=name)
        self._caller = caller
        self._context = context
        self._nonce = nonce
        self._limit = observation_characters
        self._tools = work_tools()

    def query(self, messages: Sequence[Message], **_: object) -> Message:
        """Return the next assistant message, with actions and cost in its `extra`.

        Raises mini-swe-agent's LimitsExceeded when a budget refuses the call, and InterruptAgentFlow when
        the conversation does not fit even after it was shortened.
        """
        try:
            paid = self._call(messages)
        except CapReached as refusal:
            raise LimitsExceeded(exit_message("limit", str(refusal), limit=str(refusal.limit))) from None
        except ContextOverflow as overflow:
            raise InterruptAgentFlow(exit_message("context", str(overflow))) from None
        answer = read_answer(paid.completion.message, paid.completion.finish_reason, self._nonce)
        paid_for = paid_extra(paid)
        noted = {"actions": answer.actions, "fault": answer.fault}
        if answer.thoughts:
            noted["thoughts"] = clip(answer.thoughts, LONGEST_THOUGHTS)
        return answer.message | {"extra": paid_for | noted}

    def _call(self, messages: Sequence[Message]) -> PaidCall:
        """Call, and as often as the provider finds the conversation too long, halve it and call again."""
        request = self._context.fit(messages)
        for _ in range(SQUEEZES):
            try:
                return self._caller.call(request, self._tools)
            except ContextOverflow:
                shorter = self._context.squeeze(messages)
                if shorter == request:
                    raise
                request = shorter
        return self._caller.call(request, self._tools)

    def format_message(self, **message: object) -> Message:
        """Return the message as it is; nothing in it is expanded."""
        return message

    def format_observation_messages(
        self, message: Message, outputs: Sequence[Message], template_vars: Mapping[str, object] | None = None
    ) -> list[Message]:
        """Return the messages that answer an assistant message's actions."""
        extra = cast("Message", message["extra"])
        return messages_of(cast("Sequence[Message]", extra["actions"]), outputs, self._limit)

    def get_template_vars(self, **_: object) -> Message:
        """Return nothing: no template is rendered."""
        return {}

    def serialize(self) -> Message:
        """Return nothing: records are made step by step."""
        return {}


def paid_extra(paid: PaidCall) -> Message:
    """Return what a record says of a call. Mini-swe-agent adds up `cost`, for its own display only."""
    return {
        "usage": paid.usage,
        "cost": float(paid.cost),
        "dollars": paid.cost,
        "seconds": paid.seconds,
        "finish_reason": paid.completion.finish_reason,
    }
