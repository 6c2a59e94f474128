"""The image's first steps as root, in a data directory that one of its users has filled with links."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ENTRYPOINT = Path(__file__).parents[2] / "deploy/image/entrypoint"
TOLD = ("chown", "chgrp", "chmod")


def _started(data: Path, shims: Path) -> list[list[str]]:
    """Run it as what takes itself for root, and return what it would have changed."""
    shims.mkdir()
    log = shims / "log"
    log.touch()
    bodies = {
        **{name: f'printf "%s\\n" "{name} $*" >>{log}' for name in TOLD},
        "id": "echo 0",
        "mkdir": 'case "$*" in */sys/*) exit 1 ;; esac; exec /bin/mkdir "$@"',
        "sed": "exit 1",  # no control groups
    }
    for name, body in bodies.items():
        (shims / name).write_text(f"#!/bin/sh\n{body}\n")
        (shims / name).chmod(0o755)
    subprocess.run(
        ["/bin/sh", ENTRYPOINT, "true"],
        env={"PATH": f"{shims}:{os.defpath}", "FIXWRIGHT_DATA_DIR": str(data)},
        check=True,
        timeout=60,
    )
    return [line.split() for line in log.read_text().splitlines()]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    data = tmp_path / "data"
    data.mkdir()
    return data


def _changed(calls: list[list[str]]) -> set[tuple[str, str]]:
    return {
        (name, word)
        for name, *words in calls
        for word in words
        if word.startswith("/") and "/sys/" not in word
    }


def test_what_is_there_gets_its_modes(data: Path, tmp_path: Path) -> None:
    for name in (
        "fixwright.sqlite3",
        "transcripts/attempt-1.jsonl",
        "github-app/app.json",
        "github-app/key.pem",
    ):
        (data / name).parent.mkdir(exist_ok=True)
        (data / name).touch()
    calls = _started(data, tmp_path / "shims")
    told = [" ".join(call) for call in calls]
    assert f"chmod 660 {data}/fixwright.sqlite3" in told
    assert f"chmod 640 {data}/transcripts/attempt-1.jsonl" in told
    last = {call[-1]: call[1] for call in calls if call[0] == "chmod" and len(call) == 3}
    assert last[f"{data}/github-app/app.json"] == "640"


def test_no_link_is_followed(data: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "passwd"
    elsewhere.write_text("root")
    etc = tmp_path / "etc"
    etc.mkdir()
    (data / "fixwright.sqlite3").symlink_to(elsewhere)
    (data / "fixwright.sqlite3-wal").hardlink_to(elsewhere)
    (data / "transcripts").symlink_to(etc)
    (data / "github-app").symlink_to(etc)
    changed = _changed(_started(data, tmp_path / "shims"))
    assert {word for name, word in changed if name != "chown"} == {str(data)}


def test_no_link_below_is_followed(data: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "passwd"
    elsewhere.write_text("root")
    for name in ("github-app/app.json", "transcripts/attempt-1.jsonl"):
        (data / name).parent.mkdir(exist_ok=True)
        (data / name).symlink_to(elsewhere)
    changed = _changed(_started(data, tmp_path / "shims"))
    assert not {Path(word) for name, word in changed if name == "chmod" and Path(word).is_symlink()}
