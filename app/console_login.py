"""Logging in and out: the operator's password, and accounts of a forge."""

from __future__ import annotations

import asyncio
from urllib.parse import urlencode

import structlog
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from app.console_door import ConsoleDoor, NotOurs, cookie_of, peer_of, theme_of
from app.console_links import own_path
from app.console_looks import SAFETY, Looks
from app.console_oauth import FLOW_COOKIE, FLOW_SECONDS, GithubLogin, LoginRefused
from app.console_sessions import COOKIE, Viewer
from domain.errors import FixwrightError

log = structlog.get_logger(__name__)

WAIT_SECONDS = 1.0
MOST_WAITING = 16
"""Tries that are kept waiting at once; more are told to come later."""


class ConsoleLogin:
    """The routes of the login; nobody has to be known to use them."""

    def __init__(self, door: ConsoleDoor, looks: Looks, github: GithubLogin | None = None) -> None:
        self._door = door
        self._looks = looks
        self._github = github
        self._waiting = 0

    def page(self, request: Request, problem: str = "", status: int = 401, back: str = "") -> Response:
        """Ask for a login; the page that was asked for follows it."""
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        values = {
            "back": own_path(back or path),
            "problem": problem,
            "has_password": self._door.has_password,
            "has_github": self._github is not None,
            "theme": theme_of(request),
        }
        answer = self._looks.page("login.html", values, status)
        if status == 401:
            # A 401 has to name a way in; a browser knows none of this name, and shows the page.
            answer.headers["WWW-Authenticate"] = 'Form realm="Fixwright"'
        return answer

    async def show(self, request: Request) -> Response:
        """Show the form, or send on who is logged in already."""
        back = own_path(request.query_params.get("back", "/console"))
        if self._door.viewer(request) is not None:
            return see_other(back)
        return self.page(request, status=200, back=back)

    async def enter(self, request: Request) -> Response:
        """Take the password."""
        form = await self._door.form(request)
        back, peer = own_path(form.get("back", "")), peer_of(request)
        if self._door.guesses.are_too_many(peer) and not await self._waited():
            log.warning("login refused: too many at once", peer=peer)
            return self._too_many(request, back)
        if not self._door.is_password(form.get("password", "")):
            is_too_often = self._door.guesses.are_too_many(peer)
            self._door.guesses.count(peer)
            log.warning("wrong password", peer=peer)
            if is_too_often:
                return self._too_many(request, back)
            return self.page(request, "This is not the password.", 403, back)
        log.info("logged in", who="operator", peer=peer)
        cookie = self._door.sessions.open(name="operator", before=cookie_of(request, COOKIE))
        return self._entered(request, cookie, back)

    async def leave(self, request: Request, viewer: Viewer) -> Response:
        """End the session."""
        self._door.sessions.close(viewer)
        answer = see_other("/console/login")
        answer.headers.append("set-cookie", self._door.session_cookie(request, ""))
        return answer

    async def begin_github(self, request: Request) -> Response:
        """Send the browser to the forge's page."""
        if self._github is None:
            return self.page(request, status=404, problem="Logging in with GitHub is not set up.")
        form = await self._door.form(request)
        begun = self._github.begin(self._callback(request), own_path(form.get("back", "")))
        answer = see_other(begun.address)
        answer.headers.append(
            "set-cookie",
            self._door.cookie(request, FLOW_COOKIE, begun.browser, FLOW_SECONDS, "/console/login/github"),
        )
        return answer

    async def end_github(self, request: Request) -> Response:
        """Take what the forge's page sends back."""
        if self._github is None:
            return self.page(request, status=404, problem="Logging in with GitHub is not set up.")
        query, browser = request.query_params, cookie_of(request, FLOW_COOKIE)
        try:
            person, back = await run_in_threadpool(
                self._github.finish, browser, query.get("state", ""), query.get("code", "")
            )
        except LoginRefused as refusal:
            log.warning("GitHub login refused", why=str(refusal), peer=peer_of(request))
            return self.page(request, str(refusal), 403, "/console")
        except FixwrightError as error:
            log.warning("GitHub login failed", why=str(error))
            return self.page(request, "GitHub does not answer now. Try again in a moment.", 502, "/console")
        log.info("logged in", who=person.actor.login, id=person.actor.id, repositories=len(person.places))
        cookie = self._door.sessions.open(
            name=person.actor.login,
            forge=person.forge,
            actor=person.actor,
            scope=person.places,
            before=cookie_of(request, COOKIE),
        )
        answer = self._entered(request, cookie, back)
        answer.headers.append(
            "set-cookie", self._door.cookie(request, FLOW_COOKIE, "", 0, "/console/login/github")
        )
        return answer

    def refused(self, request: Request, _: NotOurs) -> Response:
        """Answer a form that is not ours."""
        return self.page(
            request, "That form was of an old page, or not of this one. Try again.", 403, "/console"
        )

    def _entered(self, request: Request, cookie: str, back: str) -> Response:
        answer = see_other(back)
        answer.headers.append("set-cookie", self._door.session_cookie(request, cookie))
        return answer

    def _callback(self, request: Request) -> str:
        return f"{self._door.root(request)}/console/login/github/callback"

    def _too_many(self, request: Request, back: str) -> Response:
        answer = self.page(request, "Too many wrong passwords. Wait a minute, and try again.", 429, back)
        answer.headers["Retry-After"] = "60"
        return answer

    async def _waited(self) -> bool:
        """Wait, and return True; False where too many wait already."""
        if self._waiting >= MOST_WAITING:
            return False
        self._waiting += 1
        try:
            await asyncio.sleep(WAIT_SECONDS)
        finally:
            self._waiting -= 1
        return True


def see_other(path: str, **query: str) -> Response:
    """Send the browser to another page by GET."""
    target = f"{path}?{urlencode(query)}" if query else path
    return RedirectResponse(target, 303, headers=SAFETY)
