"""Looks for credentials in the lines that a change adds: our own patterns, and those of detect-secrets."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable

from domain.model import Finding, Severity
from harness.change.detectors import Detectors
from harness.change.model import AddedLine

_PATTERNS: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("SECRET-KEY", "private key", re.compile(r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----")),
    ("SECRET-AWS", "AWS access key", re.compile(r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Z0-9])")),
    ("SECRET-GITHUB", "GitHub token", re.compile(r"(?<!\w)gh[pousr]_[A-Za-z0-9_.\-]{30,}")),
    ("SECRET-GITHUB", "GitHub token", re.compile(r"(?<!\w)github_pat_[A-Za-z0-9_]{30,}")),
    (
        "SECRET-GITLAB",
        "GitLab token",
        re.compile(r"(?<!\w)gl(?:pat|dt|rt|cbt|ptt|soat)-[A-Za-z0-9_\-.]{20,}"),
    ),
    (
        "SECRET-MODEL",
        "model provider's key",
        re.compile(r"(?<![\w-])sk-(?:ant-|proj-|or-)?[A-Za-z0-9_\-]{24,}"),
    ),
    ("SECRET-SLACK", "Slack token", re.compile(r"(?<!\w)xox[abeoprs]-[A-Za-z0-9-]{20,}")),
    ("SECRET-SLACK", "Slack hook", re.compile(r"hooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}")),
    ("SECRET-GOOGLE", "Google key", re.compile(r"(?<!\w)AIza[A-Za-z0-9_\-]{35}(?![\w-])")),
    (
        "SECRET-REGISTRY",
        "package registry token",
        re.compile(r"(?<!\w)(?:npm_[A-Za-z0-9]{36}|pypi-AgEI[\w-]{50,})"),
    ),
    ("SECRET-STRIPE", "Stripe key", re.compile(r"(?<!\w)[rs]k_live_[A-Za-z0-9]{20,}")),
)
_ASSIGNED = re.compile(
    r"(?:secret|token|passw(?:or)?d|api_?key|access_?key|private_?key|credential)\w{0,60}[\"']?\s{0,20}(?::=|=>|[:=])\s{0,20}"
    r"[\"']?(?P<value>[A-Za-z0-9+/_\-]{24,200}={0,2})(?![\w(\[./+=-])",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"example|placeholder|changeme|dummy|fake|sample|redacted|your|test|xxxx|0000|1234|abcd", re.IGNORECASE
)
_SAYS_SO = re.compile(r"example|placeholder|changeme|dummy|fake|redacted|your[-_]|xxxx", re.IGNORECASE)
_ENTROPY_BITS = 4.2
_FINDINGS_SHOWN = 50
_LINE_READ = 20_000


def scan_secrets(lines: Iterable[AddedLine]) -> tuple[Finding, ...]:
    """Return a critical finding for each added line that seems to hold a credential, at most 50.

    The finding never repeats the credential: it shows a sixth of it, at most the first four characters.
    """
    found: list[Finding] = []
    detectors = Detectors()
    for line in lines:
        hit = _first(line.text) or _detected(line.text, detectors)
        if hit is None:
            continue
        found.append(_finding(line, *hit))
        if len(found) == _FINDINGS_SHOWN:
            break
    return tuple(found)


def _first(text: str) -> tuple[str, str, str] | None:
    """Return (rule, what, credential) of the first credential in a line, read in overlapping pieces."""
    for start in range(0, max(1, len(text)), _LINE_READ // 2):
        piece = text[start : start + _LINE_READ]
        for rule, what, pattern in _PATTERNS:
            for match in pattern.finditer(piece):
                if not _is_placeholder(rule, match[0]):
                    return rule, what, match[0]
        for match in _ASSIGNED.finditer(piece):
            if _looks_random(match["value"]):
                return "SECRET-ASSIGNED", "value that looks like a credential", match["value"]
    return None


def _detected(text: str, detectors: Detectors) -> tuple[str, str, str] | None:
    hit = detectors.first(text, _is_documentation)
    return ("SECRET-DETECTED", hit[0], hit[1]) if hit else None


def _is_documentation(credential: str) -> bool:
    """Tell whether a value says of itself that it is none, or hardly has any different characters."""
    bare = credential.rpartition("=")[2] or credential
    is_key = credential.endswith(("PRIVATE KEY", "PRIVATE KEY BLOCK"))
    return not is_key and (_SAYS_SO.search(credential) is not None or len(set(bare.casefold())) < 6)


def _is_placeholder(rule: str, credential: str) -> bool:
    """Tell whether a match is a documentation value: said so, or hardly any different characters."""
    if rule == "SECRET-KEY":
        return False
    return credential.endswith("EXAMPLE") or len(set(credential[4:].casefold())) < 8


def _looks_random(value: str) -> bool:
    kinds = (str.isupper, str.islower, str.isdigit)
    if not all(any(kind(character) for character in value) for kind in kinds) or _PLACEHOLDER.search(value):
        return False
    counts = Counter(value)
    bits = -sum(count / len(value) * math.log2(count / len(value)) for count in counts.values())
    return bits >= _ENTROPY_BITS


def _finding(line: AddedLine, rule: str, what: str, credential: str) -> Finding:
    return Finding(
        rule=rule,
        path=line.path.encode("utf-8", "backslashreplace").decode()[:300],
        line=line.line,
        what=f"{what} ({credential[: min(4, len(credential) // 6)]}…)",
        why="a credential in a commit is public for good; take it out",
        severity=Severity.CRITICAL,
    )
