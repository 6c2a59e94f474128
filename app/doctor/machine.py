"""Looks at the machine: data directory, disk, database, git, tools, the sandbox for real."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from pathlib import Path

from app.doctor.lines import Lines, fail, ok, warn
from app.setting_groups import WorkerSettings
from domain.errors import GitError, SandboxError
from domain.file_modes import is_shared
from harness.git.version import OLDEST, git_version
from harness.sandbox.capabilities import may_become_others
from store.database import Database
from store.examining import schema, sqlite_version

MEBIBYTE = 2**20
LEAST_FREE_MB = 50
"""Below, not even deliveries are safe for long."""


def data_directory(path: Path, least_free_mb: int) -> Lines:
    """Look at owner, mode and room of the data directory."""
    subject = "data directory"
    if not path.is_dir():
        yield warn(subject, f"{path} is not there yet", "the service makes it at its first start")
        return
    status = path.stat()
    shared = is_shared(status.st_mode)
    if status.st_uid != os.geteuid() and os.geteuid() != 0 and not (shared and os.access(path, os.W_OK)):
        words = f"{path} belongs to user {status.st_uid}, and this is user {os.geteuid()}"
        yield fail(subject, words, "run this as the user of the service, or chown the directory")
    elif not os.access(path, os.W_OK | os.X_OK):
        yield fail(subject, f"{path} cannot be written", f"chmod u+rwx {path}")
    elif status.st_mode & (0o002 if shared else 0o022):
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        yield fail(subject, f"others may write in {path} (mode {mode})", f"chmod go-w {path}")
    else:
        among = f", shared by group {status.st_gid}" if shared else ""
        yield ok(subject, f"{path}, mode {stat.S_IMODE(status.st_mode):04o}{among}")
    yield from _room(path, least_free_mb)


def _room(path: Path, least_free_mb: int) -> Lines:
    free = shutil.disk_usage(path).free // MEBIBYTE
    entries = os.statvfs(path)
    if entries.f_files and entries.f_favail < 1000:
        yield fail("disk", f"{entries.f_favail} files more, and no more", "remove files; df -i tells")
    if free < LEAST_FREE_MB:
        yield fail("disk", f"{free} MiB free", "make room; docs/how-to/disk.md tells what is kept")
    elif free < least_free_mb:
        words = f"{free} MiB free; no task begins below {least_free_mb}"
        yield fail("disk", words, "make room, or lower FIXWRIGHT_MIN_FREE_MB")
    else:
        yield ok("disk", f"{free} MiB free")


def database(path: Path) -> Lines:
    """Look at the database, and try in a directory that is gone afterwards whether its kind works there."""
    if path.exists():
        yield schema(path)
    else:
        yield warn("database", "not there yet", "the service makes it at its first start")
    if not path.parent.is_dir():
        return
    try:
        with (
            tempfile.TemporaryDirectory(prefix=".doctor-", dir=path.parent) as directory,
            Database(Path(directory) / "trial.sqlite3") as trial,
        ):
            trial.migrate()
        yield ok("write-ahead log", f"works, by SQLite {sqlite_version()}")
    except OSError as error:
        words = f"cannot be tried in {path.parent} ({error.strerror})"
        yield fail("write-ahead log", words, "make the data directory writable, and room in it")


def git() -> Lines:
    """Look at git's version."""
    try:
        version = git_version()
    except GitError as error:
        yield fail("git", str(error), "apt-get install git")
        return
    words = ".".join(map(str, version))
    if version < OLDEST:
        yield fail("git", words, f"install git {'.'.join(map(str, OLDEST))} or newer")
    else:
        yield ok("git", words)


def sandbox(settings: WorkerSettings) -> Lines:
    """Try the isolation for real, and tell what was achieved."""
    from app.work import sandbox_for

    fix = "docs/how-to/sandbox.md has the ways out"
    try:
        made = sandbox_for(settings)
        made.self_test()
        words = made.isolation
    except SandboxError as error:
        yield fail("sandbox", str(error), fix)
        return
    if settings.sandbox_backend == "process":
        yield warn("sandbox", words, f"set FIXWRIGHT_SANDBOX_BACKEND=bubblewrap; {fix}")
    else:
        yield ok("sandbox", words)


def tools(settings: WorkerSettings) -> Lines:
    """Look whether sandboxed commands can use the directories that they are shown."""
    if settings.sandbox_backend == "container":
        yield ok("tools", f"those of the image {settings.sandbox_image}")
        return
    if not settings.sandbox_tools:
        words = "none set: repositories' tests find the programs of the system alone"
        yield warn("tools", words, "FIXWRIGHT_SANDBOX_TOOLS=/opt/tools, with Python and pytest in its bin")
    for path in settings.sandbox_tools:
        yield from _tools_at(path, needs_others=may_become_others())


def _tools_at(path: Path, *, needs_others: bool) -> Lines:
    closed = [each for each in (path, *path.parents) if not each.stat().st_mode & 0o001]
    programs = sorted(each.name for each in path.glob("bin/*"))
    if needs_others and closed:
        fix = f"chmod o+x {closed[0]}, or put the tools elsewhere"
        yield fail("tools", f"{path}: the sandbox's user cannot pass {closed[0]}", fix)
    elif not programs:
        yield warn("tools", f"{path} has no programs in bin", "install the tools there")
    else:
        found = [name for name in ("python3", "pytest", "node", "go", "cargo") if name in programs]
        yield ok("tools", f"{path}: {len(programs)} programs, among them {', '.join(found) or programs[0]}")
