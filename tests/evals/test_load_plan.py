"""The plan of the load is what its name says: so many repetitions, so many bad signatures, all shuffled."""

from __future__ import annotations

from collections import Counter

from evals.door_load import Deliveries
from evals.load_plan import ASKING, Sending, planned
from providers.webhooks import GitHubShapedDialect

SECRET = b"a-secret-of-the-tests-of-32-bytes"
DIALECT = GitHubShapedDialect(
    "local", "X-Fixwright-Event", "X-Fixwright-Delivery", "X-Fixwright-Signature-256"
)


def test_the_shares_are_kept_and_the_order_is_not() -> None:
    plan = planned(2000, 7, open_issues=(3, 4))
    good = [each for each in plan if each.well_signed]
    numbers = Counter(each.number for each in good)
    assert len(plan) == 2000
    assert len(plan) - len(good) == 100
    assert len(good) - len(numbers) == 600
    asked = {each.number for each in good if each.label == ASKING}
    assert len(asked) == 26
    assert {3, 4} < asked
    assert [each.number for each in plan] != sorted(each.number for each in plan)
    assert plan == planned(2000, 7, open_issues=(3, 4)) != planned(2000, 8, open_issues=(3, 4))


def test_there_are_both_kinds_of_repetition_and_forgeries_with_known_ids() -> None:
    plan = planned(2000, 7)
    ids = Counter(each.delivery_id for each in plan if each.well_signed)
    assert sum(count - 1 for count in ids.values()) == 300
    assert sum(each.delivery_id.startswith("again-") for each in plan) == 300
    forged = [each for each in plan if not each.well_signed]
    assert sum(each.delivery_id in ids for each in forged) == 50
    assert not {each.number for each in forged} & {each.number for each in plan if each.well_signed}


def parts(request: bytes) -> tuple[list[tuple[bytes, bytes]], bytes]:
    head, _, body = request.partition(b"\r\n\r\n")
    lines = [line.split(b": ", 1) for line in head.split(b"\r\n")[1:]]
    return [(name.lower(), value) for name, value in lines], body


def test_the_requests_are_what_a_forge_sends() -> None:
    made = Deliveries(SECRET)
    sending = Sending(number=77, delivery_id="again-1", label=ASKING)
    headers, body = parts(made.request(sending.number, sending.delivery_id))
    assert DIALECT.verify(body, headers, (SECRET,))
    assert DIALECT.delivery_id(headers) == "again-1"
    event = DIALECT.parse(body, headers)
    assert getattr(event, "label", "") == ASKING
    assert body == made.body(77)
    assert 18_000 < len(body) < 20_000
    headers, body = parts(made.request(77, "forged-1", well_signed=False))
    assert not DIALECT.verify(body, headers, (SECRET,))
