"""The console: server-rendered pages for whoever is logged in, and the buttons on a task's page."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog
from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse

from app.console_acts import BadAct, acts_for, command_text, delivery_of
from app.console_door import THEME_COOKIE, THEMES, ConsoleDoor, NotOurs, theme_of
from app.console_links import own_path
from app.console_live import LiveTasks
from app.console_login import ConsoleLogin, see_other
from app.console_looks import SAFETY, Looks
from app.console_oauth import GithubLogin
from app.console_reads import ConsoleReads, NotThere
from app.console_sessions import Guesses, Sessions, Viewer
from app.console_view import Reading, visible_task
from app.group_commit import NotStored
from app.refusal import Refused, SenderGone
from domain.errors import FixwrightError, StoreUnavailable
from domain.model import Task
from domain.ports import Admitted, Delivery

log = structlog.get_logger(__name__)

Handler = Callable[[Request, Viewer], Response]
Form = dict[str, str]
Act = Callable[[Request, Viewer, Form], Awaitable[Response]]
Endpoint = Callable[[Request], Awaitable[Response]]

TELLING = {
    "approve": "Approved. The worker goes on within moments.",
    "cancel": "Cancelled as soon as the worker has heard it, within moments.",
    "retry": "Another attempt follows as soon as the worker has heard it.",
    "budget": "The worker raises the cap within moments, or says on the issue why not.",
    "replay": "Replayed: the delivery was decided anew.",
}
"""What a page says after a button was pressed, by its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsoleSite:
    """A console and its surroundings.

    `token` is the operator's password, "" for none; `github` logs accounts in, None for nobody. `tell` stores
    a press of a button; `replay` has a delivery decided anew by its record's
    number, and raises FixwrightError with the reason where it cannot; None: there are no replays.
    """

    reading: Reading
    token: str
    tell: Callable[[Delivery], Awaitable[Admitted]]
    is_worker_heard: Callable[[], bool]
    public_url: str = ""
    github: GithubLogin | None = None
    replay: Callable[[int], Admitted] | None = None
    is_ending: Callable[[], bool] = lambda: False


def console_router(site: ConsoleSite) -> APIRouter:
    """Return the console's routes. Nothing but its style is given to anybody who is not logged in.

    Raises:
        ValueError: nobody could log in; then there must be no console.
    """
    if not site.token and site.github is None:
        raise ValueError("a console needs a password, or accounts that may log in")
    return Console(site).router()


