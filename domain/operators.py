"""Words that do not come from a forge: the operator's, and those given in the console. Pure."""

from __future__ import annotations

from domain.model import Actor

OPERATOR_PROVIDER = "operator"
"""Deliveries of this name are the operator's own words. No forge's plugin may be called so."""

CONSOLE_PROVIDER = "console"
"""Deliveries of this name are words of people who are logged in with their account on a forge."""

OWN_PROVIDERS = frozenset({OPERATOR_PROVIDER, CONSOLE_PROVIDER})

OPERATOR = Actor(id="operator", login="operator")
"""Whoever runs the service. They have no account on the forge, and stand in nobody's place there."""

_COMMENT = "console-"


def console_comment(mark: str) -> str:
    """Return the comment's id of a word that was given without a comment; `mark` is like no other."""
    return f"{_COMMENT}{mark}"


def is_without_comment(comment_id: str) -> bool:
    """Tell whether a word was given without a comment: there is nothing to react to, or to look up."""
    return comment_id.startswith(_COMMENT)
