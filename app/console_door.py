"""Who comes to the console: sessions by cookie, the password with a request, and forms that are ours."""

from __future__ import annotations

import base64
import binascii
import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlsplit

from starlette.requests import Request

from app.console_sessions import COOKIE, LIFETIME, Guesses, Sessions, Viewer
from app.refusal import Refused, SenderGone
from app.request_body import BodyReader

OPERATOR = "operator"
THEME_COOKIE = "fixwright_theme"
THEMES = ("light", "dark")

MOST_FORM_BYTES = 8192
_LOOKING = frozenset({"GET", "HEAD"})


class NotOurs(Exception):
    """A form did not come from a page of ours, or from one of another session."""


class ConsoleDoor:
    """Tells who asks, and whether what they send is theirs."""

    def __init__(self, token: str, sessions: Sessions, guesses: Guesses, public_url: str = "") -> None:
        """`token` is the operator's password, "" where only accounts of a forge may log in."""
        self.sessions = sessions
        self.guesses = guesses
        self.has_password = bool(token)
        self._expected = f"{OPERATOR}:{token}".encode()
        self._public = urlsplit(public_url)
        self._reader = BodyReader(MOST_FORM_BYTES)

    def viewer(self, request: Request) -> Viewer | None:
        """Return who asks, None for nobody known."""
        found = self.sessions.find(cookie_of(request, COOKIE))
        if found is not None:
            return found
        given = _basic_credentials(request)
        if not given or not self.has_password or request.method not in _LOOKING:
            return None
        if self.guesses.are_too_many(peer_of(request)):
            return None
        if not hmac.compare_digest(given, self._expected):
            self.guesses.count(peer_of(request))
            return None
        return Viewer(name=OPERATOR)

    def is_password(self, typed: str) -> bool:
        """Tell whether this is the operator's password. Takes the same time for every wrong one."""
        return self.has_password and hmac.compare_digest(
            f"{OPERATOR}:{typed}".encode("utf-8", "replace"), self._expected
        )

    async def form(self, request: Request) -> dict[str, str]:
        """Return a form's fields.

        Raises NotOurs where a browser says that another site's page sent it; Refused, SenderGone.
        """
        if not self.is_from_here(request):
            raise NotOurs("another site's page")
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            raise NotOurs("not a form")
        body = await self._reader.read(request.scope["headers"], request.receive)
        try:
            pairs = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=30)
        except ValueError:
            raise NotOurs("not a form") from None
        return dict(pairs)

    def check_stamp(self, viewer: Viewer, form: dict[str, str]) -> None:
        """Raise NotOurs for a form that is not of this session."""
        if not self.sessions.is_stamp(viewer, form.get("stamp", "")):
            raise NotOurs("the form's stamp")

    def is_from_here(self, request: Request) -> bool:
        """Tell whether a request comes from a page of ours, as far as the browser says."""
        site = request.headers.get("sec-fetch-site", "")
        if site and site not in {"same-origin", "none"}:
            return False
        origin = request.headers.get("origin", "")
        if not origin:
            return True  # no browser of today leaves it out where a form is sent
        netloc = urlsplit(origin).netloc.lower() if "://" in origin else ""
        return bool(netloc) and netloc in {
            request.headers.get("host", "").lower(),
            self._public.netloc.lower(),
        }

    def session_cookie(self, request: Request, value: str) -> str:
        """Return the line that sets a session's cookie; "" takes it away."""
        age = int(LIFETIME.total_seconds()) if value else 0
        return self.cookie(request, COOKIE, value, age)

    def cookie(self, request: Request, name: str, value: str, age: int, path: str = "/") -> str:
        """Return a line of Set-Cookie: no script reads it, and no other site's form sends it."""
        secure = "; Secure" if self.is_secure(request) else ""
        return f"{name}={value}; Path={path}; Max-Age={age}; HttpOnly; SameSite=Lax{secure}"

    def root(self, request: Request) -> str:
        """Return the address that the browser has the console under, as far as we may believe it."""
        if self._public.netloc:
            return self._public.geturl().rstrip("/")
        return f"http://{request.headers.get('host', '')}"

    def is_secure(self, request: Request) -> bool:
        """Tell whether the browser came by https: to this process, or to the public address before it."""
        host = request.headers.get("host", "").lower()
        is_public = self._public.scheme == "https" and host == self._public.netloc.lower()
        return request.url.scheme == "https" or is_public


def peer_of(request: Request) -> str:
    """Return the address of whoever is connected."""
    return request.client.host if request.client else "?"


def cookie_of(request: Request, name: str) -> str:
    """Return a cookie's value, "" without one."""
    try:
        found = SimpleCookie(request.headers.get("cookie", "")[:8192]).get(name)
    except CookieError:
        return ""
    return found.value if found else ""


def theme_of(request: Request) -> str:
    """Return the chosen theme, "" for the system's."""
    chosen = cookie_of(request, THEME_COOKIE)
    return chosen if chosen in THEMES else ""


def _basic_credentials(request: Request) -> bytes:
    kind, _, value = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "basic":
        return b""
    try:
        return base64.b64decode(value.strip().encode("latin-1"), validate=True)
    except (binascii.Error, ValueError):
        return b""


__all__ = ["ConsoleDoor", "NotOurs", "Refused", "SenderGone", "cookie_of", "peer_of", "theme_of"]
