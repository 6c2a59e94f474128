"""What an issue and a failing test say about where to look."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.text import plain
from harness.localize.literals import runs_of_words
from harness.localize.regions import Region, regions
from harness.localize.traces import Frame, frames_of
from harness.localize.words import WORD, is_common, looks_like_code, parts_of

MAX_TEXT = 200_000
REGION_WEIGHTS: Mapping[Region, float] = {
    Region.TITLE: 3.0,
    Region.LEAD: 2.0,
    Region.PROSE: 0.6,
    Region.CODE: 0.5,
    Region.OUTPUT: 0.35,
}
"""What a word counts for by where it stands. What describes the reporter's machine counts for nothing."""

_IDENTIFIER_WEIGHTS = {
    Region.TITLE: 1.5,
    Region.LEAD: 2.0,
    Region.PROSE: 0.6,
    Region.CODE: 0.5,
    Region.OUTPUT: 0.4,
}
_URL = re.compile(r"https?://[^\s)>\]]+")
_URL_PATH = re.compile(r"/(?:blob|tree|raw|src)/[^/\s]+/([^\s#?)]+)")
_PATH_LIKE = re.compile(r"[\w./\\-]+")
_SUFFIX = re.compile(
    r"[\w-]\.(?:pyi?|[cm]?[jt]sx?|go|rs|rb|java|kt|cs|php|cc?|cpp|h|hpp|swift|scala|exs?|lua|html|cfg|toml)\b"
)
_DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:(?:\.|::|#)[A-Za-z_]\w*)+")
_CODE_SPAN = re.compile(r"(`{1,2})([^`\n]{2,160})\1")
_QUOTED = re.compile(r"[\"“]([^\"”\n]{3,160})[\"”]|(?<!\w)'([^'\n]{3,160})'(?!\w)")
_CALLED = re.compile(r"\b([A-Za-z_]\w{2,})\(")
_FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]+")
_KEYWORD = re.compile(r"\b([a-z_]\w+)=(?!=)")
_MADE_HERE = re.compile(r"\b(?:class|def|function|func|fn)[ \t]+(\w+)")
_FROM_IMPORT = re.compile(r"from[ \t]+([\w.]+)[ \t]+import[ \t]+\(?([\w, \t]+)")
_IMPORT = re.compile(r"(?:>>> )?import[ \t]+([\w.]+)(?:[ \t]+as[ \t]+(\w+))?")
_COMPLAINT = re.compile(r"\b(?:error|warning|must|cannot|invalid|not)\b", re.IGNORECASE)


@dataclass(slots=True)
class Query:
    """What to look for: stemmed words by region, names, phrases, paths and frames (deepest first)."""

    words: dict[Region, Counter[str]] = field(default_factory=lambda: {r: Counter() for r in REGION_WEIGHTS})
    identifiers: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    made_here: set[str] = field(default_factory=set)
    title_words: set[str] = field(default_factory=set)
    dotted: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    spoken: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    flags: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    keywords: set[str] = field(default_factory=set)
    literals: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    runs: set[str] = field(default_factory=set)
    imports: set[tuple[str, str]] = field(default_factory=set)
    aliases: dict[str, str] = field(default_factory=dict)
    paths: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    frames: tuple[Frame, ...] = ()
    failing_frames: tuple[Frame, ...] = ()

    @property
    def terms(self) -> frozenset[str]:
        """Return all stemmed words, of whatever region."""
        return frozenset().union(*self.words.values())

    @property
    def prose_words(self) -> frozenset[str]:
        """Return the words of title and prose."""
        return frozenset().union(*(self.words[r] for r in (Region.TITLE, Region.LEAD, Region.PROSE)))

    def weight(self, term: str) -> float:
        """Return what a word counts for in all; said again and again, it counts for less each time."""
        return damped(sum(weight * self.words[region][term] for region, weight in REGION_WEIGHTS.items()))


