"""Bad days at GitHub: limits, losses, redirects; each seen over real HTTP, none of it waited for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.demo.github.state import Fault
from domain.errors import ForgeError, ForgeUnavailable, NotFound, PermissionRefused
from domain.model import Actor, IssueRef
from providers.conformance.stage import proposal
from providers.github import wire
from providers.github.calls import Api, Patience, Reply
from providers.github.forge import GithubForge
from tests.providers.github.conftest import Naps
from tests.providers.github.stage import GithubStage

ISSUE = r".*/issues/\d+"
COMMENTS = r".*/issues/\d+/comments"
SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes."}


def test_a_short_limit_is_sat_out(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, naps: Naps
) -> None:
    stage.state.faults.append(Fault("GET", ISSUE, status=429, headers={"Retry-After": "3"}, times=2))
    assert forge.issue(issue).title
    assert naps.slept == [3.0, 3.0]


def test_a_long_limit_is_told_and_kept_without_asking_again(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, naps: Naps
) -> None:
    stage.state.faults.append(Fault("GET", ISSUE, status=429, headers={"Retry-After": "1800"}))
    with pytest.raises(ForgeUnavailable) as refused:
        forge.issue(issue)
    assert refused.value.retry_after == 1800.0 and naps.slept == []
    stage.state.seen.clear()
    with pytest.raises(ForgeUnavailable, match="are left") as again:
        forge.comments(issue)
    assert again.value.retry_after is not None and 1700 < again.value.retry_after <= 1800
    assert not [seen for seen in stage.state.seen if "/issues/" in seen.path]
    naps.ahead += 1801
    assert forge.issue(issue).title


def test_a_limit_that_does_not_say_how_long_is_at_least_a_minute_and_grows(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, naps: Naps
) -> None:
    waits = []
    for _ in range(6):
        stage.state.faults.append(Fault("GET", ISSUE, status=403, body=SECONDARY))
        with pytest.raises(ForgeUnavailable) as refused:
            forge.issue(issue)
        waits.append(refused.value.retry_after)
        naps.ahead += 1000
    assert waits == [60.0, 120.0, 240.0, 480.0, 900.0, 900.0]
    assert forge.issue(issue).title and naps.slept == []
    stage.state.faults.append(Fault("GET", ISSUE, status=403, body=SECONDARY))
    with pytest.raises(ForgeUnavailable) as refused:
        forge.issue(issue)
    assert refused.value.retry_after == 60.0, "a success in between starts anew"


@pytest.mark.long
def test_the_hourly_limit_waits_for_its_reset_by_githubs_clock(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    reset = int(stage.state.now()) + 1200
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(reset)}
    message = {"message": "API rate limit exceeded for installation ID 1."}
    stage.state.faults.append(Fault("GET", ISSUE, status=403, headers=headers, body=message))
    with pytest.raises(ForgeUnavailable) as refused:
        forge.issue(issue)
    assert refused.value.retry_after is not None and 1195 <= refused.value.retry_after <= 1202


@pytest.mark.long
def test_a_lacking_permission_is_no_limit_and_is_said_once(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, naps: Naps
) -> None:
    body = {"message": "Resource not accessible by integration"}
    headers = {"X-Accepted-GitHub-Permissions": "issues=write", "X-RateLimit-Remaining": "0"}
    stage.state.faults.append(Fault("POST", COMMENTS, status=403, body=body, headers=headers, times=9))
    with pytest.raises(PermissionRefused, match="issues=write"):
        forge.ensure_comment(issue, "status", "x")
    assert naps.slept == [] and stage.state.faults[0].times == 8


@pytest.mark.long
@pytest.mark.parametrize("drop", [False, True], ids=["502", "a broken connection"])
def test_reading_is_tried_again_a_few_times(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, naps: Naps, drop: bool
) -> None:
    stage.state.faults.append(Fault("GET", COMMENTS, times=3, drop=drop))
    assert forge.comments(issue) == ()
    assert naps.slept == [0.5, 1.0, 2.0]
    stage.state.faults.append(Fault("GET", COMMENTS, times=99, drop=drop))
    with pytest.raises(ForgeUnavailable):
        forge.comments(issue)
    assert len(naps.slept) == 6


@pytest.mark.long
@pytest.mark.parametrize("drop", [False, True], ids=["502", "a broken connection"])
def test_a_write_whose_answer_was_lost_is_looked_for_and_not_done_again(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, drop: bool
) -> None:
    stage.state.faults.append(Fault("POST", COMMENTS, acted=True, drop=drop))
    made = forge.ensure_comment(issue, "status", "working")
    assert [comment.id for comment in forge.comments(issue)] == [made.id]
    stage.push(issue.repository_id, "fixwright/issue-1", "fix.txt")
    stage.state.faults.append(Fault("POST", r".*/pulls", acted=True, drop=drop))
    pull = forge.ensure_pull(issue.repository_id, proposal())
    assert [each.number for each in stage.state.local.pulls(issue.repository_id)] == [pull.number]


@pytest.mark.long
def test_a_page_of_something_else_in_between_is_an_outage(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    login = b"<html><form>Please log in to the proxy</form></html>"
    stage.state.faults.append(Fault("GET", ISSUE, status=200, body=login, times=9))
    with pytest.raises(ForgeUnavailable, match="not JSON"):
        forge.issue(issue)


@pytest.mark.long
def test_an_answer_without_what_is_needed_is_an_error_and_no_crash(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    for body in ([], {}, {"number": "7"}, {"number": 7, "updated_at": "yesterday"}, "text", 7):
        stage.state.faults.append(Fault("GET", ISSUE, status=200, body=body))
        with pytest.raises(ForgeError):
            forge.issue(issue)


@pytest.mark.long
def test_an_issue_that_is_not_seen_yet_is_looked_for_twice(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, naps: Naps
) -> None:
    stage.state.faults.append(Fault("GET", ISSUE, status=404, body={"message": "Not Found"}))
    assert forge.issue(issue).number == issue.number and naps.slept == [1.0]


def test_a_renamed_repository_is_followed_by_its_id(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, person: Actor
) -> None:
    stage.rename_repository(issue.repository_id, "octo/renamed")
    assert forge.issue(issue).number == issue.number
    forge.ensure_comment(issue, "status", "still here")
    assert forge.repository(issue.repository_id).full_name == "octo/renamed"
    with pytest.raises(NotFound, match="octo/renamed"):
        forge.repository_named("octo/widgets-1")
    fresh = stage.client()
    assert fresh.comments(issue)[0].author == forge.identity, "found under its old name after a restart"


@pytest.mark.long
def test_f122_a_transferred_issue_is_gone_from_here(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    other = stage.repository()
    elsewhere = stage.open_issue(other, stage.person("otto"), "Secret", "of another repository")
    address = f"{stage.server.url}/repositories/{other}/issues/{elsewhere.number}"
    stage.state.transferred[(int(issue.repository_id), issue.number)] = address
    with pytest.raises(NotFound, match="moved out"):
        forge.issue(issue)


@pytest.mark.parametrize(
    "location",
    ["https://evil.example/api/v3/repositories/1/issues/1", "//evil.example/", "/login", "", "http://[::1"],
)
def test_d85_no_redirect_takes_the_token_elsewhere(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, location: str
) -> None:
    fault = Fault("GET", ISSUE, status=302, headers={"Location": location}, times=9)
    stage.state.faults.append(fault)
    with pytest.raises(NotFound):
        forge.issue(issue)
    authorized = [seen for seen in stage.state.seen if "authorization" in seen.headers]
    assert {seen.headers["host"] for seen in authorized} == {stage.server.origin.removeprefix("http://")}


@pytest.mark.long
def test_the_next_page_is_found_among_whatever_links() -> None:
    def following(link: str) -> dict[str, str]:
        return Reply({"link": link}, None).next_page

    address = "https://api.github.com/repositories/1/issues?labels=a,b%2Cc&page=2"
    last = '<https://api.github.com/x?page=9>; rel="last"'
    assert following(f'<{address}>; rel="next", {last}') == {"labels": "a,b,c", "page": "2"}
    assert following(f'{last}, <{address}>; rel="next"')["page"] == "2"
    assert following(last) == following("") == following("nonsense") == {}
    with pytest.raises(ForgeError):
        following('<http://[::1>; rel="next"')


def test_pages_that_go_round_in_a_circle_end(stage: GithubStage, forge: GithubForge, issue: IssueRef) -> None:
    link = {"Link": f'<{stage.server.url}/x?per_page=100&page=2>; rel="next"'}
    stage.state.faults.append(Fault("GET", COMMENTS, status=200, body=[], headers=link, times=99))
    with pytest.raises(ForgeError, match="circle"):
        forge.comments(issue)


def test_a_server_that_is_not_there_is_unavailable() -> None:
    api = Api("http://127.0.0.1:9", Patience(tries=2, sleep=lambda _: None))
    with pytest.raises(ForgeUnavailable, match="could not be reached"):
        api.call("POST", "/x", auth=None, body={})


def test_waiting_is_bounded_whatever_is_asked_for(patience: Patience) -> None:
    assert max(replace(patience, first_wait=99.0).backoff(n) for n in range(1, 60)) <= patience.longest_wait


@pytest.mark.long
def test_a_comment_that_is_deleted_while_it_is_rewritten_is_written_anew(
    stage: GithubStage, forge: GithubForge, issue: IssueRef
) -> None:
    forge.ensure_comment(issue, "status", "working")
    stage.state.faults.append(Fault("PATCH", r".*/issues/comments/\d+", status=404, body={"message": "Gone"}))
    assert forge.ensure_comment(issue, "status", "done").body.startswith("done")


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_proxy_of_the_environment_is_used(
    stage: GithubStage, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(variable, stage.server.origin)
    api = Api("http://github.invalid/api/v3", Patience(tries=1))
    with pytest.raises(ForgeError):
        api.call("GET", "/app", auth=None)
    assert stage.server.asked == ["http://github.invalid/api/v3/app"]


def test_netrc_and_cookies_are_not_used(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password not-this-one\n")
    monkeypatch.setenv("NETRC", str(netrc))
    cookie = {"Set-Cookie": "session=abc; Path=/"}
    stage.state.faults.append(Fault("GET", ISSUE, status=502, headers=cookie))
    assert forge.issue(issue).title
    for seen in stage.state.seen:
        assert "cookie" not in seen.headers and not seen.headers["authorization"].startswith("Basic")


@pytest.mark.parametrize("value", ["x", "", "1e999", "-"])
def test_a_limit_header_that_is_no_number_disturbs_nobody(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, value: str
) -> None:
    headers = {"X-RateLimit-Limit": value, "X-RateLimit-Remaining": value, "X-RateLimit-Reset": value}
    stage.state.faults.append(Fault("GET", COMMENTS, status=200, body=[], headers=headers))
    assert forge.comments(issue) == ()


def test_an_answer_is_bounded_in_size_and_time(
    stage: GithubStage, forge: GithubForge, issue: IssueRef, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 100)
    with pytest.raises(ForgeUnavailable, match="more than 100 bytes"):
        forge.issue(issue)
    monkeypatch.undo()
    monkeypatch.setattr(wire, "WHOLE_SECONDS", 0.0)
    with pytest.raises(ForgeUnavailable, match="took more than 0 s"):
        forge.issue(issue)
