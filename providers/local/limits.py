"""What the embedded forge accepts as text and names: the limits that real forges have."""

from __future__ import annotations

import re

from domain.errors import ForgeError

MAX_TITLE = 256
"""Characters in the title of an issue or a pull request."""

MAX_BODY = 65_536
"""Characters in the body of an issue, a pull request or a comment."""

MAX_LABEL = 50
"""Characters in a label's name."""

_FULL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}/[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_TOPIC = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.:/]|-(?!-)){0,199}")


def title(text: str) -> str:
    """Return a usable title. Raises ForgeError."""
    if not text.strip():
        raise ForgeError("the title is blank")
    return _checked("title", text, MAX_TITLE)


def body(text: str) -> str:
    """Return a usable body. Raises ForgeError."""
    return _checked("body", text, MAX_BODY)


def label(name: str) -> str:
    """Return a usable label name. Raises ForgeError."""
    if not name.strip():
        raise ForgeError("the label's name is blank")
    return _checked("label", name, MAX_LABEL)


def full_name(name: str) -> str:
    """Return a repository name that is safe as a path: owner/name. Raises ForgeError."""
    if not _FULL_NAME.fullmatch(name) or name.endswith(".git"):
        raise ForgeError(f"{name!r} is not a repository name; a right one is octo/widgets")
    return name


def topic(name: str) -> str:
    """Return a topic that can stand in a hidden marker without ending it. Raises ForgeError."""
    if not _TOPIC.fullmatch(name):
        raise ForgeError(f"{name!r} cannot be a marker; letters, digits and ._:/- can")
    return name


def _checked(what: str, text: str, limit: int) -> str:
    if len(text) > limit:
        raise ForgeError(f"the {what} is too long ({len(text)} characters; the maximum is {limit})")
    if "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise ForgeError(f"the {what} holds characters that cannot be stored")
    return text
