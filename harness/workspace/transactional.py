"""Changes a working copy as a whole or not at all: guarded, checked, and back to the byte if it fails."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from domain.errors import PolicyRefusal, TransactionError
from domain.model import Finding
from harness.change.model import ABSENT, EXECUTABLE, GITLINK, SYMLINK, FileChange
from harness.git import Mirror, Place
from harness.git.borrowed import looking_at
from harness.integrity import BUG, WORKING_COPY, Judged, Purpose, judge_trees
from harness.workspace.kept_tree import tree_digest
from harness.workspace.listing import Entry, Kind, entry_at, opened, place_of
from harness.workspace.placing import Places
from harness.workspace.transaction_journal import Journal, OpenTransaction
from harness.workspace.transaction_receipt import ChangedFile, Ending, TransactionReceipt

_LINKED_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """What a check of the changed tree says: whether the change may stay, and in a line why."""

    passed: bool
    summary: str


Check = Callable[[Path], CheckResult]
"""Looks at the changed tree, given its top directory; what it writes there goes too if it says no."""


class CheckFailed(TransactionError):
    """A check said no, and everything is as it was."""


class TransactionalWorkspace:
    """A directory that is changed by transactions: one at a time, each kept as a whole or taken back.

    Taken back means to the byte: contents, modes, links, times of files, files that no repository tracks,
    empty directories. `.git` itself is not part of it. A process that dies leaves a journal, by which
    `recover` puts the tree back.
    """

    def __init__(
        self,
        root: Path,
        *,
        purpose: Purpose = BUG,
        guarded: bool = True,
        journal: Path | None = None,
        leave_out: Collection[str] = (),
    ) -> None:
        """Take the tree's top directory.

        `purpose` is for the guard; without `guarded`, nothing is judged. `journal` is a directory outside of
        the tree (default: in its `.git`, else beside it). Directories called as in `leave_out` are neither
        copied nor put back. Raises TransactionError.
        """
        self.root = root.resolve()
        self._purpose = purpose
        self._guarded = guarded
        self._leave_out = tuple(leave_out)
        self._journal = Journal(root, journal)

    def apply(self, patch: bytes | str, check: Check | None = None) -> TransactionReceipt:
        """Apply a patch, judge and check it; keep it or take it back, and say so.

        Raises GitError where the patch does not fit, TransactionError, and whatever `check` raises; the tree
        is as it was then.
        """
        refused: Transaction | None = None
        try:
            with self.transaction() as transaction:
                refused = transaction
                transaction.apply(patch)
                if check is not None:
                    transaction.check(check)
        except (PolicyRefusal, CheckFailed):
            if refused is None or refused.receipt is None:
                raise
        if refused is None or refused.receipt is None:
            raise TransactionError(f"{self.root}: the transaction has no receipt")
        return refused.receipt

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Begin a transaction; kept when the block ends, taken back when an exception leaves it.

        The receipt is the transaction's `receipt` afterwards. Raises TransactionError.
        """
        with self._journal.alone(), opened(self.root) as root:
            begun = self._journal.begin(root, self._leave_out)
            transaction = Transaction(self.root, root, begun, self._purpose if self._guarded else None)
            try:
                yield transaction
            except BaseException as error:
                self._restore(root, begun)
                transaction.close(Ending.TAKEN_BACK, str(error) or type(error).__name__)
                self._end(transaction, begun)
                raise
            self._require_same(root, begun)
            transaction.close(Ending.KEPT, "nothing spoke against it")
            self._end(transaction, begun)

    def recover(self) -> TransactionReceipt | None:
        """Put back the tree of a transaction whose process died; None where there is none.

        Files that somebody wrote since are kept apart first. Raises TransactionError.
        """
        with self._journal.alone(), opened(self.root) as root:
            begun = self._journal.unfinished()
            if begun is None:
                return None
            aside = self._journal.aside(begun)
            try:
                saved = begun.tree.restore(root, aside, begun.planned())
            except OSError as error:
                raise TransactionError(f"{self.root}: could not be put back: {error}") from None
            transaction = Transaction(self.root, root, begun, None)
            transaction.put_aside = (saved, str(aside) if saved else "")
            transaction.close(Ending.RECOVERED, "its process ended before it did")
            self._end(transaction, begun)
            return transaction.receipt

    def discard(self) -> bool:
        """Keep the tree as it is after a transaction whose process died; False where there is none."""
        with self._journal.alone():
            begun = self._journal.unfinished()
            if begun is not None:
                self._journal.drop(begun)
            return begun is not None

    def _restore(self, root: int, begun: OpenTransaction) -> None:
        """Put everything back. Raises TransactionError where that cannot be done; the journal stays then."""
        self._require_same(root, begun)
        try:
            begun.tree.restore(root)
        except OSError as error:
            raise TransactionError(
                f"{self.root}: could not be put back ({error}); what it was is in {begun.folder}, and "
                "`fixwright workspace recover` tries again"
            ) from None

    def _require_same(self, root: int, begun: OpenTransaction) -> None:
        """Raise TransactionError where another directory has taken the tree's place."""
        opened_one = os.fstat(root)
        try:
            there = self.root.stat()
        except OSError:
            there = None
        if there is None or (there.st_dev, there.st_ino) != (opened_one.st_dev, opened_one.st_ino):
            raise TransactionError(
                f"{self.root}: was moved or removed meanwhile; move it back, or make it anew, then "
                f"`fixwright workspace recover` fills it from {begun.folder}"
            )

    def _end(self, transaction: Transaction, begun: OpenTransaction) -> None:
        if transaction.receipt is not None:
            self._journal.end(begun, transaction.receipt)


