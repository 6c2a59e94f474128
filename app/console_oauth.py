"""Logging in with a GitHub account, by code, state and PKCE: for whoever may write where we serve."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import secrets
import ssl
import threading
import time
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, urlencode, urlsplit

import structlog

from domain.errors import FixwrightError, ForgeError, ForgeUnavailable
from domain.model import Actor
from providers.github.manifest import web_root
from store.board import Place

log = structlog.get_logger(__name__)

FLOW_COOKIE = "fixwright_login"
FLOW_SECONDS = 600
"""How long a person may take on GitHub's page; its code is good for as long."""

MOST_USED = 10_000
"""Answers of GitHub's page that are remembered as used; its codes are good once, besides."""

CALL_SECONDS = 10.0
MOST_BYTES = 2**20

Answer = tuple[int, object]
Caller = Callable[[str, str, Mapping[str, str], bytes | None], Answer]
"""Makes one request (method, address, headers, body); returns status and JSON. Raises ForgeUnavailable."""

_PINNED = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}


class LoginRefused(FixwrightError):
    """This person, or this answer, opens nothing; the words are for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """Where to send the browser, and what it has to bring back as a cookie."""

    address: str
    browser: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """Who has logged in, and the served repositories that they may write to."""

    forge: str
    actor: Actor
    places: frozenset[Place]


class _Flow(NamedTuple):
    verifier: str
    callback: str
    back: str


class GithubLogin:
    """One App's logins. For any number of threads. No token is kept: each is given back after its use.

    What was begun is not kept, either: the state says it, signed, with a sign of the browser's cookie. Who
    begins logins without end takes nobody else's away.
    """

    forge = "github"

    def __init__(
        self,
        *,
        api_url: str,
        client_id: str,
        client_secret: str,
        repositories: frozenset[str],
        call: Caller | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`repositories` are those served, as forge:owner/name."""
        self._api = api_url.rstrip("/")
        self._web = web_root(api_url)
        self._client_id = client_id
        self._client_secret = client_secret
        self._served = sorted(
            each.removeprefix(f"{self.forge}:") for each in repositories if each.startswith(f"{self.forge}:")
        )
        self._call = call or call_json
        self._now = now
        self._key = secrets.token_bytes(32)
        self._used: dict[str, float] = {}
        self._lock = threading.Lock()

    def begin(self, callback: str, back: str) -> Begun:
        """Begin a login that only the same browser can end."""
        browser = secrets.token_urlsafe(32)
        facts = [callback, back, self._now(), self._sign(f"browser {browser}")]
        said = _unpadded(json.dumps(facts).encode())
        state = f"{said}.{self._sign(f'state {said}')}"
        verifier = self._sign(f"verifier {state} {browser}")
        challenge = _unpadded(hashlib.sha256(verifier.encode()).digest())
        query = urlencode(
            {
                "client_id": self._client_id,
                "redirect_uri": callback,
                "state": state,
                "code_challenge": challenge,
                "code_challenge_method": "S256",
                "allow_signup": "false",
            }
        )
        return Begun(address=f"{self._web}/login/oauth/authorize?{query}", browser=browser)

    def finish(self, browser: str, state: str, code: str) -> tuple[Person, str]:
        """End a login; returns who it is, and the page that they wanted.

        Raises:
            LoginRefused: it was not begun here, it is too old, or they may not write to any repository.
            ForgeUnavailable: GitHub does not answer now.
        """
        flow = self._taken(browser, state)
        if not code or len(code) > 500:
            raise LoginRefused("GitHub sent no code: the login was not allowed there.")
        token = self._token(flow, code)
        try:
            return self._person(token), flow.back
        finally:
            self._give_back(token)

    def _taken(self, browser: str, state: str) -> _Flow:
        """Return what was begun with this state and this browser, once."""
        said, _, signature = state.partition(".")
        if _is_same(signature, self._sign(f"state {said}")):
            callback, back, at, right = json.loads(base64.urlsafe_b64decode(said + "=="))
            is_first = self._now() - at <= FLOW_SECONDS and self._use(state, at)  # also by a wrong try
            if is_first and _is_same(self._sign(f"browser {browser}"), right):
                return _Flow(self._sign(f"verifier {state} {browser}"), callback, back)
        raise LoginRefused("This browser did not begin that login, or more than ten minutes ago.")

    def _use(self, state: str, at: float) -> bool:
        """Tell whether a state is used for the first time, and note that it is."""
        since = self._now() - FLOW_SECONDS
        with self._lock:
            if state in self._used:
                return False
            kept = [(each, begun) for each, begun in self._used.items() if begun >= since]
            self._used = dict(kept[-(MOST_USED - 1) :]) | {state: at}
            return True

    def _sign(self, text: str) -> str:
        return _unpadded(hmac.new(self._key, text.encode("utf-8", "replace"), hashlib.sha256).digest())

    def _token(self, flow: _Flow, code: str) -> str:
        fields = {
            "client_id": self._client_id,
            "client_secret": self._client_secret,
            "code": code,
            "redirect_uri": flow.callback,
            "code_verifier": flow.verifier,
        }
        headers = {"Accept": "application/json", "Content-Type": "application/x-www-form-urlencoded"}
        address = f"{self._web}/login/oauth/access_token"
        status, answer = self._call("POST", address, headers, urlencode(fields).encode())
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if status != 200 or not isinstance(token, str) or not token:
            why = answer.get("error") if isinstance(answer, dict) else None
            raise LoginRefused(f"GitHub did not accept the login ({str(why or status)[:60]}). Begin again.")
        return token

    def _person(self, token: str) -> Person:
        status, user = self._get("/user", token)
        if status != 200 or not isinstance(user, dict) or not isinstance(user.get("id"), int):
            raise LoginRefused("GitHub does not say who this is. Begin again.")
        if user.get("type", "User") != "User":
            raise LoginRefused("Only people log in here.")
        actor = Actor(id=str(user["id"]), login=str(user.get("login", ""))[:100])
        places = frozenset(place for name in self._served if (place := self._writable(name, token)))
        if not places:
            raise LoginRefused(
                f"{actor.login} may write to none of the repositories that are served here: no login."
            )
        return Person(forge=self.forge, actor=actor, places=places)

    def _writable(self, name: str, token: str) -> Place | None:
        """Return a repository if the token's owner may write to it."""
        owner, _, repository = name.partition("/")
        status, found = self._get(f"/repos/{quote(owner, safe='')}/{quote(repository, safe='')}", token)
        if status != 200 or not isinstance(found, dict):
            return None
        rights = found.get("permissions")
        may_write = isinstance(rights, dict) and any(
            rights.get(each) is True for each in ("push", "maintain", "admin")
        )
        return (self.forge, str(found["id"])) if may_write and isinstance(found.get("id"), int) else None

    def _get(self, path: str, token: str) -> Answer:
        headers = _PINNED | {"Authorization": f"Bearer {token}"}
        return self._call("GET", self._api + path, headers, None)

    def _give_back(self, token: str) -> None:
        """Make the token useless; if that fails, it ends by itself."""
        secret = b64encode(f"{self._client_id}:{self._client_secret}".encode()).decode()
        headers = _PINNED | {"Authorization": f"Basic {secret}"}
        address = f"{self._api}/applications/{quote(self._client_id, safe='')}/token"
        try:
            self._call("DELETE", address, headers, json.dumps({"access_token": token}).encode())
        except ForgeError as error:
            log.warning("a login's token was not given back", why=str(error))


def _is_same(given: str, right: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), right.encode("utf-8", "replace"))


def _unpadded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def call_json(method: str, address: str, headers: Mapping[str, str], body: bytes | None) -> Answer:
    """Make one request, no redirect followed; a body that is no JSON is None. Raises ForgeUnavailable."""
    parts = urlsplit(address)
    if parts.scheme == "https":
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            parts.netloc, timeout=CALL_SECONDS, context=ssl.create_default_context()
        )
    else:
        connection = http.client.HTTPConnection(parts.netloc, timeout=CALL_SECONDS)
    try:
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        connection.request(method, target, body, {"User-Agent": "fixwright", **headers})
        answer = connection.getresponse()
        content = answer.read(MOST_BYTES)
        status = answer.status
    except (OSError, http.client.HTTPException) as error:
        raise ForgeUnavailable(f"{parts.netloc} does not answer ({type(error).__name__})") from None
    finally:
        connection.close()
    if status >= 500:
        raise ForgeUnavailable(f"{parts.netloc} answers {status}")
    try:
        return status, json.loads(content)
    except (ValueError, RecursionError):
        return status, None
