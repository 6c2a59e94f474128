"""One issue read over GitHub's API without an App: as anybody, or with somebody's own token."""

from __future__ import annotations

import json
from urllib.parse import quote, urljoin, urlsplit

import httpx

from domain.errors import ForgeError, ForgeUnavailable, NotFound, PermissionRefused
from domain.text import one_line

_SECONDS = 20.0
_LARGEST = 4 * 2**20
_REDIRECTS = 3
"""A repository that was renamed is answered with its new address."""


def read_issue(api_url: str, full_name: str, number: int, token: str = "") -> tuple[str, str]:
    """Return an issue's title and body. The token is sent to this API alone.

    Raises NotFound for what is not there or may not be seen, PermissionRefused, ForgeUnavailable, ForgeError.
    """
    url = f"{api_url}/repos/{quote(full_name)}/issues/{number}"
    headers = {"Accept": "application/vnd.github+json", "User-Agent": "fixwright"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    try:
        with httpx.Client(timeout=_SECONDS, follow_redirects=False) as client:
            status, limited, body = _asked(client, url, headers)
    except httpx.HTTPError as error:
        raise ForgeUnavailable(
            f"{urlsplit(url).netloc} cannot be reached: {error or type(error).__name__}"
        ) from None
    if status != httpx.codes.OK:
        raise _refusal(status, limited, body)
    try:
        found = json.loads(body)
        return str(found["title"]), str(found.get("body") or "")
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ForgeError(f"{urlsplit(url).netloc} answered with something that is no issue") from None


def _asked(client: httpx.Client, url: str, headers: dict[str, str]) -> tuple[int, bool, bytes]:
    """Return the status, whether a rate limit is behind it, and the body, bounded."""
    origin = urlsplit(url)[:2]
    for _ in range(_REDIRECTS + 1):
        with client.stream("GET", url, headers=headers) as response:
            target = urljoin(url, response.headers.get("location", ""))
            if response.is_redirect and urlsplit(target)[:2] == origin:
                url = target
                continue
            body = b""
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _LARGEST:
                    raise ForgeError(f"the answer has more than {_LARGEST} bytes")
            limited = (
                response.headers.get("x-ratelimit-remaining") == "0" or "retry-after" in response.headers
            )
            return response.status_code, limited, body
    raise ForgeError("the address is redirected again and again")


def _refusal(status: int, limited: bool, body: bytes) -> ForgeError:
    try:
        said = one_line(str(json.loads(body)["message"]), 200)
    except (ValueError, KeyError, TypeError):
        said = "no reason given"
    if limited and status in {403, 429}:
        return ForgeUnavailable(f"too many requests: {said}")
    if status in {404, 410}:
        return NotFound(f"{status}: {said}")
    if status in {401, 403}:
        return PermissionRefused(f"{status}: {said}")
    return ForgeUnavailable(f"{status}: {said}") if status >= 500 else ForgeError(f"{status}: {said}")
