"""Who is logged in: sessions of this process, signed cookies, stamps for forms, and wrong guesses."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from domain.model import Actor
from store.board import Scope

COOKIE = "fixwright_session"
LIFETIME = timedelta(hours=12)
IDLE = timedelta(hours=4)
MOST_SESSIONS = 500
"""At once; whoever has been idle longest is logged out for one more."""

TRIES = 10
TRIES_OF_ALL = 120
PER_SECONDS = 60.0
"""Wrong passwords in a row of seconds, of one address and of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Somebody who may look, and what they may see and do.

    `actor` is their account on `forge`, None for the operator. `scope` None: every repository.
    `session` is "" for somebody who gave the password with the request itself: they may look, and nothing
    else, since a browser would send it along with anybody's form.
    """

    name: str
    session: str = ""
    stamp: str = ""
    forge: str = ""
    actor: Actor | None = None
    scope: Scope = None

    @property
    def is_operator(self) -> bool:
        """Whether this is the operator, who sees and may do everything."""
        return self.actor is None


@dataclass(slots=True)
class _Kept:
    viewer: Viewer
    until: datetime
    used_at: datetime


class Sessions:
    """Sessions live in this process: a restart, and a change of the password with it, ends them all."""

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._key = secrets.token_bytes(32)
        self._kept: dict[str, _Kept] = {}
        self._lock = threading.Lock()

    def open(
        self, *, name: str, forge: str = "", actor: Actor | None = None, scope: Scope = None, before: str = ""
    ) -> str:
        """Begin a session under a name that nobody has seen; returns its cookie. `before` is ended."""
        sid = secrets.token_urlsafe(32)
        viewer = Viewer(
            name=name, session=sid, stamp=self._sign(f"form:{sid}"), forge=forge, actor=actor, scope=scope
        )
        now = self._now()
        with self._lock:
            self._forget(before)
            self._make_room(now)
            self._kept[sid] = _Kept(viewer, now + LIFETIME, now)
        return f"{sid}.{self._sign(sid)}"

    def find(self, cookie: str) -> Viewer | None:
        """Return whose cookie this is, None for one that is forged, over or ended."""
        sid, _, signature = cookie.partition(".")
        if not sid or not hmac.compare_digest(self._sign(sid).encode(), signature.encode("utf-8", "replace")):
            return None
        now = self._now()
        with self._lock:
            kept = self._kept.get(sid)
            if kept is None:
                return None
            if now >= kept.until or now - kept.used_at >= IDLE:
                del self._kept[sid]
                return None
            kept.used_at = now
            return kept.viewer

    def is_open(self, viewer: Viewer) -> bool:
        """Tell whether a session goes on, without taking the question for a use of it."""
        if not viewer.session:
            return True  # the password came with the request itself
        with self._lock:
            kept = self._kept.get(viewer.session)
            return kept is not None and self._now() < kept.until

    def close(self, viewer: Viewer) -> None:
        """End a session."""
        with self._lock:
            self._kept.pop(viewer.session, None)

    def is_stamp(self, viewer: Viewer, stamp: str) -> bool:
        """Tell whether a form is of this session. Constant time."""
        return bool(viewer.session) and hmac.compare_digest(
            viewer.stamp.encode(), stamp.encode("utf-8", "replace")
        )

    def _forget(self, cookie: str) -> None:
        self._kept.pop(cookie.partition(".")[0], None)

    def _make_room(self, now: datetime) -> None:
        for sid in [sid for sid, kept in self._kept.items() if now >= kept.until]:
            del self._kept[sid]
        while len(self._kept) >= MOST_SESSIONS:
            del self._kept[min(self._kept, key=lambda sid: self._kept[sid].used_at)]

    def _sign(self, text: str) -> str:
        return hmac.new(self._key, text.encode("utf-8", "replace"), hashlib.sha256).hexdigest()


class Guesses:
    """Counts wrong passwords. Beyond some, every further try is kept waiting, the right one, too.

    It is not turned away: behind a proxy all seem to be one, and who guesses could keep the operator out.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._wrong: deque[tuple[float, str]] = deque()

    def count(self, peer: str) -> None:
        """Count a wrong one."""
        self._wrong.append((self._now(), peer))
        while len(self._wrong) > 2 * TRIES_OF_ALL:
            self._wrong.popleft()

    def are_too_many(self, peer: str) -> bool:
        """Tell whether this address, or all together, have been wrong too often lately."""
        since = self._now() - PER_SECONDS
        while self._wrong and self._wrong[0][0] < since:
            self._wrong.popleft()
        return len(self._wrong) >= TRIES_OF_ALL or sum(who == peer for _, who in self._wrong) >= TRIES
