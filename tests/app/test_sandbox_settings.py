"""Settings of the sandbox and of the command policy: what goes together, what is an error at the start."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.settings import WorkerSettings, load_worker_settings
from app.work import build_loop, service_mark
from domain.errors import ConfigurationError, SandboxError


def load(monkeypatch: pytest.MonkeyPatch, directory: Path, **given: str) -> WorkerSettings:
    monkeypatch.setenv("FIXWRIGHT_DATA_DIR", str(directory))
    for name, value in given.items():
        monkeypatch.setenv(f"FIXWRIGHT_{name}", value)
    return load_worker_settings()


def test_bubblewrap_and_a_shell_are_the_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = load(monkeypatch, tmp_path)
    assert (settings.sandbox_backend, settings.command_policy) == ("bubblewrap", "shell")
    assert settings.allow_unsandboxed is False and settings.allowed_commands == ()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"SANDBOX_BACKEND": "container"}, "FIXWRIGHT_SANDBOX_IMAGE: is not set"),
        ({"SANDBOX_BACKEND": "process"}, "FIXWRIGHT_ALLOW_UNSANDBOXED: is not set"),
        ({"SANDBOX_BACKEND": "process", "ALLOW_UNSANDBOXED": "0"}, "FIXWRIGHT_ALLOW_UNSANDBOXED: is not set"),
        ({"SANDBOX_BACKEND": "none"}, "FIXWRIGHT_SANDBOX_BACKEND"),
        ({"ALLOW_UNSANDBOXED": "please"}, "neither 1 nor 0"),
        ({"ALLOW_UNSANDBOXED": ""}, "is set, but empty"),
        ({"COMMAND_POLICY": "argv"}, "FIXWRIGHT_ALLOWED_COMMANDS: is not set"),
        ({"COMMAND_POLICY": "argv", "ALLOWED_COMMANDS": "/usr/bin/pytest"}, "not the bare name"),
        ({"COMMAND_POLICY": "argv", "ALLOWED_COMMANDS": "py;test"}, "not the bare name"),
        ({"SANDBOX_IMAGE": "--privileged"}, "FIXWRIGHT_SANDBOX_IMAGE"),
        ({"SANDBOX_ENGINE": "nerdctl"}, "FIXWRIGHT_SANDBOX_ENGINE"),
    ],
)
def test_what_does_not_go_together_is_an_error(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: dict[str, str], complaint: str
) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        load(monkeypatch, tmp_path, **given)


def test_what_goes_together_is_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings = load(
        monkeypatch, tmp_path,
        SANDBOX_BACKEND="container", SANDBOX_IMAGE="registry.example:5000/a/b@sha256:1f",
        SANDBOX_ENGINE="docker", COMMAND_POLICY="argv", ALLOWED_COMMANDS=" pytest, python3 git,pytest ",
    )  # fmt: skip
    assert settings.sandbox_image.endswith("@sha256:1f")
    assert settings.allowed_commands == ("pytest", "python3", "git")


def test_unsandboxed_without_a_user_to_become_does_not_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    settings = load(monkeypatch, tmp_path, SANDBOX_BACKEND="process", ALLOW_UNSANDBOXED="1")
    monkeypatch.setattr("os.geteuid", lambda: 1234)
    with pytest.raises(SandboxError, match="the worker must be root"):
        build_loop(settings)


def test_a_workers_containers_are_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    one = load(monkeypatch, tmp_path)
    other = load(monkeypatch, tmp_path, WORKER_NAME="worker-2")
    assert service_mark(one) == service_mark(load(monkeypatch, tmp_path, WORKER_NAME="worker-1"))
    assert service_mark(one) != service_mark(other)