def damped(count: float) -> float:
    """Return a count that grows like its root beyond 1."""
    return float(1.0 + (count - 1.0) ** 0.5) if count > 1 else count


def read_query(issue_text: str, failing_output: str = "") -> Query:
    """Take an issue (its title is the first line) and a failing test's output apart."""
    query = Query()
    kept: list[str] = []
    for region, line in regions(_visible(plain(issue_text[:MAX_TEXT]))):
        if region is not Region.MACHINE:
            _read_line(query, region, line)
            kept.append(line)
    failing = plain(failing_output[-MAX_TEXT:])
    for line in failing.split("\n"):
        if line.startswith("E ") or "Error: " in line[:200]:
            _read_line(query, Region.OUTPUT, line[:1000])
    query.frames = frames_of("\n".join(kept))
    query.failing_frames = frames_of(failing)
    query.identifiers = {
        word: weight for word, weight in query.identifiers.items() if not is_common(word.lower())
    }
    return query


def _visible(text: str) -> str:
    """Return a text without its HTML comments, in time that grows with its length and no faster."""
    parts, rest = [], text
    while True:
        before, begun, inside = rest.partition("<!--")
        parts.append(before)
        _, ended, rest = inside.partition("-->")
        if not ended:
            return "".join([*parts, begun, inside])


def _read_line(query: Query, region: Region, line: str) -> None:
    for address in _URL.findall(line):
        for path in _URL_PATH.findall(address):
            query.paths[path] += 1
    text = _URL.sub(" ", line)
    words = WORD.findall(text)
    if region is Region.TITLE:
        query.title_words.update(words)
    for word in words:
        if not is_common(word.lower()):
            query.words[region].update(part for part in parts_of(word) if not is_common(part))
    _read_names(query, region, text, words)
    _read_phrases(query, region, text)
    if region is Region.CODE:
        query.made_here.update(_MADE_HERE.findall(text))
    if region is not Region.OUTPUT:
        for path in _paths(text):
            query.paths[path] += 1


def _read_names(query: Query, region: Region, text: str, words: list[str]) -> None:
    weight = _IDENTIFIER_WEIGHTS[region]
    names = query.identifiers
    for word in set(words):
        if looks_like_code(word):
            names[word] += weight
    if region in {Region.TITLE, Region.LEAD, Region.PROSE}:
        for _, span in _CODE_SPAN.findall(text):
            query.literals[span.strip()] += 1
            for word in WORD.findall(span):
                if len(word) > 2:
                    names[word] += weight
    for word in _CALLED.findall(text):
        names[word] += weight * 0.8
    for found in _DOTTED.findall(text):
        dotted = found.replace("::", ".").replace("#", ".")
        query.dotted[dotted] += weight
        if region in {Region.TITLE, Region.LEAD, Region.PROSE}:
            query.spoken[dotted] += weight
        for word in dotted.split("."):
            if len(word) > 2:
                names[word] += weight * 0.5
    query.keywords.update(_KEYWORD.findall(text))
    for module, imported in _FROM_IMPORT.findall(text):
        query.imports.update((module, name.split()[0]) for name in imported.split(",") if name.split())
    for module, alias in _IMPORT.findall(text):
        if alias:
            query.aliases[alias] = module
        elif "." in module:
            query.imports.add((module, ""))


def _read_phrases(query: Query, region: Region, text: str) -> None:
    for double, single in _QUOTED.findall(text):
        query.literals[double or single] += 0.4 if region is Region.CODE else 1.0
    for flag in _FLAG.findall(text):
        query.literals[flag] += 1.0
        query.flags[flag] += 2.0 if region is Region.TITLE else 1.0
        query.literals[flag[2:].replace("-", "_")] += 0.5
    if region is not Region.CODE or _COMPLAINT.search(text):
        query.runs.update(runs_of_words(text))


def _paths(text: str) -> set[str]:
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
    return found
