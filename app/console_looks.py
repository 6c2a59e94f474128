"""How the console looks: values into pages, with the headers that keep a browser from doing more."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import jinja2
from markupsafe import Markup
from starlette.responses import HTMLResponse, Response

from app.console_charts import bar_width
from app.console_links import web_link
from app.console_words import (
    ADMISSION_WORDS,
    OUTCOME_WORDS,
    PHASE_WORDS,
    STATE_NAMES,
    ago,
    event_words,
    lasting,
    reason_name,
)
from domain.budget import show_money
from domain.ports import Clock
from domain.text import clip, one_line, revealed, visible

HERE = Path(__file__).parent

SAFETY = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}
"""With `no-referrer`, browsers would send `Origin: null` with our own forms."""

STATIC = {
    "console.css": "text/css; charset=utf-8",
    "htmx.min.js": "text/javascript; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
"""Files that are given out, and what they are."""


class Looks:
    """Renders pages, and gives out the few files that they need."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._environment = _environment(clock)
        self._files = {name: (HERE / "static" / name).read_bytes() for name in STATIC}

    def page(self, template: str, values: Mapping[str, object], status: int = 200) -> HTMLResponse:
        """Return a whole page."""
        return HTMLResponse(self.text(template, values), status, headers=SAFETY)

    def text(self, template: str, values: Mapping[str, object]) -> str:
        """Return what a template makes of values."""
        return self._environment.get_template(template).render(values)

    def fragment(self, template: str, macro: str, *values: object) -> str:
        """Return what one macro of a template makes of values."""
        module = self._environment.get_template(template).module
        return str(getattr(module, macro)(*values))

    def file(self, name: str) -> Response | None:
        """Return a file of ours, or None."""
        if name not in self._files:
            return None
        headers = {**SAFETY, "Cache-Control": "max-age=300"}
        return Response(self._files[name], media_type=STATIC[name], headers=headers)


def _environment(clock: Clock) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        money=_money,
        dollars=lambda amount: "–" if amount is None else f"${amount:,.4f}",
        line=lambda text, limit=160: one_line(text, limit),
        prose=lambda text, limit=6000: clip(visible(text), limit),
        exact=lambda text, limit=20_000: clip(revealed(text), limit),
        first_line=lambda text, limit=120: one_line(text.strip().partition("\n")[0], limit),
        moment=lambda moment: _moment(moment, clock.now()),
        clock=_clock_time,
        lasting=lasting,
        seconds=lasting,
        state=lambda state: STATE_NAMES[state],
        reason=reason_name,
        outcome=lambda outcome: OUTCOME_WORDS[outcome],
        admission=lambda admission: ADMISSION_WORDS[admission],
        phase_words=lambda name: PHASE_WORDS.get(name, name.replace("_", " ")),
        event_words=event_words,
        web_link=web_link,
        plural=lambda count, one, many="": f"{count:,} {one if count == 1 else many or one + 's'}",
        count=lambda number: f"{number:,}",
        bar=bar_width,
        anchor=lambda text: re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40],
    )
    return environment


def _money(amount: Decimal | None) -> str:
    return "–" if amount is None else show_money(amount)


def _moment(moment: datetime | None, now: datetime) -> Markup | str:
    """Write a moment as how long ago it was; its exact time is the title and for machines."""
    if moment is None:
        return "never"
    exact = f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return Markup(
        '<time datetime="{}" title="{}"><span class="ago">{}</span> <span class="exact">{}</span></time>'
    ).format(moment.isoformat(), exact, ago(moment, now), f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC")


def _clock_time(moment: datetime | None) -> Markup | str:
    """Write only the time of day of a moment."""
    if moment is None:
        return ""
    exact = f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        moment.isoformat(), exact, f"{moment.astimezone(UTC):%H:%M:%S}"
    )
