"""What the suite asks of git, asked by the service's own git: on files, and on a GitHub over HTTP."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from domain.model import CloneAccess
from domain.text import Redactor
from harness.git import GitRunner, Mirror
from providers.conformance import ForgeStage, GitClient
from providers.conformance.git import GitChecks
from providers.local.stage import LocalStage
from tests.providers.github.stage import GithubStage
from tests.store.makers import NOON


class HarnessGit:
    """The mirror as a `GitClient`: a commit is made from a worktree, as the service makes it."""

    def __init__(self, path: Path) -> None:
        runner = GitRunner(path / "home", redact=Redactor(), protocols=frozenset({"http", "file"}))
        self._mirror = Mirror(path / "mirror.git", runner)

    def fetch(self, access: CloneAccess) -> None:
        self._mirror.fetch(access)

    def remote_heads(self, access: CloneAccess) -> Mapping[str, str]:
        return self._mirror.remote_heads(access)

    def read(self, branch: str, path: str) -> bytes:
        content = self._mirror.read_file(self._mirror.default_head(branch), path)
        assert content is not None
        return content

    def commit(self, branch: str, path: str, content: bytes) -> str:
        base = self._mirror.default_head(branch)
        tree = self._mirror.tree_of(base)
        with tempfile.TemporaryDirectory() as directory:
            worktree = Path(directory)
            self._mirror.materialize(tree, worktree)
            (worktree / path).parent.mkdir(parents=True, exist_ok=True)
            (worktree / path).write_bytes(content)
            snapshot = self._mirror.snapshot(worktree, tree)
        return self._mirror.commit(snapshot.tree, [base], "Change a file", when=NOON)

    def push(self, access: CloneAccess, sha: str, branch: str, expected: str) -> None:
        self._mirror.push(access, sha, branch, expected)


class ByTheServicesGit(GitChecks):
    @pytest.fixture
    def git(self, tmp_path: Path) -> GitClient:
        return HarnessGit(tmp_path / "service-git")


@pytest.mark.long
class TestLocalByTheServicesGit(ByTheServicesGit):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> ForgeStage:
        return LocalStage(tmp_path / "forge")


@pytest.mark.long
class TestGithubByTheServicesGit(ByTheServicesGit):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> Iterator[ForgeStage]:
        stage = GithubStage(tmp_path / "github")
        yield stage
        stage.close()
