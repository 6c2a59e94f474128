"""Takes live secrets out of text, in the spellings in which they usually leak."""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
import urllib.parse
from collections import deque
from collections.abc import Iterable, Iterator

SHORTEST_SECRET = 6
"""Characters. Anything shorter would redact ordinary words."""

MOST_LENT = 64
"""Secrets known for a while: of each operation one, and what is written of it is written soon after."""

_SHORTEST_LINE = 16
_MARK = "[redacted]"


class Redactor:
    """Takes known secrets out of text, in the forms in which they usually leak.

    Redact first, then clip, fence or neutralise: a secret cut in half, or with a character put into it, is
    not recognised any more.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._kept: list[frozenset[str]] = []
        self._lent: deque[frozenset[str]] = deque(maxlen=MOST_LENT)
        self._changes: list[None] = []
        self._needles: tuple[str, ...] = ()
        for secret in secrets:
            self.add(secret)

    def add(self, secret: str) -> None:
        """Register a secret for good. Shorter than 6 characters is ignored: it could be any word."""
        self._kept.append(_needles(secret))
        self._order()

    def lend(self, secret: str) -> None:
        """Register a secret that is revoked soon; of these the newest 64 are known."""
        found = _needles(secret)
        if found:
            self._lent.append(found)
            self._order()

    def _order(self) -> None:
        """Order the needles, again where another thread has added one meanwhile: none may get lost."""
        self._changes.append(None)
        seen = 0
        while seen != len(self._changes):
            seen = len(self._changes)
            needles = frozenset[str]().union(*self._kept, *tuple(self._lent))
            self._needles = tuple(sorted(needles, key=len, reverse=True))

    def __call__(self, text: str) -> str:
        """Return text with every registered secret replaced."""
        for needle in self._needles:
            text = text.replace(needle, _MARK)
        return text


def _needles(secret: str) -> frozenset[str]:
    secret = secret.strip()
    if len(secret) < SHORTEST_SECRET:
        return frozenset()
    return frozenset[str]().union(*(_spellings(piece) for piece in _pieces(secret)))


def _pieces(secret: str) -> Iterator[str]:
    """Yield the secret and, of a key file, each line that is secret by itself: logs indent them."""
    yield secret
    if "\n" in secret:
        lines = (line.strip() for line in secret.splitlines())
        yield from (line for line in lines if len(line) >= _SHORTEST_LINE and not line.startswith("-----"))


def _spellings(secret: str) -> set[str]:
    raw = secret.encode("utf-8", "surrogateescape")
    spellings = {secret, secret.replace("\n", "\r\n"), raw.hex(), raw.hex().upper(), html.escape(secret)}
    spellings |= _quoted_for_code(secret) | _quoted_for_urls(raw)
    for start in range(3):
        encoded = _base64_inside(raw, start)
        spellings |= {encoded, encoded.translate(str.maketrans("+/", "-_"))}
    return {spelling for spelling in spellings if len(spelling) >= SHORTEST_SECRET}


def _quoted_for_code(secret: str) -> set[str]:
    """Return the spellings inside string literals of JSON, Python and the shell."""
    return {
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        repr(secret)[1:-1],
        repr(secret.encode("utf-8", "surrogateescape"))[2:-1],
        shlex.quote(secret).strip("'"),
        secret.replace("'", "'\\''"),
        re.sub(r"([^\w@%+=:,./-])", r"\\\1", secret, flags=re.ASCII),
        re.sub(r"([^\w])", r"\\\1", secret, flags=re.ASCII),
        re.sub(r"(:)", r"\\\1", secret),
    }


def _quoted_for_urls(raw: bytes) -> set[str]:
    spellings = {urllib.parse.quote_plus(raw)}
    for safe in ("", "/", ":/", "!$&'()*+,;=:@/"):
        quoted = urllib.parse.quote(raw, safe=safe)
        lower = re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), quoted)
        spellings |= {quoted, lower}
    return spellings


def _base64_inside(raw: bytes, start: int) -> str:
    """Return what of the Base64 of a longer text is surely the secret's, when it starts at `start` modulo 3.

    The first and last characters also carry bits of the neighbours, and are left out.
    """
    encoded = base64.b64encode(bytes(start) + raw).decode().rstrip("=")
    first = (0, 2, 3)[start]
    return encoded[first : len(encoded) - (1 if (start + len(raw)) % 3 else 0)]
