"""Prepares the ground of an attempt: where it starts, what it is measured against, a worktree to work in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from domain.errors import GitError
from domain.model import CloneAccess, Outcome, Reason
from domain.ports import Purpose
from domain.repo_config import FILE_NAME, RepoConfig, parse_repo_config
from harness.change import FileChange
from harness.git import Mirror
from harness.journal import Journal
from harness.order import Bench, Ended, Order
from harness.publish import StartPoint
from harness.start import Beginning
from harness.workspace import Workspace, Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What preparing found. `base_sha` is where our branch left the default one; all is judged against it.

    `start_tree` is what the worktree began with; `touched` is what differs in it from the base.
    `carried` is the earlier attempt's work, merged onto a newer base, where it begins with that; else "".
    `lost` is for the hand-off: earlier work that conflicts with the base; `remark` is for the issue.
    """

    mirror: Mirror
    start: StartPoint
    base_sha: str
    base_tree: str
    config: RepoConfig
    workspace: Workspace
    start_tree: str
    touched: tuple[FileChange, ...]
    carried: str = ""
    lost: str = ""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Preparation:
    """Lays out one attempt."""

    bench: Bench
    order: Order
    journal: Journal

    def prepare(self) -> Ground:
        """Fetch, choose the start, and fill a worktree. Raises Ended, ConfigurationError, GitError."""
        order = self.order
        mirror = self.bench.workspaces.mirror_for(order.repository)
        url = order.access.during(Purpose.FETCH, lambda access: _fetched(mirror, access))
        default = self._default_head(mirror)
        beginning = Beginning(mirror, order, self.journal, default)
        start = beginning.start()
        self.journal.based_on(start.sha)
        base_sha = (mirror.merge_base(start.sha, default) or default) if start.branch else start.sha
        config = parse_repo_config(mirror.read_file(default, FILE_NAME))
        base_tree, start_tree = mirror.tree_of(base_sha), beginning.tree(start)
        return Ground(
            mirror=mirror,
            start=start,
            base_sha=base_sha,
            base_tree=base_tree,
            config=config,
            workspace=self._workspace(mirror, start, start_tree, url),
            start_tree=start_tree,
            touched=mirror.changes(base_tree, start_tree),
            carried=beginning.carried,
            lost=beginning.lost,
            remark=beginning.remark,
        )

    def _default_head(self, mirror: Mirror) -> str:
        branch = self.order.repository.default_branch
        head = mirror.default_head(branch)
        if not head:
            raise Ended(
                Outcome.DECLINED,
                Reason.ENVIRONMENT,
                f"The repository has no commit on its default branch `{branch}`: nothing to work on.",
            )
        return head

    def _workspace(self, mirror: Mirror, start: StartPoint, tree: str, url: str) -> Workspace:
        order = self.order
        workspace = self.bench.workspaces.open(order.task.id, order.attempt.number)
        branch = start.branch or order.repository.default_branch
        try:
            workspace.fill(mirror, start.sha, branch=branch, url=url, tree=tree)
        except (GitError, OSError):
            workspace.remove()
            raise
        return workspace


def _fetched(mirror: Mirror, access: CloneAccess) -> str:
    mirror.fetch(access)
    return access.url


@dataclass(frozen=True, slots=True)
class FreshCheckouts:
    """Fresh checkouts for verification, in the worker's own ground."""

    workspaces: Workspaces
    mirror: Mirror

    def fresh(self, tree: str) -> Path:
        """Return a new directory that holds exactly the files of a tree."""
        return self.workspaces.fresh(self.mirror, tree)

    def discard(self, checkout: Path) -> None:
        """Remove it, whatever the tests have made of it."""
        self.workspaces.remove(checkout)
