"""Reads the issue that is to be solved: from a file, standard input, or GitHub's public API."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import httpx

from app.api.issue_address import IssueAddress, NoIssue, read_address
from domain.errors import ConfigurationError, ForgeError, ForgeUnavailable

SECONDS = 20.0
LONGEST = 256 * 2**10
"""Bytes of an issue's text; forges allow a quarter of that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueText:
    """An issue's title and body, and where it is, "" for a file."""

    title: str
    body: str
    url: str = ""


def read_issue(source: str, github_api_url: str) -> IssueText:
    """Return the issue that an address, a file or `-` names.

    Raises:
        ConfigurationError: it is neither, or there is nothing in it.
        ForgeError: the forge does not show it; private issues are given as a file.
    """
    if "://" in source:
        return _from_github(source, github_api_url)
    try:
        raw = sys.stdin.buffer.read(LONGEST) if source == "-" else _bytes_of(Path(source))
    except OSError as error:
        raise ConfigurationError(f"{source}: cannot be read ({error.strerror})") from None
    title, _, body = raw.decode("utf-8", "replace").replace("\r\n", "\n").strip().partition("\n")
    title = title.lstrip("# ").strip()
    if not title:
        raise ConfigurationError(f"{source}: is empty; the first line is the issue's title")
    return IssueText(title=title[:250], body=body.strip())


def _bytes_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LONGEST)


def _from_github(source: str, github_api_url: str) -> IssueText:
    try:
        address = read_address(source, github_api_url)
    except NoIssue as error:
        raise ConfigurationError(f"{source[:200]}: {error}") from None
    if address.forge != "github":
        raise ConfigurationError(f"{source[:200]}: is not on GitHub; save the issue's text as a file")
    found = _asked(address, github_api_url)
    if found.get("pull_request"):
        raise ConfigurationError(f"{source[:200]}: is a pull request, not an issue")
    title, body = found.get("title"), found.get("body")
    if not isinstance(title, str) or not title.strip():
        raise ForgeError(f"{address}: GitHub's answer has no title")
    return IssueText(title=title, body=body if isinstance(body, str) else "", url=source)


def _asked(address: IssueAddress, github_api_url: str) -> dict[str, object]:
    url = f"{github_api_url.rstrip('/')}/repos/{address.repository}/issues/{address.number}"
    try:
        answer = httpx.get(url, headers={"Accept": "application/vnd.github+json"}, timeout=SECONDS)
    except httpx.HTTPError as error:
        raise ForgeUnavailable(f"{address}: GitHub cannot be reached ({error})") from None
    if answer.status_code != 200:
        raise ForgeError(
            f"{address}: GitHub answers {answer.status_code} without a login; save the issue's text as a "
            "file where it is private, or where GitHub limits who asks so"
        )
    found = answer.json()
    return found if isinstance(found, dict) else {}
