"""What the rules see of a file in any language: units, calls, assertions, signs. Values only."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from tree_sitter import Node

from harness.guard.syntax.grammar import Language

ALWAYS = "always"
"""How the key of a sign ends that holds in any case, where others hold on a condition."""
EXACT, PARTIAL, TRUTH, NOTHING = 3, 2, 1, 0
"""How much an assertion asks for: one value, a kind of value, anything but nothing, nothing at all."""


class Kind(StrEnum):
    """What a unit is."""

    TEST = "test"
    FUNCTION = "function"
    OTHER = "other"


class What(StrEnum):
    """What a sign tells of."""

    SKIP = "skip"
    ONLY = "only"
    SWALLOW = "swallow"
    SOFT_SWALLOW = "soft swallow"
    DANGER = "danger"
    STOP = "stop"
    PRINT = "print"
    PROBE = "probe"
    TAMPER = "tamper"
    REACH = "reach"
    EXIT = "exit"
    FAKE = "fake"
    HIDDEN = "hidden"
    SHADOW = "shadow"


@dataclass(frozen=True, slots=True)
class Sign:
    """Something in a unit that a rule may object to. `key` is the same wherever the same thing is found."""

    what: What
    key: str
    line: int


@dataclass(frozen=True, slots=True)
class Unit:
    """A test, a function, or anything else that stands for itself in a file.

    `name` has the names of what is around it, joined by " › ". `extra` are attributes that stand before it,
    `marks` what suites, classes and modules around it, and its own annotations, say about running it.
    """

    path: str
    language: Language
    kind: Kind
    name: str
    node: Node
    extra: tuple[Node, ...] = ()
    marks: tuple[Sign, ...] = ()
    in_tests: bool = False

    @property
    def short(self) -> str:
        """Its own name."""
        return self.name.rsplit(" › ", 1)[-1]

    @property
    def line(self) -> int:
        """The line on which it begins, counted from 1."""
        return self.node.start_point[0] + 1

    @property
    def key(self) -> tuple[object, ...]:
        """What two units share that are the same in every respect but their place."""
        text = self.node.text
        extra = tuple(item.text for item in self.extra)
        return self.kind, self.name, text, extra, tuple((mark.what, mark.key) for mark in self.marks)


@dataclass(frozen=True, slots=True)
class Call:
    """A call: `chain` is what is called, as `a.b().c`; an argument may be several nodes (of a macro)."""

    chain: str
    arguments: tuple[tuple[Node, ...], ...]
    node: Node

    @property
    def last(self) -> str:
        """The name at the chain's end."""
        return self.chain.rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assertion: what it is about, how much it asks for, and what it expects.

    `literals` come with the byte at which each begins. `tolerance` is larger the looser a comparison is, None
    where there is none. `empty` says that it can never fail. `guards` are conditions around it.
    """

    dump: str
    subject: str
    strictness: int
    line: int
    literals: tuple[tuple[str, int], ...] = ()
    names: frozenset[str] = frozenset()
    negated: bool = False
    empty: bool = False
    tolerance: float | None = None
    guards: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """A node and the way up from it: the parent in the tree costs a search, this does not."""

    node: Node
    up: Link | None = None
    guards: tuple[str, ...] = ()
    depth: int = 0
