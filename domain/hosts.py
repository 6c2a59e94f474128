"""Hosts as an operator, a repository or a client names them: a plain name and a port, never an address."""

from __future__ import annotations

import re
from dataclasses import dataclass

HTTPS_PORT = 443

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_HOST = re.compile(rf"(?=.{{1,253}}\Z){_LABEL}(?:\.{_LABEL})*\Z")
_NUMERIC = re.compile(r"(?:0x[0-9a-f]*|[0-9]+)(?:\.(?:0x[0-9a-f]*|[0-9]+))*\Z")


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """A host, lower-case and without a trailing dot, and a port."""

    host: str
    port: int = HTTPS_PORT

    def __str__(self) -> str:
        return self.host if self.port == HTTPS_PORT else f"{self.host}:{self.port}"


def parse_target(text: str) -> Target | None:
    """Return what `host` or `host:port` names, or None for anything else, addresses among it."""
    host, colon, port = text.strip().lower().partition(":")
    if not is_host_name(host) or (colon and not re.fullmatch(r"[1-9][0-9]{0,4}", port)):
        return None
    number = int(port) if colon else HTTPS_PORT
    return Target(host, number) if number <= 65535 else None


def is_host_name(text: str) -> bool:
    """Tell whether this is a plain host name, and no address in any notation."""
    return bool(_HOST.match(text)) and not _NUMERIC.match(text)
