"""Asks the model for a patch in one call, without tools and without a run: the baseline of every agent."""

from __future__ import annotations

from domain.hidden import as_read
from domain.ports import Brief
from domain.text import clip, one_line, plain
from harness.agent.briefing import LONGEST_ISSUE, LONGEST_NOTES, LONGEST_SLICES, fenced
from harness.agent.calls import PaidCaller
from harness.agent.excerpt import clip_issue
from harness.agent.link import Link
from harness.agent.loop import record_of
from harness.agent.model import paid_extra
from harness.agent.protocol import Message
from harness.prompts import prompt

LONGEST_ANSWER = 400_000
"""Characters."""


def one_shot(caller: PaidCaller, link: Link, brief: Brief, delimiter: str) -> str:
    """Return the model's answer, "" where it gives none. The call is on record.

    Raises CapReached, ContextOverflow, ProviderUnavailable, AgentFailure.
    """
    conversation: list[Message] = [
        {"role": "system", "content": prompt("oneshot")},
        {"role": "user", "content": _question(brief, delimiter)},
    ]
    paid = caller.call(conversation, [])
    content = paid.completion.message.get("content")
    answer = content[:LONGEST_ANSWER] if isinstance(content, str) else ""
    conversation.append({"role": "assistant", "content": answer, "extra": paid_extra(paid) | {"step": 1}})
    link.ask("stepped", step=1, record=record_of("step", 1, conversation))
    return answer


def _question(brief: Brief, delimiter: str) -> str:
    """Return the report and the places, all of it fenced as data."""
    issue = clip_issue(as_read(brief.body), LONGEST_ISSUE)
    parts = [fenced("issue", f"Title: {one_line(brief.title, 300)}\n\n{issue}", delimiter)]
    if brief.suspects:
        parts.append(fenced("places", clip(plain(brief.suspects), LONGEST_NOTES), delimiter))
    if brief.slices:
        parts.append(fenced("source", clip(plain(brief.slices), LONGEST_SLICES), delimiter))
    return "\n\n".join(parts)
