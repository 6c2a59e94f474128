"""The private place of one `solve`: a forge of its own with the repository in it, gone at the end."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from app.settings import WorkerSettings
from app.solve.source import IssueText
from domain.errors import ConfigurationError
from domain.events import IssueLabelled
from domain.model import Actor, Category, IssueRef, Permission, Repository
from harness.git import GitRunner, Mirror
from harness.git.borrowed import borrow, git_directory, give, looking_at, own
from harness.git.runner import Limits, Place
from providers.local.people import LocalWorld
from providers.local.plugin import LocalProvider

BRANCH = "main"
PLAN_FIRST = "plan-first"
_FETCH = Limits(seconds=600.0)
_WORD = r"[A-Za-z0-9_](?:[A-Za-z0-9_-]|\.(?![./]|lock(?:/|$)|$))*"
_BRANCH_NAME = re.compile(rf"{_WORD}(?:/{_WORD})*", re.ASCII)
"""Stricter than git: what every git and every shell takes for a name and nothing else."""

_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class SolvePlace:
    """A repository of somebody's, copied into a forge that nobody else sees, with one issue."""

    data: Path
    world: LocalWorld
    runner: GitRunner
    repository: Repository
    issue: IssueRef
    person: Actor
    asked: IssueLabelled
    checkout: Path

    def settings(self, given: WorkerSettings, model: str) -> WorkerSettings:
        """Return the settings in force, on this place's data alone."""
        return given.model_copy(
            update={
                "data_dir": self.data / "service",
                "local_forge": self.data / "forge",
                "repositories": frozenset({f"local:{self.repository.full_name}".lower()}),
                "labels": {category.value: category for category in Category},
                "model": model or given.model,
                "worker_name": "solve",
                "sweep_minutes": 0,
                "public_url": "",
            }
        )

    def check_new(self, name: str) -> None:
        """Look whether a branch can be made in the person's repository. Raises ConfigurationError."""
        place = Place(git_dir=_git_dir(self.checkout))
        if not _BRANCH_NAME.fullmatch(name) or len(name) > 200:
            raise ConfigurationError(f"--branch: {name[:100]!a} is no name for a branch; for example fix/31")
        ref = f"refs/heads/{name}"
        if self.runner.call(place, "rev-parse", "--verify", "--quiet", "--end-of-options", ref).code == 0:
            raise ConfigurationError(f"--branch: there is a branch {name} already; choose a new name")

    def hand_over(self, branch: str, name: str) -> str:
        """Put a branch of the forge into the person's repository under a new name, and return its commit.

        The working copy stays as it is. Raises GitError.
        """
        access = LocalProvider().forge({"path": str(self.data / "forge")}).clone_access(self.repository.id)
        ref = f"refs/heads/{name}"
        with looking_at(self.checkout, upwards=False) as theirs:
            place = theirs.mirror.place
            words = ("--no-tags", access.url, f"refs/heads/{branch}:{ref}")
            self.runner.run(place, "fetch", *words, limits=_FETCH, access=access)
            commit = self.runner.run(place, "rev-parse", ref).decode().strip()
            give(_git_dir(self.checkout), theirs.mirror, ref, commit)
        return commit


@contextmanager
def solve_place(
    checkout: Path, issue: IssueText, category: Category, *, plan_first: bool
) -> Iterator[SolvePlace]:
    """Copy what is committed in a repository into a new place with this issue; remove it at the end.

    Raises ConfigurationError, GitError.
    """
    root = checkout.expanduser().absolute()
    _git_dir(root)
    data = Path(tempfile.mkdtemp(prefix="fixwright-solve-"))
    try:
        data.chmod(0o711)  # the sandbox' user passes through
        yield _made(data, root, issue, category, plan_first)
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _made(data: Path, root: Path, issue: IssueText, category: Category, plan_first: bool) -> SolvePlace:
    world = LocalWorld(data / "forge")
    runner = GitRunner(data / "git-home")
    person = world.create_user("you")
    name = _NOT_IN_NAMES.sub("-", root.name).strip("-.") or "repository"
    repository = world.create_repository(f"you/{name}", default_branch=BRANCH)
    world.grant(repository.id, person, Permission.MAINTAIN)
    bare = LocalProvider().forge({"path": str(data / "forge")}).clone_access(repository.id).url
    git_dir = Path(bare.removeprefix("file://"))
    with looking_at(root, upwards=False) as checkout:
        head = checkout.commit("HEAD")
        borrow(git_dir, runner, checkout.git_dir)
    copy = Mirror(git_dir, runner)
    runner.run(copy.place, "update-ref", f"refs/heads/{BRANCH}", head)
    own(copy)
    opened = world.open_issue(repository.id, person, title=issue.title, body=issue.body)
    labels = [category.value, *([PLAN_FIRST] if plan_first else [])]
    world.label(opened, person, *labels)
    asked = IssueLabelled(
        issue=opened,
        repository_name=repository.full_name,
        actor=person,
        label=category.value,
        title=issue.title,
        body=issue.body,
    )
    return SolvePlace(
        data=data,
        world=world,
        runner=runner,
        repository=repository,
        issue=opened,
        person=person,
        asked=asked,
        checkout=root,
    )


def _git_dir(root: Path) -> Path:
    found = git_directory(root) if root.is_dir() else None
    if found is None:
        raise ConfigurationError(f"--repo: {root} is no git repository's top directory; for example --repo .")
    return found
