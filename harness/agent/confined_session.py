"""A session for the agent under the argv policy: judges each command here, before it is sent inside."""

from __future__ import annotations

import base64
import errno
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import structlog

from domain.model import CommandResult
from domain.ports import SandboxSession
from harness.agent.command_policy import CommandPolicy, Refusal
from harness.agent.command_words import Words
from harness.agent.starting_in import StartingIn
from harness.sandbox.results import unsendable

RUNNER = "run-words"
"""The toolbox's program that executes words as they are. It is all that a shell ever gets to see."""

_NOT_RUN = 126
_LONGEST_ORDER = 89_000
"""Bytes of words and text: encoded, they must fit into one argument of a process."""

_log = structlog.get_logger(__name__)


class ConfinedSession:
    """Implements `domain.ports.SandboxSession`, over a session on the worktree `tree`."""

    def __init__(self, inner: SandboxSession, policy: CommandPolicy, tree: Path) -> None:
        self._inner = inner
        self._policy = policy
        self._tree = tree
        self._directory = inner.directory if isinstance(inner, StartingIn) else ""

    def run(self, command: str, deadline_seconds: float) -> CommandResult:
        """Run an allowed command; any other one is answered with the reason. Raises SandboxError."""
        refusal = unsendable(command)
        if refusal is not None:
            return refusal
        judged = self._policy.judge(command, self._link_at, self._beginning())
        if isinstance(judged, Refusal):
            return _not_run(command, judged.why)
        order = _encoded(judged)
        if order is None:
            return _not_run(command, "the command is too long; write large files in parts")
        result = self._inner.run(f"exec {RUNNER} {order}", deadline_seconds)
        return replace(result, command=command)

    def stop(self) -> None:
        """Kill the running command."""
        self._inner.stop()

    def close(self) -> None:
        """End the session."""
        self._inner.close()

    def _beginning(self) -> str:
        """Return where a command will begin: in the root, where the directory is not there any more.

        One with a link on the way is left to the policy, which follows it.
        """
        place = self._tree
        for step in filter(None, self._directory.split("/")):
            place = place / step
            try:
                mode = place.lstat().st_mode
            except OSError:
                return ""
            if stat.S_ISLNK(mode):
                return self._directory
            if not stat.S_ISDIR(mode):
                return ""
        return self._directory

    def _link_at(self, steps: tuple[str, ...]) -> str | None:
        """Return the target of a link. The steps before the last one are known not to be links.

        What cannot be looked at is taken for a link out of the worktree, as it may well be one.
        """
        try:
            place = self._tree.joinpath(*steps)
            return os.fspath(place.readlink()) if stat.S_ISLNK(place.lstat().st_mode) else None
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            return None if error.errno == errno.ENAMETOOLONG else "/"


def _encoded(words: Words) -> str | None:
    """Return the words as one that no shell can misread, or None if they are too long to be sent."""
    order = json.dumps({"words": words.words, "text": words.text}, ensure_ascii=False).encode("utf-8")
    return base64.b64encode(order).decode("ascii") if len(order) <= _LONGEST_ORDER else None


def _not_run(command: str, why: str) -> CommandResult:
    _log.info("command refused", why=why[:200])
    return CommandResult(command=command, exit_code=_NOT_RUN, output=f"[not run: {why}]\n", seconds=0.0)
