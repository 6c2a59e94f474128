"""Notices when the agent goes in circles: the same command with the same output, or two in turn."""

from __future__ import annotations

import re
from collections import deque

_VARYING = re.compile(r"0x[0-9a-f]{6,}|\b\d+(?:\.\d+)?\s*(?:s|ms|us|µs|sec|seconds?)\b", re.IGNORECASE)


class Circles:
    """Watches commands and outputs. `see` says "" for nothing, "nudge" the first time, then "stop"."""

    def __init__(self, *, repeats: int, alternations: int) -> None:
        self._repeats = max(2, repeats)
        self._pairs = max(2, alternations)
        self._seen: deque[int] = deque(maxlen=max(self._repeats, self._pairs * 2))
        self._nudged = False

    def see(self, command: str, output: str) -> str:
        """Take note of one command and its output; durations and addresses in it make no difference."""
        self._seen.append(hash((command.strip(), _VARYING.sub("~", output))))
        if not (self._repeated() or self._alternated()):
            return ""
        self._seen.clear()
        if self._nudged:
            return "stop"
        self._nudged = True
        return "nudge"

    def _repeated(self) -> bool:
        last = list(self._seen)[-self._repeats :]
        return len(last) == self._repeats and len(set(last)) == 1

    def _alternated(self) -> bool:
        last = list(self._seen)[-self._pairs * 2 :]
        return len(last) == self._pairs * 2 and len(set(last[::2])) == 1 and len(set(last[1::2])) == 1
