"""Keeps the conversation within its token budget: old output is taken out, the pinned beginning never."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from domain.text import clip
from harness.agent.protocol import Message

SHORT = 200
"""Characters. Shorter output is not worth taking out."""

SHORT_COMMAND = 1500
RELIEF = 0.7
"""The part of the budget that is freed down to at once, so that a cached beginning lasts a while."""


class Context:
    """Makes the request's messages from the whole conversation.

    The first two messages (the rules, the brief with the restatement and the notes of earlier attempts) are
    pinned. The output of the last `kept` commands stays as well. What was taken out once stays out.
    """

    def __init__(self, *, budget: int, count: Callable[[Mapping[str, object]], int], kept: int = 3) -> None:
        self._budget = budget
        self._count = count
        self._kept = kept
        self._out: set[int] = set()

    def fit(self, conversation: Sequence[Message]) -> list[Message]:
        """Return the messages to send, taking old output out when they pass the budget."""
        view = self._view(conversation)
        if self._total(view) > self._budget:
            self._relieve(conversation)
            view = self._view(conversation)
        return view

    def squeeze(self, conversation: Sequence[Message]) -> list[Message]:
        """Return far fewer tokens than before, after the provider found them too many."""
        self._budget = min(self._budget, self._total(self._view(conversation)) // 2)
        self._kept = 1
        return self.fit(conversation)

    def _total(self, view: Sequence[Message]) -> int:
        return sum(self._count(message) for message in view)

    def _relieve(self, conversation: Sequence[Message]) -> None:
        outputs = [place for place, message in enumerate(conversation) if _is_output(message)]
        recent = set(outputs[-self._kept :])
        total = self._total(self._view(conversation))
        for place, message in enumerate(conversation):
            if total <= self._budget * RELIEF:
                return
            if place > 1 and place not in recent and place not in self._out and message.get("role") != "exit":
                self._out.add(place)
                total -= self._count(_sent(message)) - self._count(_shortened(message))

    def _view(self, conversation: Sequence[Message]) -> list[Message]:
        return [
            _shortened(message) if place in self._out else _sent(message)
            for place, message in enumerate(conversation)
            if message.get("role") != "exit"
        ]


def _is_output(message: Message) -> bool:
    extra = cast("Message", message.get("extra") or {})
    return message.get("role") == "tool" or bool(extra.get("observation"))


def _sent(message: Message) -> Message:
    """Return a message without our own notes on it."""
    return {key: value for key, value in message.items() if key != "extra"}


def _shortened(message: Message) -> Message:
    """Return a message with the bulk taken out: output as a whole, a long command but for its ends."""
    sent = _sent(message)
    content = str(sent.get("content") or "")
    if _is_output(message) and len(content) > SHORT:
        sent["content"] = (
            f"[{len(content)} characters of old output left out; run the command again if needed]"
        )
    if message.get("role") == "assistant" and sent.get("tool_calls"):
        calls = cast("Sequence[Message]", sent["tool_calls"])
        sent["tool_calls"] = [_shortened_call(call) for call in calls]
    return sent


def _shortened_call(call: Message) -> Message:
    function = dict(cast("Message", call["function"]))
    arguments = cast("Message", json.loads(str(function.get("arguments") or "{}")))
    short = {
        key: clip(value, SHORT_COMMAND) if isinstance(value, str) else value
        for key, value in arguments.items()
    }
    return dict(call) | {"function": function | {"arguments": json.dumps(short)}}
