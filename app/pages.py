"""The console: server-rendered pages behind a password, without a line of script."""

from __future__ import annotations

import base64
import binascii
import hmac
import re
from collections.abc import Callable, Coroutine
from datetime import datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any

import jinja2
from fastapi import APIRouter, Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.routing import APIRoute
from markupsafe import Markup

from app.console_view import Reading, read_overview, read_task, web_link
from app.console_words import STATE_NAMES, reason_name
from app.receipt_view import read_receipt
from domain.budget import show_money
from domain.errors import FixwrightError
from domain.text import clip, one_line, visible

OPERATOR = "operator"

_HERE = Path(__file__).parent
_RECEIPT = re.compile(r"[0-9a-f]{64}")
_TASK_NUMBER = re.compile(r"[1-9][0-9]{0,17}")

_LOCKED = {
    "title": "A password is needed",
    "words": "Log in as `operator` with the password in FIXWRIGHT_CONSOLE_TOKEN.",
}

_UNREADABLE = {"title": "Not readable now", "words": "The database cannot be read. Reload in a moment."}

_SAFETY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


def console_router(reading: Reading, token: str) -> APIRouter:
    """Return the console's routes, all behind HTTP Basic with user `operator` and this password.

    Raises:
        ValueError: the password is empty; without one there must be no console.
    """
    if not token:
        raise ValueError("a console needs a password")
    environment = _environment()
    router = APIRouter(dependencies=[Depends(_guard(token))], route_class=_locked_route(environment))
    style = (_HERE / "static" / "console.css").read_text(encoding="utf-8")

    @router.get("/")
    def root() -> Response:
        return RedirectResponse("/console", status_code=303, headers=_SAFETY)

    @router.get("/console")
    def overview() -> Response:
        return _page(environment, "overview.html", lambda: {"overview": read_overview(reading)})

    @router.get("/console/tasks/{number}")
    def task(number: str) -> Response:
        if not _TASK_NUMBER.fullmatch(number):
            return _missing(environment)
        try:
            return _page(environment, "task.html", lambda: {"view": read_task(reading, int(number))})
        except KeyError:
            return _missing(environment)

    @router.get("/console/receipts/{name}")
    def receipt(name: str) -> Response:
        sha256 = name.removesuffix(".json")
        if not _RECEIPT.fullmatch(sha256):
            return _missing(environment, "receipt")
        try:
            found = reading.receipts.named(sha256)
        except FixwrightError:
            return _page(environment, "notice.html", lambda: dict(_UNREADABLE), 503)
        if found is None:
            return _missing(environment, "receipt")
        if name != sha256:
            return Response(found.envelope, media_type="application/json", headers=_SAFETY)
        return _page(environment, "receipt.html", lambda: {"view": read_receipt(found)})

    @router.get("/console/console.css")
    def stylesheet() -> Response:
        return Response(style, media_type="text/css", headers={**_SAFETY, "Cache-Control": "max-age=300"})

    return router


def _guard(token: str) -> Callable[[Request], None]:
    """Make the check of the password; it takes the same time for every wrong one of its length."""
    expected = f"{OPERATOR}:{token}".encode()

    async def check(request: Request) -> None:
        if not hmac.compare_digest(_credentials(request), expected):
            challenge = {"WWW-Authenticate": 'Basic realm="Fixwright", charset="UTF-8"', **_SAFETY}
            raise HTTPException(HTTPStatus.UNAUTHORIZED, headers=challenge)

    return check  # type: ignore[return-value]


def _locked_route(environment: jinja2.Environment) -> type[APIRoute]:
    """Make the kind of route that says in words, and not in JSON, that it wants a password."""

    class LockedRoute(APIRoute):
        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def answer(request: Request) -> Response:
                try:
                    return await handle(request)
                except HTTPException as refusal:
                    page = environment.get_template("notice.html").render(_LOCKED)
                    return HTMLResponse(page, refusal.status_code, headers=refusal.headers)

            return answer

    return LockedRoute


def _credentials(request: Request) -> bytes:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return b""
    try:
        return base64.b64decode(value.strip().encode("latin-1"), validate=True)
    except (binascii.Error, ValueError):
        return b""


def _page(
    environment: jinja2.Environment, template: str, read: Callable[[], dict[str, object]], status: int = 200
) -> Response:
    try:
        values = read()
    except FixwrightError as error:
        values = {"title": "Not readable now", "words": f"{error}. Reload in a moment."}
        template, status = "notice.html", 503
    return HTMLResponse(environment.get_template(template).render(values), status, headers=_SAFETY)


def _missing(environment: jinja2.Environment, what: str = "task") -> Response:
    words = {
        "title": f"No such {what}",
        "words": f"There is no {what} of this number. The overview leads to all of them.",
    }
    return _page(environment, "notice.html", lambda: dict(words), 404)


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        money=show_money,
        line=lambda text, limit=160: one_line(text, limit),
        prose=lambda text, limit=6000: clip(visible(text), limit),
        moment=_moment,
        seconds=_seconds,
        state=lambda state: STATE_NAMES[state],
        reason=reason_name,
        event_words=_event_words,
        web_link=web_link,
    )
    return environment


def _moment(moment: datetime | None) -> Markup | str:
    """Write a moment that no line break takes apart."""
    if moment is None:
        return "not yet"
    written = f"{moment:%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}">{}</time>').format(moment.isoformat(), written)


def _seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s"


def _event_words(kind: str) -> str:
    """Write an event's class name as words: IssueLabelled as "Issue labelled"."""
    return re.sub(r"(?<!^)([A-Z])", r" \1", kind).capitalize()
