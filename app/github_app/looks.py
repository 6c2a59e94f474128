"""How the setup page looks: values into pages, with the headers that keep a browser from doing more."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import Path

import jinja2
from starlette.responses import HTMLResponse, Response

from app.github_app.flow import Asking, Done, NotAccepted
from app.github_app.site import SetupSite
from app.github_app.stored import AlreadyConfigured
from domain.errors import FixwrightError, ForgeUnavailable, StoreUnavailable
from domain.text import one_line
from providers.github.manifest import LONGEST_NAME, Wishes, installing_address, web_root
from providers.github.needs import EVENTS, EVENTS_BESIDES, REQUIRED

_HERE = Path(__file__).parents[1]


class Looks:
    """Renders the pages of one site."""

    def __init__(self, site: SetupSite) -> None:
        self._site = site
        self._root = web_root(site.flow.api_url)
        self._style = (_HERE / "static" / "setup-ground.css").read_text(encoding="utf-8")
        self._style += (_HERE / "static" / "setup.css").read_text(encoding="utf-8")
        self._environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(_HERE / "templates"),
            autoescape=True,
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters["line"] = one_line

    def locked(self, stamp: str, problem: str, status: HTTPStatus) -> Response:
        """Ask for the code."""
        return self._page("setup_locked.html", {"stamp": stamp, "problem": problem}, status)

    def wishes(self, stamp: str, wishes: Wishes | None, problem: str) -> Response:
        """Ask for name, account and address; `wishes` are what was typed before."""
        shown = wishes or Wishes(
            name=f"fixwright-{secrets.token_hex(3)}", public_url=self._site.public_url, organization=""
        )
        problem = problem[:1].upper() + problem[1:]
        values = {"stamp": stamp, "wishes": shown, "problem": problem, "longest": LONGEST_NAME}
        status = HTTPStatus.UNPROCESSABLE_ENTITY if problem else HTTPStatus.OK
        return self._page("setup_wishes.html", {**values, "public_url": self._site.public_url}, status)

    def review(self, wishes: Wishes, asking: Asking) -> Response:
        """Show what GitHub is going to be asked for, and the button that does it."""
        events = sorted(EVENTS | EVENTS_BESIDES)
        values = {"wishes": wishes, "asking": asking, "permissions": dict(REQUIRED), "events": events}
        return self._page("setup_review.html", values, HTTPStatus.OK)

    def done(self, done: Done) -> Response:
        """Say what to do next."""
        served = [each.partition(":")[2] for each in self._site.repositories]
        values = {
            "done": done,
            "install": installing_address(done.app.page),
            "served": sorted(served),
            "taken_up": self._site.taken_up,
        }
        return self._page("setup_done.html", values, HTTPStatus.OK)

    def failed(self, error: FixwrightError) -> Response:
        """Say why there is no App in place, and the way out."""
        status, words = _way_out(error)
        values = {"problem": str(error), "words": words, "apps": f"{self._root}/settings/apps"}
        return self._page("setup_failed.html", values, status)

    def notice(self, title: str, words: str, status: HTTPStatus) -> Response:
        """Say one thing."""
        values = {"title": title, "words": words, "is_setup_next": False}
        return self._page("setup_notice.html", values, status)

    def not_yet(self, status: HTTPStatus) -> Response:
        """Say that there is no service yet, and the way to one."""
        words = (
            "Nothing is served before a GitHub App is configured. The operator opens the setup page with the "
            "one-time code from the log of the service, or runs: fixwright app create"
        )
        values = {"title": "Not configured yet", "words": words, "is_setup_next": True}
        page = self._page("setup_notice.html", values, status)
        page.headers["Retry-After"] = "300"
        return page

    def where_to_open(self) -> str:
        """Say under which address the page can be used."""
        if self._site.public_url:
            return f"Open {self._site.public_url}/setup, or /setup on this machine itself (127.0.0.1)."
        return (
            "The page is only for this machine itself (127.0.0.1; ssh -L brings that to yours), until "
            "FIXWRIGHT_PUBLIC_URL says under which address people and GitHub reach the service."
        )

    def style(self) -> Response:
        """Return the style sheet."""
        headers = {"X-Content-Type-Options": "nosniff", "Cache-Control": "max-age=300"}
        return Response(self._style, media_type="text/css", headers=headers)

    def _page(self, template: str, values: Mapping[str, object], status: HTTPStatus) -> Response:
        page = self._environment.get_template(template).render(values, github=self._root)
        return HTMLResponse(page, status, headers=self._headers(template))

    def _headers(self, template: str) -> dict[str, str]:
        """Return what a browser may do with a page.

        The review's form goes to GitHub, which may want to see where from; no other page tells anybody.
        """
        there = f" {self._root}" if template == "setup_review.html" else ""
        return {
            "Content-Security-Policy": f"default-src 'none'; style-src 'self'; form-action 'self'{there}; "
            "base-uri 'none'; frame-ancestors 'none'",
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "strict-origin" if there else "same-origin",
            "Cache-Control": "no-store",
        }


def _way_out(error: FixwrightError) -> tuple[HTTPStatus, str]:
    if isinstance(error, NotAccepted):
        return HTTPStatus.FORBIDDEN, "Begin again on the setup page, in this browser."
    if isinstance(error, StoreUnavailable):
        return (
            HTTPStatus.INSUFFICIENT_STORAGE,
            "Make room, or give the service its directory back, then reload this page: the App is kept in "
            "mind until then.",
        )
    if isinstance(error, AlreadyConfigured):
        return HTTPStatus.CONFLICT, "Delete the App on GitHub that was just made, if there is a second one."
    if isinstance(error, ForgeUnavailable):
        return (
            HTTPStatus.BAD_GATEWAY,
            "Reload this page to try again. If the code is then said to be used, delete the new App on "
            "GitHub and begin again.",
        )
    return (
        HTTPStatus.BAD_GATEWAY,
        "Begin again on the setup page. If GitHub shows a new App already, delete it there first: its keys "
        "are given out only once.",
    )
