"""A new database file is opened by both processes of the service at the same moment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OPEN = """
import pathlib, sys
from store.database import Database
sys.stdin.readline()
Database(pathlib.Path(sys.argv[1])).migrate()
"""


def test_four_processes_open_a_new_file_at_once(tmp_path: Path) -> None:
    for attempt in range(3):
        path = tmp_path / f"{attempt}.sqlite3"
        openers = [
            subprocess.Popen(
                [sys.executable, "-c", OPEN, str(path)],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            for _ in range(4)
        ]
        for opener in openers:
            assert opener.stdin is not None
            opener.stdin.write("\n")
            opener.stdin.flush()
        errors = [opener.communicate(timeout=60)[1] for opener in openers]
        assert [opener.returncode for opener in openers] == [0, 0, 0, 0], errors
