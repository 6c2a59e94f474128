"""Installation tokens: minted for one repository and named permissions, kept briefly, revoked after use."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

import structlog
from github.Auth import Token as TokenAuth

from domain.errors import ForgeError, NotFound, PermissionRefused
from providers.github import needs, shapes
from providers.github.app import App
from providers.github.calls import Invalid, Json, Unauthorized
from providers.github.needs import Need

log = structlog.get_logger(__name__)

KEPT_SECONDS = 300.0
"""How long a token that can only read is used again; one that can write serves a single operation."""

SPARE_SECONDS = 300.0
"""A token is not used in the last minutes of its life: an operation must not outlive it."""

YOUNG_SECONDS = 10.0
"""GitHub's servers may not know a token yet that is younger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """A credential for one repository, and the repository as it was called when the token was made."""

    secret: str = field(repr=False)
    repository_id: str
    full_name: str
    installation_id: int
    need: Need
    minted_at: float
    expires_at: float

    @property
    def auth(self) -> TokenAuth:
        """What signs a request with it."""
        return TokenAuth(self.secret)

    @property
    def is_reading(self) -> bool:
        """Tell whether nothing can be changed with it."""
        return all(level == "read" for _, level in self.need)


class Tokens:
    """Mints, keeps and revokes. For any number of threads."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._now = app.api.patience.now
        self._kept: dict[tuple[str, Need], Token] = {}
        self._live: set[str] = set()
        self._listeners: list[Callable[[str], None]] = []
        self._lock = threading.Lock()

    def on_secret(self, tell: Callable[[str], None]) -> None:
        """Tell of every token from its first moment on, and of those that live now."""
        with self._lock:
            self._listeners.append(tell)
            for secret in self._live:
                tell(secret)

    def take(self, repository_id: str, installation_id: int, need: Need) -> Token:
        """Return a token with these permissions: one that is kept, or a new one. Raises ForgeError."""
        key = (repository_id, need)
        with self._lock:
            kept = self._kept.get(key)
        if kept is not None and self._is_good(kept):
            return kept
        token = self.mint(installation_id, need, repository_id=repository_id)
        if token.is_reading:
            with self._lock:
                old, self._kept[key] = self._kept.get(key), token
            if old is not None and not self._is_good(old):
                self.revoke(old)
        return token

    def give_back(self, token: Token) -> None:
        """End an operation: what is kept stays, everything else is revoked."""
        with self._lock:
            is_kept = self._kept.get((token.repository_id, token.need)) is token
        if not is_kept:
            self.revoke(token)

    def drop(self, token: Token) -> None:
        """Forget a token that was refused: the next operation gets a new one."""
        with self._lock:
            if self._kept.get((token.repository_id, token.need)) is token:
                del self._kept[(token.repository_id, token.need)]

    def revoke_all(self) -> None:
        """Revoke what is kept."""
        with self._lock:
            kept, self._kept = list(self._kept.values()), {}
        for token in kept:
            self.revoke(token)

    def revoke(self, token: Token) -> None:
        """Revoke one token. A failure is logged: it dies by itself within the hour."""
        self.revoke_secret(token.secret)

    def revoke_secret(self, secret: str) -> None:
        """Revoke a token by its text. A failure is logged."""
        try:
            self.end(secret)
        except ForgeError as error:
            log.warning("token not revoked; it expires within the hour", error=str(error))

    def end(self, secret: str) -> None:
        """Revoke a token, or find that it is dead already. Raises ForgeUnavailable, ForgeError."""
        with contextlib.suppress(Unauthorized):
            self._app.api.call("DELETE", "/installation/token", auth=TokenAuth(secret), scope="revoking")
        with self._lock:
            self._live.discard(secret)

    def mint(
        self, installation_id: int, need: Need, *, repository_id: str = "", repository_name: str = ""
    ) -> Token:
        """Make a token for one repository, by id or by its bare name.

        Raises NotFound where the installation or the repository in it is gone, PermissionRefused naming the
        permissions that are lacking, ForgeUnavailable, ForgeError.
        """
        one: Json = (
            {"repository_ids": [int(repository_id)]} if repository_id else {"repositories": [repository_name]}
        )
        path = f"/app/installations/{installation_id}/access_tokens"
        minted_at = self._now()
        try:
            reply = self._app.call("POST", path, body={**one, "permissions": dict(need)})
        except Invalid as error:
            raise self._why_not(installation_id, need, error) from None
        except PermissionRefused as error:
            raise PermissionRefused(
                f"the App's installation {installation_id} is not usable: {error}"
            ) from None
        return self._token(shapes.obj(reply.data, "token"), installation_id, need, minted_at)

    def _token(self, data: Json, installation_id: int, need: Need, minted_at: float) -> Token:
        secret = shapes.text(data.get("token"))
        if not secret:
            raise ForgeError("GitHub gave out no token")
        with self._lock:
            self._live.add(secret)
            for tell in self._listeners:
                tell(secret)
        named = shapes.objects(data.get("repositories") or [], "repositories")
        if len(named) != 1:
            self.revoke_secret(secret)
            raise ForgeError(f"GitHub gave out a token for {len(named)} repositories instead of one")
        expires = _expiry(data, minted_at)
        return Token(
            secret=secret,
            repository_id=str(shapes.whole(named[0].get("id"), "repository's id")),
            full_name=shapes.text(named[0].get("full_name")),
            installation_id=installation_id,
            need=need,
            minted_at=minted_at,
            expires_at=expires,
        )

    def _is_good(self, token: Token) -> bool:
        now = self._now()
        return now < min(token.minted_at + KEPT_SECONDS, token.expires_at - SPARE_SECONDS)

    def _why_not(self, installation_id: int, need: Need, error: Invalid) -> ForgeError:
        """Return why a token was refused: a permission, named, or the repository."""
        lacking = needs.missing(self._app.granted(installation_id), dict(need))
        if lacking:
            return PermissionRefused(
                f"the App's installation lacks the permissions {', '.join(lacking)}; an owner of the "
                "repository accepts them in the installation's settings"
            )
        return NotFound(f"the App cannot reach the repository: {error}")


def _expiry(data: Json, minted_at: float) -> float:
    """Return when a token dies by our clock. GitHub's may differ: its hour is reckoned from our minting."""
    told: datetime = shapes.moment(data.get("expires_at"), "token's expiry")
    return min(told.timestamp(), minted_at + 3600.0)
