"""Publications: the intent is written once, the remote facts after."""

from __future__ import annotations

import dataclasses

import pytest

from domain.errors import StaleWrite
from domain.model import Publication, PublicationKind, Task
from domain.ports import Intent
from domain.states import Trigger
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue
from tests.store.makers import NOON, publish, pull, running_task

BRANCH = "fixwright/issue-12"


def test_intent_waits_for_its_remote_facts(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    intent = publish(queue, task, branch=BRANCH, pull_number=None)
    assert (intent.done_at, intent.pull_number, intent.url) == (None, None, "")
    assert queue.unfinished_publications(task.id) == queue.publications(task.id) == [intent]
    assert queue.task(task.id).wip_sha == ""

    done = queue.published(intent, pull=pull(57, BRANCH))

    assert (done.done_at, done.pull_number, done.url) == (NOON, 57, "http://forge/pulls/57")
    assert queue.unfinished_publications(task.id) == []
    assert queue.publications(task.id) == [done]
    after = queue.task(task.id)
    assert (after.wip_sha, after.wip_branch) == ("c-t1", BRANCH)


def test_same_intent_is_written_once_and_keeps_its_first_commit(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    task = running_task(inbox, queue)
    first = publish(queue, task, branch=BRANCH, pull_number=None)

    again = _intend(queue, task, first, commit_sha="another")

    assert again == first
    assert queue.publications(task.id) == [first]


@pytest.mark.parametrize(
    ("expected", "commit", "is_kept"),
    [("e1", "c2", True), ("c1", "c2", True), ("e2", "c1", True), ("e2", "c2", False)],
)
def test_an_intent_that_cannot_have_got_there_is_written_anew(
    inbox: SqliteInbox, queue: SqliteTaskQueue, expected: str, commit: str, is_kept: bool
) -> None:
    task = running_task(inbox, queue)
    blank = publish(queue, task, branch=BRANCH, pull_number=None)
    first = _intend(queue, task, dataclasses.replace(blank, tree="t9", expected_sha="e1"), commit_sha="c1")

    again = _intend(queue, task, dataclasses.replace(first, expected_sha=expected), commit_sha=commit)

    assert again.id == first.id
    kept = (again.commit_sha, again.expected_sha)
    assert kept == (("c1", "e1") if is_kept else ("c2", "e2"))
    assert len(queue.unfinished_publications(task.id)) == 2


@pytest.mark.parametrize(
    "difference", [{"tree": "t2"}, {"kind": PublicationKind.WIP}, {"branch": f"{BRANCH}-2"}]
)
def test_another_tree_kind_or_branch_is_another_intent(
    inbox: SqliteInbox, queue: SqliteTaskQueue, difference: dict[str, str]
) -> None:
    task = running_task(inbox, queue)
    first = publish(queue, task, branch=BRANCH, pull_number=57)

    other = _intend(queue, task, dataclasses.replace(first, **difference))

    assert other.id != first.id
    assert queue.unfinished_publications(task.id) == [other]


def test_finished_publication_answers_while_its_commit_is_the_head(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    task = running_task(inbox, queue)
    first = publish(queue, task, branch=BRANCH, pull_number=57)
    assert _intend(queue, task, first) == first
    publish(queue, task, branch=BRANCH, pull_number=57, tree="t2")

    back_again = _intend(queue, task, first, commit_sha="c3")

    assert back_again.id != first.id
    assert back_again.done_at is None


def test_intent_of_a_task_that_moved_on_is_refused(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    first = publish(queue, task, branch=BRANCH, pull_number=None)
    queue.move(task, Trigger.CANCELLED)

    with pytest.raises(StaleWrite):
        _intend(queue, task, dataclasses.replace(first, tree="t2"))

    assert queue.publications(task.id) == [first]


def test_remote_facts_are_kept_even_if_the_task_was_cancelled(
    inbox: SqliteInbox, queue: SqliteTaskQueue
) -> None:
    task = running_task(inbox, queue)
    intent = publish(queue, task, branch=BRANCH, pull_number=None)
    queue.move(task, Trigger.CANCELLED)

    assert queue.published(intent, pull=pull(57, BRANCH)).pull_number == 57


def test_late_repetition_does_not_move_the_head_back(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    first = publish(queue, task, branch=BRANCH, pull_number=57)
    publish(queue, task, branch=BRANCH, pull_number=57, tree="t2")

    assert queue.published(first, pull=None) == first

    assert queue.task(task.id).wip_sha == "c-t2"


def test_unfinished_work_is_published_without_a_pull(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    first = publish(queue, task, branch=BRANCH, pull_number=None)

    done = queue.published(first, pull=None)

    assert (done.done_at, done.pull_number) == (NOON, None)


def test_unknown_publication(inbox: SqliteInbox, queue: SqliteTaskQueue) -> None:
    task = running_task(inbox, queue)
    first = publish(queue, task, branch=BRANCH, pull_number=None)

    with pytest.raises(KeyError):
        queue.published(dataclasses.replace(first, id=99), pull=None)

    assert queue.task(task.id).wip_sha == ""


def _intend(queue: SqliteTaskQueue, task: Task, like: Publication, *, commit_sha: str = "") -> Publication:
    return queue.intend(
        task,
        queue.begin_attempt(task),
        Intent(
            kind=like.kind,
            branch=like.branch,
            commit_sha=commit_sha or like.commit_sha,
            tree=like.tree,
            expected_sha=like.expected_sha,
            title=like.title,
            body=like.body,
        ),
    )
