"""The setup page as browsers and attackers meet it: code, stamp, origin, host, state, and what is shown."""

from __future__ import annotations

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from urllib.parse import urlsplit

import pytest
from structlog.testing import capture_logs

from app.demo.github.state import Fault
from app.github_app.lock import TRIES
from providers.github.making import CreatedApp
from providers.github.manifest import Wishes
from tests.app.github_app.conftest import HERE, PUBLIC, Github, Hours, Setup, enter, hasty, stamp_of, wish


@pytest.mark.long
def test_the_way_from_the_code_to_the_app(github: Github, setup: Setup) -> None:
    browser = setup.browser()
    page = browser.get("/setup")
    assert page.status_code == 200 and "One-time code" in page.text
    opened = enter(browser, setup.codes[0])
    assert (opened.status_code, opened.headers["location"]) == (303, "../setup")
    review = wish(browser)
    assert f"{PUBLIC}/webhooks/github" in review.text and "administration" not in review.text
    back = github.press(review.text)
    assert back.startswith(f"{HERE}/setup/callback?")
    done = browser.get(back)
    assert done.status_code == 200 and "fixwright-acme is made" in done.text
    assert f"{github.server.origin}/github-apps/fixwright/installations/new" in done.text
    assert "acme/shop" in done.text and "by itself, in a moment" in done.text
    assert browser.get(back).status_code == 403, "the code and the state were used"
    assert "is made" in browser.get("/setup").text


def test_everything_else_is_not_configured_yet(setup: Setup) -> None:
    browser = setup.browser()
    for method, path in [
        ("GET", "/"),
        ("GET", "/console"),
        ("POST", "/webhooks/github"),
        ("PUT", "/setup"),
        ("GET", "/setup/x"),
        ("GET", "/setup/open"),
        ("POST", "/setup/callback"),
        ("GET", "/..%2f..%2fetc/passwd"),
    ]:
        answer = browser.request(method, path)
        assert answer.status_code == 503, path
        assert "fixwright app create" in answer.text and answer.headers["retry-after"]
    health = browser.get("/healthz")
    assert (health.status_code, health.json()) == (200, {"status": "not configured yet"})


def test_a_wrong_code_opens_nothing_and_too_many_are_stopped(setup: Setup) -> None:
    browser = setup.browser()
    with capture_logs() as logs:
        for _ in range(TRIES):
            assert enter(browser, "AAAA-AAAA-AAAA-AAAA").status_code == 403
        assert enter(browser, "BBBB-BBBB-BBBB-BBBB").status_code == 429
    assert "AAAA" not in str(logs) and setup.codes[0] not in str(logs)
    assert "Name of the App" not in browser.get("/setup").text


def test_without_the_code_no_later_step_can_be_had(setup: Setup) -> None:
    browser = setup.browser()
    stamp = stamp_of(browser.get("/setup").text)
    refused = browser.post("/setup/review", data={"stamp": stamp, "name": "x", "public_url": PUBLIC})
    assert refused.status_code == 403 and "manifest" not in refused.text


def test_a_session_that_somebody_else_chose_is_not_the_one_that_opens(setup: Setup) -> None:
    browser = setup.browser()
    browser.get("/setup")
    before = browser.cookies["fixwright_setup"]
    enter(browser, setup.codes[0])
    assert browser.cookies["fixwright_setup"] != before
    thief = setup.browser()
    thief.cookies.set("fixwright_setup", before)
    assert "Name of the App" not in thief.get("/setup").text


def test_when_the_time_is_over_the_page_is_closed(setup: Setup, hours: Hours) -> None:
    browser = setup.opened()
    stamp = stamp_of(browser.get("/setup").text)
    hours.passed = 1800
    refused = browser.post("/setup/review", data={"stamp": stamp, "name": "x", "public_url": PUBLIC})
    assert refused.status_code == 403 and "new code" in refused.text
    assert "One-time code" in browser.get("/setup").text and len(setup.codes) == 2


@pytest.mark.parametrize("origin", ["", "null", "https://evil.example", "http://127.0.0.1.evil.example"])
def test_a_form_from_elsewhere_is_refused(setup: Setup, origin: str) -> None:
    browser = setup.browser()
    stamp = stamp_of(browser.get("/setup").text)
    browser.headers.pop("Origin")
    headers = {"Origin": origin} if origin else {}
    form = {"code": setup.codes[0], "stamp": stamp}
    assert browser.post("/setup/open", data=form, headers=headers).status_code == 403
    assert browser.post("/setup/open", data=form, headers={"Origin": HERE}).status_code == 303


@pytest.mark.parametrize("form", [{}, {"stamp": ""}, {"stamp": "x"}, {"stamp": "é\x00"}])
def test_a_form_without_its_stamp_is_refused(setup: Setup, form: dict[str, str]) -> None:
    browser = setup.browser()
    browser.get("/setup")
    assert browser.post("/setup/open", data={"code": setup.codes[0], **form}).status_code == 403


