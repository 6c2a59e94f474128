"""Judges a patch or a range of commits by all rules that need no run: guard, protected paths, secrets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from domain.errors import ConfigurationError, GitError
from domain.model import Category, Finding, Severity
from domain.repo_config import FILE_NAME, parse_repo_config
from harness.change import check_change, scan_secrets
from harness.git.borrowed import Checkout
from harness.git.patching import LOOSE, Patched
from harness.guard.change import Change, read_change
from harness.guard.check import guard

WORKING_COPY = "the working copy"
TAKEN_BACK = "the working copy, which has the patch already"
HEAD = "HEAD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Purpose:
    """What a change is for: its kind of work, and the text of its issue, which may name what may change."""

    category: Category = Category.BUG
    issue_text: str = ""


BUG = Purpose()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What speaks against a change, worst first. `base` says in words what it was compared with."""

    base: str
    change: Change
    findings: tuple[Finding, ...]

    @property
    def refused(self) -> bool:
        """Whether a finding is critical: then the service would not publish the change."""
        return any(finding.severity is Severity.CRITICAL for finding in self.findings)


def judge_patch(checkout: Checkout, patch: bytes, purpose: Purpose = BUG) -> Judged:
    """Judge a patch for HEAD or for the working copy, whichever it fits; one that is applied already, too.

    Raises GitError where it fits nowhere, ConfigurationError for a `.fixwright.yml` that cannot be read.
    """
    base, trees = _fitted(checkout, patch)
    return judge_trees(checkout, trees, base, purpose)


def judge_range(checkout: Checkout, expression: str, purpose: Purpose = BUG) -> Judged:
    """Judge `A..B`, `A...B` (since both parted) or one commit against its first parent. Raises GitError."""
    base_tree, commit, said = _range(checkout, expression)
    tree = checkout.mirror.tree_of(commit)
    paths = tuple(change.path for change in checkout.mirror.changes(base_tree, tree))
    return judge_trees(checkout, Patched(base_tree, tree, paths), said, purpose)


def judge_trees(checkout: Checkout, trees: Patched, base: str, purpose: Purpose) -> Judged:
    """Judge what differs between two trees. Raises GitError, ConfigurationError."""
    mirror = checkout.mirror
    change = read_change(mirror, trees.base_tree, trees.tree)
    found = (
        *check_change(mirror.changes(trees.base_tree, trees.tree), _protected(checkout)),
        *scan_secrets(mirror.added_lines(trees.base_tree, trees.tree)),
        *guard(change, purpose.category, purpose.issue_text),
    )
    ordered = sorted(found, key=lambda finding: finding.severity is not Severity.CRITICAL)
    return Judged(base=base, change=change, findings=tuple(ordered))


def _fitted(checkout: Checkout, patch: bytes) -> tuple[str, Patched]:
    """Return what a patch fits, and the trees. Raises GitError: why it does not fit the working copy.

    A patch is only taken for one that begins or ends without context when all else fails: it could be
    applied twice then.
    """
    head = _head(checkout)
    tries: list[tuple[str, Callable[[], Patched]]] = [
        (WORKING_COPY, lambda: checkout.with_patch(patch)),
        (TAKEN_BACK, lambda: checkout.without_patch(patch)),
        (WORKING_COPY, lambda: checkout.with_patch(patch, None, LOOSE)),
    ]
    if head:
        tries.insert(0, (HEAD, lambda: checkout.with_patch(patch, head)))
        tries.insert(3, (HEAD, lambda: checkout.with_patch(patch, head, LOOSE)))
    problems: dict[str, GitError] = {}
    for base, attempt in tries:
        try:
            return base, attempt()
        except GitError as error:
            problems.setdefault(base, error)
    raise problems[WORKING_COPY]


def _head(checkout: Checkout) -> str:
    """Return the tree of the last commit, "" where there is none."""
    try:
        return checkout.mirror.tree_of(checkout.commit(HEAD))
    except GitError:
        return ""


def _range(checkout: Checkout, expression: str) -> tuple[str, str, str]:
    """Return the base's tree, the newer commit, and the base in words."""
    mirror = checkout.mirror
    left, dots, right = expression.partition("...")
    if not dots:
        left, dots, right = expression.partition("..")
    if not dots:
        commit = checkout.commit(left)
        parents = mirror.log("", commit, limit=1)[0].parents
        return (
            (mirror.tree_of(parents[0]), commit, f"{left}^")
            if parents
            else (
                checkout.as_it_is(()),
                commit,
                "nothing",
            )
        )
    old, new = checkout.commit(left or HEAD), checkout.commit(right or HEAD)
    if dots == "..":
        return mirror.tree_of(old), new, left or HEAD
    common = mirror.merge_base(old, new)
    if not common:
        raise GitError(f"{left or HEAD} and {right or HEAD} have no commit in common")
    return mirror.tree_of(common), new, f"where {left or HEAD} and {right or HEAD} parted"


def _protected(checkout: Checkout) -> Sequence[str]:
    """Return the repository's own protected paths, by its file as it is committed or else lies there."""
    mirror = checkout.mirror
    try:
        source = mirror.read_file(checkout.commit(HEAD), FILE_NAME)
    except GitError:
        source = mirror.read_file(checkout.as_it_is([FILE_NAME]), FILE_NAME)
    try:
        return tuple(parse_repo_config(source).protected_paths)
    except ConfigurationError as error:
        raise ConfigurationError(f"{FILE_NAME}: {error}") from None
