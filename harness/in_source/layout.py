"""A source file's own tests as regions of its text, and the file with those of another version. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Key = tuple[str, str]
"""The module, class or block that a region stands in, and its name there."""


@dataclass(frozen=True, slots=True)
class Region:
    """One piece of tests, from byte `start` to byte `end`. `spare` takes its place where it has to go."""

    home: str
    name: str
    start: int
    end: int
    spare: bytes = b""

    @property
    def key(self) -> Key:
        """What the same piece is known by in another version of the file."""
        return self.home, self.name


@dataclass(frozen=True, slots=True)
class Home:
    """Where a piece that a file lacks can be put in: at which byte, and what belongs before and after it."""

    at: int
    before: bytes = b"\n"
    after: bytes = b"\n"


@dataclass(frozen=True, slots=True)
class Layout:
    """A file's text with its regions in order. `homes` are places for pieces that it lacks, by `Region.home`.

    Where pieces have places of their own, as a function's examples do, `places` has them by key.
    """

    source: bytes
    regions: tuple[Region, ...]
    homes: Mapping[str, Home] = field(default_factory=dict)
    places: Mapping[Key, Home] = field(default_factory=dict)

    @property
    def tests(self) -> dict[Key, bytes]:
        """The text of each region."""
        return {region.key: self.source[region.start : region.end] for region in self.regions}

    @property
    def without_tests(self) -> bytes:
        """The text between the regions: the source proper."""
        return self.with_tests_of(Layout(b"", ()))

    def with_tests_of(self, other: Layout) -> bytes:
        """Return this source with the other's tests: exchanged in their places, taken out, or put in.

        What has no place here, since what it stands in is not there, is left out.
        """
        theirs = other.tests
        mine = {region.key for region in self.regions}
        edits = [(region.start, region.end, theirs.get(region.key, region.spare)) for region in self.regions]
        for key, text in theirs.items():
            home = self.places.get(key) or self.homes.get(key[0])
            if key not in mine and home is not None:
                edits.append((home.at, home.at, home.before + text + home.after))
        pieces, place = [], 0
        for start, end, text in sorted(edits, key=lambda edit: edit[:2]):
            pieces += [self.source[place:start], text]
            place = end
        return b"".join([*pieces, self.source[place:]])


def numbered(name: str, seen: dict[Key, int], home: str) -> str:
    """Return a name that is given once in its home: a second of the same name is `name 2`."""
    count = seen[home, name] = seen.get((home, name), 0) + 1
    return name if count == 1 else f"{name} {count}"
