"""Asks the model to sum up what an attempt that reached a limit has come to: one call, no tools."""

from __future__ import annotations

from domain.ports import Brief
from domain.text import clip, plain
from harness.agent.briefing import fenced
from harness.agent.calls import PaidCaller
from harness.agent.protocol import Message
from harness.prompts import prompt

LONGEST_ACCOUNT = 12_000
LONGEST_SUMMARY = 1_500
"""Characters."""


def sum_up(caller: PaidCaller, brief: Brief, delimiter: str) -> str:
    """Return the model's summary, "" where it gives none.

    Raises CapReached, ContextOverflow, ProviderUnavailable, AgentFailure.
    """
    account = fenced("account", clip(plain(brief.sum_up), LONGEST_ACCOUNT), delimiter)
    opening: list[Message] = [
        {"role": "system", "content": prompt("summary")},
        {"role": "user", "content": f"Issue {brief.issue_number}. What was done, as data:\n{account}"},
    ]
    content = caller.call(opening, []).completion.message.get("content")
    return clip(plain(content).strip(), LONGEST_SUMMARY) if isinstance(content, str) else ""
