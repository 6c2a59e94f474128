"""Which commits of a history may be fixes of bugs that tests show: by message and files, without a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from app.evaluation.walks import Walk
from harness.change import FileChange
from harness.git import Mirror
from harness.git.values import object_name
from harness.testing.paths import (
    is_documentation,
    is_source,
    is_test_configuration,
    is_test_file,
    is_test_side,
)

MOST_SOURCES = 5
MOST_FILES = 30

_FIX = re.compile(
    r"\b(?:fix(?:e[sd]|ing)?|bugs?|bugfix|hotfix|regressions?|crash(?:e[sd]|ing)?|broken|wrong(?:ly)?|incorrect(?:ly)?"
    r"|clos(?:e[sd]?|ing)|resolv(?:e[sd]?|ing)|correct(?:s|ed|ly)?|prevent(?:s|ed)?|avoid(?:s|ed)?|fail(?:s|ed|ure)?"
    r"|handle[sd]?|no longer|(?:type|value|key|index|attribute|runtime)error|traceback|exception)\b|#\d+",
    re.IGNORECASE,
)
_NO_FIX = re.compile(
    r"^\W*(?:typos?\b|docs?\b|style\b|lint|format(?:ting)?\b|bump\b|release\b|revert\b|ci\b|build\b|chore\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit on the main line, and its first parent. `message` is untrusted text; `at` is ISO 8601."""

    sha: str
    parent: str
    at: str
    message: str

    @property
    def subject(self) -> str:
        """The first line."""
        return self.message.partition("\n")[0].strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A commit that may be a fix: the sources that it changes, and the tests' side of it."""

    commit: Commit
    sources: tuple[str, ...]
    tests: tuple[str, ...]
    test_files: tuple[str, ...]


def history(mirror: Mirror, head: str, most: int, walk: Walk) -> Iterator[Commit]:
    """Yield the commits of a branch, newest first."""
    shown = mirror.runner.run(
        mirror.place,
        "rev-list",
        "--no-merges" if walk is Walk.ALL else "--first-parent",
        "--no-commit-header",
        f"--max-count={most}",
        "--format=%H%x00%P%x00%cI%x00%B%x01",
        object_name(head),
    )
    for record in shown.decode("utf-8", "replace").split("\x01"):
        fields = record.strip("\n").split("\0", 3)
        if len(fields) == 4:
            sha, parents, at, message = fields
            yield Commit(sha=sha, parent=(parents.split() or [""])[0], at=at, message=message.strip())


def speaks_of_a_bug(message: str) -> bool:
    """Tell whether a commit's message is that of a fix, as far as words can tell."""
    return _FIX.search(message) is not None and _NO_FIX.match(message) is None


def candidate(mirror: Mirror, commit: Commit) -> Candidate | str:
    """Return what a commit changes, or why it is no candidate. Raises GitError."""
    if not commit.parent:
        return "has no parent"
    changes = mirror.changes(mirror.tree_of(commit.parent), mirror.tree_of(commit.sha))
    if len(changes) > MOST_FILES:
        return f"changes more than {MOST_FILES} files"
    sources = tuple(change.path for change in changes if _is_product(change))
    tests = tuple(change.path for change in changes if is_test_side(change.path))
    if not any(change.status == "M" for change in changes if change.path in sources):
        return "changes no source that was there"
    if len(sources) > MOST_SOURCES:
        return f"changes more than {MOST_SOURCES} sources"
    files = tuple(change.path for change in changes if change.status != "D" and is_test_file(change.path))
    if not files:
        return "changes no test"
    return Candidate(commit=commit, sources=sources, tests=tests, test_files=files)


def _is_product(change: FileChange) -> bool:
    path = change.path
    is_other = is_test_side(path) or is_documentation(path) or is_test_configuration(path)
    return is_source(path) and not is_other
