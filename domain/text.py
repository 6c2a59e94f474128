"""Text from outside made safe to show: clipped, fenced, neutralised, redacted. All pure."""

from __future__ import annotations

import base64
import re
import urllib.parse
from collections.abc import Iterable

_ANSI = re.compile(
    r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|\[[0-?]*[ -/]*[@-~]|[@-Z\\-_])"
)
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029]")
_INVISIBLE = re.compile(
    r"[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)
_HTML_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_MENTION = re.compile(r"(?<![\w`/])@(?=[A-Za-z0-9])")
_ISSUE_REFERENCE = re.compile(r"(?<![&\w])#(?=\d)")
_CLOSING = re.compile(
    r"\b(close[sd]?|fix(?:e[sd])?|resolve[sd]?|implement(?:s|ed)?)(?=:?\s+(?:[\w.-]+/[\w.-]+)?(?:#\d|https?://|GH-\d))",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"!\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])")
_BACKTICKS = re.compile(r"`{3,}")


def plain(text: str) -> str:
    """Return text without terminal escapes, control characters and overwritten progress lines."""
    text = _ANSI.sub("", text).replace("\r\n", "\n")
    text = re.sub(r"[^\n]*\r(?=[^\n])", "", text).replace("\r", "")
    text = _CONTROL.sub("", text)
    return text.encode("utf-8", "replace").decode("utf-8")


def visible(text: str) -> str:
    """Return text as a reader of the page would see it: no HTML comments, no invisible characters."""
    return _INVISIBLE.sub("", _HTML_COMMENT.sub("", plain(text)))


def clip(text: str, limit: int) -> str:
    """Return at most `limit` characters: the head and the tail, with a note of how much was left out."""
    if len(text) <= limit:
        return text
    note = f"\n[… {len(text) - limit} characters left out …]\n"
    keep = max(0, limit - len(note))
    head = keep * 2 // 5
    tail = keep - head
    return text[:head] + note + (text[-tail:] if tail else "")


def one_line(text: str, limit: int) -> str:
    """Return visible text as a single line of at most `limit` characters."""
    line = " ".join(visible(text).split())
    return line if len(line) <= limit else line[: max(0, limit - 1)].rstrip() + "…"


def fence(text: str, language: str = "") -> str:
    """Return a Markdown code block that nothing inside can close: its fence is longer than any within."""
    longest = max((len(run) for run in _BACKTICKS.findall(text)), default=2)
    ticks = "`" * (longest + 1)
    return f"{ticks}{language}\n{text.rstrip()}\n{ticks}"


def inert(text: str) -> str:
    """Return Markdown prose that pings nobody, closes nothing, loads nothing and contains no HTML."""
    text = _IMAGE.sub(r"\1", visible(text))
    text = text.replace("&", "&amp;").replace("<", "&lt;")
    text = _CLOSING.sub(lambda match: f"{match[1][0]}\u2060{match[1][1:]}", text)
    text = _ISSUE_REFERENCE.sub("#\u2060", text)
    return _MENTION.sub("@\u2060", text)


def quoted(text: str) -> str:
    """Return inert text as a Markdown quotation, so that no line of it can be a heading or check box."""
    return "\n".join("> " + line for line in inert(text).strip().splitlines()) or "> (nothing)"


class Redactor:
    """Takes known secrets out of text, in the forms in which they usually leak."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._needles: tuple[str, ...] = ()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Register a live secret. Shorter than 6 characters is ignored: it would redact ordinary words."""
        if len(secret) < 6:
            return
        encoded = base64.b64encode(secret.encode()).decode()
        forms = {secret, encoded, encoded.rstrip("="), urllib.parse.quote(secret, safe="")}
        self._needles = tuple(sorted(forms | set(self._needles), key=len, reverse=True))

    def __call__(self, text: str) -> str:
        """Return text with every registered secret replaced."""
        for needle in self._needles:
            text = text.replace(needle, "[redacted]")
        return text