def test_a_stamp_of_another_browser_is_refused(setup: Setup) -> None:
    theirs = stamp_of(setup.browser().get("/setup").text)
    browser = setup.browser()
    browser.get("/setup")
    assert browser.post("/setup/open", data={"code": setup.codes[0], "stamp": theirs}).status_code == 403


def test_a_form_without_end_is_refused(setup: Setup) -> None:
    browser = setup.browser()
    form = {"code": "x" * 20_000, "stamp": stamp_of(browser.get("/setup").text)}
    assert browser.post("/setup/open", data=form).status_code == 413


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8400",
        "fixwright.example.org",
        "127.0.0.1.evil.example",
        "x@127.0.0.1",
        "",
    ],
)
def test_a_host_that_is_not_ours_is_turned_away(setup: Setup, host: str) -> None:
    answer = setup.browser().get("/setup", headers={"Host": host})
    assert answer.status_code == 421
    assert "One-time code" not in answer.text and "FIXWRIGHT_PUBLIC_URL" in answer.text
    assert "evil" not in answer.text


def test_a_forged_host_leads_nowhere_else(github: Github, setup: Setup) -> None:
    site = replace(setup.site, public_url=PUBLIC)
    browser = replace(setup, site=site).opened(PUBLIC)
    stamp = stamp_of(browser.get("/setup").text)
    form = {"stamp": stamp, "name": "x", "public_url": "https://evil.example"}
    assert browser.post("/setup/review", data=form, headers={"Host": "evil.example"}).status_code == 421
    headers = {"X-Forwarded-Host": "evil.example", "Forwarded": "host=evil.example"}
    review = browser.post("/setup/review", data=form, headers=headers)
    assert "evil" not in review.text, "the operator's setting is not changed by a form"
    assert github.press(review.text).startswith(f"{PUBLIC}/setup/callback?")


def test_behind_a_proxy_that_hides_the_host_github_still_sends_people_to_the_public_address(
    github: Github, setup: Setup
) -> None:
    site = replace(setup.site, public_url=PUBLIC)
    browser = replace(setup, site=site).browser(HERE, Origin=PUBLIC)
    enter(browser, setup.codes[0])
    review = browser.post("/setup/review", data={"stamp": stamp_of(browser.get("/setup").text), "name": "x"})
    assert github.press(review.text).startswith(f"{PUBLIC}/setup/callback?")


def test_by_https_the_cookie_is_for_https_alone(setup: Setup) -> None:
    site = replace(setup.site, public_url=PUBLIC)
    cookie = replace(setup, site=site).browser(PUBLIC).get("/setup").headers["set-cookie"].lower()
    assert "secure" in cookie and "httponly" in cookie and "samesite=lax" in cookie
    assert "secure" not in setup.browser().get("/setup").headers["set-cookie"].lower()


def test_a_state_of_another_browser_makes_no_app(github: Github, setup: Setup) -> None:
    back = github.press(wish(setup.opened()).text)
    other = setup.browser()
    other.get("/setup")
    refused = other.get(back)
    assert refused.status_code == 403 and "did not ask" in refused.text
    assert github.state.manifests, "the code was not used up"


@pytest.mark.parametrize("query", ["", "?code=x", "?state=x", "?state=&code=", "?state=%00&code=%ff"])
def test_a_callback_that_nobody_asked_for_makes_nothing(setup: Setup, query: str) -> None:
    assert setup.opened().get(f"/setup/callback{query}").status_code == 403


MARKUP = '"><script>alert(1)</script>'


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"name": MARKUP}, "no name for an App"),
        ({"name": ""}, "no name for an App"),
        ({"name": "x" * 35}, "no name for an App"),
        ({"name": "../x"}, "no name for an App"),
        ({"organization": "acme/../x"}, "not the name of an account"),
        ({"organization": MARKUP}, "not the name of an account"),
        ({"public_url": MARKUP}, "no address such as"),
        ({"public_url": "javascript:alert(1)"}, "no address such as"),
        ({"public_url": "https://user:pw@x.example"}, "no address such as"),
        ({"public_url": "https://x.example:99999"}, "no address such as"),
        ({"public_url": "http://localhost:8400"}, "GitHub cannot reach"),
        ({"public_url": "http://127.0.0.1"}, "GitHub cannot reach"),
        ({"public_url": "http://[::1]:8400"}, "GitHub cannot reach"),
    ],
)
def test_a_wish_that_cannot_be_is_said_and_what_was_typed_is_only_text(
    setup: Setup, changes: dict[str, str], words: str
) -> None:
    answer = wish(setup.opened(), **changes)
    assert answer.status_code == 422 and words in answer.text
    assert "<script" not in answer.text and "Name of the App" in answer.text


