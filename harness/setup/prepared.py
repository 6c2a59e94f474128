"""A set-up's result as later sessions see it: read-only, at the paths where it was made."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from domain.ports import SandboxPolicy, Shown
from harness.sandbox.places import WORK


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What is added to the policy of every later session; `note` says in a line what was set up, and why.

    `hold` is a descriptor that keeps the result from being evicted until `release`, or None.
    """

    shown: tuple[Shown, ...] = ()
    path: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    note: str = ""
    from_cache: bool = False
    hold: int | None = None

    def within(self, policy: SandboxPolicy) -> SandboxPolicy:
        """Return a policy with the result in it. Where the tree itself has something, the tree counts."""
        shown = tuple(each for each in self.shown if not _has(policy.writable, each.target))
        return replace(
            policy,
            shown=(*policy.shown, *shown),
            path=(*policy.path, *self.path),
            env={**self.env, **policy.env},
        )

    def release(self) -> None:
        """Let go of the result."""
        if self.hold is not None:
            with suppress(OSError):
                os.close(self.hold)


NOTHING = Prepared()
"""No set-up: policies stay as they are."""


def _has(checkout: Path, target: str) -> bool:
    """Tell whether a tree brings something of its own to a path at which a result would be shown."""
    place = PurePosixPath(target)
    return place.is_relative_to(WORK) and os.path.lexists(checkout / place.relative_to(WORK))
