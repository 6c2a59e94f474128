"""The App on disk: whole or not there, for its owner's eyes only, and never written over in silence."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from app.github_app.stored import (
    CLIENT_SECRET,
    PRIVATE_KEY,
    WEBHOOK_SECRET,
    AlreadyConfigured,
    Room,
    StoredApp,
    stored_app,
    stored_private_key,
    stored_webhook_secret,
)
from domain.errors import ConfigurationError, StoreUnavailable
from tests.small_disk import small_disk

APP = StoredApp(
    id="4711",
    client_id="Iv23abc",
    slug="fixwright",
    name="Fixwright",
    owner="acme",
    page="https://github.com/apps/fixwright",
    api_url="https://api.github.com",
    webhook_url="https://fixwright.example.org/webhooks/github",
    made_at="2026-01-01T00:00:00Z",
)
KEYS = {PRIVATE_KEY: "-----BEGIN\nkey\n-----END", WEBHOOK_SECRET: "s" * 40, CLIENT_SECRET: "c" * 40}


def keep(data: Path, app: StoredApp = APP, *, replace: bool = False) -> str:
    with Room(data, replace=replace) as room:
        return room.keep(app, KEYS)


def names(data: Path) -> list[str]:
    return sorted(each.name for each in data.iterdir())


def test_what_was_kept_is_read_and_is_for_its_owner_only(tmp_path: Path) -> None:
    data = tmp_path / "not" / "there" / "yet"
    before = os.umask(0)
    try:
        assert keep(data) == ""
    finally:
        os.umask(before)
    assert stored_app(data) == APP
    assert stored_private_key(data) == KEYS[PRIVATE_KEY] + "\n"
    assert stored_webhook_secret(data) == KEYS[WEBHOOK_SECRET]
    directory = data / "github-app"
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {each.stat().st_mode & 0o777 for each in directory.iterdir()} == {0o600}
    assert names(data) == ["github-app"]
    assert not any(secret in (directory / "app.json").read_text() for secret in KEYS.values())


def test_without_an_app_there_is_none(tmp_path: Path) -> None:
    assert stored_app(tmp_path) is None


def test_a_second_app_is_refused_before_it_is_made_and_the_first_stays(tmp_path: Path) -> None:
    keep(tmp_path)
    with pytest.raises(AlreadyConfigured, match="--replace"):
        Room(tmp_path)
    assert stored_app(tmp_path) == APP


def test_of_two_at_the_same_time_one_wins_whole(tmp_path: Path) -> None:
    with Room(tmp_path) as one, Room(tmp_path) as other:
        one.keep(APP, KEYS)
        with pytest.raises(AlreadyConfigured):
            other.keep(replace(APP, id="9"), KEYS)
    assert stored_app(tmp_path) == APP
    assert names(tmp_path) == ["github-app"]


def test_a_replaced_app_is_put_aside_and_told(tmp_path: Path) -> None:
    keep(tmp_path)
    aside = keep(tmp_path, replace(APP, id="9"), replace=True)
    found = stored_app(tmp_path)
    assert found is not None and found.id == "9"
    kept = json.loads((Path(aside) / "app.json").read_text())
    assert kept["id"] == "4711" and Path(aside).name.startswith("github-app.before-")
    assert (Path(aside) / "private-key.pem").stat().st_mode & 0o777 == 0o600


def test_a_replaced_app_comes_back_where_the_new_one_cannot_be_put(tmp_path: Path) -> None:
    keep(tmp_path)
    with Room(tmp_path, replace=True) as room:
        room._unfinished.rename(tmp_path / "gone")
        with pytest.raises(StoreUnavailable):
            room.keep(replace(APP, id="9"), KEYS)
    assert stored_app(tmp_path) == APP


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666])
def test_a_file_that_others_may_touch_is_refused_with_the_way_out(tmp_path: Path, mode: int) -> None:
    keep(tmp_path)
    (tmp_path / "github-app" / WEBHOOK_SECRET).chmod(mode)
    with pytest.raises(ConfigurationError, match=rf"mode 0{mode:o}\); chmod 600 .*webhook-secret"):
        stored_webhook_secret(tmp_path)


@pytest.mark.parametrize("kind", ["gone", "link", "directory", "pipe", "empty", "huge", "bytes"])
def test_a_file_that_is_no_such_file_is_refused_and_not_waited_for(tmp_path: Path, kind: str) -> None:
    keep(tmp_path)
    path = tmp_path / "github-app" / PRIVATE_KEY
    other = tmp_path / "other"
    other.write_text("-----BEGIN")
    other.chmod(0o600)
    path.unlink()
    if kind == "link":
        path.symlink_to(other)
    elif kind == "directory":
        path.mkdir(mode=0o700)
    elif kind == "pipe":
        os.mkfifo(path, 0o600)
    elif kind != "gone":
        path.write_bytes({"empty": b" \n", "huge": b"x" * 70_000, "bytes": b"\xff\xfe" * 10}[kind])
        path.chmod(0o600)
    with pytest.raises(ConfigurationError, match=r"private-key\.pem: ") as refused:
        stored_private_key(tmp_path)
    assert "BEGIN" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '"x"', "{", '{"id": 1}', "[" * 3000])
def test_facts_that_are_none_are_refused(tmp_path: Path, text: str) -> None:
    keep(tmp_path)
    (tmp_path / "github-app" / "app.json").write_text(text)
    with pytest.raises(ConfigurationError, match=r"app\.json"):
        stored_app(tmp_path)


def test_on_a_full_disk_nothing_is_begun_and_nothing_left(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        disk.fill()
        with pytest.raises(StoreUnavailable, match="No space left"):
            Room(disk.path)
        assert names(disk.path) == ["filler"]


def test_a_disk_that_fills_up_meanwhile_has_room_for_the_keys(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as disk:
        with Room(disk.path) as room:
            disk.fill()
            room.keep(APP, KEYS)
        assert stored_app(disk.path) == APP
        assert stored_private_key(disk.path).startswith("-----BEGIN")


def test_what_cannot_be_written_is_said_and_nothing_is_half_there(tmp_path: Path) -> None:
    with Room(tmp_path) as room:
        (room._unfinished / CLIENT_SECRET).unlink()
        (room._unfinished / CLIENT_SECRET).mkdir()
        with pytest.raises(StoreUnavailable):
            room.keep(APP, KEYS)
    assert names(tmp_path) == [] and stored_app(tmp_path) is None


def test_what_a_killed_process_left_goes_after_an_hour(tmp_path: Path) -> None:
    old, young = tmp_path / ".github-app-old", tmp_path / ".github-app-young"
    for each in (old, young):
        each.mkdir()
    os.utime(old, (1, 1))
    keep(tmp_path)
    assert names(tmp_path) == [".github-app-young", "github-app"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes files for others")
def test_root_makes_the_files_for_the_user_whose_directory_it_is(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    keep(tmp_path)
    directory = tmp_path / "github-app"
    assert {each.stat().st_uid for each in [directory, *directory.iterdir()]} == {12345}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_of_two_users_the_web_process_does_not_read_the_private_key(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 54321)
    tmp_path.chmod(0o2771)
    keep(tmp_path)
    directory = tmp_path / "github-app"
    assert directory.stat().st_mode & 0o7777 == 0o2750
    modes = {each.name: each.stat().st_mode & 0o777 for each in directory.iterdir()}
    assert modes == {
        "app.json": 0o640,
        "client-secret": 0o640,
        "private-key.pem": 0o600,
        "webhook-secret": 0o640,
    }
    assert {(each.stat().st_uid, each.stat().st_gid) for each in directory.iterdir()} == {(12345, 54321)}
    assert stored_webhook_secret(tmp_path) and stored_private_key(tmp_path)


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o604])
def test_even_where_two_users_share_it_others_may_not(tmp_path: Path, mode: int) -> None:
    tmp_path.chmod(0o2771)
    keep(tmp_path)
    (tmp_path / "github-app" / "webhook-secret").chmod(mode)
    with pytest.raises(ConfigurationError, match="others may read or write it"):
        stored_webhook_secret(tmp_path)


@pytest.mark.long
def test_a_reader_never_sees_half_of_it(tmp_path: Path) -> None:
    keep(tmp_path)
    ended, seen = threading.Event(), set()

    def read() -> None:
        while not ended.is_set():
            try:
                found = stored_app(tmp_path)
                seen.add(found.id if found else "")
            except ConfigurationError as error:
                seen.add("gone" if "No such file" in str(error) else str(error))

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(20):
        keep(tmp_path, replace(APP, id=str(number)), replace=True)
    ended.set()
    reader.join()
    assert seen <= {"", "gone", "4711", *map(str, range(20))}
