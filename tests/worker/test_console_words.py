"""Words given in the console: the operator's count as they are, accounts' like their comments would."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from app.console_acts import delivery_of
from app.console_sessions import Viewer
from domain.events import COMMAND_PREFIX, Verb
from domain.model import Actor, Money, Outcome, Reason
from domain.policy import admit
from domain.ports import Admission
from domain.states import State, Trigger
from tests.worker.conftest import BuildTown
from tests.worker.town import NOTES, WRITE, Town, plays

OPERATOR = Viewer(name="operator", session="s")
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def person(actor: Actor) -> Viewer:
    return Viewer(name=actor.login, session="s", forge="local", actor=actor)


def press(town: Town, viewer: Viewer, verb: Verb, more: str = "") -> Admission:
    """Let somebody press a button, and the worker hear of it."""
    text = f"{COMMAND_PREFIX} {verb}{' ' + more if more else ''}"
    delivery = delivery_of(town.task, viewer, verb, text, NOW)
    (admitted,) = town.inbox.accept([delivery], lambda event: admit(event, town.serving))
    town.loop(plays(WRITE)).shop.desk.clear()
    return admitted.admission


def test_the_operator_cancels_and_retries_and_the_requester_stays(notes: Town) -> None:
    notes.issue("docs")
    assert press(notes, OPERATOR, Verb.CANCEL) is Admission.SIGNAL
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    press(notes, OPERATOR, Verb.RETRY)
    assert notes.stands == (State.QUEUED, None)
    assert notes.decisions() == [str(Trigger.CANCELLED), str(Trigger.RELABELLED)]
    assert notes.task.requested_by.login == "mika", "whose right counts when the work begins"
    notes.loop(plays(WRITE)).turn()
    assert notes.stands == (State.IN_REVIEW, None)


@pytest.mark.long
def test_an_accounts_word_counts_like_its_comment(notes: Town) -> None:
    issue = notes.issue("docs")
    press(notes, person(notes.stranger), Verb.CANCEL)
    assert notes.stands == (State.QUEUED, None)
    assert notes.decisions() == ["not permitted"] and "people with write access" in notes.text(issue)
    press(notes, person(notes.maintainer), Verb.CANCEL)
    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)


@pytest.mark.long
def test_nobody_becomes_the_operator_by_a_name(notes: Town) -> None:
    notes.issue("docs")
    press(notes, person(Actor(id="operator", login="operator")), Verb.CANCEL)
    assert notes.stands == (State.QUEUED, None)


@pytest.mark.long
def test_the_operator_raises_a_cap(notes: Town) -> None:
    issue = notes.issue("docs")
    delivery = delivery_of(notes.task, OPERATOR, Verb.BUDGET, f"{COMMAND_PREFIX} budget 6.50", NOW)
    notes.inbox.accept([delivery], lambda event: admit(event, notes.serving))
    notes.loop(plays(WRITE)).shop.desk.clear()
    assert notes.decisions() == ["budget: raised to 6.500000000"]
    raised = notes.ledger.standing(notes.task).raised
    assert raised is not None and (raised.amount, raised.by) == (Money("6.50"), "operator")
    assert "raised the cap" in notes.text(issue)


@pytest.mark.long
@pytest.mark.parametrize("is_right", [True, False])
def test_the_operator_approves_exactly_what_is_named(build: BuildTown, is_right: bool) -> None:
    town = build(NOTES | {".fixwright.yml": "approval: publish\n"})
    town.issue("docs")
    town.loop(plays(WRITE)).turn()
    (ready,) = town.queue.publications(town.task.id)
    press(town, OPERATOR, Verb.APPROVE, ready.tree if is_right else "d" * 40)
    town.loop(plays("exit 9", claim=None)).turn()
    assert town.stands[0] is (State.IN_REVIEW if is_right else State.BLOCKED)
    assert town.outcomes == [Outcome.VERIFIED if is_right else None]


def test_phases_configuration_and_difference_are_kept_for_who_looks_on(notes: Town) -> None:
    notes.issue("docs")
    notes.loop(plays(WRITE)).turn()
    script = notes.transcript()
    places = [script.index(f'{{"phase": "{name}"') for name in ("prepare", "agent", "verify")]
    assert places == sorted(places) and '{"config": {' in script
    path = notes.root / "transcripts" / "attempt-1.diff"
    difference = path.read_text()
    assert path.stat().st_mode & 0o777 == 0o600
    assert (
        difference.startswith("diff --git a/README.md b/README.md") and "+It has no tests yet." in difference
    )
