"""Reads which issue somebody means: an address as a browser shows it, or forge:owner/name#number. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

_NAME = r"(?P<name>[\w.-]+(?:/[\w.-]+)+?)"
_NUMBER = r"(?P<number>[1-9][0-9]{0,9})"
_SHORT = re.compile(rf"(?P<forge>[a-z][a-z0-9-]*):{_NAME}#{_NUMBER}", re.ASCII)
_PATH = re.compile(rf"/{_NAME}(?:/-)?/issues/{_NUMBER}/?", re.ASCII)


class NoIssue(ValueError):
    """A text names no issue; the words are for people."""


@dataclass(frozen=True, slots=True)
class IssueAddress:
    """An issue by its forge's and its repository's name."""

    forge: str
    repository: str
    number: int

    def __str__(self) -> str:
        return f"{self.forge}:{self.repository}#{self.number}"


def read_address(text: str, github_api_url: str) -> IssueAddress:
    """Return the issue that a text names. Raises NoIssue.

    An address at the site of `github_api_url` is GitHub's; one like local://owner/name/issues/1 names its
    forge itself.
    """
    text = text.strip()
    if match := _SHORT.fullmatch(text):
        return IssueAddress(match["forge"], match["name"], int(match["number"]))
    try:
        parts = urlsplit(text)
        host = (parts.hostname or "").lower()
    except ValueError:
        raise NoIssue("this is no address") from None
    if parts.scheme in {"http", "https"}:
        if host != web_host(github_api_url):
            raise NoIssue("the address is of no site that is known here; write forge:owner/name#number")
        match = _PATH.fullmatch(parts.path)
        forge = "github"
    else:
        match, forge = _PATH.fullmatch(f"/{parts.netloc}{parts.path}"), parts.scheme
    if match is None or not forge:
        raise NoIssue("this names no issue; for example https://github.com/acme/shop/issues/31")
    return IssueAddress(forge, match["name"], int(match["number"]))


def web_host(github_api_url: str) -> str:
    """Return where people read what is behind an address of GitHub's API."""
    host = (urlsplit(github_api_url).hostname or "").lower()
    return "github.com" if host == "api.github.com" else host
