"""What failed, read from the end of a job's log: its lines of errors, written alike in every run."""

from __future__ import annotations

import hashlib
import re

MOST_LINES = 60
LONGEST_LINE = 400

_STAMP = re.compile(r"^\ufeff?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)? ?")
_COLOUR = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_GROUP = re.compile(
    r"^##\[(?:error|warning|group|endgroup|command|debug)\]|^::(?:error|warning)[^:]{0,300}::"
)
_TELLS = re.compile(
    r"\b(?:errors?|failed|failures?|failing|fatal|panic(?:ked)?|exception|traceback|assert\w{0,20}|undefined"
    r"|cannot|could not|not ok|segmentation fault|timed? ?out)\b|\w(?:Error|Exception|Warning)\b|^E {2,}"
    r"|^\s*(?:✕|✗|✖|×|FAIL\b|--- FAIL)",
    re.IGNORECASE,
)
_EMPTY_TALK = re.compile(
    r"process completed with exit code|\b0 (?:errors?|failed|failures?)\b|exit status \d+|make: \*\*\*",
    re.IGNORECASE,
)
_HEXADECIMAL = re.compile(r"\b0x[0-9a-f]+\b|\b[0-9a-f]{7,64}\b", re.IGNORECASE)
_UUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b", re.IGNORECASE)
_DIRECTORY = re.compile(r"(?<![\w.])(?:[A-Za-z]:)?[/\\](?:[^\s/\\:'\"()]{1,120}[/\\]){1,30}")
_NUMBER = re.compile(r"\d+(?:[.,]\d+)?")
_SPACE = re.compile(r"\s+")

_LOST = re.compile(
    r"lost communication with the server|runner has received a shutdown signal"
    r"|the (?:hosted )?runner (?:encountered an error|was lost|did not (?:start|acquire))"
    r"|no runner(?:s)? (?:is|are|was|were)? ?(?:available|found|online)"
    r"|no space left on device|the operation was cancell?ed"
    r"|(?:unable|failed) to (?:download|resolve) action|service unavailable|bad gateway|gateway time-?out"
    r"|toomanyrequests|temporary failure in name resolution|could not resolve host"
    r"|connection (?:reset by peer|timed out)|tls handshake timeout|unexpected disconnect",
    re.IGNORECASE,
)


def error_lines(log: str) -> frozenset[str]:
    """Return what a log says of errors, without times, numbers and places that differ from run to run."""
    found: list[str] = []
    for raw in log.splitlines():
        line = _STAMP.sub("", _COLOUR.sub("", raw[: LONGEST_LINE * 2]))
        line = _GROUP.sub("", line).rstrip()
        if line and _TELLS.search(line) and not _EMPTY_TALK.search(line):
            found.append(_alike(line))
    return frozenset(found[-MOST_LINES:])


def _alike(line: str) -> str:
    line = _UUID.sub("#", line)
    line = _DIRECTORY.sub("", line)
    line = _HEXADECIMAL.sub("#", line)
    return _SPACE.sub(" ", _NUMBER.sub("#", line)).strip()[:LONGEST_LINE]


def signature(errors: frozenset[str]) -> str:
    """Name a set of errors: the same errors have the same name in every run. "" for none."""
    if not errors:
        return ""
    return hashlib.sha256("\n".join(sorted(errors)).encode("utf-8", "replace")).hexdigest()[:16]


def is_machines_fault(log: str) -> bool:
    """Tell whether a log's last words speak of the machine that ran the job, and no line of the code.

    A test may print anything: a failure of its own beside such words counts as the code's.
    """
    if not _LOST.search("\n".join(log.splitlines()[-30:])):
        return False
    return all(_LOST.search(line) for line in error_lines(log))
