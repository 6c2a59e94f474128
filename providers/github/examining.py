"""The App looked over line by line: key, permissions, events, webhook, deliveries, repositories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from domain.errors import FixwrightError, ForgeError, NotFound
from domain.model import Repository
from domain.ports import Examination, Expected, Standing
from domain.text import clip, one_line
from providers.github import needs, shapes
from providers.github.answers import their_clock
from providers.github.app import App, AppRefused
from providers.github.calls import Json, Reply
from providers.github.manifest import web_root

SKEW_ODD = 30.0
SKEW_WRONG = 110.0
"""Seconds that our clock may be off. Signatures are backdated by 120 s."""

RECENT = timedelta(days=1)
"""Back to which failed deliveries count."""

Found = Iterator[Examination]


@dataclass(frozen=True, slots=True, kw_only=True)
class Examiner:
    """Asks what the App is, and each served repository whether it is there. `look_up` finds one by name."""

    app: App
    served: Collection[str]
    look_up: Callable[[str], Repository]

    def examine(self, expected: Expected) -> Found:
        """See `Examining`."""
        try:
            reply = self.app.call("GET", "/app")
            found = shapes.obj(reply.data, "App")
        except NotFound:
            words = f"there is no App {self.app.app_id} at {self.app.api.base_url}"
            yield fail("app", words, "check FIXWRIGHT_GITHUB_APP_ID and FIXWRIGHT_GITHUB_API_URL")
            return
        except ForgeError as error:
            yield fail("app", str(error), _fix_of(error))
            return
        yield self._clock(reply)
        yield ok("app", f"{_line(found.get('name'))} ({_line(found.get('id'))}); its key works")
        settings = self._settings(found)
        yield from permissions("permissions", shapes.part(found, "permissions"), settings)
        yield events(found, settings)
        yield from self._trying("webhook", self._webhook(expected, settings))
        yield from self._trying("deliveries", self._deliveries(settings))
        yield from self._trying("installations", self._installations())
        for name in sorted(self.served):
            yield from self._trying(f"repository {name}", self._repository(name, expected))

    def _trying(self, subject: str, lines: Found) -> Found:
        """Pass lines on; what GitHub does not tell is a line of its own."""
        try:
            yield from lines
        except FixwrightError as error:
            yield fail(subject, str(error), _fix_of(error))

    def _settings(self, found: Json) -> str:
        """Return where the App's own settings are."""
        owner = shapes.part(found, "owner")
        login, slug = shapes.text(owner.get("login")), shapes.text(found.get("slug"))
        where = f"/organizations/{login}" if owner.get("type") == "Organization" else ""
        return one_line(f"{web_root(self.app.api.base_url)}{where}/settings/apps/{slug}", 300)

    def _clock(self, reply: Reply) -> Examination:
        there = their_clock(reply.headers)
        if there is None:
            return warn("clock", "GitHub did not tell the time", "")
        skew = self.app.api.patience.now() - there
        words = f"{abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} GitHub's"
        if abs(skew) > SKEW_WRONG:
            return fail(
                "clock", words, "set the clock; systemctl enable --now systemd-timesyncd keeps it right"
            )
        if abs(skew) > SKEW_ODD:
            return warn("clock", words, "set the clock; from about two minutes on, GitHub takes no signature")
        return ok("clock", words)

    def _webhook(self, expected: Expected, settings: str) -> Found:
        try:
            hook = shapes.obj(self.app.call("GET", "/app/hook/config").data, "webhook")
        except NotFound:
            yield fail("webhook", "the App has none", f"make it active, at {settings}")
            return
        url = shapes.text(hook.get("url"))
        yield from _address(url, expected.webhook_url, settings)
        if hook.get("content_type") != "json":
            words = f"content type is {_line(hook.get('content_type'))}, and the service takes json alone"
            yield fail("webhook content type", words, f"choose application/json, at {settings}")
        if str(hook.get("insecure_ssl", "0")) != "0":
            words = "GitHub does not check the certificate of the service"
            yield warn("webhook certificate", words, f"enable SSL verification, at {settings}")
        if not hook.get("secret"):
            words = "the App has no webhook secret: the service refuses each of its deliveries"
            yield fail("webhook secret", words, f"set FIXWRIGHT_WEBHOOK_SECRET's at {settings}")

    def _deliveries(self, settings: str) -> Found:
        reply = self.app.call("GET", "/app/hook/deliveries", {"per_page": 100})
        records = shapes.objects(reply.data, "deliveries")
        since = datetime.fromtimestamp(self.app.api.patience.now(), UTC) - RECENT
        recent = [
            each
            for each in records
            if shapes.moment(each.get("delivered_at"), "delivery's time") >= since
            and each.get("event") != "ping"
        ]
        heard = {shapes.text(each.get("guid")) for each in recent if _is_success(each)}
        lost = {shapes.text(each.get("guid")): each for each in reversed(recent)}
        failed = [each for guid, each in lost.items() if guid not in heard]
        if not recent:
            yield ok("deliveries", "none in the last day")
            return
        if not failed:
            yield ok("deliveries", f"{len(lost)} in the last day, none of them failed")
            return
        newest = max(failed, key=lambda each: shapes.text(each.get("delivered_at")))
        words = (
            f"{len(failed)} of {len(lost)} in the last day failed; the newest of them "
            f"({_line(newest.get('event'))}, {_line(newest.get('delivered_at'))}): {_reason(newest)}"
        )
        fix = f"{_fix_of_delivery(newest)}; all of them are at {settings}/advanced"
        yield (warn if _is_success(recent[0]) else fail)("deliveries", words, fix)

    def _installations(self) -> Found:
        """Look for accounts in which nothing is served; what they are is nobody else's business."""
        accounts = {name.partition("/")[0].lower() for name in self.served}
        found = self.app.pages("/app/installations")
        logins = [shapes.text(shapes.part(each, "account").get("login")) for each in found]
        idle = sorted(_line(login) for login in logins if login.lower() not in accounts)
        if idle:
            words = (
                f"installed in {len(idle)} accounts of which nothing is served: {clip(', '.join(idle), 200)}"
            )
            fix = "serve them by FIXWRIGHT_REPOSITORIES, or uninstall the App there"
            yield warn("installations", words, fix)
        else:
            yield ok("installations", f"{len(found)}, all in accounts that are served")

    def _repository(self, name: str, expected: Expected) -> Found:
        subject = f"repository {name}"
        try:
            installation, _ = self.app.installation_at(name)
        except NotFound:
            words = "the App is not installed there, or there is no such repository"
            yield fail(subject, words, "install it there, or correct FIXWRIGHT_REPOSITORIES")
            return
        page = one_line(shapes.text(installation.get("html_url")), 300) or "the installation's page"
        if installation.get("suspended_at"):
            yield fail(subject, "the installation is suspended", f"unsuspend it, at {page}")
            return
        facts = _facts(subject, self.look_up(name), expected)
        lacking = needs.missing(shapes.part(installation, "permissions"))
        if lacking:
            fix = f"accept what the App asks for (Review request), at {page}"
            yield fail(subject, f"missing: {', '.join(lacking)}", fix)
        if not lacking or facts.standing is not Standing.OK:
            yield facts


