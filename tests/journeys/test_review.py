"""A review on GitHub, from end to end: threads read, the branch pushed to again, answers in the threads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from app.demo.data_directory import data_directory
from app.demo.scripted_model import Script, bash, submit
from app.demo.stage import MODEL_NAME
from app.demo.toolchain import BASE
from domain.states import State
from tests.journeys.test_github import Place

pytestmark = [
    pytest.mark.journey,
    pytest.mark.long,
    pytest.mark.skipif(
        not (BASE / "bin").is_dir(), reason="the sandbox's tool chain is made by `make setup`"
    ),
]


class ReviewedPlace(Place):
    """A service that waits for no more of a review than its first word."""

    def _settings(self, data):  # type: ignore[no-untyped-def]  # as its parent's
        return {**super()._settings(data), "FIXWRIGHT_REVIEW_WAIT_SECONDS": "0"}


@pytest.fixture
def place() -> Iterator[ReviewedPlace]:
    with data_directory() as directory:
        place = ReviewedPlace(directory.path)
        try:
            yield place
        finally:
            place.close()


def test_changes_asked_for_are_pushed_to_the_same_draft_and_answered(place: ReviewedPlace) -> None:
    place.issue(place.case.label)
    place.deliver()
    place.wait(lambda: place.queue.tasks()[0].state is State.IN_REVIEW)
    (pull,) = place.world.pulls(place.repository.id)
    add = bash("printf '\\nThe odd cents go to the first shares.\\n' >> README.md")
    report = submit(**place.case.claim.model_dump())
    place.model.set_script(MODEL_NAME.partition("/")[2], Script(turns=(add, report)))
    mika = {"__typename": "User", "login": "mika", "databaseId": int(place.maintainer.id)}
    said = {"databaseId": 991, "body": "Say in the README who pays.", "createdAt": "2026-01-01T00:00:00Z"}
    thread = {"id": "T990", "isResolved": False, "isOutdated": False, "path": "README.md", "line": 1}
    comments = [{**said, "url": "https://github.example/x", "author": mika}]
    place.state.threads[pull.number] = [{**thread, "comments": comments}]
    place.state.requested_reviewers.clear()  # who reviews is not asked any more
    place.world.review(place.repository.id, pull.number, place.maintainer, "changes_requested", "One thing.")

    assert "signal" in place.deliver()
    place.wait(lambda: bool(place.state.requested_reviewers.get(pull.number)))
    (now,) = place.world.pulls(place.repository.id)
    assert now.number == pull.number and now.head_sha != pull.head_sha and now.is_draft
    assert "odd cents go to the first" in place.world.pull_diff(place.repository.id, pull.number)
    (answer,) = place.state.review_comments
    assert answer["in_reply_to_id"] == 991 and f"`{now.head_sha[:10]}` changes" in answer["body"]
    assert place.state.requested_reviewers[pull.number] == ["mika"]
    assert place.queue.tasks()[0].state is State.IN_REVIEW and place.state.broken == []
