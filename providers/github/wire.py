"""One HTTP exchange below PyGithub: bounded in time and size, never redirected, never repeated by itself."""

from __future__ import annotations

import io
import time
from http.cookiejar import DefaultCookiePolicy
from typing import TYPE_CHECKING

import requests
from github.Requester import HTTPSRequestsConnectionClass, RequestsResponse
from requests.adapters import HTTPAdapter
from urllib3 import Retry

if TYPE_CHECKING:
    from requests import PreparedRequest

CONNECT_SECONDS = 10.0
SILENCE_SECONDS = 20.0
"""Between two pieces of an answer. GitHub itself gives up on a request after 10 s."""

WHOLE_SECONDS = 60.0
"""For all of an answer, however slowly it trickles in."""

MOST_BYTES = 32 * 2**20
"""Of one answer; a page of 100 comments of the greatest length has a fifth of that."""


class Redirected(Exception):
    """GitHub answered with an address instead of content."""

    def __init__(self, status: int, location: str) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.location = location


class Lost(Exception):
    """No whole answer came. `unsent` says that the request surely did not reach GitHub."""

    def __init__(self, why: str, *, unsent: bool) -> None:
        super().__init__(why)
        self.unsent = unsent


def new_session() -> requests.Session:
    """Return connections without retries, cookies and `.netrc`; proxies are the environment's."""
    session = requests.Session()
    session.auth = _as_it_is
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
    adapter = HTTPAdapter(max_retries=Retry(0, read=False), pool_connections=4, pool_maxsize=8)
    session.mount("https://", adapter)
    session.mount("http://", adapter)
    return session


def _as_it_is(request: PreparedRequest) -> PreparedRequest:
    return request


def send(session: requests.Session, request: requests.Request) -> requests.Response:
    """Send one request and return its answer, unread; a redirect is not even looked at.

    Raises requests' own errors.
    """
    prepared = session.prepare_request(request)
    address = prepared.url or ""
    network = session.merge_environment_settings(address, {}, True, None, None)
    timeout = (CONNECT_SECONDS, SILENCE_SECONDS)
    return session.get_adapter(address).send(prepared, timeout=timeout, **network)


class Wire(HTTPSRequestsConnectionClass):
    """The connection that PyGithub gets for one call; what it must not handle itself is raised from here.

    PyGithub would follow a 301 with the token, wait out a 202 for ever, and hide a 302.
    """

    def __init__(self, session: requests.Session, origin: str) -> None:
        """Take the shared connections, and `scheme://host:port`. Nothing is opened yet."""
        self.session = session
        self.origin = origin

    def getresponse(self) -> RequestsResponse:
        """Send the request and return the whole answer. Raises Redirected, Lost."""
        deadline = time.monotonic() + WHOLE_SECONDS
        try:
            request = requests.Request(
                self.verb, self.origin + self.url, headers=self.headers, data=self.input
            )
            with send(self.session, request) as response:
                if 300 <= response.status_code < 400:
                    raise Redirected(response.status_code, response.headers.get("location", ""))
                return _Whole(response, _body(response, deadline))
        except requests.exceptions.RequestException as error:
            raise Lost(_words(error), unsent=_is_unsent(error)) from error

    def close(self) -> None:
        """Leave the shared connections open."""


class _Whole(RequestsResponse):
    """An answer that was read to its end. A GET that is still being made ready (202) is an empty answer."""

    def __init__(self, response: requests.Response, body: str) -> None:
        super().__init__(response)
        self._body = body
        if self.status == 202:
            self.status = 200

    def read(self) -> str:
        """Return the body as text."""
        return self._body


def _body(response: requests.Response, deadline: float) -> str:
    content = io.BytesIO()
    for piece in response.iter_content(2**16):
        content.write(piece)
        if content.tell() > MOST_BYTES:
            raise Lost(f"an answer of more than {MOST_BYTES} bytes", unsent=False)
        if time.monotonic() > deadline:
            raise Lost(f"an answer that took more than {WHOLE_SECONDS:.0f} s", unsent=False)
    return content.getvalue().decode("utf-8", "replace")


def _is_unsent(error: requests.exceptions.RequestException) -> bool:
    if isinstance(error, requests.exceptions.ConnectTimeout | requests.exceptions.ProxyError):
        return True
    return isinstance(error, requests.exceptions.SSLError) or "NewConnectionError" in repr(error)


def _words(error: requests.exceptions.RequestException) -> str:
    """Name what happened; the library's own words carry addresses of objects and whole URLs."""
    if isinstance(error, requests.exceptions.SSLError):
        return "its certificate was not accepted"
    if isinstance(error, requests.exceptions.ProxyError):
        return "the proxy did not let us through"
    if isinstance(error, requests.exceptions.Timeout):
        return "it took too long"
    if "NameResolutionError" in repr(error):
        return "its name was not resolved"
    return "it could not be reached" if _is_unsent(error) else "the connection broke"