def permissions(subject: str, granted: Mapping[str, object], settings: str) -> Found:
    """Compare what was granted with what is needed."""
    lacking = needs.missing(granted)
    known = {**needs.OPTIONAL, **needs.REQUIRED}
    surplus = [
        f"{_line(name)}: {_line(level)}"
        for name, level in sorted(granted.items())
        if name not in known or needs.missing({name: known[name]}, {name: str(level)})
    ]
    if lacking:
        fix = f"grant them at {settings}, then accept them in each installation"
        yield fail(subject, f"missing: {', '.join(lacking)}", fix)
    if surplus:
        words = f"more than needed: {clip(', '.join(surplus), 300)}"
        yield warn(subject, words, f"take them away at {settings}")
    if not lacking and not surplus:
        yield ok(subject, "as they should be")


def events(found: Json, settings: str) -> Examination:
    """Compare the events that the App hears of with those that are used."""
    told = found.get("events")
    heard = {str(event) for event in told} if isinstance(told, list) else set()
    unheard = sorted(needs.EVENTS - heard)
    if unheard:
        return fail("events", f"not subscribed to: {', '.join(unheard)}", f"subscribe to them at {settings}")
    return ok("events", "all that are used")


def _address(url: str, wanted: str, settings: str) -> Found:
    shown = _line(url)
    if not wanted:
        words = f"deliveries go to {shown}; whether that is here is not known"
        yield warn("webhook", words, "set FIXWRIGHT_PUBLIC_URL")
    elif url.rstrip("/").lower() != wanted.lower():
        words = f"deliveries go to {shown or 'nowhere'}, and should go to {wanted}"
        yield fail("webhook", words, f"change it at {settings}, or correct FIXWRIGHT_PUBLIC_URL")
    elif not url.lower().startswith("https://"):
        words = f"deliveries go to {shown} in clear text"
        yield warn("webhook", words, "give the service an https address")
    else:
        yield ok("webhook", f"deliveries go to {shown}")


