"""The webhook door over real HTTP: what is taken, what is refused, and that nothing else is stored."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.wake import BellListener
from domain.ports import Admission
from providers.webhooks import sign
from tests.app.senders import SECRET, Headers, Sender, encoded, labelled, replaced
from tests.app.web_process import WebProcess, running_web_process


@pytest.fixture
def nothing_stored(web: WebProcess) -> object:
    """Check after a test that it left no delivery."""
    before = len(web.deliveries())
    yield
    assert len(web.deliveries()) == before
    assert web.process.poll() is None


def test_a_label_becomes_a_task_with_its_title_and_body(web: WebProcess, sender: Sender) -> None:
    answer = sender.deliver(labelled(), delivery="first")
    assert answer.status == 202
    assert answer.json == {"decision": "queued", "task": 1}
    stored = web.deliveries()[0]
    assert (stored.delivery_id, stored.admission, stored.task_id) == ("first", Admission.QUEUED, 1)
    line = web.logged(lambda record: record.get("delivery") == "first")
    assert line["decision"] == "queued"
    assert line["repository"] == "acme/shop"
    assert "Badly." not in web.log_text()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(json.dumps(labelled(101, title="💥"), ensure_ascii=False).encode(), id="emoji"),
        pytest.param(
            encoded(labelled(102)).replace(b"Badly", b"\\u001B[1m\\u001b[0m"), id="escapes, both cases"
        ),
        pytest.param(json.dumps(labelled(103), indent=7).encode() + b"\n \t", id="spaces"),
        pytest.param(encoded(labelled(104, issue={"body": "one\r\ntwo\r\n"})), id="CRLF"),
        pytest.param(encoded(dict(reversed(labelled(105).items()))), id="other order of keys"),
        pytest.param(encoded(labelled(106)).replace(b"Badly", b"\\ud800"), id="half a surrogate pair"),
        pytest.param(encoded(labelled(107, issue={"body": None})), id="null body"),
        pytest.param(encoded(labelled(108, sender=None)), id="no sender"),
        pytest.param(
            encoded(labelled(109, issue={"title": "$(id) `id` \0 ' \" " + "x" * 65_000})), id="title"
        ),
    ],
)
def test_f107_the_signature_is_over_the_exact_bytes(web: WebProcess, sender: Sender, body: bytes) -> None:
    headers = sender.headers(body)
    assert sender.post(body, headers).json["decision"] == "queued"
    before = len(web.deliveries())
    spoilt = (
        body.replace(b"It breaks", b"It breakz", 1) if b"It breaks" in body else body.replace(b"a", b"b", 1)
    )
    assert sender.post(spoilt, replaced(headers, "X-Fixwright-Delivery", "spoilt")).status == 401
    assert len(web.deliveries()) == before


@pytest.mark.long
@pytest.mark.usefixtures("nothing_stored")
@pytest.mark.parametrize(
    "claims",
    [
        pytest.param([], id="absent"),
        pytest.param([""], id="empty"),
        pytest.param(["sha256="], id="prefix alone"),
        pytest.param([b"sha256=\xe9"], id="not ASCII"),
        pytest.param(["sha1=" + "a" * 40], id="sha1"),
        pytest.param(["sha256=" + "0" * 64], id="wrong"),
        pytest.param(["a" * 10_000], id="ten thousand letters"),
        pytest.param(["UPPER"], id="upper-case digits"),
        pytest.param(["GOOD", "GOOD"], id="twice"),
        pytest.param(["EMPTY KEY"], id="signed with an empty key"),
    ],
)
def test_f107_an_unsigned_delivery_is_401_without_detail(
    web: WebProcess, sender: Sender, claims: list[str | bytes]
) -> None:
    body = encoded(labelled())
    good = sign(body, SECRET)
    known = {"GOOD": good, "UPPER": "sha256=" + good[7:].upper(), "EMPTY KEY": sign(body, b"")}
    values = [known.get(claim, claim) if isinstance(claim, str) else claim for claim in claims]
    headers = replaced(sender.headers(body), "X-Fixwright-Signature-256", *values)
    answer = sender.post(body, headers)
    assert (answer.status, answer.json) == (401, {"error": "Unauthorized"})
    assert "Traceback" not in web.log_text()


@pytest.mark.usefixtures("nothing_stored")
def test_f127_other_signature_headers_do_not_count(sender: Sender) -> None:
    body = encoded(labelled())
    headers = replaced(sender.headers(body), "X-Fixwright-Signature-256")
    for name in ("X-Hub-Signature-256", "X-Gitea-Signature", "X-Gitlab-Token"):
        assert sender.post(body, [*headers, (name, sign(body, SECRET))]).status == 401


@pytest.mark.usefixtures("nothing_stored")
@pytest.mark.parametrize(
    ("change", "status"),
    [
        pytest.param({"path": "/webhooks/gitlab"}, 404, id="a provider that is not there"),
        pytest.param({"path": "/webhooks/"}, 404, id="no provider"),
        pytest.param({"path": "/webhooks/local/more"}, 404, id="a longer path"),
        pytest.param({"method": "GET"}, 405, id="GET"),
        pytest.param({"method": "PUT"}, 405, id="PUT"),
        pytest.param({"type": ["application/x-www-form-urlencoded"]}, 415, id="a form"),
        pytest.param({"type": []}, 415, id="no content type"),
        pytest.param({"type": ["application/json", "text/plain"]}, 415, id="two content types"),
        pytest.param({"encoding": "gzip"}, 415, id="compressed"),
        pytest.param({"delivery": []}, 400, id="no delivery id"),
        pytest.param({"delivery": ["a", "b"]}, 400, id="two delivery ids"),
        pytest.param({"delivery": ["x" * 129]}, 400, id="a long delivery id"),
        pytest.param({"event": []}, 400, id="no event"),
        pytest.param({"event": ["issue_comment"]}, 400, id="another event's name"),
    ],
)
def test_f114_what_is_no_delivery_has_its_status(
    sender: Sender, change: dict[str, object], status: int
) -> None:
    body = encoded(labelled())
    headers = sender.headers(body)
    names = {"type": "Content-Type", "delivery": "X-Fixwright-Delivery", "event": "X-Fixwright-Event"}
    for key, name in names.items():
        if key in change:
            headers = replaced(headers, name, *change[key])  # type: ignore[misc]
    if "encoding" in change:
        headers.append(("Content-Encoding", str(change["encoding"])))
    answer = sender.post(
        body,
        headers,
        path=str(change.get("path", "/webhooks/local")),
        method=str(change.get("method", "POST")),
    )
    assert answer.status == status
    assert answer.headers["Allow"] == ("POST" if status == 405 else None)


def test_a_charset_in_the_content_type_is_fine(sender: Sender) -> None:
    body = encoded(labelled())
    headers = replaced(sender.headers(body), "Content-Type", "Application/JSON; charset=utf-8")
    assert sender.post(body, headers).status == 202


@pytest.mark.usefixtures("nothing_stored")
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"not json", id="no JSON"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"null", id="null"),
        pytest.param(b'"text"', id="a string"),
        pytest.param(b'{"a": NaN}', id="NaN"),
        pytest.param(b"\xff\xfe{}", id="not UTF-8"),
        pytest.param(b'{"a":' + b"[" * 200_000, id="deep and broken"),
        pytest.param(b'{"a":' * 100_000 + b"1" + b"}" * 100_000, id="deep"),
        pytest.param(b'{"a":' + b"1" * 10_000 + b"}", id="a number of ten thousand digits"),
        pytest.param(encoded({"action": "labeled"}), id="nothing of an issue"),
        pytest.param(encoded(labelled(2**64)), id="an issue number beyond all databases"),
    ],
)
def test_f114_a_signed_body_that_cannot_be_read_is_400(web: WebProcess, sender: Sender, body: bytes) -> None:
    assert sender.deliver(body).status == 400
    assert "Traceback" not in web.log_text()


@pytest.mark.parametrize(
    ("event", "payload", "decision"),
    [
        ("ping", {"zen": "Anything added dilutes everything else."}, "noted"),
        ("star", {"action": "created", "repository": {"id": 1}}, "uninteresting"),
        ("issues", {**labelled(), "label": {"name": "help wanted"}}, "other_label"),
        ("issues", {**labelled(), "repository": {"id": 43, "full_name": "else/where"}}, "not_served"),
        ("issues", {**labelled(), "sender": {"id": 5, "login": "b", "type": "Bot"}}, "own_event"),
        ("issues", {**labelled(), "action": "closed"}, "no_task"),
        ("issues", {**labelled(), "action": "opened"}, "noted"),
    ],
)
def test_f116_what_leads_to_no_task_is_recorded_all_the_same(
    web: WebProcess, sender: Sender, event: str, payload: object, decision: str
) -> None:
    answer = sender.deliver(payload, event=event)
    assert (answer.status, answer.json) == (202, {"decision": decision, "task": None})
    assert web.deliveries()[0].admission == decision


def test_f112_twenty_copies_at_once_are_one_delivery_and_one_task(web: WebProcess, sender: Sender) -> None:
    body = encoded(labelled())
    headers = sender.headers(body, delivery="twenty")
    with ThreadPoolExecutor(20) as pool:
        answers = [each.result() for each in [pool.submit(sender.post, body, headers) for _ in range(20)]]
    assert {answer.status for answer in answers} == {202}
    decisions = sorted(answer.json["decision"] for answer in answers)
    assert decisions == ["duplicate"] * 19 + ["queued"]
    assert len({answer.json["task"] for answer in answers}) == 1
    assert [each.delivery_id for each in web.deliveries()].count("twenty") == 1
    assert "database is locked" not in web.log_text()


def test_f112_the_same_body_under_another_id_is_a_duplicate_too(sender: Sender) -> None:
    payload = labelled()
    first = sender.deliver(payload)
    again = sender.deliver(payload)
    assert again.json == {"decision": "duplicate", "task": first.json["task"]}


def test_after_a_duplicate_others_are_taken_and_tasks_can_be_claimed(web: WebProcess, sender: Sender) -> None:
    payload = labelled()
    sender.deliver(payload, delivery="A")
    sender.deliver(payload, delivery="A")
    assert sender.deliver(labelled(), delivery="B").json["decision"] == "queued"


def test_f107_an_unsigned_delivery_does_not_use_up_its_id(sender: Sender) -> None:
    body = encoded(labelled())
    headers = sender.headers(body, delivery="not-poisoned")
    assert (
        sender.post(body, replaced(headers, "X-Fixwright-Signature-256", "sha256=" + "0" * 64)).status == 401
    )
    assert sender.post(body, headers).json["decision"] == "queued"


@pytest.mark.usefixtures("nothing_stored")
def test_f110_a_long_body_is_413_by_its_announcement(sender: Sender) -> None:
    headers = [("Content-Type", "application/json"), ("Content-Length", str(2**20 + 1))]
    assert sender.post(b"", headers).status == 413


@pytest.mark.usefixtures("nothing_stored")
def test_f110_a_long_body_is_413_by_counting(web: WebProcess) -> None:
    before = web.resident_mb()
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    head = (
        b"POST /webhooks/local HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", web.port), timeout=20) as connection:
        for part in (head, *[chunk] * 40, b"0\r\n\r\n"):
            connection.sendall(part)
        assert connection.recv(100).startswith(b"HTTP/1.1 413")
    assert web.resident_mb() - before < 20


def test_a_body_of_exactly_the_cap_is_taken(sender: Sender) -> None:
    payload = labelled()
    room = 2**20 - len(encoded(payload))
    payload["issue"]["body"] += "x" * room
    assert len(encoded(payload)) == 2**20
    assert sender.deliver(payload).status == 202


def test_chunked_bodies_are_read_whole(sender: Sender) -> None:
    body = encoded(labelled())
    head = "POST /webhooks/local HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n"
    for name, value in sender.headers(body):
        head += f"{name}: {value!s}\r\n"
    parts = [b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:10], body[10:])]
    received = sender.raw(head.encode() + b"\r\n", *parts, b"0\r\n\r\n")
    assert received.startswith(b"HTTP/1.1 202")


@pytest.mark.usefixtures("nothing_stored")
@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GARBAGE\r\n\r\n",
        b"POST /webhooks/local HTTP/1.1\r\nContent-Length: abc\r\n\r\n",
        b"POST /webhooks/local HTTP/1.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        b"POST /webhooks/local HTTP/1.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
    ],
)
def test_what_is_not_http_is_400(sender: Sender, request_bytes: bytes) -> None:
    assert sender.raw(request_bytes).startswith(b"HTTP/1.1 400")


def test_the_worker_is_woken_by_work_and_by_nothing_else(web: WebProcess, sender: Sender) -> None:
    with BellListener(web.data_dir / "worker.sock") as listener:
        sender.deliver({"zen": "quiet"}, event="ping")
        sender.deliver(labelled(label={"name": "question"}))
        assert not listener.wait(0)
        sender.deliver(labelled(777))
        assert listener.wait(5)
        sender.deliver(labelled(777, action="unlabeled"))
        assert listener.wait(5)


def test_health_answers_without_the_database(sender: Sender) -> None:
    assert sender.get("/healthz").json == {"status": "ok"}


@pytest.mark.long
def test_a_rotation_of_secrets_takes_both(tmp_path: Path) -> None:
    old, new = b"o" * 32, b"n" * 32
    with running_web_process(tmp_path, FIXWRIGHT_WEBHOOK_SECRET=f"{new.decode()},{old.decode()}") as web:
        assert Sender(web.port, old).deliver(labelled()).status == 202
        assert Sender(web.port, new).deliver(labelled()).status == 202
        assert Sender(web.port, b"x" * 32).deliver(labelled()).status == 401
        assert old.decode() not in web.log_text()
        assert (web.data_dir / "fixwright.sqlite3").stat().st_mode & 0o077 == 0


def test_a_label_on_github_is_heard_at_its_own_door(web: WebProcess, sender: Sender) -> None:
    body = encoded(labelled(repository={"id": 42, "full_name": "acme/shop"}))
    headers: Headers = [
        ("Content-Type", "application/json"),
        ("User-Agent", "GitHub-Hookshot/044aadd"),
        ("X-GitHub-Event", "issues"),
        ("X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"),
        ("X-GitHub-Hook-ID", "292430182"),
        ("X-GitHub-Hook-Installation-Target-ID", "4711"),
        ("X-GitHub-Hook-Installation-Target-Type", "integration"),
        ("X-Hub-Signature", "sha1=0000000000000000000000000000000000000000"),
        ("X-Hub-Signature-256", sign(body, SECRET)),
    ]
    answer = sender.post(body, headers, path="/webhooks/github")
    assert (answer.status, answer.json["decision"]) == (202, "not_served"), "acme/shop is served elsewhere"
    assert web.deliveries()[0].provider == "github"
    assert sender.post(body, headers[:-1], path="/webhooks/github").status == 401
    assert sender.post(body, headers, path="/webhooks/local").status == 401
