"""Which repositories are served and where: name → installation and permanent id. Never anybody else's."""

from __future__ import annotations

import re
import threading
from collections.abc import Collection
from dataclasses import dataclass

from domain.errors import ForgeUnavailable, NotFound
from providers.github import needs
from providers.github.app import App
from providers.github.tokens import Tokens

MOST_SOUGHT = 500
"""Ids of which it is remembered that they were looked for."""

ASKED_AGAIN_SECONDS = 60.0
"""How soon a name that led to nothing is looked up again for somebody who asks by id."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]+")
_ID = re.compile(r"[1-9][0-9]{0,17}")


@dataclass(frozen=True, slots=True)
class Place:
    """A served repository, and the App's installation in it."""

    repository_id: str
    installation_id: int


class Directory:
    """Finds served repositories, and remembers them by id: a rename does not lose one. For any threads."""

    def __init__(self, app: App, tokens: Tokens, served: Collection[str]) -> None:
        """Take the allowlist as owner/name in lower case; empty means that none is served."""
        self._app = app
        self._tokens = tokens
        self._served = served
        self._now = app.api.patience.now
        self._by_id: dict[str, Place] = {}
        self._by_name: dict[str, str] = {}
        self._failed: dict[str, float] = {}
        self._sought: dict[str, float] = {}
        self._lock = threading.Lock()

    def by_name(self, full_name: str) -> Place:
        """Return where the repository of this name is. Raises NotFound, PermissionRefused, ForgeError."""
        name = full_name.lower()
        if name not in self._served or not _NAME.fullmatch(name) or name.endswith(("/.", "/..")):
            raise NotFound(f"the repository {full_name!r} is not served, or there is none")
        with self._lock:
            known = self._by_id.get(self._by_name.get(name, ""))
        return known or self._look_up(name)

    def by_id(self, repository_id: str) -> Place:
        """Return where the repository of this id is: a served one, whatever its name is now.

        Raises NotFound, ForgeUnavailable.
        """
        if not _ID.fullmatch(repository_id):
            raise NotFound(f"there is no repository with the id {repository_id[:40]!r}")
        with self._lock:
            known = self._by_id.get(repository_id)
        return known or self._search(repository_id)

    def forget(self, place: Place) -> None:
        """Look a repository up anew: the App was taken out of it, or installed again."""
        with self._lock:
            self._by_id.pop(place.repository_id, None)
            self._by_name = {k: v for k, v in self._by_name.items() if v != place.repository_id}
            self._failed.clear()

    def _search(self, repository_id: str) -> Place:
        for name in self._unknown_names(again=self._is_new(repository_id)):
            try:
                place = self._look_up(name)
            except ForgeUnavailable:
                raise
            except NotFound:
                with self._lock:
                    self._failed[name] = self._now()
                continue
            if place.repository_id == repository_id:
                return place
        raise NotFound(f"the repository with the id {repository_id} is not served, or there is none")

    def _is_new(self, repository_id: str) -> bool:
        """Tell whether an id was not looked for just now: its repository may have been made since."""
        now = self._now()
        with self._lock:
            is_new = self._sought.get(repository_id, -ASKED_AGAIN_SECONDS) <= now - ASKED_AGAIN_SECONDS
            if is_new:
                self._sought = {**dict(list(self._sought.items())[-MOST_SOUGHT:]), repository_id: now}
        return is_new

    def _unknown_names(self, *, again: bool) -> list[str]:
        """Return the served names that were not found yet, and unless `again`, not just now."""
        since = self._now() - ASKED_AGAIN_SECONDS
        with self._lock:
            return sorted(
                name
                for name in self._served
                if name not in self._by_name
                and (again or self._failed.get(name, -ASKED_AGAIN_SECONDS) <= since)
            )

    def _look_up(self, name: str) -> Place:
        installation_id, repository_id, _ = self._app.installation_of(name)
        token = self._tokens.mint(
            installation_id,
            needs.METADATA,
            repository_id=repository_id,
            repository_name=name.partition("/")[2],
        )
        self._tokens.revoke(token)
        place = Place(token.repository_id, installation_id)
        with self._lock:
            self._by_id[place.repository_id] = place
            self._by_name[name] = place.repository_id
            self._failed.pop(name, None)
        return place
