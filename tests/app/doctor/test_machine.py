"""The looks at the machine: each says what is wrong and what to do, and leaves nothing behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.doctor import machine
from app.doctor.lines import Lines, looked
from app.setting_groups import WorkerSettings
from domain.ports import Examination, Standing
from harness.git.version import git_version
from store.database import Database
from tests.small_disk import small_disk


def one(lines: Lines, subject: str) -> Examination:
    """Return the only line about something; every line that is not ok has a way out."""
    found = list(lines)
    assert all(each.fix or each.standing is Standing.OK for each in found)
    (line,) = [each for each in found if each.subject == subject]
    return line


def test_a_data_directory_that_is_right(tmp_path: Path) -> None:
    tmp_path.chmod(0o711)
    assert one(machine.data_directory(tmp_path, 1), "data directory").standing is Standing.OK
    assert one(machine.data_directory(tmp_path, 1), "disk").standing is Standing.OK


def test_a_data_directory_that_is_not_there_yet(tmp_path: Path) -> None:
    assert one(machine.data_directory(tmp_path / "x", 1), "data directory").standing is Standing.WARN


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
def test_a_data_directory_that_others_may_write(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(mode)
    line = one(machine.data_directory(tmp_path, 1), "data directory")
    assert line.standing is Standing.FAIL and "chmod go-w" in line.fix


@pytest.mark.parametrize(("mode", "standing"), [(0o2771, Standing.OK), (0o2773, Standing.FAIL)])
def test_a_data_directory_that_two_users_share(tmp_path: Path, mode: int, standing: Standing) -> None:
    tmp_path.chmod(mode)
    line = one(machine.data_directory(tmp_path, 1), "data directory")
    assert line.standing is standing
    assert standing is Standing.FAIL or f"shared by group {tmp_path.stat().st_gid}" in line.words


def test_a_disk_that_is_nearly_full(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 8) as disk:
        line = one(machine.data_directory(disk.path, 200), "disk")
        assert line.standing is Standing.FAIL and "MiB free" in line.words
    line = one(machine.data_directory(tmp_path, 10**9), "disk")
    assert line.standing is Standing.FAIL and "no task begins" in line.words


def test_a_database_before_the_first_start_and_after_it(tmp_path: Path) -> None:
    path = tmp_path / "fixwright.sqlite3"
    assert one(machine.database(path), "database").standing is Standing.WARN
    with Database(path) as database:
        number = database.migrate()
        running = one(machine.database(path), "database")
    assert running.standing is Standing.OK and running.words == f"schema {number}, journal mode wal"
    stopped = one(machine.database(path), "database")
    assert stopped == running, "beside a service and without one"
    assert one(machine.database(path), "write-ahead log").standing is Standing.OK
    assert not list(tmp_path.glob(".doctor-*"))


def test_a_database_of_another_version_or_another_program(tmp_path: Path) -> None:
    path = tmp_path / "fixwright.sqlite3"
    with Database(path) as database:
        database.migrate()
        with database.write() as connection:
            connection.execute("PRAGMA user_version = 1")
    line = one(machine.database(path), "database")
    assert line.standing is Standing.WARN and "next start" in line.fix
    with Database(path) as database, database.write() as connection:
        connection.execute("PRAGMA user_version = 99")
    assert one(machine.database(path), "database").standing is Standing.FAIL
    path.write_bytes(b"no database at all" * 100)
    assert one(machine.database(path), "database").standing is Standing.FAIL


def test_a_database_where_nothing_can_be_written(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        disk.fill()
        lines = list(looked("x", lambda: machine.database(disk.path / "fixwright.sqlite3"), "make room"))
        assert lines[-1].standing is Standing.FAIL
        assert any(word in lines[-1].words for word in ("disk", "space", "full")), lines[-1].words
        assert [each.name for each in disk.path.iterdir()] == ["filler"]


def test_git_is_found_and_old_enough_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert git_version() >= (2, 38)
    assert one(machine.git(), "git").standing is Standing.OK


def test_tools_that_the_sandbox_cannot_use(tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    (tools / "bin").mkdir(parents=True)
    settings = WorkerSettings(data_dir=tmp_path, sandbox_tools=(tools,))
    assert "no programs" in one(machine.tools(settings), "tools").words or os.geteuid() == 0
    (tools / "bin" / "pytest").touch()
    lines = list(machine._tools_at(tools, needs_others=False))
    assert lines[0].standing is Standing.OK and "pytest" in lines[0].words
    tools.chmod(0o700)
    (line,) = machine._tools_at(tools, needs_others=True)
    assert line.standing is Standing.FAIL and "cannot pass" in line.words
    assert one(machine.tools(WorkerSettings(data_dir=tmp_path)), "tools").standing is Standing.WARN


def test_the_sandbox_is_tried_for_real_and_its_level_told(tmp_path: Path) -> None:
    line = one(machine.sandbox(WorkerSettings(data_dir=tmp_path)), "sandbox")
    assert line.standing is Standing.OK and "no network" in line.words


@pytest.mark.long
def test_a_sandbox_that_is_none_is_at_best_odd(tmp_path: Path) -> None:
    settings = WorkerSettings(data_dir=tmp_path, sandbox_backend="process", allow_unsandboxed=True)
    line = one(machine.sandbox(settings), "sandbox")
    assert line.standing is not Standing.OK and line.fix
    settings = WorkerSettings(data_dir=tmp_path, sandbox_backend="container", sandbox_image="none:none")
    assert one(machine.sandbox(settings), "sandbox").standing is Standing.FAIL
