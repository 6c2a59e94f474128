"""The operator and the API's guests, as those who ask for work without an account on any forge."""

from __future__ import annotations

from domain.model import Actor

OPERATOR = Actor(id="fixwright:operator", login="the operator")
"""Whoever holds the operator's token: runs the service, and so may ask for all that a maintainer may."""

ANYONE = Actor(id="fixwright:anyone", login="somebody by the open API")
"""Whoever asks where the operator has opened the API; the operator's caps for such runs hold."""

_OURS = frozenset({OPERATOR.id, ANYONE.id})


def is_account(actor: Actor) -> bool:
    """Tell whether somebody has an account on a forge: no forge is asked about the others, or shown them."""
    return actor.id not in _OURS