class Transaction:
    """One transaction that is under way. `receipt` is there when it has ended."""

    def __init__(self, root: Path, descriptor: int, begun: OpenTransaction, purpose: Purpose | None) -> None:
        self.root = root
        self.receipt: TransactionReceipt | None = None
        self.findings: tuple[Finding, ...] = ()
        self.put_aside: tuple[tuple[str, ...], str] = ((), "")
        self._descriptor = descriptor
        self._begun = begun
        self._purpose = purpose
        self._patches = hashlib.sha256()
        self._patched: dict[str, str] = {}
        self._check = ""

    def apply(self, patch: bytes | str) -> tuple[Finding, ...]:
        """Judge a patch, then apply it; returns what the guard warns of.

        Raises PolicyRefusal for what it refuses, GitError for a patch that does not fit, OSError.
        """
        content = os.fsencode(patch) if isinstance(patch, str) else patch
        with looking_at(self.root, upwards=False) as checkout:
            trees = checkout.fitted(content)
            changes = checkout.mirror.changes(trees.base_tree, trees.tree)
            if self._purpose is not None:
                self._judge(judge_trees(checkout, trees, WORKING_COPY, self._purpose))
            if any(GITLINK in {change.old_mode, change.new_mode} for change in changes):
                raise TransactionError("a submodule cannot be changed by a patch")
            contents = {change.path: _content(checkout.mirror, change) for change in changes}
            self._patches.update(content)
            for path, written in contents.items():
                self._patched[path] = hashlib.sha256(written).hexdigest() if written is not None else ""
            self._begun.plan(self._patched)
            self._write(changes, contents)
        return self.findings

    def check(self, check: Check) -> CheckResult:
        """Run a check on the tree as it is now. Raises CheckFailed where it says no."""
        result = check(self.root)
        self._check = result.summary
        if not result.passed:
            raise CheckFailed(result.summary)
        return result

    def close(self, ending: Ending, reason: str) -> None:
        """Write the receipt over the tree as it is now. For the workspace alone."""
        before = self._begun.tree.digest()
        now = self._begun.tree.now(self._descriptor)
        self.receipt = TransactionReceipt(
            id=self._begun.id,
            root=str(self.root),
            begun_at=self._begun.begun_at,
            ended_at=datetime.now(UTC),
            ending=ending,
            reason=reason,
            before=before,
            after=tree_digest(now),
            patch=self._patches.hexdigest() if self._patched else "",
            attempted=tuple(sorted(self._patched)),
            changed=self._changed(now),
            findings=self.findings,
            check=self._check,
            put_aside=self.put_aside[0],
            aside=self.put_aside[1],
        )

    def _judge(self, judged: Judged) -> None:
        self.findings = (*self.findings, *judged.findings)
        if judged.refused:
            refusing = [each for each in judged.findings if each.severity == "critical"]
            named = "; ".join(f"{each.rule} {each.path}: {each.what}" for each in refusing[:_LINKED_SHOWN])
            raise PolicyRefusal(f"the guard refuses the change: {named}", judged.findings)

    def _changed(self, now: Mapping[str, tuple[Entry, str]]) -> tuple[ChangedFile, ...]:
        tree = self._begun.tree
        differing = tree.differences(now)
        return tuple(
            ChangedFile(
                path=path,
                status=status,
                before=tree.entries[path].digest if path in tree.entries else "",
                after=now[path][1] if path in now else "",
                by_patch=path in self._patched,
            )
            for path, status in sorted(differing.items())
            if status != "M" or now[path][0].kind is not Kind.DIRECTORY
        )

    def _write(self, changes: Collection[FileChange], contents: Mapping[str, bytes | None]) -> None:
        places = Places(self._descriptor)
        for change in changes:  # first, so that a file may become a directory and the other way round
            if change.new_mode == ABSENT:
                places.remove(change.path)
                places.drop_empty_parents(change.path)
        for change in changes:
            content = contents[change.path]
            if content is None:
                continue
            places.make_parents(change.path)
            like = self._like(change, content)
            if like.kind is Kind.LINK:
                places.link(change.path, like)
            else:
                places.write(change.path, [content], like)

    def _like(self, change: FileChange, content: bytes) -> Entry:
        """Return what a file is to be: as it was, but for executable bits that the patch gives or takes."""
        with place_of(self._descriptor, change.path) as (directory, name):
            there = entry_at(directory, name)
        if change.new_mode == SYMLINK:
            target = os.fsdecode(content)
            return _new(Kind.LINK, 0o777, self._owner(there), target)
        mode = there.mode if there is not None and there.kind is Kind.FILE else 0o644
        readable = (mode & 0o444) >> 2
        mode = mode | readable if change.new_mode == EXECUTABLE else mode & ~0o111
        return _new(Kind.FILE, mode, self._owner(there))

    def _owner(self, there: Entry | None) -> tuple[int, int]:
        if there is not None:
            return there.owner
        status = self.root.stat()
        return status.st_uid, status.st_gid


def _new(kind: Kind, mode: int, owner: tuple[int, int], target: str = "") -> Entry:
    return Entry(kind, mode, 0, 0, owner, (0, 0, 0), target)


def _content(mirror: Mirror, change: FileChange) -> bytes | None:
    if change.new_mode == ABSENT:
        return None
    return mirror.runner.run(Place(git_dir=mirror.path), "cat-file", "blob", change.new_sha)
