"""The App looked over: each thing that can be wrong in it is one line that says what to do."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from app.demo.github.state import APP_ID, OWNER, Fault, app_key
from domain.ports import Examination, Examining, Expected, Standing
from providers.github.forge import GithubForge
from tests.providers.github.stage import HASTE, GithubStage

WEBHOOK = "https://fixwright.example.org/webhooks/github"
EXPECTED = Expected(webhook_url=WEBHOOK)
REPOSITORY = "repository octo/widgets-1"


def look(stage: GithubStage, expected: Expected = EXPECTED, key: str = "") -> dict[str, Examination]:
    """Examine; returns the worst line of each subject, and checks that nothing but reading was done."""
    forge = GithubForge(
        app_id=str(APP_ID),
        private_key=key or app_key(),
        api_url=stage.server.url,
        served=frozenset(name.lower() for name in stage._names),
        patience=HASTE,
    )
    assert isinstance(forge, Examining)
    rank = list(Standing)
    lines: dict[str, Examination] = {}
    for line in forge.examine(expected):
        assert line.fix or line.standing is not Standing.FAIL, line
        before = lines.get(line.subject)
        if before is None or rank.index(line.standing) > rank.index(before.standing):
            lines[line.subject] = line
    writes = {(seen.method, seen.path) for seen in stage.state.seen if seen.method != "GET"}
    assert all("access_tokens" in path or path == "/installation/token" for _, path in writes)
    forge.close()
    assert stage.state.tokens == {}
    return lines


def record(stage: GithubStage, code: int, *, minutes: int = 1, **changes: Any) -> None:
    """Let GitHub have sent a delivery so many minutes ago."""
    number = stage.state.next_id()
    at = datetime.fromtimestamp(stage.state.now(), UTC) - timedelta(minutes=minutes)
    stage.state.deliveries.append(
        {
            "id": number,
            "guid": f"72d3162e-cc78-11e3-81ab-{number:012d}",
            "delivered_at": f"{at:%Y-%m-%dT%H:%M:%SZ}",
            "redelivery": False,
            "duration": 0.1,
            "status": "OK" if code < 300 else "Service Unavailable",
            "status_code": code,
            "event": "issues",
            "action": "labeled",
            "installation_id": 1,
            "repository_id": 1,
            **changes,
        }
    )


def test_an_app_that_is_right_has_not_one_bad_line(stage: GithubStage, repository_id: str) -> None:
    record(stage, 202)
    lines = look(stage)
    assert {each.standing for each in lines.values()} == {Standing.OK}, lines
    assert set(lines) == {
        *("clock", "app", "permissions", "events", "webhook", "deliveries", "installations"),
        REPOSITORY,
    }
    assert lines["app"].words == "Fixwright (4711); its key works"
    assert lines[REPOSITORY].words == "public, installed"


def test_an_app_that_was_made_by_its_manifest_is_right(stage: GithubStage, repository_id: str) -> None:
    del stage.state.app_permissions["statuses"]
    stage.state.app_events.append("pull_request_review_comment")
    assert {each.standing for each in look(stage).values()} == {Standing.OK}


@pytest.mark.long
def test_a_wrong_key_is_the_only_line(stage: GithubStage, repository_id: str) -> None:
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    lines = look(stage, key=other.decode())
    assert list(lines) == ["app"] and lines["app"].standing is Standing.FAIL
    assert "does not take the App's signature" in lines["app"].words and "PRIVATE KEY-" not in str(lines)


@pytest.mark.long
def test_a_github_that_does_not_answer_is_the_only_line(stage: GithubStage, repository_id: str) -> None:
    stage.state.faults.append(Fault("GET", "/app", times=9))
    lines = look(stage)
    assert list(lines) == ["app"] and lines["app"].standing is Standing.FAIL


@pytest.mark.long
@pytest.mark.parametrize(
    ("ahead", "standing"), [(0, Standing.OK), (60, Standing.WARN), (-60, Standing.WARN), (115, Standing.FAIL)]
)
def test_the_clock_is_compared_with_github_s(
    stage: GithubStage, repository_id: str, ahead: int, standing: Standing
) -> None:
    stage.state.clock_ahead = ahead
    assert look(stage)["clock"].standing is standing


def test_permissions_that_lack_and_those_too_many(stage: GithubStage, repository_id: str) -> None:
    stage.state.app_permissions["contents"] = "read"
    missing = look(stage)["permissions"]
    assert missing.standing is Standing.FAIL and missing.words == "missing: contents: write"
    stage.state.app_permissions |= {"contents": "write", "workflows": "write", "actions": "write"}
    surplus = look(stage)["permissions"]
    assert surplus.standing is Standing.WARN
    assert surplus.words == "more than needed: actions: write, workflows: write"
    assert surplus.fix.endswith("/settings/apps/fixwright")


def test_an_installation_that_has_not_accepted_is_told_by_repository(
    stage: GithubStage, repository_id: str
) -> None:
    del stage.state.installations[OWNER].permissions["checks"]
    line = look(stage)[REPOSITORY]
    assert line.standing is Standing.FAIL and line.words == "missing: checks: write"


def test_events_that_are_not_heard(stage: GithubStage, repository_id: str) -> None:
    stage.state.app_events.remove("issue_comment")
    assert look(stage)["events"].words == "not subscribed to: issue_comment"


@pytest.mark.long
@pytest.mark.parametrize(
    ("change", "subject", "standing", "words"),
    [
        (
            {"url": "https://old.example/webhooks/github"},
            "webhook",
            Standing.FAIL,
            "should go to https://fix",
        ),
        ({"url": WEBHOOK.upper()}, "webhook", Standing.OK, ""),
        ({"content_type": "form"}, "webhook content type", Standing.FAIL, "takes json alone"),
        ({"insecure_ssl": "1"}, "webhook certificate", Standing.WARN, "does not check"),
        ({"insecure_ssl": 1}, "webhook certificate", Standing.WARN, "does not check"),
        ({"secret": None}, "webhook secret", Standing.FAIL, "has no webhook secret"),
    ],
    ids=str,
)
def test_the_webhook_s_own_settings(
    stage: GithubStage,
    repository_id: str,
    change: dict[str, Any],
    subject: str,
    standing: Standing,
    words: str,
) -> None:
    stage.state.hook |= {key: value for key, value in change.items() if value is not None}
    for key in [key for key, value in change.items() if value is None]:
        del stage.state.hook[key]
    line = look(stage)[subject]
    assert line.standing is standing and words in line.words


@pytest.mark.long
def test_an_app_without_a_webhook_and_a_service_without_an_address(
    stage: GithubStage, repository_id: str
) -> None:
    assert look(stage, Expected())["webhook"].standing is Standing.WARN
    stage.state.hook.clear()
    assert look(stage)["webhook"].words == "the App has none"


def test_deliveries_that_failed_are_counted_and_the_newest_s_reason_is_told(
    stage: GithubStage, repository_id: str
) -> None:
    record(stage, 504, minutes=60, status="timed out")
    record(stage, 401, minutes=5, status="Unauthorized", event="issue_comment")
    record(stage, 500, minutes=3 * 24 * 60)
    record(stage, 503, minutes=2, event="ping", action=None)
    line = look(stage)["deliveries"]
    assert line.standing is Standing.FAIL, "the newest of them failed"
    assert line.words.startswith("2 of 2 in the last day failed; the newest of them (issue_comment, ")
    assert line.words.endswith("Unauthorized (401)") and "secret here is not the App's" in line.fix
    record(stage, 202, minutes=1)
    assert look(stage)["deliveries"].standing is Standing.WARN


@pytest.mark.long
def test_a_delivery_that_was_sent_again_with_success_did_not_fail(
    stage: GithubStage, repository_id: str
) -> None:
    record(stage, 502, guid="g")
    record(stage, 202, guid="g", redelivery=True)
    assert look(stage)["deliveries"].words == "1 in the last day, none of them failed"


def test_each_repository_is_looked_at(stage: GithubStage, repository_id: str) -> None:
    stage._names.add("else/where")
    stage.archive(repository_id)
    lines = look(stage)
    assert "not installed" in lines["repository else/where"].words
    assert lines[REPOSITORY].standing is Standing.FAIL and "archived" in lines[REPOSITORY].words


def test_a_suspended_installation(stage: GithubStage, repository_id: str) -> None:
    stage.state.installations[OWNER].suspended = True
    assert look(stage)[REPOSITORY].words == "the installation is suspended"


@pytest.mark.long
def test_a_renamed_repository(stage: GithubStage, repository_id: str) -> None:
    stage.rename_repository(repository_id, f"{OWNER}/other")
    line = look(stage)[REPOSITORY]
    assert line.standing is Standing.FAIL and "octo/other now" in line.words


@pytest.mark.long
def test_a_public_repository_is_not_worked_on_without_isolation(
    stage: GithubStage, repository_id: str
) -> None:
    line = look(stage, Expected(webhook_url=WEBHOOK, private_only=True))[REPOSITORY]
    assert line.standing is Standing.FAIL and "without isolation" in line.words
    assert stage.repository(private=True)
    lines = look(stage, Expected(webhook_url=WEBHOOK, private_only=True))
    assert lines["repository octo/widgets-2"].words == "private, installed"


@pytest.mark.long
def test_accounts_of_which_nothing_is_served(stage: GithubStage, repository_id: str) -> None:
    stage.state.install("strangers")
    line = look(stage)["installations"]
    assert line.standing is Standing.WARN and "strangers" in line.words


@pytest.mark.long
@pytest.mark.parametrize("path", ["/app/hook/config", "/app/hook/deliveries", "/app/installations"])
@pytest.mark.parametrize("body", [[1], {"x": 1}, "x", None])
def test_answers_that_are_none_are_lines(
    stage: GithubStage, repository_id: str, path: str, body: object
) -> None:
    stage.state.faults.append(Fault("GET", path, status=200, body=body, times=1))
    lines = look(stage)
    assert Standing.FAIL in {each.standing for each in lines.values()} or path == "/app/installations"
    assert REPOSITORY in lines, "the rest is looked at all the same"


def test_what_github_says_cannot_break_the_lines(stage: GithubStage, repository_id: str) -> None:
    record(stage, 500, status="\x1b[31m\nboom" * 100, event="issues\nok all is well")
    stage.state.hook["url"] = "https://x.example/\n\x1b[2J"
    for line in look(stage).values():
        assert line.words.isprintable() and len(line.words) < 700, line
