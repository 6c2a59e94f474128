"""The journal of transactions on a working copy: who is at work, what the tree was, and what was planned."""

from __future__ import annotations

import fcntl
import json
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from domain.errors import TransactionError
from harness.git.borrowed import git_directory
from harness.workspace.kept_tree import KeptTree
from harness.workspace.placing import sync
from harness.workspace.transaction_receipt import TransactionReceipt

NAME = "fixwright-transactions"
_OPEN, _PLAN, _ABOUT = "open", "plan.json", "about.json"
_KEPT_RECEIPTS = 200
_ID = re.compile(r"[0-9a-f]{16}", re.ASCII)


@dataclass(frozen=True, slots=True)
class OpenTransaction:
    """A transaction that has begun: its copy of the tree lies in `folder`."""

    id: str
    begun_at: datetime
    folder: Path
    tree: KeptTree

    def plan(self, digests: Mapping[str, str]) -> None:
        """Note which content the transaction will write where, before it does. Durable when this returns."""
        _write(self.folder / _PLAN, digests)

    def planned(self) -> dict[str, str]:
        """Return what was noted; nothing where it had not got so far."""
        try:
            read = json.loads((self.folder / _PLAN).read_bytes())
        except (OSError, ValueError):
            return {}
        return {str(path): str(digest) for path, digest in read.items()} if isinstance(read, dict) else {}


class Journal:
    """A directory beside the tree, out of its way: in `.git` where there is one."""

    def __init__(self, root: Path, folder: Path | None = None) -> None:
        """Take the tree's top directory, and where to keep the journal if elsewhere. Nothing is made yet."""
        self.root = root.resolve()
        git = git_directory(self.root)
        beside = self.root.parent / f".{self.root.name}.{NAME}"
        self.folder = folder.resolve() if folder is not None else git / NAME if git is not None else beside
        if folder is not None and (self.folder == self.root or self.root in self.folder.parents):
            raise TransactionError(f"{folder}: the journal cannot lie in the tree that it is about")

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the tree against all other transactions. Raises TransactionError."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise TransactionError(f"{self.folder}: no journal can be kept there: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise TransactionError(
                f"{self.root}: another transaction is under way; wait for its end, then try again"
            ) from None
        try:
            yield
        finally:
            os.close(descriptor)

    def begin(self, root: int, leave_out: Collection[str]) -> OpenTransaction:
        """Copy the tree; from when this returns, a later process can put it back. Raises TransactionError."""
        if (self.folder / _OPEN).exists():
            raise TransactionError(
                f"{self.root}: an earlier transaction did not come to its end, so this may not be the tree "
                "that it was; put it back with `fixwright workspace recover`, or keep it as it is with "
                "`fixwright workspace recover --keep`"
            )
        self._tidy()
        name, begun = secrets.token_hex(8), datetime.now(UTC)
        making = self.folder / f"making-{name}"
        try:
            making.mkdir()
            tree = KeptTree.keep(root, making, leave_out)
            _write(making / _ABOUT, {"id": name, "begun_at": begun.isoformat()})
            making.rename(self.folder / _OPEN)
        except OSError as error:
            shutil.rmtree(making, ignore_errors=True)
            raise TransactionError(f"{self.root}: cannot be copied: {error}; nothing was changed") from None
        sync(self.folder)
        return OpenTransaction(
            name, begun, self.folder / _OPEN, KeptTree(self.folder / _OPEN, tree.entries, tree.leave_out)
        )

    def unfinished(self) -> OpenTransaction | None:
        """Return the transaction that did not end, or None. Raises TransactionError for a damaged one."""
        folder = self.folder / _OPEN
        if not folder.exists():
            return None
        self._check_ours(folder)
        try:
            about = json.loads((folder / _ABOUT).read_bytes())
            if not _ID.fullmatch(str(about["id"])):  # it becomes part of paths
                raise TransactionError(f"{folder}: the journal was not written by a transaction")
            return OpenTransaction(
                str(about["id"]), datetime.fromisoformat(about["begun_at"]), folder, KeptTree.read(folder)
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TransactionError(f"{folder}: the journal cannot be read: {error}") from None

    def _check_ours(self, folder: Path) -> None:
        """Raise TransactionError for another user's journal: it says what is written, with which rights."""
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            raise TransactionError(
                f"{folder}: belongs to somebody else; put the tree back as the user that changed it"
            )

    def end(self, transaction: OpenTransaction, receipt: TransactionReceipt) -> None:
        """Let go of the copy, and keep the receipt. From here on nothing can be put back any more."""
        receipts = self.folder / "receipts"
        receipts.mkdir(exist_ok=True)
        _write_bytes(receipts / f"{receipt.id}.json", receipt.as_json().encode())
        self.drop(transaction)
        old = sorted(receipts.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)[:-_KEPT_RECEIPTS]
        for path in old:
            path.unlink(missing_ok=True)

    def drop(self, transaction: OpenTransaction) -> None:
        """Let go of the copy, in one move."""
        transaction.folder.rename(self.folder / f"over-{transaction.id}")
        sync(self.folder)
        self._tidy()

    def aside(self, transaction: OpenTransaction) -> Path:
        """Return where files that others wrote are kept when a transaction is recovered."""
        return self.folder / "put-aside" / transaction.id

    def _tidy(self) -> None:
        for path in self.folder.iterdir():
            kind, _, name = path.name.partition("-")
            if kind in {"making", "over"} and _ID.fullmatch(name):
                shutil.rmtree(path, ignore_errors=True)


def _write(path: Path, value: object) -> None:
    _write_bytes(path, json.dumps(value).encode())


def _write_bytes(path: Path, content: bytes) -> None:
    arriving = path.with_name(path.name + ".new")
    with arriving.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    arriving.rename(path)
    sync(path.parent)
