"""The console in Chromium: every page and button, at two widths and in two schemes, for everybody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from domain.events import CommandGiven
from store.database import Database
from store.documents import event_from
from tests.app.web_process import CONSOLE_TOKEN, WebProcess
from tests.browser.browsing import SCHEMES, WIDTHS, Page
from tests.browser.pictures import PAGES
from tests.browser.seeding import HOSTILE, Seed

pytestmark = [pytest.mark.browser, pytest.mark.long, pytest.mark.xdist_group("browser")]

NOTHING_WRONG: list[str] = []


def judged(page: Page, path: str) -> None:
    """Complain of what hinders people, of what is wider than the screen, and of what the browser refused."""
    page.complaints()
    page.go(path)
    assert page.overflow() <= 0, f"{path}: wider than the screen by {page.overflow()} px"
    assert page.complaints() == NOTHING_WRONG, path
    assert page.run("return window.hit") is None, f"{path}: a script of an attacker ran"
    assert page.violations() == NOTHING_WRONG, path


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_for_everybody(operator: Page, name: str, width: int, scheme: str) -> None:
    operator.look(width, scheme)
    judged(operator, PAGES[name])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_so_is_a_transcript_that_is_unfolded(operator: Page, width: int, scheme: str) -> None:
    operator.look(width, scheme)
    operator.go(PAGES["transcript"])
    operator.run("document.querySelectorAll('details').forEach(each => { each.open = true })")
    assert operator.overflow() <= 0
    assert operator.violations() == NOTHING_WRONG
    assert operator.run("return window.hit") is None and HOSTILE[:40] in operator.text()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
def test_so_are_the_login_and_a_wrong_password(stranger: Page, width: int, scheme: str) -> None:
    stranger.driver.delete_all_cookies()
    stranger.look(width, scheme)
    stranger.go("/console/tasks/13")
    assert "Log in" in stranger.text() and stranger.overflow() <= 0
    assert stranger.violations() == NOTHING_WRONG
    stranger.one("#password").send_keys("not the password")
    stranger.one("form[action='/console/login'] button").click()
    stranger.until("return document.querySelector('[role=alert]')")
    assert stranger.violations() == NOTHING_WRONG


def test_a_login_leads_to_the_page_that_was_wanted_and_ends(stranger: Page) -> None:
    stranger.driver.delete_all_cookies()
    stranger.look(1280, "light")
    stranger.log_in(CONSOLE_TOKEN, "/console/spend?days=7")
    assert stranger.driver.current_url.endswith("/console/spend?days=7")
    stranger.one("form[action='/console/logout'] button").click()
    stranger.until("return document.querySelector('#password')")
    stranger.go("/console")
    assert "Log in" in stranger.text()


def test_every_page_can_be_read_without_scripts(operator: Page) -> None:
    operator.look(1280, "light")
    operator.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        for path in PAGES.values():
            operator.go(path)
            assert len(operator.text()) > 100, path
    finally:
        operator.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


def test_the_keyboard_reaches_the_content_and_shows_where_it_is(operator: Page) -> None:
    from selenium.webdriver.common.keys import Keys

    operator.look(1280, "light")
    operator.go("/console")
    body = operator.one("body")
    body.send_keys(Keys.TAB)
    focused = "return document.activeElement"
    assert operator.run(focused).text == "Skip to the content"
    assert operator.run("return document.activeElement.getBoundingClientRect().left >= 0")
    operator.run(focused).send_keys(Keys.ENTER)
    operator.until("return document.activeElement.id === 'content'")
    operator.run(focused).send_keys(Keys.TAB)
    outline = operator.run("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none" and operator.run("return document.activeElement.closest('main') !== null")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_colours_are_chosen_and_kept(operator: Page, width: int) -> None:
    operator.look(width, "light")
    ground = "return getComputedStyle(document.body).backgroundColor"
    operator.go("/console")
    light = operator.run(ground)
    operator.one(".themes button[value=dark]").click()
    operator.until("return document.documentElement.dataset.theme === 'dark'")
    assert operator.run(ground) != light
    assert operator.go("/console/spend").run(ground) != light
    operator.one(".themes button[value=system]").click()
    operator.until("return !document.documentElement.dataset.theme")
    assert operator.run(ground) == light


# -- buttons ----------------------------------------------------------------------------------------


def commands(service: WebProcess, task: int) -> list[str]:
    """Return what the worker would hear of a task, oldest first."""
    with Database(service.data_dir / "fixwright.sqlite3") as database, database.read() as connection:
        rows = connection.execute(
            "SELECT kind, event FROM signals WHERE task_id = ? ORDER BY id", (task,)
        ).fetchall()
    heard = [event_from(row["kind"], row["event"]) for row in rows]
    return [event.text for event in heard if isinstance(event, CommandGiven)]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("task", "act", "text"),
    [
        (16, "approve", f"/fixwright approve {'d' * 40}"),
        (14, "retry", "/fixwright retry"),
        (15, "cancel", "/fixwright cancel"),
        (17, "budget", "/fixwright budget 2.50"),
    ],
)
def test_a_button_tells_the_worker(
    operator: Page, service: WebProcess, task: int, act: str, text: str, width: int
) -> None:
    operator.look(width, "light")
    before = commands(service, task)
    operator.go(f"/console/tasks/{task}")
    if act == "budget":
        operator.one("#amount").send_keys("2.50")
    operator.one(f"form[action='/console/tasks/{task}/{act}'] button").click()
    operator.until(f"return location.search === '?done={act}' && document.querySelector('.pending')")
    assert commands(service, task) == [*before, text]
    assert operator.violations() == NOTHING_WRONG


def test_tasks_and_deliveries_are_filtered(operator: Page) -> None:
    from selenium.webdriver.support.ui import Select

    operator.look(1280, "light")
    operator.go("/console/tasks")
    operator.one("#words").send_keys("split")
    Select(operator.one("#state")).select_by_visible_text("In review")
    operator.one(".filters button").click()
    operator.until("return location.search.includes('words=split')")
    assert "1 task" in operator.text("[role=status]")
    operator.go("/console/deliveries")
    Select(operator.one("#admission")).select_by_value("uninteresting")
    operator.one(".filters button").click()
    operator.until("return location.search.includes('admission=uninteresting')")
    assert "issues.pinned" in operator.text() and "bug" not in operator.text("tbody")


# -- live -------------------------------------------------------------------------------------------


def append(path: Path, record: dict[str, object]) -> None:
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def test_steps_appear_while_the_agent_works(operator: Page, service: WebProcess, tmp_path: Path) -> None:
    operator.look(1280, "light")
    operator.complaints()
    operator.go(PAGES["running"])
    operator.until("return document.getElementById('live-note').textContent.startsWith('Live')")
    path = service.data_dir / "transcripts" / "attempt-18.jsonl"
    step = Seed.step(_Clocked(), 4)
    append(path, step)
    operator.until("return document.getElementById('step-4')")
    append(path, step)  # told twice, shown once
    append(path, {**step, "step": 5})
    append(path, {"phase": "verify", "at": "2026-03-04T12:00:00+00:00"})
    operator.until("return document.getElementById('step-5')")
    operator.until("return document.getElementById('live-phase').textContent === 'Verify'")
    assert operator.run("return document.querySelector('.rail [aria-current]').dataset.phase") == "verify"
    assert operator.run("return document.querySelectorAll('#step-4').length") == 1
    assert operator.run("return window.hit") is None
    assert operator.violations() == NOTHING_WRONG
    assert operator.complaints() == NOTHING_WRONG


def test_the_overview_renews_itself_and_keeps_the_focus(operator: Page, service: WebProcess) -> None:
    operator.look(1280, "light")
    operator.go("/console")
    operator.until("return typeof htmx === 'object'")
    operator.run(
        "window.before = document.getElementById('live'); document.getElementById('task-18').focus()"
    )
    operator.until("return document.getElementById('live') !== window.before")
    assert operator.run("return document.activeElement.id") == "task-18"
    assert operator.complaints() == NOTHING_WRONG


class _Clocked:
    """As much of a seed as a step needs."""

    hostile = HOSTILE

    def __init__(self) -> None:
        from datetime import UTC, datetime

        self.clock = type("Clock", (), {"now": staticmethod(lambda: datetime(2026, 3, 4, 12, tzinfo=UTC))})()
