"""What a GitHub holds beside issues and git: installations, tokens, checks, reviews, deliveries, faults."""

from __future__ import annotations

import functools
import itertools
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from domain.model import Actor
from providers.local.ground import BOT
from providers.local.outbox import HookHeaders
from providers.local.people import LocalWorld

APP_ID = 4711
SLUG = "fixwright"
OWNER = "octo"

ALL_PERMISSIONS = {
    "metadata": "read",
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "actions": "read",
    "statuses": "read",
}
EVENTS = ["issues", "issue_comment", "pull_request", "pull_request_review", "check_run", "repository"]


GITHUB_HOOKS = HookHeaders(
    event="X-GitHub-Event",
    delivery="X-GitHub-Delivery",
    signature="X-Hub-Signature-256",
    agent="GitHub-Hookshot/f1x",
)


@functools.cache
def _key() -> rsa.RSAPrivateKey:
    """One App's private key for a whole process: making one takes a while, as does reading it."""
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def app_public_key() -> rsa.RSAPublicKey:
    """Return the key by which signatures of the App are checked."""
    return _key().public_key()


@functools.cache
def app_key() -> str:
    """The private key as GitHub hands it out."""
    return (
        _key()
        .private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        .decode()
    )


@dataclass
class Installation:
    """The App in one account. All but the first two may be changed; `left_out` are names it is not in."""

    id: int
    account: str
    permissions: dict[str, str] = field(default_factory=lambda: dict(ALL_PERMISSIONS))
    suspended: bool = False
    left_out: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Token:
    """What an installation token opens, and until when (seconds since 1970)."""

    installation: Installation
    repository_ids: frozenset[int]
    permissions: Mapping[str, str]
    expires_at: float


@dataclass
class Fault:
    """What happens to the next `times` requests that match, instead of an answer or after the act."""

    method: str
    path: str
    status: int = 502
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    times: int = 1
    acted: bool = False
    drop: bool = False
    """Close the connection without a word."""

    def matches(self, method: str, path: str) -> bool:
        """Tell whether this request is to fail."""
        is_method = re.fullmatch(self.method, method) is not None
        return self.times > 0 and is_method and re.fullmatch(self.path, path) is not None


@dataclass(frozen=True)
class Seen:
    """A request that came in, with what it was signed by."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: Any
    permissions: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Login:
    """A code that was given out to a browser, until it becomes a token."""

    who: Actor
    redirect_uri: str
    challenge: str


class Accounts:
    """Who sits before the browser, and what was given to them. `who` None: they do not allow the login."""

    def __init__(self) -> None:
        self.who: Actor | None = None
        self.codes: dict[str, Login] = {}
        self.tokens: dict[str, Actor] = {}
        self.returned: list[str] = []


class GithubState:
    """All of it. Issues, people, pull requests and git are those of an embedded forge."""

    def __init__(self, root: Path) -> None:
        """Open it in a directory. Webhooks are recorded, and sent once `local.hooks` is told where to."""
        self.local = LocalWorld(root)
        self.bot: Actor = BOT
        self.installations: dict[str, Installation] = {}
        self.app_permissions = dict(ALL_PERMISSIONS)
        self.app_events = list(EVENTS)
        self.hook: dict[str, Any] = {
            "url": "https://fixwright.example.org/webhooks/github",
            "content_type": "json",
            "insecure_ssl": "0",
            "secret": "********",
        }
        self.manifests: dict[str, dict[str, Any]] = {}
        """By their codes, until they are converted."""
        self.conversion: dict[str, Any] = {}
        """What a test wants the next conversion's answer to say instead."""
        self.accounts = Accounts()
        self.tokens: dict[str, Token] = {}
        self.minted = 0
        self.revoked: list[str] = []
        self.fetches = 0
        self.pushes = 0
        self.faults: list[Fault] = []
        self.seen: list[Seen] = []
        self.broken: list[str] = []
        """What was asked for or answered and should not have been; a test's stage fails on any."""
        self.old_names: dict[str, int] = {}
        self.drafts_refused: set[int] = set()
        self.label_case: dict[str, str] = {}
        self.checks: list[dict[str, Any]] = []
        self.statuses: list[dict[str, Any]] = []
        self.logs: dict[int, bytes] = {}
        self.log_host = ""
        self.threads: dict[int, list[dict[str, Any]]] = {}
        self.review_comments: list[dict[str, Any]] = []
        self.requested_reviewers: dict[int, list[str]] = {}
        self.deliveries: list[dict[str, Any]] = []
        self.transferred: dict[tuple[int, int], str] = {}
        self.clock_ahead = 0.0
        self.token_seconds = 3600.0
        self._ids = itertools.count(1000)

    def now(self) -> float:
        """This GitHub's own clock, in seconds since 1970."""
        return time.time() + self.clock_ahead

    def next_id(self) -> int:
        """Return an id that nothing has yet."""
        return next(self._ids)

    def install(self, account: str) -> Installation:
        """Return the App's installation in an account, made on first use."""
        if account not in self.installations:
            self.installations[account] = Installation(id=self.next_id(), account=account)
        return self.installations[account]

    def installation(self, number: int) -> Installation | None:
        """Return an installation by its id."""
        return next((each for each in self.installations.values() if each.id == number), None)

    def take_fault(self, method: str, path: str) -> Fault | None:
        """Return the first fault that is planned for such a request, and count it."""
        for fault in self.faults:
            if fault.matches(method, path):
                fault.times -= 1
                return fault
        return None
