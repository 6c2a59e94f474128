"""Contract checks of what a repository's address and credentials are good for: real git, real pushes."""

# ruff: noqa: D102  (a check is described by its name)

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from domain.errors import (
    BranchMoved,
    CredentialRefused,
    GitError,
    GitUnavailable,
    PermissionRefused,
    PushRefused,
)
from domain.model import CloneAccess
from domain.ports import Forge, Purpose
from providers.conformance.plain_git import GitClient, PlainGit
from providers.conformance.reading import BRANCHES
from providers.conformance.stage import ForgeStage, StagedChecks, proposal

HEAD = "fixwright/issue-1"
PATHS = ["lib/a b.txt", "ünï/🎉.md", "a#b?c%20d", "tail \\ 'quoted' \"twice\""]


def with_a_credential(access: CloneAccess, forge: Forge) -> CloneAccess:
    """Skip where git needs no credential: what is said of one then says nothing."""
    if not access.secret:
        pytest.skip(f"{forge.name} gives no credentials for git: whoever reaches the address may use it")
    return access


class GitChecks(StagedChecks):
    """clone_access and revoke_access, by what git can do with them."""

    @pytest.fixture
    def git(self, tmp_path: Path) -> GitClient:
        """The client; override it to try another one on your forge."""
        return PlainGit(tmp_path / "suite-git")

    @pytest.fixture
    def pushing(self, repository_id: str, forge: Forge, git: GitClient) -> CloneAccess:
        """An access to push with; `main` is fetched."""
        access = forge.clone_access(repository_id, Purpose.PUSH)
        git.fetch(access)
        return access

    @pytest.mark.parametrize("purpose", list(Purpose))
    def test_what_was_pushed_is_fetched(
        self, stage: ForgeStage, repository_id: str, forge: Forge, git: GitClient, purpose: Purpose
    ) -> None:
        sha = stage.push(repository_id, "topic", "lib/a.txt")
        access = forge.clone_access(repository_id, purpose)
        git.fetch(access)
        heads = git.remote_heads(access)
        assert set(heads) == {"main", "topic"} and heads["topic"] == sha
        assert git.read("topic", "lib/a.txt") == b"lib/a.txt"

    @pytest.mark.parametrize("branch", BRANCHES)
    def test_branches_keep_their_names(self, stage: ForgeStage, git: GitClient, branch: str) -> None:
        repository_id = stage.repository(default_branch=branch)
        access = stage.forge().clone_access(repository_id, Purpose.PUSH)
        git.fetch(access)
        git.push(access, git.commit(branch, "new.txt", b"new"), f"topic/{branch}", "")
        assert set(git.remote_heads(access)) == {branch, f"topic/{branch}"}

    @pytest.mark.parametrize("path", PATHS)
    def test_paths_keep_their_names(self, pushing: CloneAccess, git: GitClient, path: str) -> None:
        git.push(pushing, git.commit("main", path, b"content"), HEAD, "")
        git.fetch(pushing)
        assert git.read(HEAD, path) == b"content"

    def test_an_empty_repository_has_no_branches(
        self, stage: ForgeStage, forge: Forge, git: GitClient
    ) -> None:
        access = forge.clone_access(stage.repository(empty=True))
        git.fetch(access)
        assert git.remote_heads(access) == {}

    def test_a_pushed_branch_can_be_proposed(
        self, repository_id: str, pushing: CloneAccess, forge: Forge, git: GitClient
    ) -> None:
        first = git.commit("main", "fix.txt", b"one")
        git.push(pushing, first, HEAD, "")
        made = forge.ensure_pull(repository_id, proposal(HEAD))
        assert made.head_sha == first
        git.fetch(pushing)
        second = git.commit(HEAD, "fix.txt", b"two")
        git.push(pushing, second, HEAD, first)
        found = forge.find_pull(repository_id, HEAD)
        assert found is not None and (found.number, found.head_sha) == (made.number, second)

    def test_a_push_of_three_megabytes_arrives(self, pushing: CloneAccess, git: GitClient) -> None:
        content = random.Random(1).randbytes(3 * 2**20)
        sha = git.commit("main", "big.bin", content)
        git.push(pushing, sha, HEAD, "")
        assert git.remote_heads(pushing)[HEAD] == sha

    def test_a_branch_that_moved_is_left_where_it_is(
        self, stage: ForgeStage, repository_id: str, pushing: CloneAccess, git: GitClient
    ) -> None:
        ours = git.commit("main", "fix.txt", b"ours")
        git.push(pushing, ours, HEAD, "")
        theirs = stage.push(repository_id, HEAD, "theirs.txt")
        again = git.commit("main", "fix.txt", b"ours again")
        for expected in (ours, ""):
            with pytest.raises(BranchMoved):
                git.push(pushing, again, HEAD, expected)
        assert git.remote_heads(pushing)[HEAD] == theirs

    def test_a_refused_push_says_why_and_leaves_nothing(
        self, stage: ForgeStage, repository_id: str, forge: Forge, git: GitClient
    ) -> None:
        words = "RULE-7: branches of robots are not welcome here"
        stage.refuse_pushes(repository_id, words)
        access = forge.clone_access(repository_id, Purpose.PUSH)
        git.fetch(access)
        with pytest.raises(PushRefused) as refused:
            git.push(access, git.commit("main", "fix.txt", b"x"), HEAD, "")
        assert words in str(refused.value) and not isinstance(refused.value, GitUnavailable)
        assert not access.secret or access.secret not in str(refused.value)
        assert set(git.remote_heads(access)) == {"main"}

    def test_a_credential_for_fetching_pushes_nothing(
        self, repository_id: str, forge: Forge, git: GitClient
    ) -> None:
        access = with_a_credential(forge.clone_access(repository_id, Purpose.FETCH), forge)
        git.fetch(access)
        with pytest.raises(GitError) as refused:
            git.push(access, git.commit("main", "fix.txt", b"x"), HEAD, "")
        assert not isinstance(refused.value, GitUnavailable | BranchMoved)
        assert set(git.remote_heads(access)) == {"main"}

    @pytest.mark.parametrize("purpose", list(Purpose))
    def test_a_credential_opens_one_repository_alone(
        self, stage: ForgeStage, repository_id: str, forge: Forge, git: GitClient, purpose: Purpose
    ) -> None:
        other = stage.repository(private=True)
        access = with_a_credential(forge.clone_access(repository_id, purpose), forge)
        elsewhere = replace(access, url=forge.clone_access(other).url)
        with pytest.raises(GitError):
            git.fetch(elsewhere)

    @pytest.mark.parametrize("purpose", list(Purpose))
    def test_a_revoked_credential_opens_nothing(
        self, stage: ForgeStage, forge: Forge, git: GitClient, purpose: Purpose
    ) -> None:
        repository_id = stage.repository(private=True)
        access = with_a_credential(forge.clone_access(repository_id, purpose), forge)
        git.fetch(access)
        forge.revoke_access(access)
        with pytest.raises(CredentialRefused):
            git.remote_heads(access)

    def test_revoking_one_credential_leaves_the_other(
        self, stage: ForgeStage, forge: Forge, git: GitClient
    ) -> None:
        repository_id = stage.repository(private=True)
        one, other = (with_a_credential(forge.clone_access(repository_id), forge) for _ in range(2))
        forge.revoke_access(one)
        assert set(git.remote_heads(other)) == {"main"}

    def test_what_is_private_needs_a_credential(
        self, stage: ForgeStage, forge: Forge, git: GitClient
    ) -> None:
        access = with_a_credential(forge.clone_access(stage.repository(private=True)), forge)
        with pytest.raises(GitError):
            git.fetch(replace(access, username="", secret=""))
        with pytest.raises(CredentialRefused):
            git.fetch(replace(access, secret=access.secret[:-2] + "xx"))

    def test_who_may_only_read_gets_no_credential_to_push(
        self, stage: ForgeStage, repository_id: str, forge: Forge, git: GitClient
    ) -> None:
        reading = with_a_credential(forge.clone_access(repository_id), forge)
        git.fetch(reading)
        stage.restrict_bot(repository_id)
        with pytest.raises((PermissionRefused, GitError)):
            access = forge.clone_access(repository_id, Purpose.PUSH)
            git.push(access, git.commit("main", "fix.txt", b"x"), HEAD, "")
        assert set(git.remote_heads(forge.clone_access(repository_id))) == {"main"}

    def test_an_archived_repository_takes_no_push(
        self, stage: ForgeStage, repository_id: str, forge: Forge, git: GitClient
    ) -> None:
        with_a_credential(forge.clone_access(repository_id), forge)
        stage.archive(repository_id)
        with pytest.raises((PermissionRefused, GitError)) as refused:
            access = forge.clone_access(repository_id, Purpose.PUSH)
            git.fetch(access)
            git.push(access, git.commit("main", "fix.txt", b"x"), HEAD, "")
        assert not isinstance(refused.value, GitUnavailable | BranchMoved)

    def test_a_renamed_repository_is_still_there(
        self, stage: ForgeStage, repository_id: str, forge: Forge, git: GitClient
    ) -> None:
        git.fetch(forge.clone_access(repository_id))
        stage.rename_repository(repository_id)
        access = forge.clone_access(repository_id, Purpose.PUSH)
        git.fetch(access)
        sha = git.commit("main", "fix.txt", b"x")
        git.push(access, sha, HEAD, "")
        assert git.remote_heads(access)[HEAD] == sha
