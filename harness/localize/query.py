"""What an issue and a failing test say about where to look: words, identifiers, paths, traceback frames."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from domain.text import plain
from harness.localize.words import WORD, is_common, looks_like_code, parts_of

MAX_TEXT = 200_000
_TITLE_WEIGHT = 3.0
_FAILURE_WEIGHT = 1.0
_PATH_LIKE = re.compile(r"[\w./\\-]+")
_SUFFIX = re.compile(
    r"[\w-]\.(?:pyi?|[cm]?[jt]sx?|go|rs|rb|java|kt|cs|php|cc?|cpp|h|hpp|swift|scala|exs?|lua|html|cfg|toml)\b"
)
_DOTTED = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_CODE_SPAN = re.compile(r"`{1,2}([^`\n]{2,120})`{1,2}")
_CALLED = re.compile(r"\b([A-Za-z_]\w{2,})\(")
_FRAMES = (
    re.compile(r"File \"([^\"\n]+)\", line (\d+)(?:, in (\S+))?"),
    re.compile(r"^([\w./-]+\.py):(\d+): (?:in (\w+))?", re.MULTILINE),
    re.compile(r"^[ \t]+at (?:(\S+) )?\(?(?:file://)?([^\s():]+):(\d+)(?::\d+)?\)?$", re.MULTILINE),
    re.compile(r"^[ \t]+([\w./@-]+\.go):(\d+)", re.MULTILINE),
)


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a traceback: the path as printed, the line, the function ("" if not given)."""

    path: str
    line: int
    function: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for. `words` maps stemmed words to weights; `frames` are in the order printed."""

    words: Mapping[str, float]
    identifiers: frozenset[str]
    paths: frozenset[str]
    frames: tuple[Frame, ...]
    failing_frames: tuple[Frame, ...]


def read_query(issue_text: str, failing_output: str = "") -> Query:
    """Take an issue (its title is the first line) and a failing test's output apart."""
    text = _visible(plain(issue_text[:MAX_TEXT]))
    failing = plain(failing_output[-MAX_TEXT:])
    title, _, body = text.strip().partition("\n")
    words: Counter[str] = Counter()
    _add(words, title, _TITLE_WEIGHT)
    _add(words, body, 1.0)
    errors = "\n".join(line for line in failing.splitlines() if line.startswith("E "))
    _add(words, errors, _FAILURE_WEIGHT)
    return Query(
        words={word: 1.0 + (count - 1.0) ** 0.5 if count > 1 else count for word, count in words.items()},
        identifiers=_identifiers(text + "\n" + errors),
        paths=_paths(text) | _modules(text),
        frames=_frames(text),
        failing_frames=_frames(failing),
    )


def _visible(text: str) -> str:
    """Return a text without its HTML comments, in time that grows with its length and no faster."""
    parts, rest = [], text
    while True:
        before, begun, inside = rest.partition("<!--")
        parts.append(before)
        _, ended, rest = inside.partition("-->")
        if not ended:
            return "".join([*parts, begun, inside])


def _paths(text: str) -> frozenset[str]:
    """Return what looks like a path to a source file, each up to the last suffix that it could end with.

    Two patterns, each of which reads a character once: in one, a long run of letters and dots would be read
    again from each of its characters on.
    """
    found = set()
    for match in _PATH_LIKE.finditer(text):
        run = match.group()
        ends = [suffix.end() for suffix in _SUFFIX.finditer(run)]
        if ends:
            found.add(run[: ends[-1]].replace("\\", "/").lstrip("./"))
    return frozenset(found)


def _add(words: Counter[str], text: str, weight: float) -> None:
    for word in WORD.findall(text):
        if is_common(word.lower()):
            continue
        for part in parts_of(word):
            if not is_common(part):
                words[part] += weight  # type: ignore[assignment]  # a Counter takes fractions, its stub does not


def _identifiers(text: str) -> frozenset[str]:
    """Return names that stand for something in code: by their form, in code spans, called, or dotted."""
    found = {word for word in WORD.findall(text) if looks_like_code(word)}
    for span in _CODE_SPAN.findall(text):
        found.update(word for word in WORD.findall(span) if len(word) > 2)
    found.update(_CALLED.findall(text))
    for name in _DOTTED.findall(text):
        found.update(part for part in name.split(".") if len(part) > 2)
    return frozenset(word for word in found if not is_common(word.lower()))


def _modules(text: str) -> frozenset[str]:
    """Return dotted names as the paths that they would be."""
    return frozenset(name.replace(".", "/") for name in _DOTTED.findall(text) if name.count(".") >= 1)


def _frames(text: str) -> tuple[Frame, ...]:
    python, pytest, javascript, go = _FRAMES
    frames = [Frame(path, int(line), name) for path, line, name in python.findall(text)]
    frames += [Frame(path, int(line), name) for path, line, name in pytest.findall(text)]
    frames += [
        Frame(path, int(line), name.rsplit(".", 1)[-1]) for name, path, line in javascript.findall(text)
    ]
    frames += [Frame(path, int(line), "") for path, line in go.findall(text)]
    return tuple(frames[-200:])
