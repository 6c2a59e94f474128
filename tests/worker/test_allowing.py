"""`/fixwright allow`: a protected change waits with its list; a maintainer's word lets it through."""

from __future__ import annotations

import json
import re

import pytest

from domain.envelope import unwrap
from domain.model import IssueRef, Outcome, Permission, Reason
from domain.states import Note, State
from providers.local.faulty import Fault, FaultyForge
from providers.local.forge import LocalForge
from providers.local.objects import SYMLINK
from store.history import History
from store.receipts import SqliteReceipts
from tests.worker.conftest import BuildTown
from tests.worker.town import CALC, FIX, NOTES, SHOW, WRITE, Stage, Town, caps, plays
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
@pytest.mark.parametrize("word", ["0123456789" * 4, "RH002-0123456789abcdef", "nonsense"])
def test_a_word_where_nothing_waits_is_answered_as_well(notes: Town, word: str) -> None:
    issue = notes.issue("docs")
    notes.loop(plays("ls")).turn()
    notes.comment(issue, f"/fixwright allow {word}")
    notes.loop(plays("ls")).turn()
    assert "**Nothing is allowed.**" in notes.text(issue), notes.decisions()


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


# -- one finding of the guard -----------------------------------------------------------------------

REFUSED = (State.BLOCKED, Reason.GUARD)
SWALLOW = (
    "printf 'def double(x):\\n    try:\\n        return x * 2\\n    except Exception:\\n        pass\\n'"
    " > calc.py"
)
SWALLOW_OTHERWISE = SWALLOW.replace("        pass", "        return 0")
ID = r"`/fixwright allow (RH[0-9]{3}-[0-9a-f]{16})`"


def refused(town: Town, *commands: str) -> tuple[IssueRef, list[str]]:
    """Let the guard refuse a change; return the issue and the ids that may be allowed."""
    issue = town.issue()
    town.loop(plays(*(commands or (SWALLOW, SHOW))), caps=caps(max_attempts=1)).turn()
    assert town.stands == REFUSED, town.text(issue)
    return issue, re.findall(ID, town.said(issue)[-1].body)


@pytest.mark.long
def test_a_word_about_a_finding_takes_the_refused_change_up_without_the_model(calc: Town) -> None:
    issue, (identity,) = refused(calc)
    spent = calc.ledger.spent_on_task(calc.task.id)

    calc.comment(issue, f"/fixwright allow {identity}\nWe do want that.")
    hear(calc)

    assert calc.stands == IN_REVIEW, calc.text(issue)
    assert not calc.cast.briefs and calc.ledger.spent_on_task(calc.task.id) == spent
    (pull,) = calc.world.pulls(calc.repository.id)
    assert "**RH003** (warning, allowed by `@mika`)" in pull.body and pull.body.startswith("Fixes #")
    (word,) = calc.queue.allowances(calc.task.id)
    assert (word.change, word.by.id) == (identity, calc.maintainer.id)
    verdict = calc.queue.verdict(calc.attempts[-1])
    assert verdict is not None and verdict.verified and f"`{identity}`" in verdict.summary
    assert [each.allowed_by for each in verdict.findings if each.id == identity] == ["mika"]
    statement = unwrap(
        SqliteReceipts(calc.database, calc.clock).of_attempt(calc.attempts[-1].id)[-1].envelope
    ).statement
    text = json.dumps(statement)
    assert '"allowedBy": "mika"' in text and f'"name": "{identity}"' in text and word.comment_id in text
    assert "I go on with the change" in calc.text(issue)


@pytest.mark.long
def test_a_finding_in_other_code_needs_a_word_of_its_own(calc: Town) -> None:
    issue, (first,) = refused(calc)
    calc.comment(issue, "/fixwright resume")
    calc.loop(plays(SWALLOW_OTHERWISE, SHOW), caps=caps(max_attempts=1)).turn()
    assert calc.stands == REFUSED
    (second,) = re.findall(ID, calc.said(issue)[-1].body)

    calc.comment(issue, f"/fixwright allow {first}")
    hear(calc)
    assert calc.stands == REFUSED, "the word was for other code"
    assert first != second and f"- `/fixwright allow {second}`" in calc.said(issue)[-1].body

    calc.comment(issue, f"/fixwright allow {second}")
    hear(calc)
    assert calc.stands == IN_REVIEW, calc.text(issue)


