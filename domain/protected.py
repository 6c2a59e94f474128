"""A change of paths that people alone may change, as a maintainer is asked about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedChange:
    """What a change does to paths that people alone may change, for a maintainer to read and to allow.

    `name` is 40 hexadecimal digits and stands for exactly this; `patch` is the difference as text, clipped.
    """

    name: str
    paths: tuple[str, ...]
    patch: str = ""
