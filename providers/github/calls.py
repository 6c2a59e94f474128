"""Calls to GitHub by our own rules: what is tried again, how long is waited, and which error comes of it."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

import requests
import structlog
from github.Auth import Auth
from github.Requester import Requester

from domain.errors import ForgeError, ForgeUnavailable, NotFound, PermissionRefused
from providers.github.answers import Headers, Kind, Refusal, judge
from providers.github.wire import Lost, Redirected, Wire, new_session

log = structlog.get_logger(__name__)

API_VERSION = "2022-11-28"
"""Pinned: 2026-03-10 drops fields that are in use, and sending none would let the server choose."""

USER_AGENT = "fixwright"
MOST_PAGES = 1000
MOST_REDIRECTS = 3

SHORTEST_BLIND_WAIT = 60.0
LONGEST_BLIND_WAIT = 900.0
"""Seconds after a limit of which GitHub does not say how long it lasts; doubled each time in a row."""

_SECRET_STEP = re.compile(r"(?<=/app-manifests/)[^/]+")
"""What gives out an App's keys to whoever has it; no error and no log line shows it."""

_HIDDEN = "…"

_NEXT = re.compile(r'<([^<>]*)>[^<>]*;\s*rel="next"')

Json = Mapping[str, object]
Query = Mapping[str, str | int]
Answer = TypeVar("Answer")


class Ambiguous(ForgeUnavailable):
    """A write got no answer: it was done or it was not. Look before doing it again."""


class Invalid(ForgeError):
    """GitHub refuses the content. `codes` are its `field:code` pairs."""

    def __init__(self, message: str, codes: tuple[str, ...]) -> None:
        super().__init__(message)
        self.codes = codes


class Unauthorized(ForgeError):
    """The token or the key was not taken. `headers` tell GitHub's clock."""

    def __init__(self, message: str, headers: Headers) -> None:
        super().__init__(message)
        self.headers = headers


@dataclass(frozen=True, slots=True)
class Patience:
    """How much a call may try and wait. Seconds; what does not fit is left to the caller as retry_after.

    `sleep` and `now` are here so that tests need not wait.
    """

    tries: int = 4
    longest_wait: float = 10.0
    first_wait: float = 0.5
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.time

    def backoff(self, number: int) -> float:
        """Return the wait after so many failures: doubled each time, never longer than allowed."""
        return min(self.longest_wait, self.first_wait * 2.0 ** (number - 1))


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer below 400. `location` is set where it was an address and nothing else."""

    headers: Headers
    data: object
    location: str = ""

    @property
    def next_page(self) -> dict[str, str]:
        """The query of the next page, {} on the last. Raises ForgeError for an address that is none."""
        match = _NEXT.search(self.headers.get("link", ""))
        try:
            return dict(parse_qsl(urlsplit(match[1]).query)) if match else {}
        except ValueError:
            raise ForgeError("GitHub's address of the next page cannot be read") from None


@dataclass(slots=True)
class _Gate:
    """Until when a credential's owner has to be left alone, and how often in a row it was said blindly."""

    until: float = 0.0
    in_a_row: int = 0


