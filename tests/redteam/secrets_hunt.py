"""Looks for live secrets wherever they could come to light: files, processes, pages, the forge, prompts."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx

from domain.model import Task
from tests.redteam.arena import Arena
from tests.redteam.canaries import CANARIES, Hunt

WEBHOOK = "FIXWRIGHT_WEBHOOK_SECRET"


def live_secrets(ground: Arena) -> dict[str, str]:
    """Return every secret of a running stage, by a name for the report."""
    environ = Path(f"/proc/{ground.stage.service.pid_of('serve')}/environ").read_bytes()
    settings = dict(entry.split("=", 1) for entry in environ.decode().split("\0") if "=" in entry)
    own = {WEBHOOK: settings[WEBHOOK], "console": ground.stage.console_token, "model": ground.model.api_key}
    return {**own, **CANARIES}


class ProcessWatch:
    """Reads all processes' command lines and environments over and over; `seen` is what it should not find.

    The service's own processes have their settings from the operator, and are left out; so are we.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self.seen: set[str] = set()
        self.programs: set[str] = set()
        self.looks = 0
        self._hunt = Hunt(secrets)
        self._own = str(os.getpid())
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> ProcessWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            self.looks += 1
            for process in Path("/proc").glob("[0-9]*"):
                if process.name != self._own:
                    self._look_at(process)

    def _look_at(self, process: Path) -> None:
        try:
            command = (process / "cmdline").read_bytes()
            environ = (process / "environ").read_bytes()
        except OSError:
            return
        self.programs.add(command.split(b"\0", 1)[0].rpartition(b"/")[2].decode("utf-8", "replace"))
        text = command if b"FIXWRIGHT_DATA_DIR=" in environ else command + environ
        self.seen |= {f"{name} in {command[:80]!r}" for name in self._hunt.found_in(text)}


class UserWatch:
    """Looks over and over as which users of the host the processes of a worker's sandboxes run.

    They descend from the worker, and have a network namespace that is not its own.
    """

    def __init__(self, worker: int) -> None:
        self.users: set[int] = set()
        self.looks = 0
        self.sandboxed = 0
        self._worker = worker
        self._ours = Path(f"/proc/{worker}/ns/net").readlink()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> UserWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(0.01):
            self.looks += 1
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if (process / "ns/net").readlink() != self._ours and self._is_ours(process):
                        status = (process / "status").read_text()
                        self.users |= set(map(int, status.partition("\nUid:")[2].split("\n")[0].split()))
                        self.sandboxed += 1
                except OSError:
                    continue

    def _is_ours(self, process: Path) -> bool:
        pid = int(process.name)
        while pid > 1 and pid != self._worker:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        return pid == self._worker


def leaks(ground: Arena, task: Task, secrets: Mapping[str, str]) -> list[str]:
    """Return where a secret has come to light, in words."""
    found, hunt = [], Hunt(secrets)
    for where, text in _places(ground, task):
        for name in hunt.found_in(text):
            # The forge itself must know the secret that it signs with.
            if not (name == WEBHOOK and where.startswith("forge/")):
                found.append(f"{name} in {where}")
    return found


def _places(ground: Arena, task: Task) -> Iterator[tuple[str, bytes]]:
    stage = ground.stage
    for path in stage.data.rglob("*"):
        if path.is_file() and not path.is_symlink():
            yield path.relative_to(stage.data).as_posix(), path.read_bytes()
    for page in ("/console", f"/console/tasks/{task.id}"):
        answer = httpx.get(stage.service.address + page, auth=("operator", stage.console_token))
        assert answer.status_code == 200
        yield page, answer.content
    for entry in ground.model.bill:
        yield f"request {entry.number}", repr(entry.request).encode()
    for pull in ground.pulls_of(task):
        yield "pull request", (pull.title + pull.body).encode()
        yield "diff", ground.world.pull_diff(task.issue.repository_id, pull.number).encode()
    yield "comments", ground.comments(task).encode()
