"""Those who ask for work without an account on any forge: the operator, and guests of the open API."""

from __future__ import annotations

from domain.model import Actor, Permission
from domain.operators import OPERATOR

GUEST = Actor(id="guest", login="guest")
"""Somebody who asked where the operator has opened the API; the operator's caps for guests hold."""

_OURS = frozenset({OPERATOR.id, GUEST.id})
"""No forge has such ids for accounts: theirs are numbers, and the door refuses these from outside."""


def is_account(actor: Actor) -> bool:
    """Tell whether somebody has an account on a forge; no forge is asked about the others."""
    return actor.id not in _OURS


def own_permission(actor: Actor) -> Permission | None:
    """Return what somebody without an account may do where we serve; None for accounts."""
    if actor.id == OPERATOR.id:
        return Permission.ADMIN
    return Permission.WRITE if actor.id == GUEST.id else None
