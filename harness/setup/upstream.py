"""Reaches a host from the proxy: by an address looked up once, or through the operator's own proxy."""

from __future__ import annotations

import base64
import re
import socket
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from domain.errors import ConfigurationError
from domain.hosts import Target
from harness.setup.rules import Allowance, Refusal, Refused

Resolve = Callable[[str, int], list[str]]
_MOST_HEAD = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorProxy:
    """The proxy that outgoing connections of this service have to take. `authorization` is secret."""

    host: str
    port: int
    authorization: str = field(default="", repr=False)
    exempt: tuple[str, ...] = ()

    def serves(self, host: str) -> bool:
        """Tell whether connections to a host go through it."""
        return not any(part == "*" or host == part or host.endswith(f".{part}") for part in self.exempt)


def operator_proxy(variables: Mapping[str, str]) -> OperatorProxy | None:
    """Return the proxy that the operator's HTTPS_PROXY and NO_PROXY name, or None.

    Raises ConfigurationError for one that is no HTTP proxy.
    """
    names = ("https_proxy", "HTTPS_PROXY", "ALL_PROXY")
    address = next((variables[name] for name in names if variables.get(name)), "")
    if not address:
        return None
    parts = urllib.parse.urlsplit(address if "://" in address else f"http://{address}")
    if parts.scheme != "http" or not parts.hostname:
        raise ConfigurationError(
            "HTTPS_PROXY: set-ups can go through an HTTP proxy only; for example http://proxy.internal:3128"
        )
    user = ":".join(urllib.parse.unquote(part or "") for part in (parts.username, parts.password))
    exempt = variables.get("no_proxy") or variables.get("NO_PROXY") or ""
    return OperatorProxy(
        host=parts.hostname,
        port=parts.port or 80,
        authorization=base64.b64encode(user.encode()).decode() if parts.username else "",
        exempt=tuple(part.strip().lower().lstrip(".") for part in exempt.split(",") if part.strip()),
    )


def look_up(host: str, port: int) -> list[str]:
    """Return a host's addresses, in the order in which they should be tried. Raises OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]).partition("%")[0] for entry in found]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upstream:
    """Opens connections to hosts that are allowed."""

    allowance: Allowance
    proxy: OperatorProxy | None = None
    resolve: Resolve = look_up
    connect_seconds: float = 15.0

    def connect(self, target: Target) -> socket.socket:
        """Return a connection to an allowed host. Raises Refused, OSError."""
        self.allowance.check(target)
        if self.proxy is not None and self.proxy.serves(target.host):
            return self._through(self.proxy, target)
        try:
            resolved = self.resolve(target.host, target.port)
        except OSError as error:
            raise Refused(Refusal(str(target), f"its name is not known here ({error})"), 502) from error
        failure: OSError | None = None
        for address in self.allowance.addresses(target, resolved):
            try:
                return socket.create_connection((address, target.port), self.connect_seconds)
            except OSError as error:
                failure = error
        raise failure or OSError("no address")

    def _through(self, proxy: OperatorProxy, target: Target) -> socket.socket:
        place = f"{target.host}:{target.port}"
        head = [f"CONNECT {place} HTTP/1.1", f"Host: {place}"]
        if proxy.authorization:
            head.append(f"Proxy-Authorization: Basic {proxy.authorization}")
        connection = socket.create_connection((proxy.host, proxy.port), self.connect_seconds)
        try:
            connection.sendall("\r\n".join([*head, "", ""]).encode())
            answer = b""
            while b"\r\n\r\n" not in answer and len(answer) < _MOST_HEAD:
                part = connection.recv(1)  # not one byte of what follows the head may be taken
                if not part:
                    break
                answer += part
            status = re.match(rb"HTTP/1\.[01] (\d{3})", answer)
            if status is None or status[1] != b"200":
                shown = status[1].decode() if status else "nothing that can be read"
                raise Refused(Refusal(str(target), f"the operator's own proxy answered {shown}"), 502)
        except BaseException:
            connection.close()
            raise
        return connection
