"""`/fixwright allow`: a protected change waits with its list; a maintainer's word lets it through."""

from __future__ import annotations

import re

import pytest

from domain.model import IssueRef, Outcome, Permission, Reason
from domain.states import Note, State
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from providers.local.objects import SYMLINK
from store.history import History
from tests.worker.conftest import BuildTown
from tests.worker.town import FIX, NOTES, SHOW, WRITE, Stage, Town, caps, plays
from worker.loop import Loop

ORDERS = "printf 'Be brief.\\n' > AGENTS.md"
OTHER_ORDERS = "printf 'Be bold.\\n' > AGENTS.md"
WAITING = (State.BLOCKED, Reason.PROTECTED_PATH)
IN_REVIEW = (State.IN_REVIEW, None)


def stopped(town: Town, *commands: str) -> tuple[IssueRef, str]:
    """Let a task stop at a protected path; return the issue and the name of the change."""
    issue = town.issue("docs")
    town.loop(plays(*(commands or (ORDERS, WRITE))), caps=caps(max_attempts=3)).turn()
    assert town.stands == WAITING, town.text(issue)
    match = re.search(r"/fixwright allow ([0-9a-f]{40})`", town.said(issue)[-1].body)
    assert match is not None
    return issue, match[1]


def hear(town: Town) -> None:
    """Let a worker hear what was said, and do what follows, with an agent that must not be asked again."""
    town.loop(plays("exit 9", claim=None)).turn()


def test_it_stops_at_once_with_list_name_and_difference(notes: Town) -> None:
    issue, name = stopped(notes)

    comment = notes.said(issue)[-1].body
    assert "- `AGENTS.md`" in comment and "README.md" not in comment
    assert "+Be brief." in comment and "No pull request" not in comment
    assert notes.outcomes == [Outcome.DECLINED], "no second attempt is paid for"
    assert not notes.branches and not notes.world.pulls(notes.repository.id)
    assert len(name) == 40


def test_a_maintainers_word_lets_exactly_it_through_without_the_model(notes: Town) -> None:
    issue, name = stopped(notes)
    spent = notes.ledger.spent_on_task(notes.task.id)

    notes.comment(issue, f"/fixwright allow {name}\nThe trigger is right.")
    hear(notes)

    assert notes.stands == IN_REVIEW, notes.text(issue)
    assert not notes.cast.briefs, "the model was not asked again"
    assert notes.ledger.spent_on_task(notes.task.id) == spent
    (pull,) = notes.world.pulls(notes.repository.id)
    assert "### Protected paths\n\n`mika` allowed exactly this change" in pull.body
    assert "`AGENTS.md`" in pull.body
    assert "AGENTS.md" in notes.world.git.files(notes.repository.id, pull.head_branch)
    assert notes.decisions() == [f"allow: {name}"]
    (word,) = notes.queue.allowances(notes.task.id)
    assert (word.change, word.by.id, word.by.login) == (name, notes.maintainer.id, "mika")
    trail = [event.trigger for event in History(notes.database).task_events(notes.task.id)]
    assert Note.CHANGE_ALLOWED in trail


@pytest.mark.long
def test_the_guard_heeds_the_word_and_the_tests_are_run_all_the_same(calc: Town) -> None:
    issue = calc.issue()
    workflow = "mkdir -p .github/workflows && printf 'on: push\\n' > .github/workflows/ci.yml"
    calc.loop(plays(workflow, FIX, SHOW)).turn()
    (name,) = re.findall(r"/fixwright allow ([0-9a-f]{40})`", calc.said(issue)[-1].body)
    calc.comment(issue, f"/fixwright allow {name}")
    hear(calc)
    assert calc.stands == IN_REVIEW, calc.text(issue)
    (pull,) = calc.world.pulls(calc.repository.id)
    assert "A maintainer allowed exactly this." in pull.body and "Red before, green after" in pull.body


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "by", "answer"),
    [
        ("/fixwright allow {name}", "stranger", "Only somebody with write access"),
        ("/fixwright allow 0123", "maintainer", "by its 40 hexadecimal digits"),
        ("/fixwright allow", "maintainer", "by its 40 hexadecimal digits"),
        ("/fixwright allow {other}", "maintainer", "No change of that name"),
        ("> /fixwright allow {name}", "maintainer", ""),
        ("    /fixwright allow {name}", "maintainer", ""),
        ("Please:\n/fixwright allow {name}", "maintainer", ""),
        ("/fixwright allow {name} and all others", "maintainer", ""),
        ("<!-- x -->/fixwright allow {name}", "maintainer", ""),
    ],
)
def test_other_words_allow_nothing(notes: Town, words: str, by: str, answer: str) -> None:
    issue, name = stopped(notes)
    other = ("1" if name[0] == "0" else "0") + name[1:]

    notes.comment(issue, words.format(name=name, other=other), by=getattr(notes, by))
    hear(notes)

    assert notes.stands == WAITING
    assert notes.queue.allowances(notes.task.id) == ()
    answers = [comment.body for comment in notes.said(issue) if "Nothing is allowed" in comment.body]
    assert bool(answers) is bool(answer) and all(answer in body for body in answers)


@pytest.mark.long
def test_permission_is_asked_when_the_word_is_heard(notes: Town) -> None:
    issue, name = stopped(notes)
    notes.comment(issue, f"/fixwright allow {name}")
    notes.world.grant(notes.repository.id, notes.maintainer, Permission.TRIAGE)
    hear(notes)
    assert notes.stands == WAITING and not notes.queue.allowances(notes.task.id)


