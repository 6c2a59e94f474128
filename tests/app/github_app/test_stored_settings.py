"""Settings and the App in the data directory: the environment first, and never two Apps mixed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.github_app.stored import WEBHOOK_SECRET, Room
from app.setting_groups import WebSettings
from app.settings import load_web_settings, load_worker_settings, own_environment
from domain.errors import ConfigurationError
from tests.app.github_app.test_stored import APP, KEYS

SECRET = "0123456789abcdef0123456789abcdef"


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in os.environ:
        if name.upper().startswith("FIXWRIGHT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("FIXWRIGHT_REPOSITORIES", "github:acme/shop")


@pytest.fixture
def app(tmp_path: Path) -> Path:
    with Room(tmp_path) as room:
        room.keep(APP, KEYS)
    return tmp_path / "github-app"


def test_without_an_app_both_processes_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_web_settings().awaits_app and load_worker_settings().awaits_app
    monkeypatch.setenv("FIXWRIGHT_REPOSITORIES", "")
    assert load_web_settings().awaits_app, "the very first start"
    assert not load_worker_settings().awaits_app, "nothing is served, so nothing is waited for"


def test_beside_another_forge_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_REPOSITORIES", "github:acme/shop,local:acme/web")
    assert not load_worker_settings().awaits_app
    with pytest.raises(ConfigurationError, match="FIXWRIGHT_WEBHOOK_SECRET: is not set"):
        load_web_settings()


def test_the_app_in_the_data_directory_serves_where_nothing_is_set(app: Path) -> None:
    web, worker = load_web_settings(), load_worker_settings()
    assert web.webhook_secrets == (b"s" * 40,) and not web.awaits_app
    assert worker.github_app_id == "4711" and not worker.awaits_app
    assert worker.github_key() == KEYS["private-key.pem"] + "\n"
    shown = str({**web.effective(), **worker.effective()}) + repr(web) + repr(worker)
    assert "s" * 40 not in shown and "BEGIN" not in shown
    assert "s" * 40 in web.secrets() and worker.github_key() in worker.secrets(), "for redaction"


def test_each_process_reads_only_what_is_its_own(app: Path) -> None:
    (app / "private-key.pem").unlink()
    assert load_web_settings().webhook_secrets
    (app / WEBHOOK_SECRET).unlink()
    with pytest.raises(ConfigurationError, match="webhook-secret: cannot be read"):
        load_web_settings()


def test_the_environment_comes_first(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("FIXWRIGHT_GITHUB_APP_ID", "99")
    assert load_web_settings().webhook_secrets == (SECRET.encode(),), "a secret that was replaced is over"
    worker = load_worker_settings()
    assert (worker.github_app_id, worker.github_key()) == ("99", ""), "no key of another App"
    monkeypatch.delenv("FIXWRIGHT_GITHUB_APP_ID")
    monkeypatch.setenv("FIXWRIGHT_GITHUB_PRIVATE_KEY", "mine")
    assert load_worker_settings().github_app_id == ""


def test_the_environment_comes_first_even_where_what_is_stored_is_broken(
    app: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (app / "app.json").write_text("{")
    monkeypatch.setenv("FIXWRIGHT_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("FIXWRIGHT_GITHUB_APP_ID", "99")
    load_web_settings()
    load_worker_settings()


def test_an_app_of_another_server_is_refused(app: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FIXWRIGHT_GITHUB_API_URL", "https://api.github.com/")
    assert load_worker_settings().github_app_id == "4711"
    monkeypatch.setenv("FIXWRIGHT_GITHUB_API_URL", "https://ghe.example.com/api/v3")
    with pytest.raises(ConfigurationError, match=r"belongs to https://api\.github\.com; remove the setting"):
        load_worker_settings()


def test_both_processes_know_where_github_is_and_only_the_worker_which_app(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {
        "FIXWRIGHT_GITHUB_API_URL": "https://ghe.example.com/api/v3",
        "FIXWRIGHT_GITHUB_PRIVATE_KEY": "x",
        "FIXWRIGHT_GITHUB_APP_ID": "1",
    }
    assert set(own_environment(WebSettings, given)) == {"FIXWRIGHT_GITHUB_API_URL"}
