"""What GitHub alone can do, where it is odd: logs elsewhere, statuses unseen, errors with status 200."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.demo.github.state import OWNER, Fault
from domain.errors import ForgeError, ForgeUnavailable, NotFound, PermissionRefused
from domain.model import Actor
from domain.ports import CiState
from providers.conformance.stage import proposal
from providers.github.forge import GithubForge
from providers.github.shapes import graphql_data
from tests.providers.github.stage import GithubStage

LOGS = r".*/actions/jobs/\d+/logs"


@pytest.fixture
def sha(stage: GithubStage, repository_id: str) -> str:
    return stage.push(repository_id, "topic", "new.txt")


@pytest.mark.long
@pytest.mark.parametrize(
    ("conclusion", "state"),
    [
        ("success", CiState.GREEN),
        ("neutral", CiState.GREEN),
        ("skipped", CiState.GREEN),
        ("failure", CiState.RED),
        ("timed_out", CiState.RED),
        ("cancelled", CiState.RED),
        ("action_required", CiState.RED),
        ("stale", CiState.RED),
        ("a word of tomorrow", CiState.RED),
        ("", CiState.PENDING),
    ],
)
def test_each_conclusion_counts(
    stage: GithubStage, forge: GithubForge, repository_id: str, sha: str, conclusion: str, state: CiState
) -> None:
    stage.report_ci(repository_id, sha, "tests", conclusion)
    stage.state.broken.clear()
    assert forge.ci_status(repository_id, sha).state is state
    stage.state.broken.clear()  # GitHub does not know tomorrow's words either


@pytest.mark.long
def test_without_the_permission_statuses_are_missing_and_that_is_said(
    stage: GithubStage, forge: GithubForge, repository_id: str, sha: str
) -> None:
    del stage.state.installations[OWNER].permissions["statuses"]
    stage.report_ci(repository_id, sha, "tests", "success")
    found = forge.ci_status(repository_id, sha)
    assert found.state is CiState.GREEN and "statuses: read" in found.note
    del stage.state.installations[OWNER].permissions["checks"]
    with pytest.raises(PermissionRefused, match=r"checks(: |=)read"):
        forge.ci_status(repository_id, sha)


def test_no_token_goes_to_where_logs_are_stored(
    stage: GithubStage, forge: GithubForge, repository_id: str, sha: str
) -> None:
    stage.report_ci(repository_id, sha, "tests", "failure", log="boom\n")
    (job,) = forge.ci_status(repository_id, sha).jobs
    assert forge.job_log_tail(repository_id, job.job_id) == "boom\n"
    assert stage.state.broken == []


@pytest.mark.long
@pytest.mark.parametrize("location", ["ftp://x/y", "file:///etc/passwd", "//", "https://", "not an address"])
def test_a_log_is_fetched_by_http_and_from_nowhere_else(
    stage: GithubStage, forge: GithubForge, repository_id: str, location: str
) -> None:
    stage.state.faults.append(Fault("GET", LOGS, status=302, headers={"Location": location}))
    with pytest.raises(ForgeError):
        forge.job_log_tail(repository_id, "5")


@pytest.mark.long
def test_a_log_whose_address_has_run_out_is_not_found(
    stage: GithubStage, forge: GithubForge, repository_id: str
) -> None:
    gone = {"Location": f"{stage.server.origin}/_logs/404"}
    stage.state.faults.append(Fault("GET", LOGS, status=302, headers=gone))
    with pytest.raises(NotFound):
        forge.job_log_tail(repository_id, "5")


@pytest.mark.long
def test_a_reply_of_somebody_else_with_our_mark_is_not_ours(
    stage: GithubStage, forge: GithubForge, repository_id: str, person: Actor
) -> None:
    stage.push(repository_id, "fixwright/issue-1", "fix.txt")
    number = forge.ensure_pull(repository_id, proposal()).number
    stage.review(repository_id, number, person, "fix.txt", ["Why?"])
    (thread,) = forge.review_threads(repository_id, number)
    first = forge.reply(repository_id, number, thread, "k", "Because.")
    for comment in stage.state.review_comments:
        comment["user"] = {"id": int(person.id), "login": person.login, "type": "User"}
    assert forge.reply(repository_id, number, thread, "k", "Because.") != first


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("RATE_LIMITED", ForgeUnavailable),
        ("FORBIDDEN", PermissionRefused),
        ("NOT_FOUND", NotFound),
        ("SOMETHING", ForgeError),
        (None, ForgeError),
    ],
)
def test_an_error_that_comes_with_status_200_is_one(kind: str | None, expected: type[ForgeError]) -> None:
    with pytest.raises(expected, match="the words"):
        graphql_data({"data": {"x": 1}, "errors": [{"type": kind, "message": "the words"}]})


@pytest.mark.long
def test_a_delivery_that_came_through_later_is_not_missed(stage: GithubStage, forge: GithubForge) -> None:
    first, second = stage.miss_delivery(), stage.miss_delivery()
    stage.state.deliveries.append({**stage.state.deliveries[0], "id": 5000, "status_code": 202})
    stage.state.deliveries.append({**stage.state.deliveries[1], "id": 5001, "status_code": 500})
    (missed,) = forge.missed_deliveries(datetime(2020, 1, 1, tzinfo=UTC))
    assert (missed.guid, missed.id) == (second, "5001") and first != second


@pytest.mark.long
def test_hundreds_of_deliveries_are_read_page_by_page(stage: GithubStage, forge: GithubForge) -> None:
    for _ in range(230):
        stage.miss_delivery()
    assert len(forge.missed_deliveries(datetime(2020, 1, 1, tzinfo=UTC))) == 230
    assert len([seen for seen in stage.state.seen if seen.path.endswith("/deliveries")]) == 3


@pytest.mark.long
def test_a_job_is_run_again_where_that_was_granted(
    stage: GithubStage, forge: GithubForge, repository_id: str
) -> None:
    sha = stage.push(repository_id, "topic", "new.txt")
    stage.report_ci(repository_id, sha, "tests", "failure", log="no space left on device")
    (job,) = forge.ci_status(repository_id, sha).jobs
    with pytest.raises(PermissionRefused, match="actions"):
        forge.rerun_job(repository_id, job.job_id)
    stage.state.installations[OWNER].permissions["actions"] = "write"
    forge.rerun_job(repository_id, job.job_id)
    assert forge.ci_status(repository_id, sha).state is CiState.PENDING
    with pytest.raises(NotFound):
        forge.rerun_job(repository_id, "987654321")