def _facts(subject: str, found: Repository, expected: Expected) -> Examination:
    visibility = "private" if found.private else "public"
    if found.archived:
        return fail(subject, "archived: nothing can be pushed", "unarchive it, or take it off the list")
    if expected.private_only and not found.private:
        words = "public, while commands run without isolation: no task of it is worked on"
        return fail(subject, words, "set FIXWRIGHT_SANDBOX_BACKEND=bubblewrap")
    if f"repository {found.full_name.lower()}" != subject.lower():
        words = f"is called {_line(found.full_name)} now: new labels there are not heard"
        return fail(subject, words, "write its new name into FIXWRIGHT_REPOSITORIES")
    return ok(subject, f"{visibility}, installed")


def _is_success(record: Json) -> bool:
    code = record.get("status_code")
    return isinstance(code, int) and 200 <= code < 300


def _reason(record: Json) -> str:
    code, status = record.get("status_code"), _line(record.get("status"))
    return f"{status} ({code})" if isinstance(code, int) and code else status or "no reason told"


def _fix_of_delivery(record: Json) -> str:
    code = record.get("status_code")
    if code == 401:
        return "the webhook secret here is not the App's: set the same in both places"
    if code == 404:
        return "the webhook's address has to end in /webhooks/github"
    if code == 503:
        return "the service was not ready: look at its log"
    if isinstance(code, int) and code >= 500:
        return "the service, or the proxy before it, is in trouble: look at their logs"
    return "GitHub has to reach the service: check its name, its certificate and the firewall"


def _fix_of(error: FixwrightError) -> str:
    if isinstance(error, AppRefused):
        return (
            "set the clock, or make a new key on the App's page, or a new App: fixwright app create --replace"
        )
    if isinstance(error, NotFound):
        return "check the name, and where the App is installed"
    return "try again later; https://www.githubstatus.com tells of outages"


def _line(value: object) -> str:
    """Return something that GitHub said as a short line."""
    return "" if value is None else one_line(str(value), 200)


def ok(subject: str, words: str) -> Examination:
    """Return a line about what is as it should be."""
    return Examination(subject=subject, standing=Standing.OK, words=words)


def warn(subject: str, words: str, fix: str) -> Examination:
    """Return a line about what is odd."""
    return Examination(subject=subject, standing=Standing.WARN, words=words, fix=fix)


def fail(subject: str, words: str, fix: str) -> Examination:
    """Return a line about what does not work."""
    return Examination(subject=subject, standing=Standing.FAIL, words=words, fix=fix)
