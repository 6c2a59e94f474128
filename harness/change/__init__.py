"""What stands between a worktree and a commit: the scan by lstat, the policy, the search for secrets."""

from harness.change.model import AddedLine, Exclusion, FileChange, TreeEntry
from harness.change.policy import PROTECTED_RULE, check_change
from harness.change.protected import DEFAULT_PROTECTED, LOCKFILES, behind_links, exact_name, protected_part
from harness.change.scan import DEFAULT_LIMITS, Scan, ScanLimits, scan_tree
from harness.change.secrets import scan_secrets

__all__ = [
    "DEFAULT_LIMITS",
    "DEFAULT_PROTECTED",
    "LOCKFILES",
    "PROTECTED_RULE",
    "AddedLine",
    "Exclusion",
    "FileChange",
    "Scan",
    "ScanLimits",
    "TreeEntry",
    "behind_links",
    "check_change",
    "exact_name",
    "protected_part",
    "scan_secrets",
    "scan_tree",
]
