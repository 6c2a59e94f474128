"""Trusted git: the only runner, the mirror of a remote repository, and the push."""

from harness.git.environment import DEFAULT_COMMITTER, Person
from harness.git.merging import Merged
from harness.git.mirror import Mirror
from harness.git.runner import Completed, GitRunner, Limits, Place
from harness.git.values import LogEntry, Snapshot, TreeEntry

__all__ = [
    "DEFAULT_COMMITTER",
    "Completed",
    "GitRunner",
    "Limits",
    "LogEntry",
    "Merged",
    "Mirror",
    "Person",
    "Place",
    "Snapshot",
    "TreeEntry",
]
