"""The route /metrics: for the operator's token, or for this machine alone where that is set."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Callable

from fastapi import APIRouter, Request, Response
from fastapi.responses import PlainTextResponse

from domain.errors import StoreUnavailable

_FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip", "via", "cf-connecting-ip")
"""Headers by which a proxy on this machine tells that it asks for somebody else."""

_LOCKED = 'Metrics need the header "Authorization: Bearer TOKEN" with FIXWRIGHT_CONSOLE_TOKEN\'s value.\n'


def metrics_routes(page: Callable[[], tuple[bytes, str]], token: str, *, is_near_enough: bool) -> APIRouter:
    """Return the route. `page` makes the page and says its type.

    With `is_near_enough`, who asks from this machine needs no token, unless a proxy passes the question on.
    """
    router = APIRouter()

    @router.get("/metrics", include_in_schema=False)
    def metrics(request: Request) -> Response:
        if not (_has_token(request, token) or (is_near_enough and _is_near(request))):
            return PlainTextResponse(_LOCKED, 401, headers={"WWW-Authenticate": "Bearer"})
        try:
            body, media_type = page()
        except StoreUnavailable as error:
            return PlainTextResponse(f"{error}\n", 503)
        return Response(body, media_type=media_type, headers={"Cache-Control": "no-store"})

    return router


def _has_token(request: Request, token: str) -> bool:
    kind, _, given = request.headers.get("authorization", "").partition(" ")
    is_right = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token.encode("utf-8"))
    return bool(token) and kind.lower() == "bearer" and is_right


def _is_near(request: Request) -> bool:
    if request.client is None or any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ipaddress.ip_address(request.client.host).is_loopback
    except ValueError:
        return False
