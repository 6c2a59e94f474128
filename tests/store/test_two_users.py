"""The web process and the worker as two users: they share the database by the group of its directory."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from store.database import Database

ROOT = Path(__file__).parents[2]
WEB, WORKER, GROUP, STRANGER = 61_801, 61_802, 61_803, 61_804

WRITES = """
import sys
from pathlib import Path
from store.database import Database
with Database(Path(sys.argv[1])) as database, database.write() as connection:
    connection.execute("CREATE TABLE IF NOT EXISTS heard (who TEXT)")
    connection.execute("INSERT INTO heard VALUES (?)", (sys.argv[2],))
    print(*[row[0] for row in connection.execute("SELECT who FROM heard ORDER BY rowid")])
"""


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that hands its group on, outside of the places that only root may pass."""
    if os.geteuid() != 0:
        pytest.skip("only root can be two users")
    directory = Path(tempfile.mkdtemp(prefix="fixwright-shared-", dir="/tmp"))
    os.chown(directory, WORKER, GROUP)
    directory.chmod(0o2771)
    yield directory
    shutil.rmtree(directory)


def write_as(user: int, groups: str, path: Path, name: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/usr/bin/setpriv", f"--reuid={user}", f"--regid={user}", groups, "--inh-caps=-all", "--",
         sys.executable, "-c", WRITES, str(path), name],
        cwd=ROOT, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


@pytest.mark.long
def test_both_write_whoever_came_first_and_nobody_else_reads(shared: Path) -> None:
    path = shared / "fixwright.sqlite3"
    for user, name, heard in (
        (WEB, "web", "web"),
        (WORKER, "worker", "web worker"),
        (WEB, "web", "web worker web"),
    ):
        done = write_as(user, f"--groups={GROUP}", path, name)
        assert (done.returncode, done.stdout.strip()) == (0, heard), done.stderr
    assert {stat.S_IMODE(file.stat().st_mode) for file in shared.iterdir()} == {0o660}
    refused = write_as(STRANGER, "--clear-groups", path, "stranger")
    assert refused.returncode != 0 and "stranger" not in refused.stdout


def test_sqlites_own_files_are_the_groups_too(shared: Path) -> None:
    with Database(shared / "fixwright.sqlite3") as database, database.write() as connection:
        connection.execute("CREATE TABLE heard (who TEXT)")
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in shared.iterdir()}
    assert {"fixwright.sqlite3-wal", "fixwright.sqlite3-shm"} <= set(modes)
    assert set(modes.values()) == {0o660}


def test_a_database_is_closed_again_when_its_directory_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o2770)
    path = tmp_path / "fixwright.sqlite3"
    Database(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o660
    tmp_path.chmod(0o700)
    tmp_path.chmod(stat.S_IMODE(tmp_path.stat().st_mode) & ~stat.S_ISGID)
    Database(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
