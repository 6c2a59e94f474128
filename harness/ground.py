"""Prepares the ground of an attempt: where it starts, what it is measured against, a worktree to work in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from domain.errors import GitError
from domain.model import Outcome, Reason
from domain.repo_config import FILE_NAME, RepoConfig, parse_repo_config
from harness.checkpoints import last_checkpoint
from harness.git import Mirror
from harness.journal import Journal
from harness.order import Bench, Ended, Order
from harness.publish import StartPoint
from harness.workspace import Workspace, Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What preparing found. `base_sha` is where our branch left the default one; all is judged against it.

    `start_tree` is what the worktree began with; `touched` are the paths by which it differs from the base.
    """

    mirror: Mirror
    start: StartPoint
    base_sha: str
    base_tree: str
    config: RepoConfig
    workspace: Workspace
    start_tree: str
    touched: tuple[str, ...]


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
        mirror.fetch(order.access)
        default = self._default_head(mirror)
        start = self._start_point(mirror, default)
        self.journal.based_on(start.sha)
        base_sha = (mirror.merge_base(start.sha, default) or default) if start.branch else start.sha
        config = parse_repo_config(mirror.read_file(default, FILE_NAME))
        base_tree, start_tree = mirror.tree_of(base_sha), self._start_tree(mirror, start)
        return Ground(
            mirror=mirror,
            start=start,
            base_sha=base_sha,
            base_tree=base_tree,
            config=config,
            workspace=self._workspace(mirror, start, start_tree),
            start_tree=start_tree,
            touched=tuple(change.path for change in mirror.changes(base_tree, start_tree)),
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

    def _start_point(self, mirror: Mirror, default: str) -> StartPoint:
        """Begin from the live branch, with what people pushed to it, else from the default branch.

        An attempt that goes on keeps its start, so that a commit which a person pushed meanwhile is noticed.
        A head that is our own push, of this very attempt before a crash, is no such commit.
        """
        branch = self.order.start_branch
        head = mirror.default_head(branch) if branch else ""
        recorded = self.order.attempt.base_sha
        if recorded and is_there(mirror, recorded) and not (head and head == self.order.task.wip_sha):
            return StartPoint(sha=recorded, branch=branch if head else "")
        return StartPoint(sha=head, branch=branch) if head else StartPoint(sha=default)

    def _start_tree(self, mirror: Mirror, start: StartPoint) -> str:
        """Return the tree to begin with: the last checkpoint, or the earlier work that is worth keeping.

        Earlier work is kept only on the very commit that it was made on: on any other, its tree would take
        back what others have changed since.
        """
        checkpoint = last_checkpoint(self.journal.past_steps())
        if checkpoint and is_there(mirror, checkpoint):
            return mirror.tree_of(checkpoint)
        last = self.order.past[-1] if self.order.past else None
        is_kept = last is not None and (last.outcome is Outcome.UNVERIFIED or last is self.order.unpublished)
        if last and is_kept and last.tree and last.start_sha == start.sha and is_there(mirror, last.tree):
            return last.tree
        return mirror.tree_of(start.sha)

    def _workspace(self, mirror: Mirror, start: StartPoint, tree: str) -> Workspace:
        order = self.order
        workspace = self.bench.workspaces.open(order.task.id, order.attempt.number)
        branch = start.branch or order.repository.default_branch
        try:
            workspace.fill(mirror, start.sha, branch=branch, url=order.access.url, tree=tree)
        except (GitError, OSError):
            workspace.remove()
            raise
        return workspace


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


def is_there(mirror: Mirror, sha: str) -> bool:
    """Tell whether a commit or tree that was recorded is still in the mirror: mirrors may be made anew."""
    try:
        return bool(mirror.tree_of(sha))
    except GitError:
        return False
