"""Pull requests where GitHub says no: no drafts, one there already, a branch that is not seen yet."""

from __future__ import annotations

import pytest

from app.demo.github.state import Fault
from domain.errors import ForgeError, ForgeUnavailable
from domain.model import Actor
from providers.conformance.stage import proposal
from providers.github.forge import GithubForge
from providers.github.pulls import NO_DRAFTS_TITLE
from tests.providers.github.conftest import Naps
from tests.providers.github.stage import GithubStage

HEAD = "fixwright/issue-1"
PULLS = r".*/pulls"


def refusal(message: str = "", field: str = "", code: str = "custom") -> dict[str, object]:
    error = {"resource": "PullRequest", "code": code}
    error |= {"message": message} if message else {"field": field}
    return {"message": "Validation Failed", "errors": [error]}


@pytest.fixture
def pushed(stage: GithubStage, repository_id: str) -> str:
    stage.push(repository_id, HEAD, "fix.txt")
    return repository_id


def numbers(stage: GithubStage, repository_id: str) -> list[int]:
    return [pull.number for pull in stage.state.local.pulls(repository_id)]


def test_where_drafts_are_refused_a_plain_one_says_that_it_is_not_ready(
    stage: GithubStage, forge: GithubForge, pushed: str
) -> None:
    stage.state.drafts_refused.add(int(pushed))
    made = forge.ensure_pull(pushed, proposal())
    assert not made.is_draft and made.title == NO_DRAFTS_TITLE + "Fix the crash"
    assert "Treat this as a draft" in made.body and made.body.endswith("<!-- fixwright:task-1 -->")
    assert forge.ensure_pull(pushed, proposal()) == made
    better = forge.ensure_pull(pushed, proposal(title="Fix it better"))
    assert (better.number, better.title) == (made.number, NO_DRAFTS_TITLE + "Fix it better")


@pytest.mark.long
def test_who_marks_it_ready_is_not_contradicted(
    stage: GithubStage, forge: GithubForge, pushed: str, person: Actor
) -> None:
    made = forge.ensure_pull(pushed, proposal())
    stage.state.local.mark_ready(pushed, made.number, person)
    again = forge.ensure_pull(pushed, proposal(title="Fix it better"))
    assert (again.number, again.is_draft, again.title) == (made.number, False, "Fix it better")


def test_one_that_is_there_already_is_adopted(
    stage: GithubStage, forge: GithubForge, pushed: str, naps: Naps
) -> None:
    made = forge.ensure_pull(pushed, proposal())
    stage.state.faults.append(Fault("GET", PULLS, status=200, body=[], times=2))
    again = forge.ensure_pull(pushed, proposal(title="Fix it better"))
    assert again.number == made.number and again.title == "Fix it better"
    assert numbers(stage, pushed) == [made.number] and naps.slept == [1.0]


@pytest.mark.long
def test_somebody_elses_that_was_opened_meanwhile_is_named(
    stage: GithubStage, forge: GithubForge, pushed: str, person: Actor
) -> None:
    number = stage.open_pull(pushed, person, HEAD, "main")
    stage.state.faults.append(Fault("GET", PULLS, status=200, body=[]))
    with pytest.raises(ForgeError, match=rf"#{number} by rosa") as refused:
        forge.ensure_pull(pushed, proposal())
    assert not isinstance(refused.value, ForgeUnavailable)


@pytest.mark.long
def test_one_that_exists_and_is_not_to_be_found_is_an_error(
    stage: GithubStage, forge: GithubForge, pushed: str
) -> None:
    body = refusal(f"A pull request already exists for octo:{HEAD}.")
    stage.state.faults.append(Fault("POST", PULLS, status=422, body=body))
    with pytest.raises(ForgeError, match="not to be found"):
        forge.ensure_pull(pushed, proposal())


@pytest.mark.long
@pytest.mark.parametrize(
    "body",
    [refusal(field="head", code="invalid"), refusal("No commits between main and fixwright/issue-1")],
    ids=["head", "commits"],
)
def test_a_branch_that_is_not_seen_yet_is_tried_again(
    stage: GithubStage, forge: GithubForge, pushed: str, naps: Naps, body: object
) -> None:
    stage.state.faults.append(Fault("POST", PULLS, status=422, body=body, times=2))
    assert forge.ensure_pull(pushed, proposal()).is_draft
    assert naps.slept == [1.0, 2.0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("body", "words"),
    [
        (refusal(field="head", code="invalid"), "the head branch"),
        (refusal(field="base", code="invalid"), "the base branch .* renamed"),
        (refusal("No commits between main and x"), "no commits between"),
        (refusal("Something new"), "Something new"),
    ],
)
def test_each_reason_has_its_own_words(
    stage: GithubStage, forge: GithubForge, pushed: str, body: object, words: str
) -> None:
    stage.state.faults.append(Fault("POST", PULLS, status=422, body=body, times=9))
    with pytest.raises(ForgeError, match=words) as refused:
        forge.ensure_pull(pushed, proposal())
    assert not isinstance(refused.value, ForgeUnavailable) and numbers(stage, pushed) == []


@pytest.mark.long
def test_a_forks_branch_of_the_same_name_is_not_ours(
    stage: GithubStage, forge: GithubForge, pushed: str
) -> None:
    made = forge.ensure_pull(pushed, proposal())
    listed = [
        {"number": 90 + n, "state": "open", "head": {"ref": HEAD, "repo": repo}, "user": {"id": 1}}
        for n, repo in enumerate([None, {"id": 99}, {"id": "x"}])
    ]
    stage.state.faults.append(Fault("GET", PULLS, status=200, body=listed))
    assert forge.find_pull(pushed, HEAD) is None
    assert forge.find_pull(pushed, HEAD) == made


@pytest.mark.long
def test_a_head_filter_that_github_ignores_does_no_harm(
    stage: GithubStage, forge: GithubForge, pushed: str
) -> None:
    stage.push(pushed, "other", "other.txt")
    other = forge.ensure_pull(pushed, proposal("other"))
    everything = [
        {"number": other.number, "state": "open", "head": {"ref": "other", "repo": {"id": int(pushed)}}}
    ]
    stage.state.faults.append(Fault("GET", PULLS, status=200, body=everything))
    assert forge.find_pull(pushed, HEAD) is None
