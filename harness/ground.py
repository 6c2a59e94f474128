"""Prepares the ground of an attempt: where it starts, what it is measured against, a worktree to work in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from domain.errors import ConfigurationError, GitError
from domain.model import Category, CloneAccess, Outcome, Reason, Task
from domain.policy import branch_name
from domain.ports import Purpose
from domain.repo_config import FILE_NAME, RepoConfig, parse_repo_config
from harness.change import FileChange
from harness.git import Mirror
from harness.house import House, house_of, with_template
from harness.journal import Journal
from harness.order import Bench, Ended, Order
from harness.publish import StartPoint
from harness.start import Beginning
from harness.workspace import Workspace, Workspaces

_MISNAMED = (
    ".fixwright.yaml",
    "fixwright.yml",
    "fixwright.yaml",
    ".github/fixwright.yml",
    ".github/.fixwright.yml",
)
"""Where people put the file who do not remember its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What preparing found. `base_sha` is where our branch left the default one; all is judged against it.

    `config` is the repository's own file, `house` what it says of the presentation of this task, and
    `category` by whose rules it wants the task judged.
    `start_tree` is what the worktree began with; `touched` is what differs in it from the base.
    `carried` is the earlier attempt's work, merged onto a newer base, where it begins with that; else "".
    `lost` is for the hand-off: earlier work that conflicts with the base; `remark` is for the issue.
    """

    mirror: Mirror
    start: StartPoint
    base_sha: str
    base_tree: str
    config: RepoConfig
    house: House
    category: Category
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
        """Fetch, heed the repository's file, choose the start, fill a worktree.

        Raises Ended, ConfigurationError, GitError.
        """
        order = self.order
        mirror = self.bench.workspaces.mirror_for(order.repository)
        url = order.access.during(Purpose.FETCH, lambda access: _fetched(mirror, access))
        config, house = self._contract(mirror)
        base_name = house.base(order.repository)
        if not order.task.wip_branch:
            _require_room_for(branch_name(order.task.issue.number, prefix=house.branch_prefix), mirror)
        default = self._base_head(mirror, house)
        house = with_template(house, config, mirror, default)
        beginning = Beginning(mirror, order, self.journal, default, base_name)
        start = beginning.start()
        self.journal.based_on(start.sha)
        base_sha = (mirror.merge_base(start.sha, default) or default) if start.branch else start.sha
        base_tree, start_tree = mirror.tree_of(base_sha), beginning.tree(start)
        _require_directory(mirror, base_tree, config.working_directory, base_name)
        return Ground(
            mirror=mirror,
            start=start,
            base_sha=base_sha,
            base_tree=base_tree,
            config=config,
            house=house,
            category=config.judged_as(_category_name(config, order.task)),
            workspace=self._workspace(mirror, start, start_tree, url, base_name),
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

    def _contract(self, mirror: Mirror) -> tuple[RepoConfig, House]:
        """Read the repository's file, from its default branch alone. Raises Ended, ConfigurationError."""
        head = self._default_head(mirror)
        source = mirror.read_file(head, FILE_NAME)
        config = parse_repo_config(source)
        self.journal.heeds(config, elsewhere=_misnamed(mirror, head) if source is None else None)
        return config, house_of(config, _category_name(config, self.order.task))

    def _base_head(self, mirror: Mirror, house: House) -> str:
        if not house.base_branch:
            return self._default_head(mirror)
        head = mirror.default_head(house.base_branch)
        if not head:
            raise ConfigurationError(
                f"{FILE_NAME}: base_branch: there is no branch `{house.base_branch}` in this repository"
            )
        return head

    def _workspace(self, mirror: Mirror, start: StartPoint, tree: str, url: str, base_name: str) -> Workspace:
        order = self.order
        workspace = self.bench.workspaces.open(order.task.id, order.attempt.number)
        branch = start.branch or base_name
        try:
            workspace.fill(mirror, start.sha, branch=branch, url=url, tree=tree)
        except (GitError, OSError):
            workspace.remove()
            raise
        return workspace


def _category_name(config: RepoConfig, task: Task) -> str:
    return config.category_of(task.label, task.category)


def _require_directory(mirror: Mirror, tree: str, directory: str, branch: str) -> None:
    if directory and not any(path.startswith(f"{directory}/") for path in mirror.list_files(tree)):
        raise ConfigurationError(
            f"{FILE_NAME}: working_directory: there is no directory `{directory}` on `{branch}`"
        )


def _require_room_for(branch: str, mirror: Mirror) -> None:
    """Raise Ended where git could make no such branch: before a model is paid, and not when all is done."""
    parts = branch.split("/")[:-1]
    above = ("/".join(parts[:count]) for count in range(1, len(parts) + 1))
    clash = next((name for name in above if mirror.default_head(name)), "")
    if clash:
        raise Ended(
            Outcome.DECLINED,
            Reason.ENVIRONMENT,
            f"A branch `{branch}` cannot be made for this issue: there is a branch `{clash}`, and git cannot "
            f"have both. Delete or rename `{clash}`, or set another `branch_prefix` in `{FILE_NAME}`.",
        )


def _misnamed(mirror: Mirror, head: str) -> str:
    """Return a file that looks like a contract and is not read, "" where there is none."""
    return next((path for path in _MISNAMED if mirror.read_file(head, path) is not None), "")


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
