"""The audit of the load finds what it is for: a lost delivery, a doubled one, a forgery that was let in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from domain.events import Event, IssueLabelled
from domain.model import Category
from domain.ports import Admission, Admitted, Delivery
from evals.door_load import Deliveries, Origin
from evals.load_audit import violations
from evals.load_plan import ASKING, OTHER, Sending
from evals.load_sender import Sent
from evals.load_service import WallClock
from store.database import Database
from store.inbox import SqliteInbox
from store.tasks import SqliteTaskQueue
from tests.evals.test_load_plan import DIALECT, SECRET, parts

MAKERS = {label: Deliveries(SECRET, Origin(label=label)) for label in (ASKING, OTHER)}
FIRST = Sending(number=1001, delivery_id="a", label=ASKING)
SECOND = Sending(number=1002, delivery_id="b", label=OTHER)
AGAIN = replace(FIRST, delivery_id="c")
FORGED = Sending(number=1003, delivery_id="d", label=ASKING, well_signed=False)


def admit(event: Event) -> Admission:
    asks = isinstance(event, IssueLabelled) and event.label == ASKING
    return Admission.QUEUED if asks else Admission.OTHER_LABEL


def queue_on(database: Database) -> SqliteTaskQueue:
    return SqliteTaskQueue(database, WallClock(), {ASKING: Category.BUG})


def delivery_of(sending: Sending) -> Delivery:
    headers, body = parts(MAKERS[sending.label].request(sending.number, sending.delivery_id))
    return Delivery(
        provider="local",
        delivery_id=sending.delivery_id,
        body_sha256=f"{sending.number}-{sending.label}",
        body=body,
        received_at=WallClock().now(),
        event=DIALECT.parse(body, headers),
    )


@pytest.fixture
def inbox(tmp_path: Path) -> Iterator[SqliteInbox]:
    with Database(tmp_path / "x.sqlite3") as database:
        database.migrate()
        yield SqliteInbox(database, {ASKING: Category.BUG})


def sent(sendings: Sequence[Sending], answers: Sequence[Admitted]) -> list[Sent]:
    good = [
        Sent(sending, 202, answer.admission, 0.1) for sending, answer in zip(sendings, answers, strict=True)
    ]
    return [*good, Sent(FORGED, 401, "", 0.1)]


def audited(tmp_path: Path, told: Sequence[Sent]) -> str:
    with Database(tmp_path / "x.sqlite3") as database:
        queue = queue_on(database)
        while queue.claim("w", 60):
            pass
    path = tmp_path / "x.sqlite3"
    return "\n".join(violations(path, told, lambda label, number: MAKERS[label].body(number), queue_on))


def stored(inbox: SqliteInbox, *sendings: Sending) -> list[Sent]:
    return sent(sendings, inbox.accept([delivery_of(each) for each in sendings], admit))


def test_a_right_run_has_no_violations(inbox: SqliteInbox, tmp_path: Path) -> None:
    assert audited(tmp_path, stored(inbox, FIRST, SECOND, AGAIN)) == ""


def test_a_lost_delivery_is_found(inbox: SqliteInbox, tmp_path: Path) -> None:
    told = stored(inbox, FIRST)
    found = audited(tmp_path, [*told, Sent(SECOND, 202, "other_label", 0.1)])
    assert "1002: stored 0 times" in found


def test_a_doubled_delivery_and_an_unasked_task_are_found(inbox: SqliteInbox, tmp_path: Path) -> None:
    told = stored(inbox, FIRST, SECOND)
    inbox.accept([replace(delivery_of(FIRST), delivery_id="x", body_sha256="x")], admit)
    inbox.accept([replace(delivery_of(replace(FIRST, number=9)), delivery_id="y", body_sha256="y")], admit)
    found = audited(tmp_path, told)
    assert "1001: stored 2 times" in found
    assert "x about 1001: stored, but never sent so" in found
    assert "9: has 1 tasks" in found


@pytest.mark.parametrize(("status", "line"), [(202, "d: answered 202 instead of 401"), (401, "")])
def test_a_forgery_that_was_let_in_is_found(
    inbox: SqliteInbox, tmp_path: Path, status: int, line: str
) -> None:
    told = [*stored(inbox, FIRST)[:1], Sent(FORGED, status, "", 0.1)]
    inbox.accept([delivery_of(FORGED)] if status == 202 else [], admit)
    found = audited(tmp_path, told)
    assert line in found
    assert ("d about 1003: stored" in found) == (status == 202)


def test_two_answers_as_new_another_body_and_a_second_claim_are_found(
    inbox: SqliteInbox, tmp_path: Path
) -> None:
    told = [*stored(inbox, FIRST), Sent(AGAIN, 202, "queued", 0.1)]
    assert "1001: answered 2 times as new" in audited(tmp_path, told)
    other = [Sent(replace(SECOND, label=ASKING), 202, "other_label", 0.1)]
    inbox.accept([replace(delivery_of(SECOND), body=b"{}")], admit)
    found = audited(tmp_path, [*told, *other])
    assert "b: the stored body is not the one that was sent" in found
    assert "1002: has 0 tasks" in found
