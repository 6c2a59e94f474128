"""Each process has its own variables only, and its memory is closed to others of the same user."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.settings import PROVIDER_KEYS, WebSettings, WorkerSettings, own_environment

ROOT = Path(__file__).parents[2]
NOBODY = 65534

WEB_SECRETS = {"FIXWRIGHT_WEBHOOK_SECRET": "w" * 40, "FIXWRIGHT_CONSOLE_TOKEN": "c" * 40}
WORKER_SECRETS = {
    "FIXWRIGHT_API_KEY": "k" * 40,
    "OPENAI_API_KEY": "o" * 40,
    "AWS_SECRET_ACCESS_KEY": "a" * 40,
}
SHARED = {"FIXWRIGHT_DATA_DIR": "/data", "FIXWRIGHT_REPOSITORIES": "local:acme/shop", "PATH": "/usr/bin:/bin"}
OTHERS = {"DATABASE_URL": "postgres://u:p@host/db", "GITHUB_TOKEN": "g" * 40, "SSH_AUTH_SOCK": "/tmp/agent"}
ALL = WEB_SECRETS | WORKER_SECRETS | SHARED | OTHERS | {"LC_ALL": "C.UTF-8", "HTTPS_PROXY": "http://proxy:1"}

_START = """
import sys
from app.closed_memory import shut_out
from app.own_process import keep_own_variables
from app.settings import WebSettings, WorkerSettings
keep_own_variables({"web": WebSettings, "worker": WorkerSettings}[sys.argv[1]])
shut_out()
print("ready", flush=True)
sys.stdin.read()
"""

_HOLD = """
import sys
from app.closed_memory import shut_out
if sys.argv[1] == "closed":
    shut_out()
print("ready", flush=True)
sys.stdin.read()
"""

_LOOK = """
import os, sys
for name in ("environ", "mem", "maps", "fd", "cwd"):
    read = {"fd": os.listdir, "cwd": os.readlink}.get(name, open)
    try:
        opened = read(f"/proc/{sys.argv[1]}/{name}")
        opened.read(0) if read is open else None
    except PermissionError:
        continue
    print(name)
"""


def test_each_group_keeps_its_own_and_loses_the_others() -> None:
    web, worker = own_environment(WebSettings, ALL), own_environment(WorkerSettings, ALL)
    assert set(web) == {*WEB_SECRETS, *SHARED, "LC_ALL"}
    assert set(worker) == {*WORKER_SECRETS, *SHARED, "LC_ALL", "HTTPS_PROXY"}
    assert own_environment(WebSettings, web) == web


def test_a_name_that_nobody_knows_stays_to_be_complained_of() -> None:
    assert own_environment(WebSettings, {"FIXWRIGHT_WEBHOKO_SECRET": "x", "fixwright_api_key": "x"}) == {
        "FIXWRIGHT_WEBHOKO_SECRET": "x"
    }


def test_no_providers_key_reaches_the_web_process() -> None:
    assert own_environment(WebSettings, dict.fromkeys(PROVIDER_KEYS, "x")) == {}


@contextmanager
def running(python: str, program: str, word: str, user: int | None = None) -> Iterator[int]:
    """Start a program that says when it is ready and waits; yield its process id."""
    process = subprocess.Popen(
        [python, "-c", program, word],
        cwd=ROOT,
        env=ALL | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
    )
    assert process.stdout is not None and process.stdin is not None
    try:
        assert process.stdout.readline() == "ready\n"
        yield process.pid
    finally:
        process.stdin.close()
        process.wait(10)
        process.stdout.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may look into such a process")
@pytest.mark.parametrize(
    ("group", "own", "foreign"),
    [("web", WEB_SECRETS, WORKER_SECRETS), ("worker", WORKER_SECRETS, WEB_SECRETS)],
)
def test_nothing_of_the_others_is_left_in_proc(
    group: str, own: dict[str, str], foreign: dict[str, str]
) -> None:
    with running(sys.executable, _START, group) as pid:
        block = Path(f"/proc/{pid}/environ").read_bytes()
    assert all(value.encode() in block for value in own.values())
    assert not any(value.encode() in block for value in (foreign | OTHERS).values())


@pytest.mark.parametrize(
    ("state", "seen"), [("closed", []), ("open", ["environ", "mem", "maps", "fd", "cwd"])]
)
def test_another_process_of_the_same_user_cannot_look_in(state: str, seen: list[str]) -> None:
    user = NOBODY if os.geteuid() == 0 else None
    python = sys.executable if user is None else shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        pytest.skip("no Python that another user could run")
    with running(python, _HOLD, state, user) as pid:
        look = subprocess.run(
            [python, "-c", _LOOK, str(pid)],
            capture_output=True,
            text=True,
            check=True,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
    assert look.stdout.split() == seen


def test_the_procfile_starts_what_does_so() -> None:
    assert (ROOT / "Procfile").read_text().splitlines() == ["web: fixwright serve", "worker: fixwright work"]
    source = (ROOT / "app" / "cli.py").read_text()
    for group, module in (("WebSettings", "serve"), ("WorkerSettings", "work")):
        start = f"keep_own_variables({group})\n    shut_out()\n    from app.{module} import main"
        assert start in source
