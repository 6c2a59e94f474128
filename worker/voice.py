"""What the worker says on an issue: one status comment kept up to date, and a comment per ending."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import structlog

from domain.errors import ForgeError, ForgeUnavailable
from domain.fitting import fitted
from domain.model import Comment, Task
from domain.ports import Forge
from domain.text import Redactor

log = structlog.get_logger(__name__)


DISCLOSURE = "*Fixwright, a machine, works and writes here. People decide about what it makes.*"
"""Under whatever account it speaks."""


class Voice:
    """Speaks on one forge, if it is still there. One that cannot be reached costs a warning, not the task.

    Each method returns False where the same words are worth another try later.
    """

    def __init__(self, forge: Forge | None, redact: Redactor) -> None:
        self._forge = forge
        self._redact = redact

    def status(self, task: Task, text: str) -> bool:
        """Rewrite the issue's one status comment, which also says that a machine speaks."""
        forge, topic, body = self._forge, f"status-{task.id}", self._body(f"{text}\n\n{DISCLOSURE}")
        return forge is None or _said(task, lambda: forge.ensure_comment(task.issue, topic, body))

    def say(self, task: Task, key: str, text: str) -> bool:
        """Write a comment once per key and claim: for what a person must see, such as an ending."""
        forge, once, body = self._forge, f"{key}-{task.id}-{task.generation}", self._body(text)
        return forge is None or _said(task, lambda: forge.add_comment(task.issue, once, body))

    def once(self, task: Task, key: str, text: str) -> bool:
        """Write a comment once per key, however often the task is claimed."""
        forge, once, body = self._forge, f"{key}-{task.id}", self._body(text)
        return forge is None or _said(task, lambda: forge.add_comment(task.issue, once, body))

    def on_pull(self, task: Task, number: int, topic: str, text: str) -> bool:
        """Write or rewrite our one comment on a topic on the task's pull request."""
        forge, pull, body = self._forge, replace(task.issue, number=number), self._body(text)
        return forge is None or _said(task, lambda: forge.ensure_comment(pull, f"{topic}-{task.id}", body))

    def _body(self, text: str) -> str:
        """Redact, then cut: a redacted text may be longer. Raises what the redactor does."""
        return fitted(self._redact(text))


def _said(task: Task, speak: Callable[[], Comment]) -> bool:
    try:
        speak()
    except ForgeUnavailable as error:
        log.warning("comment has to wait", task=task.id, error=str(error))
        return False
    except ForgeError as error:
        log.warning("comment not written", task=task.id, error=str(error))
    return True
