"""Traceback frames of many languages, the place where it went wrong first."""

from __future__ import annotations

import re
from dataclasses import dataclass

MOST_FRAMES = 200
LONGEST_LINE = 600


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a traceback: the path as printed, the line, the function ("" if not given)."""

    path: str
    line: int
    function: str


_CALLER_FIRST = (
    re.compile(r"File \"(?P<path>[^\"]+)\", line (?P<line>\d+)(?:, in (?P<function>[\w<>.]+))?"),
    re.compile(r"(?P<path>[\w./\\~-]+\.py):(?P<line>\d+): ?(?:in (?P<function>\w+))?"),
    re.compile(r"from (?P<path>[\w./\\~-]+\.py), line (?P<line>\d+), in (?P<function>\w+)"),
    re.compile(r"(?P<path>[~/][\w./~-]+\.py) in (?P<function>\w+)\((?P<line>)"),
)
"""Python, pytest, an interactive console: the outermost call is printed first."""

_SUFFIXES = r"go|rs|rb|java|kt|scala|cs|php|c|cc|cpp|cxx|h|hh|hpp|m|swift|dart|exs?|lua|[cm]?[jt]sx?|vue"
_DEEPEST_FIRST = (
    re.compile(
        r"^\s*at (?:async )?(?P<function>[\w$.<>\[\] ]+?) ?\((?:file://)?(?P<path>[^():]+):(?P<line>\d+)"
    ),
    re.compile(r"^\s*at (?:file://)?(?P<path>[^\s():]+):(?P<line>\d+)"),
    re.compile(rf"#\d+ .*? in (?P<function>[\w:~]+).*? (?P<path>[\w./-]+\.(?:{_SUFFIXES})):(?P<line>\d+)"),
    re.compile(rf"#\d+ .*?(?P<function>[\w:~]+) \(.*\) at (?P<path>[\w./-]+\.(?:{_SUFFIXES})):(?P<line>\d+)"),
    re.compile(r"(?P<path>[\w./@-]+\.rb):(?P<line>\d+):in [`'](?P<function>[\w?!#.:]+)"),
    re.compile(r"#\d+ (?P<path>[\w./-]+\.php)\((?P<line>\d+)\): (?P<function>[\w\\:>-]+)\("),
    re.compile(rf"(?P<path>[\w./@\\-]+\.(?:{_SUFFIXES})):(?P<line>\d+)(?P<function>)"),
)
"""JavaScript, Java, C and C++, Ruby, PHP, Go, Rust, compilers: where it happened is printed first."""


def frames_of(text: str) -> tuple[Frame, ...]:
    """Return the frames that a text prints, deepest first; each place once."""
    outward: list[Frame] = []
    inward: list[Frame] = []
    for line in text.split("\n"):
        short = line[:LONGEST_LINE]
        if (frame := _frame(_CALLER_FIRST, short)) is not None:
            outward.append(frame)
        elif (frame := _frame(_DEEPEST_FIRST, short)) is not None:
            inward.append(frame)
    return tuple(dict.fromkeys([*reversed(outward), *inward]))[:MOST_FRAMES]


def _frame(patterns: tuple[re.Pattern[str], ...], line: str) -> Frame | None:
    if "." not in line:
        return None
    for pattern in patterns:
        if match := pattern.search(line):
            found = match.groupdict()
            name = (found.get("function") or "").strip()
            path = found["path"].replace("\\", "/")
            return Frame(path, int(found["line"] or 0), re.split(r"[.:#>\\ ]+", name)[-1] if name else "")
    return None
