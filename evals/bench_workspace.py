"""Measures git's part of an attempt: a worktree prepared from a warm mirror, a change published."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from domain.model import CloneAccess
from harness.change import check_change, scan_secrets
from harness.git import GitRunner, Mirror
from harness.workspace import Workspaces

FILES, ROUNDS = 3000, 5
_WHEN = datetime(2026, 1, 1, tzinfo=UTC)
_PERSON = {f"GIT_{who}_{what}": "bench@example.invalid" for who in ("AUTHOR", "COMMITTER")
           for what in ("NAME", "EMAIL")}  # fmt: skip


class Site:
    """A bare remote on this machine, a person's clone of it, and our mirror and workspaces."""

    def __init__(self, room: Path, uid: int | None) -> None:
        self.remote, self.desk = room / "remote.git", room / "desk"
        _git(room, "init", "-q", "--bare", "-b", "main", str(self.remote))
        _git(room, "init", "-q", "-b", "main", str(self.desk))
        self._fill()
        self.access = CloneAccess(url=self.remote.as_uri(), protocol="file")
        runner = GitRunner(room / "git-home")
        self.places = Workspaces(room / "ground", None if uid is None else (uid, uid), runner)
        self.mirror = Mirror(room / "mirror.git", runner)
        self.mirror.fetch(self.access)

    def _fill(self) -> None:
        for number in range(FILES):
            path = self.desk / f"package_{number % 60}" / f"module_{number}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(
                "".join(f"def function_{number}_{line}(x):\n    return x + {line}\n" for line in range(30))
            )
        self.push("first")

    def push(self, message: str) -> None:
        """Let the person commit and push something."""
        (self.desk / "CHANGES").write_text(message)
        _git(self.desk, "add", "-A")
        _git(self.desk, "commit", "-q", "-m", message)
        _git(self.desk, "push", "-q", self.remote.as_uri(), "HEAD:refs/heads/main")


def measure(room: Path, uid: int | None) -> dict[str, float]:
    """Return medians in seconds: `prepare_s` of a worktree, `publish_s` of a change of three files in it."""
    site = Site(room, uid)
    prepared: list[float] = []
    published: list[float] = []
    for number in range(ROUNDS):
        site.push(f"round {number}")
        with _timed(prepared):
            site.mirror.fetch(site.access)
            commit = site.mirror.default_head("main")
            place = site.places.open(1, number)
            place.fill(site.mirror, commit, branch="main", url="https://forge.invalid/a/b.git")
        for name in ("CHANGES", "package_1/module_1.py", "package_2/new.py"):
            with (place.tree / name).open("a") as file:
                file.write("x = 1\n")
        with _timed(published):
            _publish(site, place.tree, commit, f"wip-{number}")
        place.remove()
    return {
        "prepare_s": round(statistics.median(prepared), 3),
        "publish_s": round(statistics.median(published), 3),
    }


def _publish(site: Site, tree: Path, commit: str, branch: str) -> None:
    """Do what publishing does besides tests and forge: scan, tree, policy, secrets, commit, push."""
    base = site.mirror.tree_of(commit)
    seen = site.mirror.snapshot(tree, base).tree
    findings = [
        *check_change(site.mirror.changes(base, seen)),
        *scan_secrets(site.mirror.added_lines(base, seen)),
    ]
    assert not findings, findings
    made = site.mirror.commit(seen, [commit], "Change three files", when=_WHEN)
    site.mirror.push(site.access, made, branch, "")


@contextmanager
def _timed(seconds: list[float]) -> Iterator[None]:
    began = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - began)


def _git(at: Path, *arguments: str) -> None:
    environment = {"PATH": os.defpath, "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", **_PERSON}
    subprocess.run(["git", "-c", "safe.directory=*", *arguments], cwd=at, env=environment, check=True)
