"""What stands between a worktree and a commit: the scan by lstat, the policy, the search for secrets."""

from harness.change.model import AddedLine, Exclusion, FileChange, TreeEntry
from harness.change.policy import DEFAULT_PROTECTED, PROTECTED_RULE, check_change
from harness.change.scan import DEFAULT_LIMITS, Scan, ScanLimits, scan_tree
from harness.change.secrets import scan_secrets

__all__ = [
    "DEFAULT_LIMITS",
    "DEFAULT_PROTECTED",
    "PROTECTED_RULE",
    "AddedLine",
    "Exclusion",
    "FileChange",
    "Scan",
    "ScanLimits",
    "TreeEntry",
    "check_change",
    "scan_secrets",
    "scan_tree",
]
