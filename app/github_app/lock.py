"""The one-time code that opens the setup page: who may try it how often, and for how long it opens."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections import deque
from collections.abc import Callable
from enum import Enum, auto

CODE_BYTES = 10
CODE_SECONDS = 1800.0
"""How long a code waits to be used, and then for how long it opens the page."""

TRIES = 5
TRIES_OF_ALL = 60
PER_SECONDS = 60.0
"""Wrong codes in a row of seconds, of one address and of all; the code itself has 80 bits."""


class Answer(Enum):
    """What came of a code that somebody typed."""

    OPENED = auto()
    WRONG = auto()
    TOO_OFTEN = auto()


class CodeLock:
    """Opens one browser session for one code at a time; not for several threads.

    `announce` is told each new code. It is asked for a new one only when nothing else is open any more.
    """

    def __init__(
        self,
        announce: Callable[[str], None],
        *,
        seconds: float = CODE_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._announce = announce
        self._seconds = seconds
        self._now = now
        self._key = secrets.token_bytes(32)
        self._code = ""
        self._session = ""
        self._until = 0.0
        self._wrong: deque[tuple[float, str]] = deque()

    def renew(self) -> None:
        """Announce a new code where neither a code nor a session is valid."""
        if self._now() < self._until:
            return
        letters = base64.b32encode(secrets.token_bytes(CODE_BYTES)).decode()
        self._code = "-".join(letters[at : at + 4] for at in range(0, len(letters), 4))
        self._session = ""
        self._until = self._now() + self._seconds
        self._announce(self._code)

    def open(self, typed: str, peer: str) -> tuple[Answer, str]:
        """Try a code; returns the new session's name where it is the right one. It is used up then.

        The right one opens however many wrong ones came before: behind a proxy all seem to be one, and who
        guesses could keep the operator out. Nobody guesses 80 bits.
        """
        is_right = hmac.compare_digest(_digest(_bare(typed)), _digest(_bare(self._code)))
        if not is_right or not self._code or self._now() >= self._until:
            if self._tried_too_often(peer):
                return Answer.TOO_OFTEN, ""
            self._wrong.append((self._now(), peer))
            return Answer.WRONG, ""
        self._code = ""
        self._session = secrets.token_urlsafe(32)
        self._until = self._now() + self._seconds
        return Answer.OPENED, self._session

    def is_open(self, session: str) -> bool:
        """Tell whether this session was opened, and not too long ago."""
        is_it = hmac.compare_digest(_digest(session), _digest(self._session))
        return is_it and bool(self._session) and self._now() < self._until

    def stamp(self, session: str) -> str:
        """Return what a form of this session has to bring along."""
        return hmac.new(self._key, session.encode(), hashlib.sha256).hexdigest()

    def is_stamp(self, session: str, stamp: str) -> bool:
        """Tell whether a form is of this session. Constant time."""
        return bool(session) and hmac.compare_digest(_digest(self.stamp(session)), _digest(stamp))

    def _tried_too_often(self, peer: str) -> bool:
        since = self._now() - PER_SECONDS
        while self._wrong and self._wrong[0][0] < since:
            self._wrong.popleft()
        return len(self._wrong) >= TRIES_OF_ALL or sum(who == peer for _, who in self._wrong) >= TRIES


def _bare(typed: str) -> str:
    """Return a code without what people add or lose in copying it."""
    return "".join(typed.split()).replace("-", "").upper()


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
