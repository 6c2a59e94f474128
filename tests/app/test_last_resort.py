"""A process that was asked to end is gone soon, also when its main thread hangs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, threading
from pathlib import Path
from app.last_resort import LastResort

def abandon():
    Path(sys.argv[1]).write_text("given back")
    {then}

resort = LastResort(0.01, abandon)
resort.arm()
resort.arm()
threading.Event().wait()
"""


@pytest.mark.long
@pytest.mark.parametrize("then", ["pass", "threading.Event().wait()"])
def test_it_gives_the_work_back_and_leaves_even_if_that_hangs(tmp_path: Path, then: str) -> None:
    note = tmp_path / "note"

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(then=then), str(note)], cwd=ROOT, timeout=60, check=False
    )

    assert done.returncode == 0
    assert note.read_text() == "given back"
