"""Reads `.fixwright.yml` as YAML without what makes YAML dangerous, keeping the place of everything."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import yaml

FILE_NAME = ".fixwright.yml"

_DEEPEST = 20
_MOST_ENTRIES = 1000
_NUMBER_TAGS = frozenset({"tag:yaml.org,2002:int", "tag:yaml.org,2002:float"})
_STRING_TAG = "tag:yaml.org,2002:str"
_TABS = "found character '\\t' that cannot start any token"
_ODD_NUMBER = re.compile(r"[-+]?(?:0[0-9_]+|0[bx][0-9A-Fa-f_]+|[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?)")

Path = tuple[int | str, ...]
"""Keys and indices that lead to something in the file."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with the file. Line and column count from 1; 0 where they are not known.

    `nearest` is the key that was probably meant, "" where none is near.
    """

    line: int
    column: int
    message: str
    nearest: str = ""

    def __str__(self) -> str:
        place = f"{FILE_NAME}:{self.line}:{self.column}: " if self.line else f"{FILE_NAME}: "
        return place + self.message


class Unreadable(Exception):
    """The text is no YAML that is taken here; carries the problems."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


class _Mark(Protocol):
    line: int
    column: int


def problem_at(mark: _Mark | None, message: str, nearest: str = "") -> Problem:
    """Return a problem at a place that YAML's reader has marked."""
    line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
    return Problem(line, column, message, nearest)


def read_document(text: str) -> tuple[yaml.Node, object] | None:
    """Return the document as nodes, which know their places, and as plain values; None where it is empty.

    Raises Unreadable.
    """
    try:
        _refuse(_refused_features(text))
        loader = yaml.SafeLoader(text)
        node = loader.get_single_node()
        if node is None:
            return None
        _refuse(_odd_keys(node))
        _refuse(_odd_numbers(node))
        value = loader.construct_document(node)
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - (before.rfind("\n") + 1) + 1
        what = f"a character that YAML does not allow ({error.reason})"
        raise Unreadable(Problem(line, column, what)) from None
    except yaml.MarkedYAMLError as error:
        raise Unreadable(problem_at(error.problem_mark, _explained(error.problem or "not YAML"))) from None
    except (ValueError, OverflowError) as error:  # a date, a number or a character that only looks like one
        raise Unreadable(Problem(0, 0, f"a value that cannot be read ({error})")) from None
    return None if value is None else (node, value)


def _refuse(problems: Iterator[Problem]) -> None:
    found = tuple(problems)
    if found:
        raise Unreadable(*found)


def _explained(problem: str) -> str:
    return f"{problem} (YAML is indented with spaces, never with tabs)" if problem == _TABS else problem


def _refused_features(text: str) -> Iterator[Problem]:
    """Find aliases, tags and depth: a few lines of aliases can stand for gigabytes, tags name types, and the
    time that the reader takes grows with the square of the depth.
    """
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            yield problem_at(event.start_mark, "nested too deeply")
            return
        if isinstance(event, yaml.AliasEvent):
            yield problem_at(event.start_mark, f"aliases (`*{event.anchor}`) are not allowed here")
        elif isinstance(event, yaml.CollectionStartEvent | yaml.ScalarEvent) and event.tag is not None:
            yield problem_at(event.start_mark, f"tags (`{event.tag}`) are not allowed here")


def _odd_keys(node: yaml.Node) -> Iterator[Problem]:
    """Find keys that YAML itself lets pass: given twice, or not text (`yes`, `1`, `null`, a list)."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from _odd_keys(item)
    if not isinstance(node, yaml.MappingNode):
        return
    if len(node.value) > _MOST_ENTRIES:
        yield problem_at(node.start_mark, f"more than {_MOST_ENTRIES} entries under one another")
        return
    seen: set[str] = set()
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag != _STRING_TAG:
            read_as = taken_for(key)
            why = f" (YAML takes it for {read_as})" if read_as else ""
            yield problem_at(key.start_mark, f"a key must be text; put it in quotes{why}")
        elif key.value in seen:
            yield problem_at(key.start_mark, f"{key.value}: given twice")
        else:
            seen.add(key.value)
        yield from _odd_keys(value)


def _odd_numbers(node: yaml.Node) -> Iterator[Problem]:
    """Find numbers that are not what they look like: `010` is 8 to YAML, and `1:30` is 90."""
    is_number = isinstance(node, yaml.ScalarNode) and node.tag in _NUMBER_TAGS
    if is_number and _ODD_NUMBER.fullmatch(node.value):
        yield problem_at(
            node.start_mark,
            f"`{node.value[:40]}` is another number to YAML than to most readers; write it in plain "
            "decimals, or put text in quotes",
        )
    for each in _children(node):
        yield from _odd_numbers(each)


def _children(node: yaml.Node) -> Sequence[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else ()


def taken_for(node: yaml.Node) -> str:
    """Say what YAML makes of an unquoted word that its writer may have meant as text, or return ""."""
    if not isinstance(node, yaml.ScalarNode):
        return ""
    name = node.tag.rpartition(":")[2]
    if name == "bool":
        return "true" if node.value.lower() in {"yes", "on", "true", "y"} else "false"
    return {"null": "nothing", "int": "a number", "float": "a number", "timestamp": "a date"}.get(name, "")


def find(node: yaml.Node, path: Path) -> tuple[yaml.Node, yaml.Node]:
    """Return where to point for a path, as far as it leads (a key, or a list's item), and what is there."""
    place = node
    for step in path:
        inner = _step_into(node, step)
        if inner is None:
            break
        place, node = inner
    return place, node


def _step_into(node: yaml.Node, step: int | str) -> tuple[yaml.Node, yaml.Node] | None:
    if isinstance(node, yaml.MappingNode):
        return next(((key, value) for key, value in node.value if key.value == step), None)
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    return None