class Console:
    """The routes of one console."""

    def __init__(self, site: ConsoleSite) -> None:
        clock = site.reading.clock
        self._site = site
        self._looks = Looks(clock)
        self._door = ConsoleDoor(site.token, Sessions(clock.now), Guesses(clock.monotonic), site.public_url)
        self._login = ConsoleLogin(self._door, self._looks, site.github)
        self._live = LiveTasks(site.reading, site.is_ending)
        self._reads = ConsoleReads(site.reading, site.is_worker_heard, has_replay=site.replay is not None)

    def router(self) -> APIRouter:
        """Return all of them."""
        router = APIRouter(include_in_schema=False)
        reads = self._reads
        pages: dict[str, Callable[[Request, Viewer], tuple[str, dict[str, object]]]] = {
            "/console": reads.overview,
            "/console/tasks": reads.tasks,
            "/console/tasks/{number}": reads.task,
            "/console/tasks/{number}/attempts/{attempt}": reads.transcript,
            "/console/repositories": reads.places,
            "/console/repositories/{forge}/{repository:path}": reads.place,
            "/console/spend": reads.spend,
            "/console/deliveries": reads.deliveries,
            "/console/deliveries/{number}": reads.delivery,
            "/console/health": reads.health,
        }
        for path, read in pages.items():
            router.add_route(path, self._page(read), methods=["GET"])
        router.add_route("/console/receipts/{name}", self._behind(self._receipt), methods=["GET"])
        router.add_route("/console/tasks/{number}/live", self._stream, methods=["GET"])
        router.add_route("/console/tasks/{number}/{act}", self._form(self._act), methods=["POST"])
        router.add_route("/console/deliveries/{number}/replay", self._form(self._replay), methods=["POST"])
        router.add_route("/console/theme", self._form(self._theme), methods=["POST"])
        router.add_route("/console/logout", self._form(self._leave), methods=["POST"])
        router.add_route("/console/login", self._login.show, methods=["GET"])
        router.add_route("/console/login", self._open(self._login.enter), methods=["POST"])
        router.add_route("/console/login/github", self._open(self._login.begin_github), methods=["POST"])
        router.add_route("/console/login/github/callback", self._login.end_github, methods=["GET"])
        router.add_route("/console/files/{name}", self._file, methods=["GET"])
        router.add_route("/console/{rest:path}", self._behind(self._nowhere), methods=["GET"])
        router.add_route("/", self._root, methods=["GET"])
        return router

    # -- who may ------------------------------------------------------------------------------------

    def _behind(self, handler: Handler) -> Endpoint:
        """Let only who is logged in through, to a handler that may wait for the database."""

        async def answer(request: Request) -> Response:
            viewer = self._door.viewer(request)
            if viewer is None:
                return self._login.page(request)
            try:
                return await run_in_threadpool(handler, request, viewer)
            except NotThere as missing:
                return self._notice(request, viewer, f"No such {missing}", _MISSING.format(missing), 404)
            except FixwrightError as error:
                return self._notice(request, viewer, "Not readable now", f"{error}. Reload in a moment.", 503)

        return answer

    def _page(self, read: Callable[[Request, Viewer], tuple[str, dict[str, object]]]) -> Endpoint:
        def handler(request: Request, viewer: Viewer) -> Response:
            template, values = read(request, viewer)
            return self._looks.page(template, {**self._chrome(request, viewer), **values})

        return self._behind(handler)

    def _form(self, act: Act) -> Endpoint:
        """Let only forms of this very session through."""

        async def answer(request: Request) -> Response:
            viewer = self._door.viewer(request)
            if viewer is None or not viewer.session:
                return self._login.page(request, back="/console")
            try:
                form = await self._door.form(request)
                self._door.check_stamp(viewer, form)
                return await act(request, viewer, form)
            except NotOurs as error:
                log.warning("form refused", path=request.url.path[:80], why=str(error))
                words = (
                    "It is of an old page, or of another site. Go back, load the page again, and repeat it."
                )
                return self._notice(request, viewer, "That form is not accepted", words, 403)
            except NotThere as missing:
                return self._notice(request, viewer, f"No such {missing}", _MISSING.format(missing), 404)
            except BadAct as error:
                return self._notice(request, viewer, "That cannot be done", str(error), 422)
            except (NotStored, FixwrightError) as error:
                log.warning("act not stored", error=str(error))
                return self._notice(
                    request, viewer, "Not done", "Nothing was changed. Try again in a moment.", 503
                )
            except (Refused, SenderGone):
                return PlainTextResponse("The form did not come in whole.", 400, headers=SAFETY)

        return answer

    def _open(self, handler: Callable[[Request], Awaitable[Response]]) -> Endpoint:
        """Let a form of nobody known through, if it is of a page of ours."""

        async def answer(request: Request) -> Response:
            try:
                return await handler(request)
            except NotOurs as error:
                return self._login.refused(request, error)
            except (Refused, SenderGone):
                return PlainTextResponse("The form did not come in whole.", 400, headers=SAFETY)

        return answer

    # -- what is done -------------------------------------------------------------------------------

    async def _act(self, request: Request, viewer: Viewer, form: Form) -> Response:
        """Tell the worker of a button; it decides like about a comment."""
        number, act = self._number(request), request.path_params["act"]
        verb, text = command_text(act, form)
        task = await run_in_threadpool(self._task, number, viewer)
        delivery = delivery_of(task, viewer, verb, text, self._site.reading.clock.now())
        admitted = await self._site.tell(delivery)
        log.info("button pressed", act=act, task=number, by=viewer.name, decision=admitted.admission.value)
        return see_other(f"/console/tasks/{number}", done=act)

    async def _replay(self, request: Request, viewer: Viewer, form: Form) -> Response:
        number = self._number(request)
        if self._site.replay is None or not viewer.is_operator:
            raise BadAct("Only the operator replays deliveries.")
        try:
            admitted = await run_in_threadpool(self._site.replay, number)
        except StoreUnavailable:
            raise
        except FixwrightError as error:
            raise BadAct(f"{str(error).capitalize()}.") from None
        log.info("delivery replayed", delivery=number, by=viewer.name, decision=admitted.admission.value)
        return see_other(f"/console/deliveries/{number}", done="replay")

    async def _theme(self, request: Request, viewer: Viewer, form: Form) -> Response:
        chosen = form.get("theme", "")
        answer = see_other(own_path(form.get("back", "")))
        age = 365 * 86400 if chosen in THEMES else 0
        line = self._door.cookie(request, THEME_COOKIE, chosen if age else "", age)
        answer.headers.append("set-cookie", line)
        return answer

    async def _leave(self, request: Request, viewer: Viewer, form: Form) -> Response:
        return await self._login.leave(request, viewer)

    # -- what is shown ------------------------------------------------------------------------------

    async def _root(self, request: Request) -> Response:
        return see_other("/console")

    async def _file(self, request: Request) -> Response:
        found = self._looks.file(request.path_params["name"])
        return (
            found if found is not None else PlainTextResponse("There is no such file.", 404, headers=SAFETY)
        )

    def _receipt(self, request: Request, viewer: Viewer) -> Response:
        name = request.path_params["name"]
        receipt = self._reads.receipt(name.removesuffix(".json"), viewer)
        if name.endswith(".json"):
            return Response(receipt.envelope, media_type="application/json", headers=SAFETY)
        template, values = self._reads.receipt_page(receipt)
        return self._looks.page(template, {**self._chrome(request, viewer), **values})

    def _nowhere(self, request: Request, viewer: Viewer) -> Response:
        raise NotThere("page")

    async def _stream(self, request: Request) -> Response:
        viewer = self._door.viewer(request)
        if viewer is None:
            return PlainTextResponse("Log in first.", 401, headers=SAFETY)
        try:
            number = self._number(request)
            await run_in_threadpool(self._task, number, viewer)
        except NotThere:
            return PlainTextResponse("There is no such task.", 404, headers=SAFETY)
        except FixwrightError:
            return PlainTextResponse("Not readable now.", 503, headers={**SAFETY, "Retry-After": "5"})
        if self._live.is_full:
            return PlainTextResponse("Too many look on.", 503, headers={**SAFETY, "Retry-After": "30"})
        last = request.headers.get("last-event-id", "") or request.query_params.get("after", "")
        events = self._live.events(
            number,
            last,
            lambda step: self._looks.fragment("step.html", "step", step),
            lambda: self._door.sessions.is_open(viewer),
        )
        return StreamingResponse(events, media_type="text/event-stream", headers=SAFETY)

    # -- what they share ----------------------------------------------------------------------------

    def _task(self, number: int, viewer: Viewer) -> Task:
        try:
            return visible_task(self._site.reading, number, viewer.scope)
        except KeyError:
            raise NotThere("task") from None

    def _number(self, request: Request) -> int:
        number = request.path_params["number"]
        if not _NUMBER.fullmatch(number):
            raise NotThere("task")
        return int(number)

    def _chrome(self, request: Request, viewer: Viewer) -> dict[str, object]:
        """Return what every page has around its own."""
        path = request.url.path
        return {
            "viewer": viewer,
            "theme": theme_of(request),
            "here": path + (f"?{request.url.query}" if request.url.query else ""),
            "section": path.removeprefix("/console").strip("/").partition("/")[0],
            "done": TELLING.get(request.query_params.get("done", ""), ""),
        }

    def _notice(self, request: Request, viewer: Viewer, title: str, words: str, status: int) -> Response:
        values = {**self._chrome(request, viewer), "title": title, "words": words, "done": ""}
        return self._looks.page("notice.html", values, status)


_MISSING = "There is no {0} of this number, or none that you may see. The overview leads to all of them."
_NUMBER = re.compile(r"[1-9][0-9]{0,17}", re.ASCII)

__all__ = ["Console", "ConsoleSite", "acts_for", "console_router"]
