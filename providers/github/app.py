"""The App itself: signs its own requests, and asks what it is, where it is installed and who its bot is."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from urllib.parse import quote

import jwt
import structlog
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from github.Auth import AppAuth
from jwt.algorithms import RSAAlgorithm

from domain.errors import ConfigurationError, ForgeError, NotFound, PermissionRefused
from domain.model import Actor
from providers.github import needs, shapes
from providers.github.answers import their_clock
from providers.github.calls import Api, Json, Query, Reply, Unauthorized

log = structlog.get_logger(__name__)

JWT_BACKDATED = -120
"""Seconds: our clock may be that much ahead of GitHub's."""

JWT_SECONDS = 300
"""With the above, a clock may be wrong by minutes either way: GitHub takes what ends within 10 minutes."""

SKEW_TOLD = 60.0
_BY_ID = re.compile(r"/repositories/(\d+)(/.*)?")


class AppRefused(PermissionRefused):
    """GitHub does not take the App for what it says it is: the key, the id or the clock is wrong."""


class App:
    """A GitHub App by its id and private key. For any number of threads."""

    def __init__(self, api: Api, app_id: str, private_key: str) -> None:
        """Check the key's form; GitHub is not asked. Raises ConfigurationError."""
        self.api = api
        self.app_id = app_id
        key = rsa_key(private_key)
        self._auth = AppAuth(
            app_id,
            sign_func=partial(jwt.encode, key=key, algorithm="RS256"),
            jwt_expiry=JWT_SECONDS,
            jwt_issued_at=JWT_BACKDATED,
        )

    def call(self, verb: str, path: str, query: Query | None = None, body: Json | None = None) -> Reply:
        """Make a call as the App. Raises AppRefused, ForgeError."""
        try:
            return self.api.call(verb, path, auth=self._auth, scope="app", query=query, body=body)
        except Unauthorized as error:
            raise AppRefused(self._why_refused(error)) from None

    def pages(self, path: str, query: Query | None = None) -> list[Json]:
        """Return all of a list. Raises AppRefused, ForgeError."""
        get: Callable[[Query], Reply] = lambda asked: self.call("GET", path, asked)  # noqa: E731
        return [item for reply in self.api.pages(get, query) for item in shapes.objects(reply.data, path)]

    def _why_refused(self, error: Unauthorized) -> str:
        there = their_clock(error.headers)
        skew = 0.0 if there is None else self.api.patience.now() - there
        if abs(skew) > SKEW_TOLD:
            direction = "ahead of" if skew > 0 else "behind"
            return (
                f"this machine's clock is {abs(skew):.0f} s {direction} GitHub's, so GitHub does not take "
                "the App's signature; set the clock"
            )
        return (
            f"GitHub does not take the App's signature ({error}); FIXWRIGHT_GITHUB_PRIVATE_KEY is not a key "
            f"of the App FIXWRIGHT_GITHUB_APP_ID={self.app_id}, or the key was deleted"
        )

    # -- what the App is ----------------------------------------------------------------------------

    def check(self) -> str:
        """Return the App's slug. Raises ConfigurationError where it is the wrong one or lacks permissions."""
        try:
            found = shapes.obj(self.call("GET", "/app").data, "App")
        except AppRefused as error:
            raise ConfigurationError(str(error)) from None
        except NotFound:
            raise ConfigurationError(
                f"FIXWRIGHT_GITHUB_APP_ID: there is no App {self.app_id} at {self.api.base_url}; "
                "for example FIXWRIGHT_GITHUB_APP_ID=12345"
            ) from None
        lacking = needs.missing(shapes.part(found, "permissions"))
        if lacking:
            raise ConfigurationError(
                f"the GitHub App {self.app_id} lacks the permissions {', '.join(lacking)}; grant them in the "
                "App's settings, then accept them in each installation"
            )
        events = found.get("events")
        unheard = sorted(needs.EVENTS - {str(event) for event in events}) if isinstance(events, list) else []
        if unheard:
            log.warning("the GitHub App is not subscribed to all events", missing=", ".join(unheard))
        return shapes.text(found.get("slug"))

    def bot(self, slug: str, ask: Callable[[str], Reply]) -> Actor:
        """Return the account under which the App acts. `ask` makes a GET call. Raises ForgeError."""
        found = shapes.actor(ask(f"/users/{quote(slug + '[bot]', safe='')}").data)
        if not found.id:
            raise ForgeError(f"GitHub does not know the account {slug}[bot]")
        return Actor(id=found.id, login=found.login, is_bot=True)

    def installation_of(self, full_name: str) -> tuple[int, str, Json]:
        """Return (installation id, repository id or "", what it may do) for a name, old ones included.

        Raises NotFound where the App is not installed or there is no such repository, ForgeError.
        """
        found, repository_id = self.installation_at(full_name)
        return whole_id(found), repository_id, shapes.part(found, "permissions")

    def installation_at(self, full_name: str) -> tuple[Json, str]:
        """Return the installation in a repository, all of it, and the repository's id or "". As above."""
        reply = self.call("GET", f"/repos/{full_name}/installation")
        moved = _BY_ID.fullmatch(within(self.api, reply.location)) if reply.location else None
        if reply.location:
            if moved is None:
                raise NotFound(f"GitHub sends us elsewhere for the repository {full_name}")
            reply = self.call("GET", moved[0])
        return shapes.obj(reply.data, "installation"), moved[1] if moved else ""

    def granted(self, installation_id: int) -> Json:
        """Return what an installation may do. Raises ForgeError."""
        reply = self.call("GET", f"/app/installations/{installation_id}")
        return shapes.part(reply.data, "permissions")


def rsa_key(private_key: str) -> RSAPrivateKey:
    """Return the key, read once: that is much slower than signing with it. Raises ConfigurationError."""
    why = "it is a public key"
    try:
        key = RSAAlgorithm(RSAAlgorithm.SHA256).prepare_key(private_key)
        if isinstance(key, RSAPrivateKey):
            return key
    except (ValueError, TypeError, jwt.InvalidKeyError) as error:
        why = type(error).__name__
    raise ConfigurationError(
        f"FIXWRIGHT_GITHUB_PRIVATE_KEY: is not an RSA private key in PEM form ({why}); for example "
        "FIXWRIGHT_GITHUB_PRIVATE_KEY_FILE=./data/github-app.pem, the file that GitHub gave out"
    )


def whole_id(found: Json) -> int:
    """Return the id of something. Raises ForgeError."""
    return shapes.whole(found.get("id"), "id")


def within(api: Api, location: str) -> str:
    """Return an address of this API as a path without its prefix, or "" for one that leads elsewhere."""
    root = api.origin + api.prefix
    return location[len(root) :] if location.startswith(root + "/") else ""
