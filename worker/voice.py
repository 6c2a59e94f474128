"""What the worker says on an issue: one status comment kept up to date, and a comment per ending."""

from __future__ import annotations

import structlog

from domain.errors import ForgeError
from domain.model import Task
from domain.ports import Forge
from domain.text import Redactor

log = structlog.get_logger(__name__)


class Voice:
    """Speaks on one forge, if it is still there. One that cannot be reached costs a warning, not the task."""

    def __init__(self, forge: Forge | None, redact: Redactor) -> None:
        self._forge = forge
        self._redact = redact

    def status(self, task: Task, text: str) -> None:
        """Rewrite the issue's one status comment."""
        if self._forge is None:
            return
        try:
            self._forge.ensure_comment(task.issue, f"status-{task.id}", self._redact(text))
        except ForgeError as error:
            log.warning("status comment not written", task=task.id, error=str(error))

    def say(self, task: Task, key: str, text: str) -> None:
        """Write a comment once per key: for what a person must see, such as an ending."""
        if self._forge is None:
            return
        try:
            self._forge.add_comment(task.issue, f"{key}-{task.id}-{task.generation}", self._redact(text))
        except ForgeError as error:
            log.warning("comment not written", task=task.id, key=key, error=str(error))
