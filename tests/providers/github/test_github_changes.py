"""What changes on GitHub while work waits or runs, and what it refuses in the end: real HTTP and real git."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from app.demo.github.state import Fault
from domain.model import IssueRef, Outcome, Reason
from domain.noted import InstallationChanged, RepositoryChanged
from domain.states import State
from tests.providers.github.test_github_journey import PULLS, SECONDARY, GithubTown
from tests.worker.test_places import PARKED, deliver
from tests.worker.town import WRITE, Stage

pytestmark = pytest.mark.long  # worker and forge show the same apart

Act = Callable[[GithubTown], object]
COMMENTS = r".*/issues/\d+/comments"
ISSUE = r".*/issues/\d+"


@pytest.fixture
def github(tmp_path: Path) -> Iterator[GithubTown]:
    town = GithubTown(tmp_path)
    yield town
    town.close()


def turn(github: GithubTown, happens: Callable[[], object] | None = None) -> None:
    """Let the worker work; in the middle of it something happens."""
    cues: dict[str, Callable[[], object]] = {"README.md": happens} if happens else {}
    github.loop(Stage(cues=cues)).turn()


def pulls(github: GithubTown) -> list[int]:
    return [pull.number for pull in github.state.local.pulls(github.town.repository.id)]


def published(github: GithubTown) -> bool:
    return bool(pulls(github) or github.town.branches)


def rename(github: GithubTown, name: str) -> None:
    town = github.town
    town.world.rename_repository(town.repository.id, name, by=town.maintainer)
    github.state.old_names["acme/lamp"] = int(town.repository.id)


def suspend(github: GithubTown) -> None:
    github.state.installations["acme"].suspended = True


def unsuspend(github: GithubTown) -> None:
    github.state.installations["acme"].suspended = False


def take_out(github: GithubTown) -> None:
    github.state.installations["acme"].left_out.add("acme/lamp")


def put_back(github: GithubTown) -> None:
    github.state.installations["acme"].left_out.clear()
    github.naps.ahead += 120


def uninstall(github: GithubTown) -> None:
    del github.state.installations["acme"]


def install_again(github: GithubTown) -> None:
    github.state.install("acme")
    github.naps.ahead += 120


def archive(github: GithubTown) -> None:
    github.town.world.archive(github.town.repository.id)


def unarchive(github: GithubTown) -> None:
    github.town.world._set_repository(github.town.repository.id, "archived", 0)


def give_away(github: GithubTown) -> None:
    github.state.install("elsewhere")
    rename(github, "elsewhere/lamp")


def take_back(github: GithubTown) -> None:
    rename(github, "acme/lamp")
    github.state.old_names.clear()
    github.naps.ahead += 120


def news(github: GithubTown, action: str) -> None:
    """Deliver what GitHub tells of the installation and the repository."""
    town = github.town
    deliver(
        town,
        InstallationChanged(
            forge="local", action=action, actor=town.maintainer, installation_id="1", account="acme"
        ),
    )
    deliver(
        town,
        RepositoryChanged(
            forge="local", action=action, actor=town.maintainer, repository_id=town.repository.id
        ),
    )


GONE_AND_BACK = [
    pytest.param(suspend, unsuspend, "suspended", id="suspended"),
    pytest.param(take_out, put_back, "cannot be reached", id="taken out of the installation"),
    pytest.param(uninstall, install_again, "cannot be reached", id="uninstalled"),
    pytest.param(archive, unarchive, "archived", id="archived"),
    pytest.param(give_away, take_back, "elsewhere/lamp now, which is not served", id="given away"),
]


@pytest.mark.parametrize(("act", "undo", "words"), GONE_AND_BACK)
def test_f120_a_place_that_is_taken_away_mid_run_parks_the_work_and_back_it_is_published(
    github: GithubTown, act: Act, undo: Act, words: str
) -> None:
    issue = github.town.issue(label="docs")
    turn(github, lambda: act(github))
    assert github.town.stands == PARKED and words in github.town.task.detail
    assert not published(github) and github.town.outcomes == [None]
    assert sum(1 for seen in github.state.seen if seen.method == "POST" and "/pulls" in seen.path) == 0
    spent = github.town.ledger.spent_on_task(github.town.task.id)

    undo(github)
    news(github, "unsuspend")
    turn(github)

    assert github.town.stands == (State.IN_REVIEW, None)
    assert len(pulls(github)) == 1 and github.town.outcomes == [Outcome.VERIFIED]
    assert github.town.ledger.spent_on_task(github.town.task.id) == spent
    assert "Draft pull request" in github.town.text(issue) or "draft pull request" in github.town.text(issue)


@pytest.mark.parametrize(("act", "undo", "words"), GONE_AND_BACK)
def test_f120_a_place_that_is_taken_away_before_its_turn_is_parked_without_a_word(
    github: GithubTown, act: Act, undo: Act, words: str
) -> None:
    issue = github.town.issue(label="docs")
    act(github)
    turn(github)
    assert github.town.stands == PARKED and words in github.town.task.detail
    assert github.town.attempts == [] and github.town.said(issue) == []
    assert not [seen for seen in github.state.seen if seen.method == "POST" and "/comments" in seen.path]
    asked = len(github.state.seen)
    for _ in range(3):
        turn(github)
    assert len(github.state.seen) == asked, "nothing is asked again and again"


def test_a_repository_that_is_renamed_mid_run_gets_its_draft_under_the_new_name(github: GithubTown) -> None:
    github.town.issue(label="docs")
    turn(github, lambda: rename(github, "acme/lantern"))
    assert github.town.stands == (State.IN_REVIEW, None)
    written = [seen.path for seen in github.state.seen if seen.method == "POST" and "/pulls" in seen.path]
    assert written == ["/repos/acme/lantern/pulls"]
    publication = github.town.queue.publications(github.town.task.id)[-1]
    assert "acme/lantern" in publication.url


@pytest.mark.parametrize("was_private", [True, False])
def test_a_repository_that_is_made_public_or_private_mid_run_waits_for_a_person(
    github: GithubTown, was_private: bool
) -> None:
    town = github.town
    town.world.set_private(town.repository.id, was_private)
    town.issue(label="docs")
    turn(github, lambda: town.world.set_private(town.repository.id, not was_private))
    assert town.stands == (State.BLOCKED, Reason.VISIBILITY_CHANGED) and not published(github)


def transfer(github: GithubTown, issue: IssueRef) -> None:
    address = f"{github.server.url}/repositories/999/issues/1"
    github.state.transferred[(int(issue.repository_id), issue.number)] = address


def lock(github: GithubTown, issue: IssueRef) -> None:
    github.town.world.lock_issue(issue, github.town.maintainer)


def close(github: GithubTown, issue: IssueRef) -> None:
    github.town.world.close_issue(issue, github.town.maintainer)


def delete(github: GithubTown, issue: IssueRef) -> None:
    github.town.world.delete_issue(issue, github.town.maintainer)


def unlabel(github: GithubTown, issue: IssueRef) -> None:
    github.town.world.unlabel(issue, github.town.maintainer, "docs")


@pytest.mark.parametrize("act", [transfer, lock, close, delete, unlabel])
def test_f122_an_issue_that_changes_mid_run_gets_nothing_published_though_nobody_told_us(
    github: GithubTown, act: Callable[[GithubTown, IssueRef], None]
) -> None:
    issue = github.town.issue(label="docs")
    turn(github, lambda: act(github, issue))
    assert github.town.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert not published(github) and "Nothing was published" in github.town.task.detail


def test_f117_a_right_that_is_taken_away_mid_run_publishes_nothing(github: GithubTown) -> None:
    town = github.town
    town.issue(label="docs")

    def remove() -> None:
        with town.world.ground.write() as tx:
            tx.run("DELETE FROM permissions WHERE user_id = ?", int(town.maintainer.id))

    turn(github, remove)
    assert town.stands == (State.BLOCKED, Reason.RIGHT_LOST) and not published(github)


@pytest.mark.parametrize("permission", ["pull_requests", "issues", "contents"])
def test_a_permission_that_is_lacking_costs_nothing_and_once_granted_the_work_begins(
    github: GithubTown, permission: str
) -> None:
    permissions = github.state.installations["acme"].permissions
    github.town.issue(label="docs")
    github.naps.ahead += 400
    permissions[permission] = "read"
    turn(github)
    assert github.town.stands == PARKED and f"{permission}: write" in github.town.task.detail
    assert github.town.attempts == [] and github.town.ledger.spent_on_task(github.town.task.id) == 0

    permissions[permission] = "write"
    news(github, "new_permissions_accepted")
    turn(github)
    assert github.town.stands == (State.IN_REVIEW, None)


# -- limits, delays, refusals -----------------------------------------------------------------------


@pytest.mark.parametrize("where", ["pull", "comment", "token"])
@pytest.mark.parametrize("kind", ["primary", "secondary", "429"])
def test_a_limit_mid_publish_is_waited_out_and_leaves_one_of_each(
    github: GithubTown, where: str, kind: str
) -> None:
    issue = github.town.issue(label="docs")
    method, path = {
        "pull": ("POST", PULLS),
        "comment": ("POST", COMMENTS),
        "token": ("POST", r".*/access_tokens"),
    }[where]
    reset = str(int(time.time() + github.naps.ahead) + 300)
    primary = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": reset}
    fault = {
        "primary": Fault(
            method, path, status=403, headers=primary, body={"message": "API rate limit exceeded"}
        ),
        "secondary": Fault(method, path, status=403, body=SECONDARY),
        "429": Fault(method, path, status=429, headers={"retry-after": "30"}, body=SECONDARY),
    }[kind]
    turn(github, lambda: github.state.faults.append(fault))
    for _ in range(4):
        if github.town.stands == (State.IN_REVIEW, None):
            break
        task = github.town.task
        assert task.state is State.QUEUED and task.not_before is not None
        assert task.not_before - github.town.clock.now() >= timedelta(seconds=15)
        github.town.clock.forward(seconds=400)
        github.naps.ahead += 400
        turn(github)
    assert github.town.stands == (State.IN_REVIEW, None)
    assert len(pulls(github)) == 1 and max(github.naps.slept, default=0) <= 10
    github.naps.ahead += 400
    github.loop().turn()
    assert len(github.town.said(issue)) == 2


def test_a_404_just_after_the_webhook_is_not_taken_for_a_deletion(github: GithubTown) -> None:
    github.town.issue(label="docs")
    github.state.faults.append(Fault("GET", ISSUE, status=404, body={"message": "Not Found"}))
    turn(github)
    assert github.town.stands == (State.IN_REVIEW, None)


RULE = "GH013: Repository rule violations found for refs/heads/fixwright/issue-1."
WORKFLOW = (
    "refusing to allow a GitHub App to create or update workflow `.github/workflows/ci.yml` "
    "without `workflows` permission"
)


@pytest.mark.parametrize("words", [RULE, WORKFLOW, "protected branch hook declined"])
def test_a_push_that_is_refused_for_good_is_not_tried_again_and_the_words_are_shown(
    github: GithubTown, words: str
) -> None:
    issue = github.town.issue(label="docs")
    hook = refuse_pushes(github, words)
    turn(github)
    assert github.town.stands == (State.BLOCKED, Reason.UNPUBLISHED)
    assert not published(github) and github.state.pushes <= 1
    assert words.split(" `")[0] in github.town.task.detail
    assert words.split(" `")[0][:40] in github.town.text(issue)
    assert not any(secret in github.town.task.detail for secret in github.minted)
    spent = github.town.ledger.spent_on_task(github.town.task.id)

    hook.unlink()
    github.town.comment(issue, "/fixwright resume")
    turn(github)
    assert github.town.stands == (State.IN_REVIEW, None) and len(pulls(github)) == 1
    assert github.town.ledger.spent_on_task(github.town.task.id) == spent, "nothing was paid for twice"


def refuse_pushes(github: GithubTown, words: str) -> Path:
    with github.town.world.ground.read() as tx:
        hook: Path = tx.git("acme/lamp").path / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ncat >&2 <<'END'\nremote: error: {words}\nEND\nexit 1\n")
    hook.chmod(0o755)
    return hook


def test_a_branch_that_a_person_has_made_is_left_alone(github: GithubTown) -> None:
    town = github.town
    town.issue(label="docs")
    town.world.git.push(town.repository.id, "fixwright/issue-1", {"mine.md": b"1\n"}, by=town.maintainer)
    turn(github)
    assert town.stands == (State.IN_REVIEW, None)
    assert sorted(town.branches) == ["fixwright/issue-1", "fixwright/issue-1-2"]
    assert town.world.git.read_file(town.repository.id, "fixwright/issue-1", "mine.md") == b"1\n"


def test_a_draft_that_was_opened_though_the_answer_was_lost_is_adopted(github: GithubTown) -> None:
    github.town.issue(label="docs")
    turn(github, lambda: github.state.faults.append(Fault("POST", PULLS, status=502, acted=True)))
    github.town.clock.forward(seconds=400)
    github.naps.ahead += 400
    turn(github)
    assert github.town.stands == (State.IN_REVIEW, None) and len(pulls(github)) == 1


def test_a_pull_request_that_a_person_opens_from_our_branch_is_reported_and_left(github: GithubTown) -> None:
    town = github.town
    town.issue(label="docs")
    github.state.faults.append(Fault("POST", PULLS, status=502, times=9))
    turn(github)
    assert list(town.branches) == ["fixwright/issue-1"]
    town.world.open_pull(
        town.repository.id, town.maintainer, head="fixwright/issue-1", base="main", title="Mine now"
    )
    github.state.faults.clear()
    town.clock.forward(seconds=400)
    github.naps.ahead += 400
    turn(github)
    assert town.stands == (State.BLOCKED, Reason.ENVIRONMENT)
    assert "mika" in town.task.detail and len(pulls(github)) == 1


def test_f118_what_the_app_does_itself_comes_back_and_asks_for_nothing(github: GithubTown) -> None:
    town = github.town
    town.issue(label="docs")
    turn(github)
    assert town.stands == (State.IN_REVIEW, None)
    before = len(town.queue.tasks())
    town.deliver()
    loop = github.loop()
    assert not loop.turn() and not loop.turn()
    assert len(town.queue.tasks()) == before and town.decisions() == []


def test_a_comment_on_the_draft_or_the_issue_goes_on_with_the_work(github: GithubTown) -> None:
    town = github.town
    issue = town.issue(label="docs")
    turn(github)
    town.comment(issue, "/fixwright retry\nShorter, please.")
    turn(github)
    assert town.stands == (State.IN_REVIEW, None) or town.task.reason is Reason.REPEATED_DIFF
    assert len(pulls(github)) == 1


def test_f124_fifty_labels_at_once_are_worked_on_one_after_another_in_order(github: GithubTown) -> None:
    town = github.town
    for number in range(50):
        issue = town.world.open_issue(town.repository.id, town.stranger, title=f"number {number}")
        town.world.label(issue, town.maintainer, "docs")
    town.deliver()
    assert [task.issue.number for task in reversed(town.queue.tasks())] == list(range(1, 51))
    loop = github.loop()
    for _ in range(3):
        loop.turn()
    states = [task.state for task in reversed(town.queue.tasks())]
    assert states[:3] == [State.IN_REVIEW] * 3 and set(states[3:]) == {State.QUEUED}
    assert WRITE and len(pulls(github)) == 3
