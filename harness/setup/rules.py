"""What the way out of a set-up lets through: a request's bytes into a host that is allowed, or a refusal."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from domain.hosts import Target, parse_target

HOSTS_SETTING = "FIXWRIGHT_SETUP_HOSTS"
NETWORKS_SETTING = "FIXWRIGHT_SETUP_NETWORKS"

_REQUEST = re.compile(rb"([A-Z]{1,20}) (\S{1,2000}) HTTP/1\.[01]\r?\n")

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True, slots=True)
class Refusal:
    """What was refused, why, and the line that would allow it ("" where nothing does)."""

    what: str
    why: str
    way_out: str = ""

    def __str__(self) -> str:
        return f"{self.what}: {self.why}" + (f"; to allow it: {self.way_out}" if self.way_out else "")


class Refused(Exception):
    """Ends a connection before anything of it is let through."""

    def __init__(self, refusal: Refusal, status: int = 403) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal
        self.status = status


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Where connections may go.

    `networks` are those that may be reached although they are not part of the public Internet; `setting` is
    what the operator's setting of hosts says now, for the line that would allow one more.
    """

    targets: frozenset[Target]
    networks: tuple[Network, ...] = ()
    setting: str = "auto"

    def line_for(self, *targets: Target) -> str:
        """Return the setting as it would have to be for these to be allowed as well."""
        words = [word for word in self.setting.split(",") if word]
        return f"{HOSTS_SETTING}={','.join([*words, *(str(target) for target in targets)])}"

    def check(self, target: Target) -> None:
        """Raises Refused for a host that is not in the list, letter by letter."""
        if target not in self.targets:
            raise Refused(Refusal(str(target), "the operator has not allowed it", self.line_for(target)))

    def addresses(self, target: Target, resolved: Iterable[str]) -> list[str]:
        """Return those addresses of a host that may be connected to. Raises Refused where none is."""
        found = list(dict.fromkeys(resolved))
        allowed = [text for text in found if self._is_allowed(ipaddress.ip_address(text))]
        if not allowed:
            shown = ", ".join(found[:3]) or "no address"
            way_out = f"{NETWORKS_SETTING}={_host_network(found[0])}" if found else ""
            raise Refused(Refusal(str(target), f"its address is not a public one ({shown})", way_out))
        return allowed

    def _is_allowed(self, address: Address) -> bool:
        if any(address in network for network in self.networks):
            return True
        return is_public(address)


def is_public(address: Address) -> bool:
    """Tell whether an address is part of the public Internet, whatever is wrapped in it included."""
    inner: list[Address] = []
    if isinstance(address, ipaddress.IPv6Address):
        teredo = address.teredo or ()
        inner += [each for each in (address.ipv4_mapped, address.sixtofour, *teredo) if each is not None]
        if address in ipaddress.ip_network("64:ff9b::/96") or address in ipaddress.ip_network(
            "64:ff9b:1::/48"
        ):
            inner.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
    plain = address.is_global and not (address.is_multicast or address.is_reserved or address.is_unspecified)
    return plain and all(map(is_public, inner))


def parse_request(head: bytes) -> Target:
    """Return where the head of a proxy's request wants to go. Raises Refused for all but a plain CONNECT."""
    found = _REQUEST.match(head)
    if found is None:
        raise Refused(Refusal("a request", "it cannot be read as HTTP"), 400)
    method, place = found[1].decode(), found[2].decode("latin-1")
    if method != "CONNECT":
        host = re.match(r"[a-z]{1,10}://([A-Za-z0-9.-]{1,253})", place)
        what = host[1].lower() if host else "a request"
        raise Refused(Refusal(what, f"it was asked in clear text ({method}); only HTTPS is let out"), 405)
    target = parse_target(place)
    if target is None:
        what = re.sub(r"[^A-Za-z0-9.:\[\]-]", "?", place)[:100]
        raise Refused(Refusal(what, "it is not the name of a host"))
    return target


def names_of(refusals: Sequence[Refusal]) -> str:
    """Return refusals as lines for people."""
    return "\n".join(str(refusal) for refusal in refusals)


def _host_network(text: str) -> str:
    address = ipaddress.ip_address(text)
    return f"{address}/{address.max_prefixlen}"
