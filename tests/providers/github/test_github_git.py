"""Git over HTTP with an installation token: given by the helper, seen nowhere, refused where it must be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from domain.errors import CredentialRefused, GitError, PushRefused
from domain.ports import Purpose
from domain.text import Redactor
from harness.git import GitRunner, Mirror
from providers.github.forge import GithubForge
from tests.providers.github.stage import GithubStage
from tests.store.makers import NOON

BRANCH = "fixwright/issue-1"


@pytest.fixture
def redact() -> Redactor:
    return Redactor()


@pytest.fixture
def mirror(tmp_path: Path, redact: Redactor) -> Mirror:
    runner = GitRunner(tmp_path / "git-home", redact=redact, protocols=frozenset({"http"}))
    return Mirror(tmp_path / "mirror.git", runner)


def commit_on_main(mirror: Mirror) -> str:
    base = mirror.default_head("main")
    return mirror.commit(mirror.tree_of(base), [base], "Fix it", when=NOON)


@pytest.mark.long
def test_a_branch_is_fetched_and_pushed_with_a_token(
    stage: GithubStage, forge: GithubForge, repository_id: str, mirror: Mirror
) -> None:
    access = forge.clone_access(repository_id, Purpose.PUSH)
    mirror.fetch(access)
    sha = commit_on_main(mirror)
    mirror.push(access, sha, BRANCH, "")
    assert mirror.remote_head(access, BRANCH) == sha
    forge.revoke_access(access)
    for path in (mirror.path / "config", mirror.path / "FETCH_HEAD"):
        assert not path.exists() or access.secret not in path.read_text()
    with pytest.raises(CredentialRefused):
        mirror.push(access, sha, "another", "")


@pytest.mark.long
def test_d87_a_token_for_fetching_cannot_push(forge: GithubForge, repository_id: str, mirror: Mirror) -> None:
    access = forge.clone_access(repository_id)
    mirror.fetch(access)
    with pytest.raises(GitError):
        mirror.push(access, commit_on_main(mirror), BRANCH, "")


@pytest.mark.long
def test_d87_a_token_opens_one_repository_alone(
    stage: GithubStage, forge: GithubForge, repository_id: str, mirror: Mirror
) -> None:
    other = forge.repository(stage.repository()).full_name
    access = forge.clone_access(repository_id)
    elsewhere = replace(access, url=access.url.replace("octo/widgets-1", other))
    with pytest.raises(GitError):
        mirror.fetch(elsewhere)


@pytest.mark.long
@pytest.mark.parametrize(
    "words",
    [
        "error: GH013: Repository rule violations found for refs/heads/fixwright/issue-1.",
        "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` without "
        "`workflows` permission",
    ],
)
def test_githubs_refusals_of_a_push_are_told_in_its_words(
    stage: GithubStage, forge: GithubForge, repository_id: str, mirror: Mirror, redact: Redactor, words: str
) -> None:
    hook = stage.state.local.root / "repos" / "octo" / "widgets-1.git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{words}\nEND\nexit 1\n")
    hook.chmod(0o755)
    forge.on_secret(redact.lend)
    access = forge.clone_access(repository_id, Purpose.PUSH)
    mirror.fetch(access)
    with pytest.raises(PushRefused) as refused:
        mirror.push(access, commit_on_main(mirror), BRANCH, "")
    assert words.split()[0] in str(refused.value) and access.secret not in str(refused.value)