def test_what_github_says_is_only_text(github: Github, setup: Setup) -> None:
    browser = setup.opened()
    back = github.press(wish(browser).text)
    github.state.conversion = {"name": "<img src=x onerror=alert(1)>", "html_url": "javascript:alert(1)"}
    page = browser.get(back).text
    assert "<img" not in page and "javascript:" not in page
    other = setup.browser()
    other.get("/setup")


def test_what_github_refuses_is_only_text_too(github: Github, setup: Setup) -> None:
    browser = setup.opened()
    back = github.press(wish(browser).text)
    body = {"message": "<script>alert(1)</script> no"}
    github.state.faults.append(Fault("POST", r"/app-manifests/.*", status=422, body=body))
    page = browser.get(back)
    assert page.status_code == 502 and "<script" not in page.text and "Begin again" in page.text


def test_clear_text_is_warned_of(setup: Setup) -> None:
    browser = setup.opened()
    assert "In clear text" in wish(browser, public_url="http://fixwright.example.org").text
    assert "In clear text" not in wish(browser, public_url=PUBLIC).text


def test_a_browser_may_do_no_more_than_the_page_needs(github: Github, setup: Setup) -> None:
    browser = setup.browser()
    locked = browser.get("/setup")
    enter(browser, setup.codes[0])
    review = wish(browser)
    for page in (locked, review):
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert page.headers["cache-control"] == "no-store" and "<script" not in page.text
        assert page.headers["x-content-type-options"] == "nosniff" and "style=" not in page.text
    assert github.server.origin not in locked.headers["content-security-policy"]
    assert f"form-action 'self' {github.server.origin};" in review.headers["content-security-policy"]
    assert review.headers["referrer-policy"] == "strict-origin", "GitHub may look where a form comes from"


def test_an_address_from_the_command_line_opens_once(setup: Setup) -> None:
    wishes = Wishes(name="x", public_url=PUBLIC)
    once = replace(setup, site=replace(setup.site, wishes=wishes))
    browser = once.browser()
    address = f"/setup/once/{setup.codes[0]}"
    assert browser.get(address).headers["location"] == "../../setup"
    assert browser.get(address).status_code == 303, "the same browser may come back"
    review = browser.get("/setup").text
    assert "Create it on" in review and f"{HERE}/setup/callback" in review
    assert once.browser().get(address).status_code == 403


def test_the_service_has_no_address_with_the_code_in_it(setup: Setup) -> None:
    from starlette.testclient import TestClient

    from app.github_app.pages import SetupPages

    browser = TestClient(SetupPages(setup.site).application(), base_url=HERE, follow_redirects=False)
    assert browser.get(f"/setup/once/{setup.codes[0]}").status_code == 503


def test_each_page_finds_its_style(setup: Setup) -> None:
    browser = setup.browser()
    for page in (browser.get("/setup"), browser.get("/console"), browser.get("/setup/callback")):
        href = re.search(r'rel="stylesheet" href="([^"]+)"', page.text)
        assert href is not None and browser.get(urlsplit(href[1]).path).status_code == 200


@pytest.mark.long
def test_a_github_that_is_slow_does_not_hold_up_the_other_tabs(github: Github, setup: Setup) -> None:
    browser = setup.opened()
    back = github.press(wish(browser).text)
    asked, go_on = threading.Event(), threading.Event()

    def slow(api_url: str, code: str) -> CreatedApp:
        asked.set()
        assert go_on.wait(20)
        return hasty(api_url, code)

    setup.site.flow._make = slow
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(browser.get, back)
        assert asked.wait(20)
        assert setup.browser().get("/healthz").status_code == 200
        assert setup.browser().get("/setup").status_code == 200
        go_on.set()
        assert "is made" in waiting.result(20).text


@pytest.mark.parametrize(
    ("public_url", "host", "is_ours"),
    [
        ("https://x.example:443", "x.example", True),
        ("https://x.example", "X.Example:443", True),
        ("https://x.example:8443", "x.example:8443", True),
        ("https://x.example:8443", "x.example", False),
        ("http://x.example", "x.example:80", True),
        ("http://x.example", "x.example:443", False),
        ("", "", False),
        ("", ":443", False),
    ],
)
def test_the_usual_port_may_be_left_out(setup: Setup, public_url: str, host: str, is_ours: bool) -> None:
    site = replace(setup.site, public_url=public_url)
    assert site.is_ours(host) is is_ours
    scheme = public_url.partition(":")[0]
    assert bool(site.root_for(f"{scheme}://{host}")) is is_ours
    other = {"https": "http", "http": "https"}.get(scheme, "https")
    assert not site.root_for(f"{other}://{host}")
