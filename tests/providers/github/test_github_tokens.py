"""Tokens: for one repository and named permissions, revoked after use, renewed once, never shown."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from app.demo.github.state import OWNER, Fault
from domain.errors import ForgeError, ForgeUnavailable, NotFound, PermissionRefused
from domain.model import IssueRef
from domain.text import Redactor
from providers.conformance.stage import proposal
from providers.github import needs
from providers.github.forge import GithubForge
from tests.providers.github.conftest import Naps
from tests.providers.github.stage import GithubStage

MINT = r"/app/installations/\d+/access_tokens"


def minted(stage: GithubStage) -> list[dict[str, object]]:
    return [seen.body for seen in stage.state.seen if seen.path.endswith("/access_tokens")]


def test_a_write_gets_a_token_of_its_own_that_is_revoked(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    before = set(stage.state.tokens)
    forge.ensure_comment(issue, "status", "x")
    (asked,) = minted(stage)
    assert asked == {"repository_ids": [int(issue.repository_id)], "permissions": dict(needs.COMMENTING)}
    assert set(stage.state.tokens) == before and len(stage.state.revoked) >= 1


def test_d87_no_call_has_more_permissions_than_it_needs(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    stage.push(issue.repository_id, "fixwright/issue-1", "fix.txt")
    forge.ensure_pull(issue.repository_id, proposal())
    forge.ensure_comment(issue, "status", "x")
    forge.permission_of(issue.repository_id, forge.identity)
    for asked in minted(stage):
        assert asked["permissions"] and len(asked["repository_ids"]) == 1  # type: ignore[arg-type]  # a list
    for seen in stage.state.seen:
        if seen.method == "GET" and seen.permissions and "/collaborators/" in seen.path:
            assert dict(seen.permissions) == {"metadata": "read"}
    granted = {name for asked in minted(stage) for name in asked["permissions"]}  # type: ignore[attr-defined]  # a dict
    assert not granted & {"workflows", "administration", "secrets", "actions"}


@pytest.mark.long
def test_a_reading_token_serves_again_for_a_while(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, naps: Naps
) -> None:
    for _ in range(3):
        forge.issue(issue)
    assert minted(stage) == []
    naps.ahead += 400
    forge.issue(issue)
    assert len(minted(stage)) == 1
    forge.close()
    assert stage.state.tokens == {}
    assert forge.issue(issue).title, "it can be used again"


@pytest.mark.long
def test_a_token_is_not_used_in_the_last_minutes_of_its_life(
    stage: GithubStage, repository_id: str, issue: IssueRef
) -> None:
    stage.state.token_seconds = 200
    forge = stage.client()
    for _ in range(2):
        forge.issue(issue)
    assert len([asked for asked in minted(stage) if "issues" in str(asked)]) == 2


def test_a_token_that_died_too_soon_is_renewed_once(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, naps: Naps
) -> None:
    stage.state.tokens.clear()
    naps.ahead += 60
    assert forge.issue(issue).title
    assert len(minted(stage)) == 1 and naps.slept == []


@pytest.mark.long
def test_a_young_token_is_given_a_moment(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, naps: Naps
) -> None:
    unknown = Fault("POST", r".*/comments", status=401, body={"message": "Bad credentials"}, times=2)
    stage.state.faults.append(unknown)
    forge.ensure_comment(issue, "status", "x")
    assert naps.slept == [1.0, 2.0] and len(minted(stage)) == 1


@pytest.mark.long
def test_d88_tokens_that_are_always_refused_end_in_an_error(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, naps: Naps
) -> None:
    stage.state.faults.append(Fault("POST", r".*/comments", status=401, times=99))
    with pytest.raises(ForgeError, match="just given out") as refused:
        forge.ensure_comment(issue, "status", "x")
    assert not isinstance(refused.value, ForgeUnavailable)
    assert len(minted(stage)) == 2 and len(naps.slept) < 8


def test_d89_every_token_is_registered_before_it_is_used(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    redact = Redactor()
    forge.on_secret(redact.lend)
    live = list(stage.state.tokens)
    access = forge.clone_access(issue.repository_id)
    for secret in [*live, access.secret]:
        assert len(secret) > 100 and redact(f"remote: {secret} denied") == "remote: [redacted] denied"
    forge.revoke_access(access)
    assert access.secret in stage.state.revoked and access.secret not in repr(access)


@pytest.mark.long
def test_a_revocation_that_fails_is_no_failure(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    stage.state.faults.append(Fault("DELETE", r"/installation/token", status=500, times=99))
    assert forge.ensure_comment(issue, "status", "x").id


def test_a_lacking_permission_is_named(stage: GithubStage, forge: GithubForge, issue: IssueRef) -> None:
    permissions = stage.state.installations[OWNER].permissions
    permissions["issues"] = "read"
    del permissions["pull_requests"]
    with pytest.raises(PermissionRefused, match=r"issues: write, pull_requests: write"):
        forge.ensure_comment(issue, "status", "x")
    permissions.update(issues="write", pull_requests="write")
    assert forge.ensure_comment(issue, "status", "x").id, "granted meanwhile: the next token has it"


@pytest.mark.long
def test_f120_a_suspended_installation_stops_its_account_alone(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    stage.state.installations[OWNER].suspended = True
    with pytest.raises(PermissionRefused, match="suspended"):
        forge.ensure_comment(issue, "status", "x")
    stage.state.installations[OWNER].suspended = False
    assert forge.ensure_comment(issue, "status", "x").id


@pytest.mark.long
def test_f120_an_installation_that_is_gone_is_not_found_and_found_again(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, naps: Naps
) -> None:
    gone = stage.state.installations.pop(OWNER)
    with pytest.raises(NotFound):
        forge.ensure_comment(issue, "status", "x")
    gone.id += 1
    stage.state.installations[OWNER] = gone
    naps.ahead += 61
    assert forge.ensure_comment(issue, "status", "x").id


def test_f119_who_is_not_on_the_list_gets_no_token(stage: GithubStage, forge: GithubForge) -> None:
    stranger = stage.state.local.create_repository("octo/not-served", files={"a": b"1"})
    with pytest.raises(NotFound):
        forge.repository_named("octo/not-served")
    with pytest.raises(NotFound):
        forge.repository(stranger.id)
    with pytest.raises(NotFound):
        forge.clone_access(stranger.id)
    assert minted(stage) == []


def test_a_repository_that_is_made_after_the_first_look_is_found_at_once(stage: GithubStage) -> None:
    forge = stage.client()
    stage._names.update({f"{OWNER}/early", f"{OWNER}/late"})
    early = stage.state.local.create_repository(f"{OWNER}/early", files={"a": b"1"})
    with pytest.raises(NotFound):
        forge.repository("999999")  # every name is looked up, and one leads to nothing
    assert forge.repository(early.id).full_name == f"{OWNER}/early"
    late = stage.state.local.create_repository(f"{OWNER}/late", files={"a": b"1"})
    assert forge.repository(late.id).full_name == f"{OWNER}/late"


def test_f119_an_empty_list_serves_nobody(stage: GithubStage, repository_id: str) -> None:
    forge = stage.client()
    stage._names.clear()
    with pytest.raises(NotFound):
        forge.repository(repository_id)
    assert stage.state.seen == []


@pytest.mark.long
def test_d87_a_token_for_several_repositories_is_not_used(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    body = {"token": "ghs_toomuch_abcdef", "expires_at": "2099-01-01T00:00:00Z"}
    body |= {"repositories": [{"id": 1, "full_name": "a/b"}, {"id": 2, "full_name": "a/c"}]}  # type: ignore[dict-item]  # JSON
    stage.state.faults.append(Fault("POST", MINT, status=201, body=body))
    with pytest.raises(ForgeError, match="2 repositories"):
        forge.ensure_comment(issue, "status", "x")
    revocations = [seen for seen in stage.state.seen if seen.method == "DELETE"]
    assert "ghs_toomuch_abcdef" in revocations[-1].headers["authorization"]


@pytest.mark.long
def test_many_threads_leave_no_token_behind_and_no_comment_twice(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    def work(number: int) -> None:
        for text in ("one", "two", "three"):
            forge.issue(issue)
            forge.ensure_comment(issue, f"topic-{number}", text)
            forge.permission_of(issue.repository_id, forge.identity)
        forge.revoke_access(forge.clone_access(issue.repository_id))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(forge.comments(issue)) == 8
    forge.close()
    assert stage.state.tokens == {}
