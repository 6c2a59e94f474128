"""Trees deeper than Python's own walk goes: whoever writes a repository, or its tests, may make them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.localize import FaultLocalizer
from harness.testing.report_files import find_reports
from harness.workspace.removal import give_tree

pytestmark = pytest.mark.long

LEVELS = 1500


@pytest.fixture(scope="module")
def deep(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return a tree with 1500 directories below one another, and a file at both ends."""
    root = tmp_path_factory.mktemp("deep")
    (root / "sums.py").write_text("def parse_total():\n    return 1\n")
    descriptor = os.open(root, os.O_RDONLY)
    for _ in range(LEVELS):
        os.mkdir("d", dir_fd=descriptor)
        below = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(os.open("last", os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=descriptor))
    os.close(descriptor)
    yield root
    subprocess.run(["rm", "-rf", "--", root], check=True)


def test_a_deep_tree_is_localized_in(deep: Path) -> None:
    found = FaultLocalizer().localize(deep, "parse_total is wrong", "", 0)
    assert found.suspects[0].path == "sums.py"


def test_reports_are_looked_for_in_a_deep_tree(deep: Path) -> None:
    assert find_reports(deep, ("*.py",), 1000) == {"sums.py": (deep / "sums.py").read_bytes()}


def test_a_deep_tree_is_given_whole(deep: Path) -> None:
    owner = (65534, 65534) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
    give_tree(deep, owner)
    last = Path(str(deep) + "/d" * LEVELS + "/last")
    for path in (deep, deep / "sums.py", last, last.parent):
        assert (path.stat().st_uid, path.stat().st_gid) == owner
