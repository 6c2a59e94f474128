"""The manifest flow without pages: asks for an App, and makes the code that comes back into a stored one."""

from __future__ import annotations

import hmac
import json
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from app.github_app.stored import CLIENT_SECRET, PRIVATE_KEY, WEBHOOK_SECRET, Room, StoredApp, refuse_second
from domain.errors import ForgeError
from providers.github.manifest import Wishes, asking_address, manifest

if TYPE_CHECKING:
    from providers.github.making import CreatedApp

log = structlog.get_logger(__name__)

ASKING_SECONDS = 3600.0
"""How long a person may take on GitHub's page; its code is good for as long."""

MOST_ASKED = 16
"""Tabs that may be under way at once; the oldest is forgotten."""

Maker = Callable[[str, str], "CreatedApp"]
"""Makes an App of (API's address, code)."""


class NotAccepted(ForgeError):
    """What came back belongs to nothing that was asked for here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A form for the browser: where it posts, and the manifest as JSON."""

    address: str
    manifest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """An App that is in place. `aside` is where the one before is now, "" if there was none."""

    app: StoredApp
    aside: str = ""


@dataclass(slots=True)
class _Begun:
    session: str
    wishes: Wishes
    at: float
    made: CreatedApp | None = None
    """Made, and not stored yet: GitHub gives it out once."""


class ManifestFlow:
    """One service's way to its App. For any number of threads."""

    def __init__(
        self,
        data_dir: Path,
        api_url: str,
        *,
        replace: bool = False,
        make: Maker | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.data_dir = data_dir
        self.api_url = api_url.rstrip("/")
        self.done: Done | None = None
        self._replace = replace
        self._make = make or _make
        self._now = now
        self._begun: dict[str, _Begun] = {}
        self._lock = threading.Lock()

    def begin(self, session: str, wishes: Wishes, redirect_url: str) -> Asking:
        """Return what to ask GitHub for. Only the same session can finish it."""
        state = secrets.token_urlsafe(32)
        with self._lock:
            self._forget_old()
            self._begun[state] = _Begun(session, wishes, self._now())
        return Asking(
            address=asking_address(self.api_url, wishes.organization, state),
            manifest=json.dumps(manifest(wishes, redirect_url)),
        )

    def finish(self, session: str, state: str, code: str) -> Done:
        """Have the App made, and store it. A second time returns what the first one did.

        Raises:
            NotAccepted: this session did not ask for it, or too long ago.
            StoreUnavailable: its keys cannot be stored now; the same once more may do.
            AlreadyConfigured: an App was put in place by somebody else.
            ForgeUnavailable: GitHub does not answer now; the same once more may do.
            ForgeError: GitHub's answer is not an App, or the code is no good.
        """
        with self._lock:
            known, begun = self._asked(session, state)
            if self.done is not None:
                return self.done
            if begun.made is None:
                refuse_second(self.data_dir, replace=self._replace)
            with Room(self.data_dir, replace=self._replace) as room:
                begun.made = begun.made or self._make(self.api_url, code)
                self.done = self._keep(room, begun.made, begun.wishes)
            del self._begun[known]
            log.info("the GitHub App was made", app=self.done.app.id, slug=self.done.app.slug)
            return self.done

    def _asked(self, session: str, state: str) -> tuple[str, _Begun]:
        self._forget_old(spare=0)
        for known, begun in self._begun.items():
            if hmac.compare_digest(known.encode(), state.encode("utf-8", "replace")):
                if hmac.compare_digest(begun.session.encode(), session.encode("utf-8", "replace")):
                    return known, begun
                break
        raise NotAccepted("this browser did not ask for an App here, or more than an hour ago")

    def _forget_old(self, spare: int = 1) -> None:
        since = self._now() - ASKING_SECONDS
        kept = [(state, begun) for state, begun in self._begun.items() if begun.at >= since or begun.made]
        self._begun = dict(kept[-(MOST_ASKED - spare) :])

    def _keep(self, room: Room, made: CreatedApp, wishes: Wishes) -> Done:
        app = StoredApp(
            id=made.id,
            client_id=made.client_id,
            slug=made.slug,
            name=made.name,
            owner=made.owner,
            page=made.page,
            api_url=self.api_url,
            webhook_url=wishes.webhook_url,
            made_at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        )
        keys = {PRIVATE_KEY: made.private_key, WEBHOOK_SECRET: made.webhook_secret}
        return Done(app=app, aside=room.keep(app, {**keys, CLIENT_SECRET: made.client_secret}))


def _make(api_url: str, code: str) -> CreatedApp:
    """Ask GitHub; its client is loaded only now."""
    from providers.github.making import make_app

    return make_app(api_url, code)
