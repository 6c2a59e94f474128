"""The flow against a GitHub on loopback: what is asked for, and what hostile and unlucky answers come to."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from app.demo.github.making import CLIENT_SECRET, WEBHOOK_SECRET
from app.demo.github.state import APP_ID, Fault, app_key
from app.github_app.flow import ASKING_SECONDS, MOST_ASKED, ManifestFlow, NotAccepted
from app.github_app.stored import AlreadyConfigured, stored_app, stored_private_key, stored_webhook_secret
from domain.errors import ForgeError, ForgeUnavailable, StoreUnavailable
from providers.github.making import CodeRefused
from providers.github.manifest import Wishes
from tests.app.github_app.conftest import HERE, PUBLIC, Github, Hours, hasty
from tests.small_disk import small_disk

WISHES = Wishes(name="fixwright-acme", public_url=PUBLIC, organization="acme")


def ask(github: Github, flow: ManifestFlow, session: str = "s", wishes: Wishes = WISHES) -> tuple[str, str]:
    """Go to GitHub with a manifest; returns (state, code) as they come back."""
    asking = flow.begin(session, wishes, f"{HERE}/setup/callback")
    back = parse_qs(urlsplit(github.post(asking.address, asking.manifest)).query)
    return back["state"][0], back["code"][0]


@pytest.mark.long
def test_an_app_is_asked_for_with_the_least_that_works_and_put_in_place(
    github: Github, flow: ManifestFlow, data: Path
) -> None:
    asking = flow.begin("s", WISHES, f"{HERE}/setup/callback")
    manifest = json.loads(asking.manifest)
    assert urlsplit(asking.address).path == "/organizations/acme/settings/apps/new"
    assert manifest["default_permissions"] == {
        "metadata": "read",
        "contents": "write",
        "issues": "write",
        "pull_requests": "write",
        "checks": "write",
        "actions": "read",
    }
    assert manifest["public"] is False
    assert manifest["hook_attributes"] == {"url": f"{PUBLIC}/webhooks/github", "active": True}
    state, code = ask(github, flow)
    done = flow.finish("s", state, code)
    assert (done.app.id, done.app.slug, done.app.owner) == (str(APP_ID), "fixwright", "acme")
    assert stored_app(data) == done.app
    assert stored_private_key(data) == app_key().strip() + "\n"
    assert stored_webhook_secret(data) == WEBHOOK_SECRET
    shown = repr(done) + (data / "github-app" / "app.json").read_text()
    assert WEBHOOK_SECRET not in shown and CLIENT_SECRET not in shown and "PRIVATE" not in shown
    (seen,) = [each for each in github.state.seen if each.path.startswith("/app-manifests/")]
    assert "authorization" not in seen.headers


def test_of_a_person_the_app_is_asked_for_elsewhere(github: Github, flow: ManifestFlow) -> None:
    wishes = Wishes(name="mine", public_url=PUBLIC)
    assert urlsplit(flow.begin("s", wishes, HERE).address).path == "/settings/apps/new"


def test_another_browser_another_state_or_none_is_not_accepted(github: Github, flow: ManifestFlow) -> None:
    state, code = ask(github, flow)
    for session, brought in [("t", state), ("", state), ("s", "x"), ("s", ""), ("s", "\ud800"), ("s", "é")]:
        with pytest.raises(NotAccepted):
            flow.finish(session, brought, code)
    assert github.state.manifests, "the code was not used up by it"
    flow.finish("s", state, code)


@pytest.mark.long
def test_a_code_works_once_and_a_reload_shows_the_same(github: Github, flow: ManifestFlow) -> None:
    state, code = ask(github, flow)
    done = flow.finish("s", state, code)
    with pytest.raises(NotAccepted):
        flow.finish("s", state, code)
    other, _ = ask(github, flow)
    assert flow.finish("s", other, code) is done


def test_two_tabs_make_one_app(github: Github, flow: ManifestFlow) -> None:
    first, second = ask(github, flow), ask(github, flow)
    with ThreadPoolExecutor(2) as pool:
        results = list(pool.map(lambda pair: flow.finish("s", *pair), [first, second]))
    assert results[0] is results[1]
    assert len(github.state.manifests) == 1, "the other code was not used"


def test_a_state_is_not_good_for_ever_and_not_for_any_number(
    github: Github, flow: ManifestFlow, hours: Hours
) -> None:
    oldest, code = ask(github, flow)
    for _ in range(MOST_ASKED):
        flow.begin("s", WISHES, HERE)
    with pytest.raises(NotAccepted):
        flow.finish("s", oldest, code)
    state, code = ask(github, flow)
    hours.passed = ASKING_SECONDS + 1
    with pytest.raises(NotAccepted):
        flow.finish("s", state, code)


@pytest.mark.parametrize("code", ["", "../../app", "a/b", "a" * 201, "a b", "é", "a%2fb", "a?b", "a\n"])
def test_a_code_that_is_none_is_not_even_sent(github: Github, flow: ManifestFlow, code: str) -> None:
    state, _ = ask(github, flow)
    with pytest.raises(CodeRefused):
        flow.finish("s", state, code)
    assert github.state.seen == []


def test_a_code_that_was_used_or_is_too_old_is_said(github: Github, flow: ManifestFlow, data: Path) -> None:
    state, code = ask(github, flow)
    github.state.manifests.clear()
    with pytest.raises(CodeRefused, match="used before, or is too old") as refused:
        flow.finish("s", state, code)
    assert code not in str(refused.value) and stored_app(data) is None


HOSTILE: list[dict[str, Any]] = [
    {"pem": ""},
    {"pem": None},
    {"pem": 7},
    {"pem": "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n-----END RSA PRIVATE KEY-----"},
    {"pem": "x" * 1_000_000},
    {"webhook_secret": None},
    {"webhook_secret": ""},
    {"webhook_secret": "hunter2"},
    {"webhook_secret": "hunter2," * 10},
    {"webhook_secret": "hunter2 " * 10},
    {"webhook_secret": "é" * 40},
    {"webhook_secret": ["a" * 40]},
    {"client_secret": ""},
    {"client_id": "../x"},
    {"client_id": None},
    {"id": "4711"},
    {"id": None},
    {"id": True},
    {"slug": None},
    {"slug": "../../x"},
    {"slug": '"><script>alert(1)</script>'},
    {"slug": "a" * 500},
]


HOSTILE_CASES = [HOSTILE[0], *(pytest.param(each, marks=pytest.mark.long) for each in HOSTILE[1:])]


@pytest.mark.parametrize("change", HOSTILE_CASES, ids=lambda change: str(change)[:40])
def test_an_answer_that_is_no_app_is_refused_and_its_words_not_repeated(
    github: Github, flow: ManifestFlow, data: Path, change: dict[str, Any]
) -> None:
    state, code = ask(github, flow)
    github.state.conversion = change
    with pytest.raises(ForgeError) as refused:
        flow.finish("s", state, code)
    assert "hunter2" not in str(refused.value) and "script" not in str(refused.value)
    assert not (data / "github-app").exists() and list(data.iterdir()) == []
    github.state.broken.clear()  # its judge objects to some of these, too


@pytest.mark.long
def test_what_is_only_odd_is_taken_and_made_harmless(github: Github, flow: ManifestFlow) -> None:
    state, code = ask(github, flow)
    github.state.conversion = {
        "name": "<b>x</b>\n" * 50,
        "html_url": "javascript:alert(1)",
        "owner": {},
        "surprise": 1,
    }
    app = flow.finish("s", state, code).app
    assert app.page.endswith("/github-apps/fixwright") and app.page.startswith("http://127.0.0.1")
    assert len(app.name) <= 100 and "\n" not in app.name and app.owner == ""


@pytest.mark.parametrize(
    "fault",
    [
        Fault("POST", r"/app-manifests/.*", status=200, body=[]),
        Fault("POST", r"/app-manifests/.*", status=200, body="x"),
        Fault("POST", r"/app-manifests/.*", status=302, headers={"Location": "http://127.0.0.1:1/x"}),
        Fault("POST", r"/app-manifests/.*", status=422, body={"message": "no"}),
    ],
    ids=lambda fault: f"{fault.status} {fault.body}",
)
def test_other_answers_are_errors(github: Github, flow: ManifestFlow, data: Path, fault: Fault) -> None:
    state, code = ask(github, flow)
    github.state.faults.append(fault)
    with pytest.raises(ForgeError) as refused:
        flow.finish("s", state, code)
    assert code not in str(refused.value) and list(data.iterdir()) == []


@pytest.mark.long
def test_an_answer_without_an_end_is_cut_off(github: Github, flow: ManifestFlow) -> None:
    state, code = ask(github, flow)
    huge = {"pem": "x" * (33 * 2**20)}
    github.state.faults.append(Fault("POST", r"/app-manifests/.*", status=201, body=huge))
    with pytest.raises(ForgeUnavailable, match="more than") as refused:
        flow.finish("s", state, code)
    assert code not in str(refused.value)


@pytest.mark.long
@pytest.mark.parametrize("status", [500, 502, 503, 429])
def test_a_github_in_trouble_can_be_asked_again(github: Github, flow: ManifestFlow, status: int) -> None:
    state, code = ask(github, flow)
    github.state.faults.append(Fault("POST", r"/app-manifests/.*", status=status))
    with pytest.raises(ForgeUnavailable) as refused:
        flow.finish("s", state, code)
    assert code not in str(refused.value), "whoever has the code can fetch the keys"
    assert flow.finish("s", state, code).app.id == str(APP_ID)


@pytest.mark.long
def test_keys_that_cannot_be_stored_are_kept_in_mind(
    github: Github, hours: Hours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        flow = ManifestFlow(disk.path, github.server.url, make=hasty, now=hours.now)
        state, code = ask(github, flow)
        disk.fill()
        with pytest.raises(StoreUnavailable):
            flow.finish("s", state, code)
        assert code in github.state.manifests, "nothing is asked of GitHub that could not be stored"
        disk.make_room()
        assert flow.finish("s", state, code).app.id == str(APP_ID)


def test_a_place_that_is_lost_after_github_gave_the_keys_can_be_tried_again(
    github: Github, data: Path, hours: Hours
) -> None:
    def losing(api_url: str, code: str) -> Any:
        made = hasty(api_url, code)
        for each in data.glob(".github-app-*"):
            each.rename(data.parent / "lost")
        return made

    flow = ManifestFlow(data, github.server.url, make=losing, now=hours.now)
    state, code = ask(github, flow)
    with pytest.raises(StoreUnavailable):
        flow.finish("s", state, code)
    hours.passed = ASKING_SECONDS + 1
    assert flow.finish("s", state, code).app.id == str(APP_ID), "GitHub gives them out once"


def test_an_app_that_came_by_another_way_is_not_written_over(
    github: Github, flow: ManifestFlow, data: Path
) -> None:
    state, code = ask(github, flow)
    (data / "github-app").mkdir(parents=True)
    with pytest.raises(AlreadyConfigured):
        flow.finish("s", state, code)
    assert code in github.state.manifests, "GitHub was not asked"