@pytest.mark.long
def test_another_change_needs_another_word(notes: Town) -> None:
    issue, name = stopped(notes)
    notes.comment(issue, "/fixwright resume\nTry it otherwise.")
    notes.loop(plays(OTHER_ORDERS, WRITE)).turn()
    assert notes.stands == WAITING

    notes.comment(issue, f"/fixwright allow {name}")
    hear(notes)
    assert notes.stands == WAITING, "the word was for the first change; the second waits for its own"

    second = re.findall(r"/fixwright allow ([0-9a-f]{40})`", notes.text(issue))[-1]
    assert second != name
    notes.comment(issue, f"/fixwright allow {second}")
    hear(notes)
    assert notes.stands == IN_REVIEW, notes.text(issue)


@pytest.mark.long
def test_a_word_holds_on_its_own_issue_only(notes: Town) -> None:
    issue, name = stopped(notes)
    notes.comment(issue, f"/fixwright allow {name}")
    hear(notes)
    first = notes.task
    assert first.state is State.IN_REVIEW

    other = notes.issue("docs", title="Another")
    notes.loop(plays(ORDERS, WRITE)).turn()
    task = notes.queue.task_of_issue(other)
    assert task is not None and (task.state, task.reason) == WAITING


@pytest.mark.long
def test_the_same_change_made_again_by_the_model_is_let_through(notes: Town) -> None:
    issue, name = stopped(notes)
    notes.comment(issue, "/fixwright resume")
    notes.comment(issue, f"/fixwright allow {name}")
    notes.loop(plays(ORDERS, WRITE)).turn()
    assert notes.stands == IN_REVIEW, notes.text(issue)


@pytest.mark.long
def test_a_word_that_comes_while_the_agent_works_counts(notes: Town) -> None:
    issue, name = stopped(notes)
    notes.comment(issue, "/fixwright resume")
    loop = notes.loop(plays("true now", ORDERS, WRITE), sandbox=Stage({"true now": lambda: speak(loop)}))

    def speak(loop: Loop) -> None:
        notes.comment(issue, f"/fixwright allow {name}")
        loop.shop.desk.clear()

    loop.turn()
    assert notes.stands == IN_REVIEW, notes.text(issue)


@pytest.mark.long
def test_an_answer_that_did_not_get_out_is_made_good(notes: Town) -> None:
    issue, name = stopped(notes)
    notes.comment(issue, f"/fixwright allow {name}")
    outage = Fault(method="add_comment")
    notes.loop(plays("exit 9"), forge=FaultyForge(LocalForge(notes.root / "forge"), [outage])).turn()
    hear(notes)
    assert notes.stands == IN_REVIEW
    assert notes.text(issue).count("**Allowed by `mika`") == 1


@pytest.mark.long
def test_what_is_refused_for_good_asks_nobody(notes: Town) -> None:
    key = "echo 'T = \"ghp_abcdefghijklmnopqrstuvwxyz0123456789\"' > key.py"
    issue = notes.issue("docs")
    notes.loop(plays(ORDERS, key, WRITE), caps=caps(max_attempts=1)).turn()
    assert notes.stands == WAITING
    assert "/fixwright allow" not in notes.text(issue)


@pytest.mark.long
def test_the_difference_shows_what_cannot_be_seen(notes: Town) -> None:
    hidden = "printf 'a: \\342\\200\\256b%100sc\\n```\\n@everyone\\n' '' > CLAUDE.md"
    issue, _ = stopped(notes, hidden, WRITE)
    comment = notes.said(issue)[-1].body
    assert "⟨U+202E⟩" in comment and "⟨100 blanks⟩" in comment
    assert "````diff" in comment


@pytest.mark.long
def test_what_a_protected_link_of_the_base_leads_to_is_protected(build: BuildTown) -> None:
    town = build(NOTES | {"docs/orders[1].md": "Be brief.\n"})
    link = {"CLAUDE.md": (b"docs/orders[1].md", SYMLINK)}
    town.world.git.push(town.repository.id, "main", link, by=town.maintainer)
    stopped(town, "printf 'Be bold.\\n' > 'docs/orders[1].md'")
    assert "`docs/orders[1].md`" in town.text(town.task.issue)


@pytest.mark.long
@pytest.mark.parametrize("is_asked", [False, True])
def test_lockfiles_are_protected_where_the_repository_asks(build: BuildTown, is_asked: bool) -> None:
    town = build(NOTES | {".fixwright.yml": f"protect_lockfiles: {str(is_asked).lower()}\n"})
    town.issue("docs")
    town.loop(plays("printf 'x\\n' > docs.lock.md && printf 'y\\n' > uv.lock", WRITE)).turn()
    assert (town.task.reason is Reason.PROTECTED_PATH) is is_asked


@pytest.mark.long
def test_a_cut_off_task_replaces_nothing(notes: Town) -> None:
    issue, name = stopped(notes)
    notes.world.close_issue(issue, notes.maintainer)
    notes.deliver()
    notes.comment(issue, f"/fixwright allow {name}")
    hear(notes)
    assert notes.task.state is State.CANCELLED
    assert "Nothing is being worked on here" in notes.text(issue)
