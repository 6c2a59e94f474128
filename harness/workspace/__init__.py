"""Where attempts happen on disk: mirrors, worktrees with a decoy `.git`, verification checkouts, removal."""

from harness.workspace.mirrors import KeptMirror
from harness.workspace.removal import remove_tree
from harness.workspace.workspaces import DiskUse, Workspace, Workspaces

__all__ = ["DiskUse", "KeptMirror", "Workspace", "Workspaces", "remove_tree"]
