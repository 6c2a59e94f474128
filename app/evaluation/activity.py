"""What an agent's command was for: searching, reading, editing, testing or something else. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from fractions import Fraction


class Activity(StrEnum):
    """What a step was for."""

    SEARCHING = "searching"
    READING = "reading"
    EDITING = "editing"
    TESTING = "testing"
    OTHER = "other"


_HERE_TEXT = re.compile(
    r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n(.*?)(?:^\t*\2[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_BREAK = re.compile(r"\|\||&&|[;\n&]|\$\(|`|\(|\)|\b(?:then|do|else|time|sudo|env|timeout \S+)\b")
_NO_FILE = re.compile(r"\d?>&\d|[\d&]?>{1,2}\s*/dev/\w+")
"""Redirections that write no file."""
_INTO_FILE = re.compile(r"(?<![<>&\d])>{1,2}\s*(?!/dev/null|&)[^\s>&|;]+")
_ASSIGNMENT = re.compile(r"^(?:[A-Za-z_]\w*=\S*\s+)+")
_WRITES = re.compile(r"\.write(?:_text|_bytes|lines)?\(|open\([^()]{0,200}['\"][wax]b?\+?['\"]|fs\.writeFile")
"""Of a program's text."""

_TESTING = re.compile(
    r"(?:py\.?test|unittest|tox|nox|nose2?|ctest|rspec|phpunit|jest|vitest|mocha|ava)\b"
    r"|(?:uv|poetry|pipenv) run\b"
    r"|(?:go|cargo|dotnet|swift|deno|bun|mvn|gradle|\./gradlew|\./mvnw|rake|bundle)\b"
    r".*\b(?:test|nextest|check|rspec|vet)\b"
    r"|(?:npm|yarn|pnpm|npx)\b.*\b(?:t|test|jest|vitest|mocha)\b|make\b.*\b(?:test|check)\w*"
    r"|(?:python[\d.]*|node|ruby|php|perl|go run|cargo run|bash|sh|\./\S+)(?=\s|$)"
)
_SEARCHING = re.compile(
    r"(?:grep|egrep|fgrep|rg|ag|ack|fd|fdfind|find|locate|tree|ls|search|ctags|which|whereis)\b|git\s+(?:grep|ls-files)\b"
)
_READING = re.compile(
    r"(?:cat|head|tail|less|more|nl|view|bat|wc|sort|uniq|cut|awk|diff|file|stat|xxd|hexdump|jq|pwd|sed)\b"
    r"|git\s+(?:show|log|diff|blame|status|shortlog|cat-file|describe|branch)\b|pip\s+(?:show|list|freeze)\b"
)
_EDITING = re.compile(
    r"(?:edit|patch|ed|ex|tee|mv|cp|rm|mkdir|rmdir|touch|chmod|ln|truncate|apply_patch|black|isort|gofmt|prettier)\b"
    r"|sed\s+(?:-\w*\s+)*-\w*i|perl\s+(?:-\w+\s+)*-\w*i"
    r"|git\s+(?:apply|checkout|restore|stash|mv|rm|add|commit|reset|revert|clean|am|cherry-pick)\b"
    r"|(?:pip|npm|yarn|pnpm|cargo|go)\s+(?:install|add|get|ci|mod)\b"
)
_IDLE = re.compile(
    r"(?:cd|echo|printf|export|set|unset|true|false|sleep|:|source|\.|exit|test|\[|fi|done|pushd|popd)(?=\s|$)"
)


def shares(commands: tuple[str, ...]) -> Mapping[Activity, Fraction]:
    """Return what a step's commands were for, as shares that sum to 1; a step without any is OTHER."""
    counts: Counter[Activity] = Counter()
    for command in commands:
        counts.update(set(activities(command)) or {Activity.OTHER})
    if not counts:
        return {Activity.OTHER: Fraction(1)}
    total = counts.total()
    return {activity: Fraction(count, total) for activity, count in counts.items()}


def activities(command: str) -> Iterator[Activity]:
    """Yield what the parts of a shell command are for; parts that only prepare others are left out."""
    texts = [match[4] for match in _HERE_TEXT.finditer(command)]
    bare = _HERE_TEXT.sub(lambda match: f" {match[3]}\n", command)
    if any(_WRITES.search(text) for text in [*texts, bare]) and re.search(
        r"\b(?:python|node|ruby|perl)", bare
    ):
        yield Activity.EDITING
        bare = re.sub(
            r"\b(?:python[\d.]*|node|ruby|perl)\b\s+(?:-c\b.*|-\s*$|-e\b.*|$)", "", bare, flags=re.DOTALL
        )
    for part in _BREAK.split(_NO_FILE.sub(" ", _QUOTED.sub("''", bare))):
        yield from _of_part(part)


def _of_part(part: str) -> Iterator[Activity]:
    """Yield what one program is for. Of a pipeline only the first counts: the others trim what it prints."""
    into_file = _INTO_FILE.search(part) is not None
    if into_file:
        yield Activity.EDITING
    word = _ASSIGNMENT.sub("", part.partition("|")[0].strip())
    if not word or _IDLE.match(word):
        return
    found = _kind(word)
    if not (into_file and found is Activity.READING):
        yield found


def _kind(word: str) -> Activity:
    for pattern, activity in (
        (_EDITING, Activity.EDITING),
        (_SEARCHING, Activity.SEARCHING),
        (_READING, Activity.READING),
        (_TESTING, Activity.TESTING),
    ):
        if pattern.match(word):
            return activity
    return Activity.OTHER
