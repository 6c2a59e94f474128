"""What the package clients of this machine are configured for, as a set-up is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.hosts import Target
from domain.ports import Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfiguration:
    """Hosts that the clients would ask, the variables that send them there, local indexes, and remarks.

    `files` are written below /setup before the commands run, for what a client takes from a file alone.
    Nothing in here is secret: what had a password in it came without.
    """

    targets: frozenset[Target] = frozenset()
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    shown: tuple[Shown, ...] = ()
    remarks: tuple[str, ...] = ()


NO_CLIENTS = ClientConfiguration()
