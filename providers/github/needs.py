"""Which permissions each kind of call needs, by name, and which the App must have in all."""

from __future__ import annotations

from collections.abc import Mapping

Need = tuple[tuple[str, str], ...]
"""Pairs of a permission and `read` or `write`, in order: fit for a key."""

METADATA: Need = (("metadata", "read"),)
READING: Need = (("issues", "read"), ("metadata", "read"), ("pull_requests", "read"))
FILES: Need = (("contents", "read"), ("metadata", "read"))
COMMENTING: Need = (("issues", "write"), ("metadata", "read"), ("pull_requests", "write"))
PULLING: Need = (("contents", "read"), ("issues", "write"), ("metadata", "read"), ("pull_requests", "write"))
PUSHING: Need = (("contents", "write"), ("metadata", "read"))
CHECKING: Need = (("checks", "write"), ("metadata", "read"))
CI: Need = (("actions", "read"), ("checks", "read"), ("metadata", "read"), ("statuses", "read"))
CI_WITHOUT_STATUSES: Need = tuple(pair for pair in CI if pair[0] != "statuses")
RERUNNING: Need = (("actions", "write"), ("metadata", "read"))

REQUIRED: Mapping[str, str] = {
    "metadata": "read",
    "contents": "write",
    "issues": "write",
    "pull_requests": "write",
    "checks": "write",
    "actions": "read",
}
"""What an App must have been given, and every installation must have accepted."""

PUBLISHING: Mapping[str, str] = {"contents": "write", "issues": "write", "pull_requests": "write"}
"""What a draft takes: looked at before a model is paid."""

OPTIONAL: Mapping[str, str] = {"statuses": "read"}
"""Without it, continuous integration that reports by commit statuses is not seen in private repositories.

`actions: write`, which would let jobs be run again that their machine broke, is not asked for: it also lets
workflows be started and switched off.
"""

EVENTS = frozenset(
    {"issues", "issue_comment", "pull_request", "pull_request_review", "check_run", "repository"}
)
"""What the App has to be subscribed to. `installation` events come by themselves."""

EVENTS_BESIDES = frozenset({"pull_request_review_comment"})
"""What is heard besides: without it, a call in a comment on a line is not heard."""

_RANKS = {"read": 1, "write": 2, "admin": 3}


def missing(granted: Mapping[str, object], wanted: Mapping[str, str] = REQUIRED) -> tuple[str, ...]:
    """Return what is wanted and not granted, as `contents: write`, in the order of `wanted`."""
    return tuple(
        f"{name}: {level}"
        for name, level in wanted.items()
        if _RANKS.get(str(granted.get(name, "")), 0) < _RANKS[level]
    )
