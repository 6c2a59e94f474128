"""Which forges the worker opens: those that are served and no others, checked, and never waited for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from app.demo.github.state import APP_ID, Fault, app_key
from app.forges import OwnIds, close_forges, open_forges
from app.settings import WorkerSettings, load_worker_settings
from app.work import git_protocols
from domain.errors import ConfigurationError, ForgeUnavailable
from domain.text import Redactor
from tests.providers.github.stage import GithubStage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[GithubStage]:
    stage = GithubStage(tmp_path / "github")
    stage.repository()
    yield stage
    stage.close()


@pytest.fixture
def settings(stage: GithubStage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> WorkerSettings:
    key = tmp_path / "app.pem"
    key.write_text(app_key())
    for name, value in {
        "DATA_DIR": str(tmp_path / "data"),
        "LOCAL_FORGE": str(tmp_path / "local"),
        "REPOSITORIES": "github:Octo/Widgets-1,local:acme/shop",
        "GITHUB_APP_ID": str(APP_ID),
        "GITHUB_PRIVATE_KEY_FILE": str(key),
        "GITHUB_API_URL": stage.server.url,
    }.items():
        monkeypatch.setenv(f"FIXWRIGHT_{name}", value)
    return load_worker_settings()


def test_served_forges_are_opened_checked_and_known_to_the_redactor(
    stage: GithubStage, settings: WorkerSettings
) -> None:
    redact = Redactor(settings.secrets())
    with capture_logs() as logs:
        forges = open_forges(settings, redact.lend)
    assert sorted(forges) == ["github", "local"] and logs == []
    found = forges["github"].repository_named("octo/widgets-1")
    secret = next(iter(stage.state.tokens))
    assert redact(f"token {secret}") == "token [redacted]"
    assert app_key() not in redact(app_key()) and found.default_branch == "main"
    close_forges(forges)
    assert stage.state.tokens == {}


@pytest.mark.long
def test_our_own_ids_are_asked_when_they_are_needed(stage: GithubStage, settings: WorkerSettings) -> None:
    stage.state.faults.append(Fault("GET", ".*", times=99))
    with capture_logs() as logs:
        forges = open_forges(
            settings.model_copy(update={"repositories": frozenset({"github:octo/widgets-1"})})
        )
    assert [each["event"] for each in logs] == ["the forge cannot be checked now"]
    ids = OwnIds(forges)
    with pytest.raises(ForgeUnavailable):
        ids.get("github")
    stage.state.faults.clear()
    assert ids.get("github") == stage.state.bot.id and ids.get("gitea") is None
    assert list(ids) == ["github", "local"] and len(ids) == 2


def test_a_wrong_app_stops_the_start(settings: WorkerSettings) -> None:
    wrong = settings.model_copy(update={"github_app_id": "99"})
    with pytest.raises(ConfigurationError, match="there is no App 99"):
        open_forges(wrong)


def test_what_github_needs_is_not_asked_for_where_it_is_not_served(settings: WorkerSettings) -> None:
    changes = {"repositories": frozenset({"local:acme/shop"}), "github_app_id": ""}
    assert list(open_forges(settings.model_copy(update=changes))) == ["local"]
    with pytest.raises(ConfigurationError, match="FIXWRIGHT_GITHUB_APP_ID: is not set"):
        open_forges(settings.model_copy(update={"github_app_id": ""}))


def test_git_speaks_in_clear_text_on_this_machine_only(settings: WorkerSettings) -> None:
    assert git_protocols(settings) == {"https", "file", "http"}
    real = settings.model_copy(update={"github_api_url": "https://github.example.com/api/v3"})
    assert git_protocols(real) == {"https", "file"}


def test_options_of_a_plugin_are_its_own_and_its_secrets_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    options = '{"directory": {"path": "/srv/forge", "api_token": "t0ken-of-the-plugin"}}'
    monkeypatch.setenv("FIXWRIGHT_FORGE_OPTIONS", options)
    settings = load_worker_settings()
    assert settings.forge_options["directory"]["path"] == "/srv/forge"
    assert "t0ken-of-the-plugin" in settings.secrets() and "/srv/forge" not in settings.secrets()
    assert settings.effective()["FIXWRIGHT_FORGE_OPTIONS"] == "set"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
        ("[]", "must be a JSON object of objects"),
        ('{"a": "b"}', "must be a JSON object of objects"),
        ('{"a": {"b": 1}}', "must have texts as the options of 'a'"),
        ('{"github": {"app_id": "1"}}', "has settings of its own: FIXWRIGHT_GITHUB_APP_ID"),
    ],
)
def test_wrong_options_of_a_plugin_are_named(monkeypatch: pytest.MonkeyPatch, text: str, words: str) -> None:
    monkeypatch.setenv("FIXWRIGHT_FORGE_OPTIONS", text)
    with pytest.raises(ConfigurationError, match=words):
        load_worker_settings()
