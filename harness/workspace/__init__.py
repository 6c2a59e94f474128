"""Where attempts happen on disk: mirrors, worktrees with a decoy `.git`, checkouts, transactions, removal."""

from harness.workspace.mirrors import KeptMirror
from harness.workspace.removal import remove_tree
from harness.workspace.transaction_receipt import ChangedFile, Ending, TransactionReceipt
from harness.workspace.transactional import (
    Check,
    CheckFailed,
    CheckResult,
    Transaction,
    TransactionalWorkspace,
)
from harness.workspace.workspaces import DiskUse, Workspace, Workspaces

__all__ = [
    "ChangedFile",
    "Check",
    "CheckFailed",
    "CheckResult",
    "DiskUse",
    "Ending",
    "KeptMirror",
    "Transaction",
    "TransactionReceipt",
    "TransactionalWorkspace",
    "Workspace",
    "Workspaces",
    "remove_tree",
]
