"""The regions of an issue: title, prose, code, output, and what only describes the reporter's machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum


class Region(StrEnum):
    """What a line of an issue is."""

    TITLE = "title"
    LEAD = "lead"
    PROSE = "prose"
    CODE = "code"
    OUTPUT = "output"
    MACHINE = "machine"


_HEADING = re.compile(r"\s*(?:#{1,6}\s|\*\*)(.*)")
_MACHINE_HEADING = re.compile(
    r"environment|version|output of|screenshots|your project|\bos\b|extra tools|additional info"
    r"|installed|system info|diagnostics|platform|checklist|show_versions",
    re.IGNORECASE,
)
_TEMPLATE_HEADING = re.compile(
    r"describe the bug|reproduc|expected|actual|additional context|mcve|code sample|problem description"
    r"|what happened|minimal complete|anything else|relevant log|what did you|description|steps",
    re.IGNORECASE,
)
_CODE_LINE = re.compile(
    r"\s*(?:>>> |\.\.\. |In \[\d+\]|@\w+|(?:from [\w.]+ )?import \w|def \w+\(|class \w+[(:]|return\b"
    r"|[\w.\[\]'\"]+ = \S|\w[\w.]*\([^)]*\)\s*(?:#.*)?$|if .*:$|for .* in .*:$|with .*:$|\)$|\}$"
    r"|assert |raise |print\(|(?:const|let|var|func|fn|pub|use|package|public|private|static) \w)"
)
_OUTPUT_LINE = re.compile(
    r"\s*Traceback \(most recent|\s*File \"|E  |>  |\s*\w+(?:\.\w+)*(?:Error|Exception|Warning)\b:?"
    r"|\s*=+ .* =+$|\s*_+ .* _+$|\s*~?/\S*\.\w+|\s+at \S+.*:\d+\)?$|goroutine \d+|thread '.*' panicked"
    r"|(?:[A-Za-z]:)?[~/\\]\S*\.py in \S+\(|[-=]+> *\d+ |\s+\d{1,5}\t|<ipython-input"
)
_LIST_ITEM = re.compile(r"\s*(?:[-*]|\d+\.)\s")
LEAD_WORDS = 50
"""Words of prose from the beginning that say what an issue is about; what follows tells its story."""

LONGEST_LINE = 2000
"""Characters of a line that are looked at; a longer one is data that somebody pasted."""


def regions(text: str) -> Iterator[tuple[Region, str]]:
    """Yield an issue's lines with what they are, headings of templates left out; the first is the title."""
    title, _, body = text.strip().partition("\n")
    yield Region.TITLE, title[:LONGEST_LINE]
    fenced = machine = False
    lead = LEAD_WORDS
    for whole in body.split("\n"):
        line = whole[:LONGEST_LINE].rstrip()
        bare = line.strip()
        if bare.startswith(("```", "~~~")):
            fenced = not fenced
            continue
        if "</details" in bare.lower():
            machine = False
            continue
        heading = None if fenced else _HEADING.match(line)
        if heading is not None:
            machine = bool(_MACHINE_HEADING.search(heading[1]))
            if not machine and not _TEMPLATE_HEADING.search(heading[1]):
                yield Region.PROSE, heading[1]
            continue
        kind = _kind(line, fenced=fenced, machine=machine)
        if kind is Region.PROSE and lead > 0:
            kind = Region.LEAD
            lead -= len(bare.split())
        yield kind, line


def _kind(line: str, *, fenced: bool, machine: bool) -> Region:
    if _OUTPUT_LINE.match(line):
        return Region.OUTPUT
    if machine:
        return Region.MACHINE
    indented = line.startswith(("    ", "\t\t")) and not _LIST_ITEM.match(line)
    return Region.CODE if fenced or indented or _CODE_LINE.match(line) else Region.PROSE
