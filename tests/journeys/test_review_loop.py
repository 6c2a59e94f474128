"""The review loop, from end to end: two threads on two files, a stranger's review, people's own commits."""

from __future__ import annotations

from app.demo.scripted_model import Script, bash
from domain.model import Actor, Permission, Reason
from domain.states import State
from providers.local.reviews import Remark
from tests.journeys.cast import doing, reporting
from tests.journeys.marks import WHOLE_RUNS
from tests.journeys.square import Square, Talk

pytestmark = WHOLE_RUNS

FIRST = bash("printf '\\nThe first pay the odd cents.\\n' >> README.md; printf 'Cents only.\\n' > NOTES.md")


def drafted(square: Square) -> Talk:
    """An issue whose draft adds a line to one file and makes another."""
    talk = square.talk(square.quiet_house(), doing(square.case, FIRST))
    talk.label("docs")
    talk.rests(State.IN_REVIEW)
    return talk


def ask_for_changes(square: Square, talk: Talk, by: Actor, *remarks: Remark, body: str = "") -> None:
    square.world.review(talk.repository.id, talk.pull.number, by, "changes_requested", body, remarks)


def asked(square: Square, talk: Talk) -> list[str]:
    """Who is asked for a review now."""
    found = square.world.requested_reviewers(talk.repository.id, talk.pull.number)
    return [each.login for each in found]


def then(square: Square, talk: Talk, command: str) -> None:
    """Give the model what it does in the next attempt."""
    talk.plays(Script(turns=(bash(command), reporting(square.case))))


def test_two_threads_are_one_attempt_and_each_is_answered_once(square: Square) -> None:
    talk = drafted(square)
    first = talk.pull
    then(square, talk, "printf 'Whole cents only.\\n' > NOTES.md")
    ask_for_changes(square, talk, square.stranger, Remark("README.md", 1, "Rewrite it all."))
    ask_for_changes(
        square,
        talk,
        square.reviewer,
        Remark("NOTES.md", 1, "Say that they are whole."),
        Remark("README.md", 1, "Should this be in the README?"),
        body="Two things.",
    )
    talk.rests(State.IN_REVIEW, attempts=2)
    now = talk.pull
    assert now.number == first.number and now.head_branch == first.head_branch and now.is_draft
    messages = [each.sha for each in square.world.git.commits(talk.repository.id, now.head_branch)]
    assert first.head_sha in messages and now.head_sha != first.head_sha, "one commit more, none rewritten"
    commit = f"`{now.head_sha[:10]}`"
    talk.says(f"{commit} was made with the review at hand.", on=now.number)

    square.wait(lambda: "noor" in asked(square, talk), lambda: asked(square, talk))
    threads = {
        (thread.path, thread.comments[0].author.login): thread
        for thread in square.world.threads(talk.repository.id, now.number)
    }
    (_, in_notes) = threads["NOTES.md", "noor"].comments
    (_, in_readme) = threads["README.md", "noor"].comments
    assert f"{commit} changes this place." in in_notes.body
    assert f"{commit} was made with this comment at hand and leaves `README.md` as it is." in in_readme.body
    assert len(threads["README.md", "sam"].comments) == 1, "who may not write is not answered"
    assert not any(thread.is_resolved for thread in threads.values())
    assert "sam" not in asked(square, talk)
    read = " ".join(talk.heard)
    assert "At NOTES.md, line 1:" in read and "Say that they are whole." in read and "Two things." in read
    assert "Rewrite it all." not in read and talk.attempts == 2


def test_chatter_starts_nothing_and_a_call_by_name_does(square: Square) -> None:
    talk = drafted(square)
    number = talk.pull.number
    then(square, talk, "printf 'Whole cents only.\\n' > NOTES.md")
    square.world.review(talk.repository.id, number, square.reviewer, "approved", "Lovely.")
    square.world.review(talk.repository.id, number, square.reviewer, "commented", "What do you think, @mika?")
    talk.say("I like it.", by=square.reviewer, on=number)
    talk.say(f"> @{square.app} make it blue", by=square.reviewer, on=number)
    talk.say(f"@{square.app} make it blue.", by=square.stranger, on=number)
    talk.say(f"Could you, @{square.app}, say that the cents are whole?", by=square.reviewer, on=number)
    talk.rests(State.IN_REVIEW, attempts=2)
    talk.says("was made with the review at hand.", on=number)
    read = " ".join(talk.heard)
    assert "say that the cents are whole" in read and "make it blue" not in read and "Lovely" not in read


def test_a_persons_commit_is_built_on_and_one_during_the_work_is_never_overwritten(square: Square) -> None:
    talk = drafted(square)
    pull, repository = talk.pull, talk.repository
    own = square.world.git.push(
        repository.id, pull.head_branch, {"OWN.md": b"By hand.\n"}, by=square.maintainer
    )
    then(square, talk, "cat OWN.md; printf 'Whole cents only.\\n' > NOTES.md")
    ask_for_changes(square, talk, square.reviewer, Remark("NOTES.md", 1, "Say that they are whole."))
    talk.rests(State.IN_REVIEW, attempts=2)
    shas = [each.sha for each in square.world.git.commits(repository.id, pull.head_branch)]
    assert own in shas and pull.head_sha in shas and shas.index(own) != 0
    assert square.world.git.read_file(repository.id, pull.head_branch, "OWN.md") == b"By hand.\n"
    assert square.world.git.read_file(repository.id, pull.head_branch, "NOTES.md") == b"Whole cents only.\n"

    then(square, talk, "printf 'Whole cents, always.\\n' > NOTES.md")
    square.world.grant(repository.id, square.stranger, Permission.WRITE)
    working = square.cast.hold(talk.build, 0)
    ask_for_changes(square, talk, square.stranger, Remark("NOTES.md", 1, "Always?"))
    square.wait(working.asked.is_set, lambda: "the third attempt")
    late = square.world.git.push(
        repository.id, pull.head_branch, {"OWN.md": b"By hand, again.\n"}, by=square.maintainer
    )
    working.go.set()
    talk.rests(State.BLOCKED, Reason.BRANCH_MOVED)
    assert talk.pull.head_sha == late, "what a person pushed meanwhile stands"
    talk.says("the branch")
