"""Addresses from outside: which of them a browser may be sent to."""

from __future__ import annotations

from urllib.parse import urlsplit


def web_link(address: str) -> str:
    """Return an address if a browser may be sent there (http or https), else ""."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return address if parts.scheme in {"http", "https"} and parts.netloc else ""


def own_path(path: str) -> str:
    """Return a path of the console's own, or the overview's: nobody is sent elsewhere after a login."""
    is_own = path.startswith("/console") and not set(path) & set("\\\r\n\t") and "//" not in path
    return path if is_own and len(path) < 500 else "/console"