@pytest.mark.long
def test_a_finding_allowed_on_one_issue_is_refused_on_another(calc: Town) -> None:
    issue, (identity,) = refused(calc)
    calc.comment(issue, f"/fixwright allow {identity}")
    hear(calc)
    other = calc.issue(title="Another")
    calc.loop(plays(SWALLOW, SHOW), caps=caps(max_attempts=1)).turn()
    task = calc.queue.task_of_issue(other)
    assert task is not None and (task.state, task.reason) == REFUSED


@pytest.mark.long
def test_all_findings_have_to_be_allowed_before_it_goes_on(calc: Town) -> None:
    issue, ids = refused(calc, SWALLOW, SHOW, "printf '[pytest]\\naddopts = -x\\n' > pytest.ini")
    assert len(ids) == 2
    calc.comment(issue, f"/fixwright allow {ids[0].lower()}")
    hear(calc)
    assert calc.stands == REFUSED
    assert f"This still stands against the change:\n- `/fixwright allow {ids[1]}`" in calc.text(issue)


@pytest.mark.long
@pytest.mark.parametrize(
    ("words", "by", "answer"),
    [
        ("/fixwright allow {id}", "stranger", "Only somebody with write access"),
        ("/fixwright allow RH003-0000000000000000", "maintainer", "no finding of that id"),
        ("/fixwright allow RH003", "maintainer", "or a finding by its id"),
        ("/fixwright allow RH004-0123456789abcdef", "maintainer", "cannot be waived by anyone"),
        ("/fixwright allow CHANGE-GITLINK", "maintainer", "cannot be waived by anyone"),
        ("/fixwright allow SECRET-KEY", "maintainer", "cannot be waived by anyone"),
    ],
)
def test_other_words_about_findings_allow_nothing(calc: Town, words: str, by: str, answer: str) -> None:
    issue, (identity,) = refused(calc)
    for _ in range(2):
        calc.comment(issue, words.format(id=identity), by=getattr(calc, by))
    hear(calc)
    assert calc.stands == REFUSED and calc.queue.allowances(calc.task.id) == ()
    answers = [each.body for each in calc.said(issue) if "Nothing is allowed" in each.body]
    assert len(answers) == 1 and answer in answers[0]


@pytest.mark.long
def test_what_does_not_parse_offers_no_command(calc: Town) -> None:
    issue, ids = refused(calc, "echo 'def double(x:' > calc.py", SHOW)
    assert not ids and "Nobody can waive this" in calc.said(issue)[-1].body


@pytest.mark.long
def test_an_allowed_change_of_a_test_is_not_held_against_it_by_the_old_test(build: BuildTown) -> None:
    wrong = {
        **CALC,
        "test_calc.py": CALC["test_calc.py"].replace("4)", "4)\n        self.assertEqual(double(3), 5)"),
    }
    town = build(wrong)
    right = "sed -i 's/double(3), 5/double(3), 6/' test_calc.py"
    issue, ids = refused(town, FIX, SHOW, right)
    for identity in ids:
        town.comment(issue, f"/fixwright allow {identity}")
    hear(town)
    assert town.stands == IN_REVIEW, town.text(issue)


@pytest.mark.long
def test_a_base_that_moved_meanwhile_costs_no_model_either(calc: Town) -> None:
    issue, (identity,) = refused(calc)
    calc.world.git.push(calc.repository.id, "main", {"NEWS.md": b"News.\n"}, by=calc.maintainer)
    calc.comment(issue, f"/fixwright allow {identity}")
    hear(calc)
    assert calc.stands == IN_REVIEW, calc.text(issue)
    assert not calc.cast.briefs
    (pull,) = calc.world.pulls(calc.repository.id)
    assert "NEWS.md" in calc.world.git.files(calc.repository.id, pull.head_branch)


@pytest.mark.long
def test_where_the_moved_base_conflicts_the_agent_is_asked_again(calc: Town) -> None:
    issue, (identity,) = refused(calc)
    other = {"calc.py": b"def double(y):\n    return y + 2\n"}
    calc.world.git.push(calc.repository.id, "main", other, by=calc.maintainer)
    calc.comment(issue, f"/fixwright allow {identity}")
    calc.loop(plays(FIX, SHOW)).turn()
    assert calc.stands == IN_REVIEW and len(calc.cast.briefs) == 1
