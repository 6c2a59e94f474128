"""The setup page: a code opens it, a form asks GitHub for an App, and what comes back is put in place."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from urllib.parse import parse_qsl

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import Lifespan

from app.github_app.lock import Answer
from app.github_app.looks import Looks
from app.github_app.site import SetupSite
from app.refusal import Refused, SenderGone
from app.request_body import BodyReader
from domain.errors import ConfigurationError, FixwrightError
from providers.github.manifest import Wishes, checked

log = structlog.get_logger(__name__)

COOKIE = "fixwright_setup"
MOST_FORM_BYTES = 8192
EVERY_METHOD = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

Handler = Callable[[Request], Awaitable[Response]]


class Turned(Exception):
    """A request is answered with a page that says why nothing else was done."""

    def __init__(self, status: HTTPStatus, title: str, words: str) -> None:
        super().__init__(title)
        self.status, self.title, self.words = status, title, words


class SetupPages:
    """The pages of one site. Every request's Host is looked at first, and every form's stamp and origin."""

    def __init__(self, site: SetupSite) -> None:
        self.site = site
        self.looks = Looks(site)
        self._reader = BodyReader(MOST_FORM_BYTES)

    def application(self, lifespan: Lifespan[Starlette] | None = None, *, once: bool = False) -> Starlette:
        """Return the application. `once` lets an address with the code in it open the page, too."""
        routes = [
            Route("/setup", self._guarded(self.start), methods=["GET"]),
            Route("/setup/open", self._guarded(self.open), methods=["POST"]),
            Route("/setup/review", self._guarded(self.review), methods=["POST"]),
            Route("/setup/callback", self._guarded(self.callback), methods=["GET"]),
            Route("/setup/style.css", self.style, methods=["GET"]),
            Route("/healthz", self.health, methods=["GET"]),
            Route("/{path:path}", self.elsewhere, methods=EVERY_METHOD),
        ]
        if once:
            routes.insert(0, Route("/setup/once/{code}", self._guarded(self.once), methods=["GET"]))
        return Starlette(routes=routes, lifespan=lifespan)

    # -- the pages ----------------------------------------------------------------------------------

    async def start(self, request: Request) -> Response:
        """Show the form for the code, or for the wishes where the code was given."""
        if self.site.flow.done is not None:
            return self.looks.done(self.site.flow.done)
        session = self._session(request)
        if self.site.lock.is_open(session):
            if self.site.wishes is not None:
                return await self._asking(session, self.site.wishes, f"http://{request.headers['host']}")
            return self.looks.wishes(self.site.lock.stamp(session), None, "")
        self.site.lock.renew()
        return self._locked(request, "", HTTPStatus.OK)

    async def open(self, request: Request) -> Response:
        """Take the code."""
        form, session = await self._form(request)
        answer, opened = self.site.lock.open(form.get("code", ""), _peer(request))
        if answer is Answer.OPENED:
            log.info("the setup page was opened", peer=_peer(request))
            return self._with_cookie(request, _see_other("../setup"), opened)
        log.warning("a wrong setup code", peer=_peer(request), refused=answer is Answer.TOO_OFTEN)
        if answer is Answer.TOO_OFTEN:
            words = "Too many wrong codes. Wait a minute, and try again."
            return self._locked(request, words, HTTPStatus.TOO_MANY_REQUESTS, session)
        words = "This is not the code, or it is too old. The newest one is in the log of the service."
        return self._locked(request, words, HTTPStatus.FORBIDDEN, session)

    async def once(self, request: Request) -> Response:
        """Take the code from the address, as the command line printed it."""
        answer, opened = self.site.lock.open(request.path_params["code"], _peer(request))
        if answer is Answer.OPENED:
            return self._with_cookie(request, _see_other("../../setup"), opened)
        if self.site.lock.is_open(self._session(request)):  # the same browser, once more
            return _see_other("../../setup")
        raise Turned(
            HTTPStatus.FORBIDDEN,
            "This address was used",
            "It works once, for half an hour. Start the command again for another one.",
        )

    async def review(self, request: Request) -> Response:
        """Take the wishes, and show what GitHub will be asked for."""
        form, session = await self._form(request)
        if not self.site.lock.is_open(session):
            raise Turned(
                HTTPStatus.FORBIDDEN, "The time is over", "Open the setup page again, with a new code."
            )
        asked = Wishes(
            name=form.get("name", ""),
            public_url=self.site.public_url or form.get("public_url", ""),
            organization=form.get("organization", ""),
        )
        try:
            wishes = checked(asked)
        except ConfigurationError as error:
            return self.looks.wishes(self.site.lock.stamp(session), asked, str(error))
        return await self._asking(session, wishes, request.headers.get("origin", ""))

    async def callback(self, request: Request) -> Response:
        """Take what GitHub's page sends back."""
        state, code = request.query_params.get("state", ""), request.query_params.get("code", "")
        try:
            done = await asyncio.to_thread(self.site.flow.finish, self._session(request), state, code)
        except FixwrightError as error:
            log.warning("no GitHub App was made", problem=str(error))
            return self.looks.failed(error)
        return self.looks.done(done)

    async def style(self, request: Request) -> Response:
        """Give out the style sheet."""
        return self.looks.style()

    async def health(self, request: Request) -> Response:
        """Tell a platform that the process is well, though not that deliveries are taken.

        With anything but 200, platforms would not let anybody through to the setup page.
        """
        return JSONResponse({"status": "not configured yet"})

    async def elsewhere(self, request: Request) -> Response:
        """Answer everything else: there is no service yet."""
        return self.looks.not_yet(HTTPStatus.SERVICE_UNAVAILABLE)

    # -- what they share ----------------------------------------------------------------------------

    def _guarded(self, handler: Handler) -> Handler:
        async def answer(request: Request) -> Response:
            try:
                if not self.site.is_ours(request.headers.get("host", "")):
                    raise Turned(
                        HTTPStatus.MISDIRECTED_REQUEST, "Not under this address", self.looks.where_to_open()
                    )
                return await handler(request)
            except Turned as turned:
                return self.looks.notice(turned.title, turned.words, turned.status)
            except Refused as refused:
                return self.looks.notice("Not taken", refused.why, refused.status)
            except SenderGone:
                return Response(status_code=HTTPStatus.BAD_REQUEST)

        return answer

    async def _asking(self, session: str, wishes: Wishes, origin: str) -> Response:
        root = self.site.root_for(origin)
        # Another tab may be waiting for GitHub inside the flow.
        asking = await asyncio.to_thread(self.site.flow.begin, session, wishes, f"{root}/setup/callback")
        return self.looks.review(wishes, asking)

    async def _form(self, request: Request) -> tuple[dict[str, str], str]:
        """Return a form's fields and its session, if this page made the form. Raises Turned, Refused."""
        if not self.site.root_for(request.headers.get("origin", "")):
            raise Turned(HTTPStatus.FORBIDDEN, "Not from here", "This form was not sent by the setup page.")
        body = await self._reader.read(request.scope["headers"], request.receive)
        fields = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        session = self._session(request)
        if not self.site.lock.is_stamp(session, fields.get("stamp", "")):
            raise Turned(
                HTTPStatus.FORBIDDEN, "The page is too old", "Go back, reload the setup page, and try again."
            )
        return fields, session

    def _locked(self, request: Request, words: str, status: HTTPStatus, session: str = "") -> Response:
        """Show the form for the code; a browser without a session gets one that opens nothing."""
        session = session or self._session(request) or secrets.token_urlsafe(32)
        page = self.looks.locked(self.site.lock.stamp(session), words, status)
        return self._with_cookie(request, page, session)

    def _session(self, request: Request) -> str:
        return request.cookies.get(COOKIE, "")[:100]

    def _with_cookie(self, request: Request, response: Response, session: str) -> Response:
        response.set_cookie(
            COOKIE,
            session,
            httponly=True,
            samesite="lax",
            secure=self.site.is_secure(request.headers.get("host", "")),
        )
        return response


def _see_other(address: str) -> Response:
    return RedirectResponse(address, HTTPStatus.SEE_OTHER, {"Cache-Control": "no-store"})


def _peer(request: Request) -> str:
    return request.client.host if request.client else "?"
