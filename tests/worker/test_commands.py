"""Commands in comments: what is answered, to whom, how often, and what is begun by one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from domain.events import CommandGiven, Verb
from domain.model import Category, IssueRef, Money, Permission, Reason
from domain.ports import Admission
from domain.states import State
from providers.local.forge import LocalForge
from tests.worker.town import UNCLEAR, WRITE, Town, plays
from worker.answers import COMMANDS


def blocked(town: Town) -> IssueRef:
    """Return an issue whose task waits for an answer."""
    issue = town.issue("docs")
    town.loop(plays(WRITE, said=UNCLEAR)).turn()
    assert town.stands == (State.BLOCKED, Reason.NEEDS_INFORMATION)
    return issue


def answer(town: Town, issue: IssueRef, command: str, **given: object) -> str:
    """Let somebody write a command; return what was newly said."""
    before = {comment.id for comment in town.said(issue)}
    town.comment(issue, command, **given)  # type: ignore[arg-type] # `by`, passed on
    town.loop(plays(WRITE)).shop.desk.clear()
    return "\n\n".join(comment.body for comment in town.said(issue) if comment.id not in before)


def test_every_command_is_known_to_the_help() -> None:
    assert set(COMMANDS) == set(Verb) - {Verb.UNKNOWN}


@pytest.mark.long
def test_status_says_where_it_stands_and_who_is_next(notes: Town) -> None:
    issue = blocked(notes)
    said = answer(notes, issue, "/fixwright status")
    assert "**Waiting for a person**: I stopped before doing anything" in said
    assert "Next: answer in a comment" in said and "Spent on this issue: $" in said
    assert notes.stands == (State.BLOCKED, Reason.NEEDS_INFORMATION)


def test_status_tells_the_place_in_the_queue(notes: Town) -> None:
    for title in ("one", "two"):
        notes.issue("docs", title=title)
    last = notes.issue("docs", title="three")
    assert "**Queued**: 3rd of 3 in the queue." in answer(notes, last, "/fixwright status")


@pytest.mark.long
def test_explain_shows_what_was_tried_and_what_it_cost(notes: Town) -> None:
    issue = notes.issue("docs")
    assert "**Nothing has been tried yet.**" in answer(notes, issue, "/fixwright explain")
    notes.loop(plays(WRITE)).turn()
    said = answer(notes, issue, "/fixwright explain")
    assert "**Attempt 1**: its change was verified" in said
    assert "It multiplies now." in said and "What the harness saw" in said
    assert "`fixwright/issue-" in said and "Spent on this issue: $" in said


@pytest.mark.long
def test_help_lists_what_each_command_may_do_here(notes: Town) -> None:
    issue = blocked(notes)
    said = answer(notes, issue, "/fixwright help")
    for usage, _ in COMMANDS.values():
        assert f"`/fixwright {usage}`" in said
    assert "(up to $8.00)" in said and "(nothing waits for one here)" in said


@pytest.mark.long
def test_what_is_no_command_gets_the_help_once_per_issue(notes: Town) -> None:
    issue = blocked(notes)
    said = answer(notes, issue, "/fixwright resume, please")
    assert "`/fixwright resume, please` is no command." in said and "| command |" in said
    assert answer(notes, issue, "/fixwright dance") == ""
    assert notes.stands == (State.BLOCKED, Reason.NEEDS_INFORMATION)


@pytest.mark.long
@pytest.mark.parametrize(
    ("verb", "what"), [("approve", "Nothing waits for an approval"), ("plan", "No plan waits")]
)
def test_where_nothing_waits_it_is_said(notes: Town, verb: str, what: str) -> None:
    issue = blocked(notes)
    assert f"**{what} here now.**" in answer(notes, issue, f"/fixwright {verb}")
    assert notes.decisions()[-1] == f"{verb}: nothing waits"


@pytest.mark.long
def test_people_without_the_right_are_told_once_each_and_ignored(notes: Town) -> None:
    issue = blocked(notes)
    for command in ("run", "status", "explode", "help"):
        said = answer(notes, issue, f"/fixwright {command}", by=notes.stranger)
        assert ("people with write access" in said) is (command == "run")
    other = notes.world.create_user("other")
    assert "people with write access" in answer(notes, issue, "/fixwright cancel", by=other)
    assert notes.stands == (State.BLOCKED, Reason.NEEDS_INFORMATION)
    assert set(notes.decisions()) == {"not permitted"}


def test_a_command_that_changes_nothing_is_answered(notes: Town) -> None:
    issue = notes.issue("docs")
    said = answer(notes, issue, "/fixwright resume")
    assert "**`/fixwright resume` changes nothing now.**" in said and "it is next" in said


@pytest.mark.long
def test_a_maintainers_comment_is_shown_to_be_seen(notes: Town) -> None:
    issue = blocked(notes)
    notes.comment(issue, "/fixwright status")
    (asked,) = [c for c in notes.world.comments(issue) if c.body == "/fixwright status"]
    notes.loop(plays(WRITE)).shop.desk.clear()
    ((who, how),) = notes.world.reactions(asked.id)
    assert (who.id, how) == (notes.world.bot.id, "eyes")


@pytest.mark.long
def test_a_name_calls_us_and_nobody_elses(notes: Town) -> None:
    issue = blocked(notes)
    assert answer(notes, issue, "@somebody cancel") == ""
    name = notes.world.bot.login.removesuffix("[bot]")
    assert "**Waiting for a person**" in answer(notes, issue, f"@{name.upper()} status")
    assert "changes nothing now" not in answer(notes, issue, f"@{name} cancel")
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)


@pytest.mark.long
def test_one_comment_is_heard_once_however_often_it_is_told(notes: Town) -> None:
    issue = blocked(notes)
    notes.comment(issue, "/fixwright resume")
    loop = notes.loop(plays(WRITE))
    loop.turn()
    assert notes.stands == (State.IN_REVIEW, None)
    heard = [signal for signal in notes.all_signals() if isinstance(signal, CommandGiven)]
    notes.tell(replace(heard[0]), "told-again")
    loop.shop.desk.clear()
    assert notes.stands == (State.IN_REVIEW, None)
    assert notes.decisions()[-1] == "outdated: this comment was heard before"


def test_an_edited_comment_commands_nothing(notes: Town) -> None:
    issue = blocked(notes)
    comment = notes.world.comment(issue, notes.maintainer, "I will look at it.")
    notes.world.edit_comment(comment.id, notes.maintainer, "/fixwright cancel")
    notes.deliver()
    notes.loop(plays(WRITE)).shop.desk.clear()
    assert notes.stands == (State.QUEUED, None), (
        "the word is an answer; what it was made into cancels nothing"
    )


# -- work that a command begins ----------------------------------------------------------------------


def unlabelled(town: Town, *labels: str) -> IssueRef:
    issue = town.world.open_issue(town.repository.id, town.stranger, title="Say more", body="Please.")
    if labels:
        town.world.label(issue, town.maintainer, *labels)
    town.deliver()
    return issue


def heard(town: Town) -> None:
    """Let the worker decide what waits."""
    town.loop(plays(WRITE)).shop.desk.clear()


@pytest.mark.parametrize("command", ["/fixwright run", "@{name} run"])
def test_run_begins_work_without_a_label(notes: Town, command: str) -> None:
    issue = unlabelled(notes)
    notes.comment(issue, command.format(name=notes.world.bot.login.removesuffix("[bot]")))
    assert notes.queue.tasks() == [], "who may is not known at the door"
    heard(notes)
    assert (notes.task.category, notes.task.label, notes.task.by_command) == (Category.BUG, "", True)
    assert (notes.task.title, notes.task.body, notes.task.requested_by.login) == (
        "Say more", "Please.", "mika",
    )  # fmt: skip
    assert [how for _, how in notes.world.reactions(notes.world.comments(issue)[0].id)] == ["eyes"]


@pytest.mark.long
def test_run_takes_the_kind_of_work_from_the_issues_labels(notes: Town) -> None:
    issue = unlabelled(notes, "question")
    notes.contracts.keep_labels("local", notes.repository.id, {"Question": Category.DOCS})
    notes.comment(issue, "/fixwright run")
    notes.loop(plays(WRITE)).turn()
    assert (notes.task.category, notes.task.label) == (Category.DOCS, "question")
    assert notes.stands == (State.IN_REVIEW, None)


@pytest.mark.long
def test_a_run_that_is_told_again_begins_nothing_again(notes: Town) -> None:
    issue = unlabelled(notes, "docs")
    notes.contracts.keep_labels("local", notes.repository.id, {"docs": Category.DOCS})
    notes.comment(issue, "/fixwright run")
    notes.loop(plays(WRITE)).turn()
    (event,) = [each for each in notes.all_signals() if isinstance(each, CommandGiven)]
    notes.tell(event, "told-again")
    heard(notes)
    assert notes.stands == (State.IN_REVIEW, None)
    assert notes.decisions()[-1] == "outdated: this comment was heard before"


@pytest.mark.parametrize("verb", ["status", "resume", "cancel", "help", "dance"])
def test_other_commands_are_answered_and_begin_nothing(notes: Town, verb: str) -> None:
    issue = unlabelled(notes)
    said = answer(notes, issue, f"/fixwright {verb}")
    assert said.startswith("**Nothing is being worked on here.** `/fixwright run` begins.")
    assert ("| command |" in said) is (verb in {"help", "dance"})
    assert notes.queue.tasks() == []


def test_run_on_a_pull_request_or_elsewhere_begins_nothing(notes: Town) -> None:
    notes.world.git.push(notes.repository.id, "topic", {"x": b"y"}, by=notes.maintainer)
    pull = notes.world.open_pull(notes.repository.id, notes.maintainer, head="topic", base="main", title="x")
    where = IssueRef(forge="local", repository_id=notes.repository.id, number=pull.number)
    assert answer(notes, where, "/fixwright run") == ""
    assert answer(notes, unlabelled(notes), "@somebody run") == ""
    notes.serving = replace(notes.serving, repositories=frozenset())
    assert answer(notes, unlabelled(notes), "/fixwright run") == ""
    assert notes.queue.tasks() == []


def test_machines_are_not_answered(notes: Town) -> None:
    issue = unlabelled(notes)
    for number, actor in enumerate((notes.world.bot, notes.world.create_user("robot", is_bot=True))):
        command = CommandGiven(
            issue=issue,
            actor=replace(actor, is_bot=actor.id != notes.world.bot.id),
            verb=Verb.HELP,
            comment_id=f"7{number}",
            text="/fixwright help",
            repository_name="acme/lamp",
        )
        notes.tell(command, f"machine-{number}", Admission.ERRAND)
        heard(notes)
    assert notes.said(issue) == []


def test_an_old_word_to_somebody_else_is_not_ours_to_answer(notes: Town) -> None:
    issue = unlabelled(notes)
    command = CommandGiven(
        issue=issue,
        actor=notes.maintainer,
        verb=Verb.RUN,
        comment_id="77",
        text="@somebody run",
        addressed="somebody",
        repository_name="acme/lamp",
    )
    notes.tell(command, "late", Admission.TOO_OLD)
    heard(notes)
    assert notes.said(issue) == []
    notes.tell(replace(command, addressed="", comment_id="78"), "ours", Admission.TOO_OLD)
    heard(notes)
    assert len(notes.said(issue)) == 1


def test_strangers_cannot_fill_the_queue_and_are_told_once(notes: Town) -> None:
    issue = unlabelled(notes)
    assert "people with write access" in answer(notes, issue, "/fixwright run", by=notes.stranger)
    assert answer(notes, issue, "/fixwright help", by=notes.stranger) == ""
    assert notes.queue.tasks() == []


def test_one_who_has_lost_the_right_since_is_withdrawn_with_a_word(notes: Town) -> None:
    issue = unlabelled(notes)
    notes.comment(issue, "/fixwright run")
    heard(notes)
    notes.world.grant(notes.repository.id, notes.maintainer, Permission.READ)
    notes.loop(plays(WRITE)).turn()
    assert notes.stands == (State.CANCELLED, Reason.NOT_PERMITTED)
    assert "asked for by somebody without write access" in notes.text(issue)
    assert not notes.cast.briefs


@pytest.mark.long
def test_a_forge_that_cannot_react_is_no_trouble(notes: Town) -> None:
    class Silent(LocalForge):
        def react(self, issue: IssueRef, comment_id: str, reaction: str) -> None:
            raise AssertionError("not asked: it says that it cannot")

    forge = Silent(Path(notes.root) / "forge")
    forge.capabilities = frozenset()
    issue = blocked(notes)
    notes.comment(issue, "/fixwright cancel")
    notes.loop(plays(WRITE), forge=forge).shop.desk.clear()
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)


@pytest.mark.long
def test_a_maintainer_with_maintain_access_may_raise_the_budget_by_name(notes: Town) -> None:
    issue = blocked(notes)
    other = notes.world.create_user("robin")
    notes.world.grant(notes.repository.id, other, Permission.MAINTAIN)
    name = notes.world.bot.login.removesuffix("[bot]")
    said = answer(notes, issue, f"@{name} budget 6.00", by=other)
    assert "The budget of this issue is raised" in said
    raised = notes.ledger.standing(notes.task).raised
    assert raised is not None and raised.amount == Money(6)
