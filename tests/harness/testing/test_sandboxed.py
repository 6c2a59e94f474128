"""Verification with everything real: git mirror, fresh checkouts, bubblewrap."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.model import Category, RunStatus
from domain.repo_config import RepoConfig, TestSection
from harness.kept_baselines import KeptBaselines
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.testing.diagnosis import ProblemKind
from harness.verify import Baseline, VerifiedChange, Verifier
from harness.workspace import remove_tree
from tests.harness.git_world import World

pytestmark = [
    pytest.mark.journey,
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed"),
]

BUGGY = "def double(x):\n    return x + 2\n"
TEST = (
    "import unittest\nfrom calc import double\n\n\n"
    "class DoubleTest(unittest.TestCase):\n    def test_two(self):\n        self.assertEqual(double(2), 4)\n"
)
MORE = TEST.replace("DoubleTest", "MoreTest").replace("test_two", "test_five").replace("(2), 4", "(5), 10")


class Checkouts:
    """The worker's way of making checkouts."""

    def __init__(self, world: World) -> None:
        self._world = world

    def fresh(self, tree: str) -> Path:
        return self._world.places.fresh(self._world.mirror, tree)

    def discard(self, checkout: Path) -> None:
        self._world.places.remove(checkout)


@pytest.fixture
def uid() -> int | None:
    return 300_000 + os.getpid() if os.geteuid() == 0 else None


@pytest.fixture
def world(uid: int | None) -> Iterator[World]:
    root = Path(tempfile.mkdtemp(prefix="fixwright-verify-", dir="/tmp"))
    root.chmod(0o711)
    yield World(root, None if uid is None else (uid, uid))
    remove_tree(root)


@pytest.fixture
def verifier(world: World, uid: int | None) -> Verifier:
    return Verifier(BubblewrapSandbox(uid=uid, nice=False), world.mirror, Checkouts(world))


def test_red_to_green_in_the_real_sandbox(world: World, verifier: Verifier) -> None:
    base, _ = world.fetched({"calc.py": BUGGY, "tests/__init__.py": "", "tests/test_calc.py": TEST})
    baseline = verifier.baseline(base, RepoConfig())
    assert baseline.problem is None and baseline.run is not None
    assert baseline.run.passed_ids == {"tests/test_calc.py::DoubleTest::test_two"}

    _, tree = world.fetched({"calc.py": BUGGY.replace("+", "*"), "tests/test_more.py": MORE})
    result = verifier.verify(verifier.read_change(base, tree), baseline, Category.BUG)

    assert isinstance(result, VerifiedChange), result
    assert result.verdict.turned_green == ("tests/test_more.py::MoreTest::test_five",)
    assert "bubblewrap" in result.verdict.isolation
    assert not [
        path for path in (world.root / "data").rglob("*") if path.name.startswith(("fresh-", "scratch-"))
    ]


def test_a_service_that_is_not_there_is_named(world: World, verifier: Verifier) -> None:
    script = "import socket\nsocket.create_connection(('127.0.0.1', 5432))\n"
    base, _ = world.fetched({"check.py": script})

    baseline = verifier.baseline(base, RepoConfig(test=TestSection(command="python3 check.py")))

    assert baseline.problem is not None and baseline.problem.kind is ProblemKind.SERVICE
    assert baseline.run is not None and baseline.run.status is RunStatus.COULD_NOT_TELL


@pytest.mark.long
def test_a_kept_baseline_is_found_again_from_another_session(world: World, uid: int | None) -> None:
    base, _ = world.fetched({"calc.py": BUGGY, "tests/__init__.py": "", "tests/test_calc.py": TEST})
    kept = KeptBaselines(world.mirror.path / "baselines")

    def baseline() -> Baseline:
        sandbox = BubblewrapSandbox(uid=uid, nice=False)
        return Verifier(sandbox, world.mirror, Checkouts(world), kept=kept).baseline(base, RepoConfig())

    first, second = baseline().run, baseline().run
    assert first is not None and second is not None
    assert not first.reused and second.reused