class Api:
    """The one door to GitHub's API at `base_url`. For any number of threads."""

    def __init__(self, base_url: str, patience: Patience | None = None) -> None:
        self.base_url = base_url.rstrip("/")
        self.patience = patience or Patience()
        self.session: requests.Session = new_session()
        parts = urlsplit(self.base_url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.prefix = parts.path
        graphql_prefix = self.prefix.removesuffix("/v3")
        self.graphql_path = f"{self.origin}{graphql_prefix}/graphql"
        self._gates: dict[str, _Gate] = {}
        self._lock = threading.Lock()

    def call(
        self,
        verb: str,
        path: str,
        *,
        auth: Auth | None,
        scope: str = "",
        query: Query | None = None,
        body: Json | None = None,
    ) -> Reply:
        """Make one call and return its answer. `scope` names whose rate limit it counts against.

        Raises NotFound, PermissionRefused, Invalid, Unauthorized, Ambiguous, ForgeUnavailable, ForgeError.
        """
        what = f"{verb} {_SECRET_STEP.sub(_HIDDEN, urlsplit(path).path)}"
        tries = 0
        while True:
            tries += 1
            self._check_gate(scope)
            try:
                refusal, reply = self._once(verb, path, auth, query, body)
            except Lost as lost:
                self._wait_after_loss(what, verb, lost, tries)
                continue
            if refusal is None:
                self._open_gate(scope)
                return reply
            self._wait_after_refusal(what, verb, scope, refusal, tries, reply.headers)

    def pages(self, call: Callable[[Query], Reply], query: Query | None = None) -> Iterator[Reply]:
        """Yield every page of a list, by the query of each answer's link to the next. Raises ForgeError."""
        asked: dict[str, str | int] = {"per_page": 100, **(query or {})}
        seen = set()
        for _ in range(MOST_PAGES):
            reply = call(asked)
            yield reply
            following = reply.next_page
            if not following:
                return
            asked = {**asked, **following}
            mark = json.dumps(asked, sort_keys=True)
            if mark in seen:
                raise ForgeError("GitHub's list of pages goes round in a circle")
            seen.add(mark)
        raise ForgeError(f"a list has more than {MOST_PAGES} pages")

    def persist(self, act: Callable[[], Answer]) -> Answer:
        """Do what looks first and then writes, again where a write's answer was lost. Raises Ambiguous."""
        tries = 0
        while True:
            tries += 1
            try:
                return act()
            except Ambiguous:
                if tries >= self.patience.tries:
                    raise
                self.patience.sleep(self.patience.backoff(tries))

    # -- one exchange -------------------------------------------------------------------------------

    def _once(
        self, verb: str, path: str, auth: Auth | None, query: Query | None, body: Json | None
    ) -> tuple[Refusal | None, Reply]:
        requester = Requester(
            auth=auth,
            base_url=self.base_url,
            timeout=1,  # not used: the wire has its own
            user_agent=USER_AGENT,
            per_page=100,
            verify=True,
            retry=0,
            pool_size=None,
            seconds_between_requests=0,
            seconds_between_writes=0,
            api_version=API_VERSION,
        )
        wire = Wire(self.session, self.origin)
        headers = {"Accept": "application/vnd.github+json"}
        try:
            status, _, text = requester.requestJson(verb, path, dict(query or {}), headers, body, wire)
        except Redirected as redirected:
            return None, Reply({}, None, redirected.location or "-")
        data = _parsed(text, status)
        refusal = judge(status, wire.answered, data, self.patience.now()) if status >= 400 else None
        return refusal, Reply(wire.answered, data)

    def _wait_after_loss(self, what: str, verb: str, lost: Lost, tries: int) -> None:
        if not lost.unsent and verb not in {"GET", "HEAD", "DELETE", "PUT"}:
            raise Ambiguous(f"GitHub did not answer {what}: {lost}")
        if tries >= self.patience.tries:
            raise ForgeUnavailable(f"GitHub did not answer {what}: {lost}")
        self.patience.sleep(self.patience.backoff(tries))

    def _wait_after_refusal(
        self, what: str, verb: str, scope: str, refusal: Refusal, tries: int, headers: Headers
    ) -> None:
        """Wait where another try is worth it; else raise what the refusal means."""
        if refusal.kind is Kind.LIMITED:
            self._wait_for_limit(what, scope, refusal, tries)
            return
        if refusal.kind is not Kind.TRANSIENT:
            raise _error(what, refusal, headers)
        message = f"GitHub cannot answer {what} now: {refusal.status} {refusal.message}"
        if verb in {"POST", "PATCH"} and refusal.status != 503:
            raise Ambiguous(message, refusal.wait)
        wait = max(refusal.wait or 0.0, self.patience.backoff(tries))
        if tries >= self.patience.tries or wait > self.patience.longest_wait:
            raise ForgeUnavailable(message, refusal.wait)
        self.patience.sleep(wait)

    # -- rate limits --------------------------------------------------------------------------------

    def _wait_for_limit(self, what: str, scope: str, refusal: Refusal, tries: int) -> None:
        """Sit a short limit out; of a longer one make a gate, so that nobody asks again before its end."""
        with self._lock:
            gate = self._gates.setdefault(scope, _Gate())
            blind = min(LONGEST_BLIND_WAIT, SHORTEST_BLIND_WAIT * 2**gate.in_a_row)
            wait = blind if refusal.wait is None else refusal.wait
            gate.in_a_row = min(gate.in_a_row + 1, 10) if refusal.wait is None else gate.in_a_row
            is_short = wait <= self.patience.longest_wait and tries < self.patience.tries
            gate.until = 0.0 if is_short else self.patience.now() + wait
        if not is_short:
            log.warning("GitHub asks us to wait", seconds=round(wait), call=what, said=refusal.message)
            raise ForgeUnavailable(f"GitHub's rate limit stopped {what}: {refusal.message}", wait)
        self.patience.sleep(wait)

    def _check_gate(self, scope: str) -> None:
        with self._lock:
            gate = self._gates.get(scope)
            wait = gate.until - self.patience.now() if gate else 0.0
        if wait > 0:
            raise ForgeUnavailable(f"GitHub asked us to wait; {wait:.0f} s are left", wait)

    def _open_gate(self, scope: str) -> None:
        with self._lock:
            self._gates.pop(scope, None)


def _parsed(text: str, status: int) -> object:
    if not text.strip():
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        if status >= 400:
            return None  # a proxy's or load balancer's page; its words are no use to anybody
        raise ForgeUnavailable("GitHub's answer is not JSON; perhaps a proxy answered in its place") from None


def _error(what: str, refusal: Refusal, headers: Headers) -> ForgeError:
    message = f"GitHub refused {what}: {refusal.message}"
    if refusal.kind is Kind.MISSING:
        return NotFound(message)
    if refusal.kind is Kind.FORBIDDEN:
        return PermissionRefused(message)
    if refusal.kind is Kind.INVALID:
        return Invalid(message, refusal.codes)
    if refusal.kind is Kind.UNAUTHORIZED:
        return Unauthorized(message, headers)
    return ForgeError(message)
