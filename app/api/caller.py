"""The gate before the API: who asks, from which site, and how much they send; before anything is read."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from enum import StrEnum
from http import HTTPStatus

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.api.problems import Problem

MOST_BODY_BYTES = 64 * 2**10
"""No request of the API is longer."""

_CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})

_SAFETY = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Caller(StrEnum):
    """Who asks: with the operator's token, or, where the API is open, without one."""

    OPERATOR = "operator"
    GUEST = "guest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """Who may ask. Without a token, nobody is the operator; `is_open` lets others ask for some things.

    `origins` are the sites whose pages may ask from a browser, as https://host or https://host:port.
    """

    token: str
    is_open: bool = False
    origins: frozenset[str] = frozenset()


class Gate:
    """Lets in who may come in, with `caller` in the request's state, and answers the others itself.

    Only the Authorization header tells who asks. A cookie or a login that a browser adds by itself is not
    looked at, so another site's page can ask for nothing in the operator's name.
    """

    def __init__(self, application: ASGIApp, rules: Rules) -> None:
        self._application = application
        self._rules = rules

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        origin = headers.get("origin", "")
        answering = _Answering(send, origin if origin in self._rules.origins else "")
        try:
            if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
                await self._preflight(origin)(scope, receive, answering)
                return
            self._check_origin(scope["method"], origin, headers)
            scope.setdefault("state", {})["caller"] = self._caller(headers)
            bounded = _Bounded(receive, headers)
        except Problem as problem:
            await problem.answer()(scope, receive, answering)
            return
        await self._application(scope, bounded, answering)

    def _caller(self, headers: Headers) -> Caller:
        given = headers.get("authorization", "")
        kind, _, token = given.partition(" ")
        if self._rules.token and kind.lower() == "bearer":
            expected = self._rules.token.encode("utf-8")
            if hmac.compare_digest(token.strip().encode("utf-8", "replace"), expected):
                return Caller.OPERATOR
        if self._rules.is_open and not given:
            return Caller.GUEST
        raise not_permitted()

    def _check_origin(self, method: str, origin: str, headers: Headers) -> None:
        """Refuse what a page of another site wants changed; a page of our own names our own host."""
        if method not in _CHANGING or not origin or origin in self._rules.origins:
            return
        if origin.partition("://")[2] != headers.get("host", ""):
            raise Problem(
                HTTPStatus.FORBIDDEN,
                "other_site",
                "A page of another site asks for this.",
                way_out="The operator can name the site in FIXWRIGHT_API_ORIGINS.",
            )

    def _preflight(self, origin: str) -> Response:
        if origin not in self._rules.origins:
            return Response(status_code=403, headers=_SAFETY)
        return Response(
            status_code=204,
            headers={
                "Access-Control-Allow-Methods": "GET, POST",
                "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, Last-Event-ID",
                "Access-Control-Max-Age": "600",
            },
        )


def not_permitted() -> Problem:
    """Return that only the operator may do this."""
    return Problem(
        HTTPStatus.UNAUTHORIZED,
        "not_permitted",
        "This needs the operator's token.",
        way_out="Send the header `Authorization: Bearer TOKEN` with FIXWRIGHT_CONSOLE_TOKEN's value.",
        headers={"WWW-Authenticate": 'Bearer realm="Fixwright"'},
    )


class _Answering:
    """Adds to every answer what keeps browsers from misusing it."""

    def __init__(self, send: Send, origin: str) -> None:
        self._send = send
        self._origin = origin

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _SAFETY.items():
                headers.setdefault(name, value)
            headers.add_vary_header("Origin")
            if self._origin:
                headers["Access-Control-Allow-Origin"] = self._origin
                headers["Access-Control-Expose-Headers"] = "Location, Retry-After"
        await self._send(message)


class _Bounded:
    """Passes a request's body on, and not more of it than any request needs."""

    def __init__(self, receive: Receive, headers: Headers) -> None:
        self._receive = receive
        self._left = MOST_BODY_BYTES
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > MOST_BODY_BYTES:
            raise _too_long()

    async def __call__(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise _too_long()
        return message


def _too_long() -> Problem:
    return Problem(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too_long",
        f"The request is longer than {MOST_BODY_BYTES} bytes.",
        way_out="Send the address of an issue, not its text.",
    )
