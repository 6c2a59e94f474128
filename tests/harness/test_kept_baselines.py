"""Baselines that are kept: served under the very same circumstances, and under no others."""

from __future__ import annotations

import zlib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from domain.repo_config import RepoConfig, TestSection
from harness.kept_baselines import MOST_KEPT, OLDEST, Circumstances, KeptBaselines
from harness.testing.cases import Observed
from harness.testing.plan import Runner, TestPlan
from harness.verify import Baseline, Verifier
from tests.harness.test_verify import BASE, FIXED
from tests.harness.testing.doubles import PATH, GitTrees, PlainSandbox

PLAN = TestPlan(command="pytest", runner=Runner.PYTEST, why="x", env={"A": "1"})
HERE = Circumstances(
    tree="a" * 40, plan=PLAN, timeout_seconds=60, isolation="none", limits="few", toolkit="all"
)


@pytest.fixture(scope="module")
def observed(tmp_path_factory: pytest.TempPathFactory) -> Observed:
    found = baseline(tmp_path_factory.mktemp("run"), kept=None).observed
    assert found is not None
    return replace(found, run=replace(found.run, tree=HERE.tree))


def baseline(
    directory: Path, *, kept: KeptBaselines | None, section: TestSection | None = None, path: str = PATH
) -> Baseline:
    directory.mkdir(exist_ok=True)
    trees = GitTrees(directory)
    verifier = Verifier(PlainSandbox(path), trees, trees, kept=kept)
    return verifier.baseline(trees.commit(BASE), RepoConfig(test=section or TestSection()))


@pytest.mark.long
def test_what_was_kept_is_found_as_it_was(tmp_path: Path, observed: Observed) -> None:
    kept = KeptBaselines(tmp_path / "kept")
    kept.keep(HERE, observed)

    again = kept.find(HERE)
    assert again is not None and again.run.reused
    assert again == replace(observed, run=replace(observed.run, reused=True))
    assert (tmp_path / "kept").stat().st_mode & 0o777 == 0o700


@pytest.mark.long
@pytest.mark.parametrize(
    "other",
    [
        replace(HERE, tree="b" * 40),
        replace(HERE, timeout_seconds=61),
        replace(HERE, isolation="some"),
        replace(HERE, limits="more"),
        replace(HERE, toolkit="another"),
        replace(HERE, toolkit=""),
        replace(HERE, plan=replace(PLAN, command="pytest -x")),
        replace(HERE, plan=replace(PLAN, env={"A": "2"})),
        replace(HERE, plan=replace(PLAN, runner=Runner.OUTPUT)),
        replace(HERE, plan=replace(PLAN, arguments=("x",))),
    ],
)
def test_other_circumstances_find_nothing(tmp_path: Path, observed: Observed, other: Circumstances) -> None:
    kept = KeptBaselines(tmp_path)
    kept.keep(HERE, observed)

    assert kept.find(other) is None


@pytest.mark.long
def test_what_is_old_or_from_the_future_is_not_used(tmp_path: Path, observed: Observed) -> None:
    at = observed.run.at
    assert at is not None
    KeptBaselines(tmp_path).keep(HERE, observed)

    for away, found in ((timedelta(), True), (OLDEST * 1.01, False), (-timedelta(hours=1), False)):
        when = at + away
        assert (KeptBaselines(tmp_path, now=lambda when=when: when).find(HERE) is not None) is found


@pytest.mark.parametrize("data", [b"", b"x", zlib.compress(b"{}"), zlib.compress(b"\x00" * 2**25)])
def test_a_file_that_is_broken_is_passed_over(tmp_path: Path, data: bytes) -> None:
    (tmp_path / HERE.key).write_bytes(data)

    assert KeptBaselines(tmp_path).find(HERE) is None


@pytest.mark.long
def test_only_so_many_are_kept(tmp_path: Path, observed: Observed) -> None:
    kept = KeptBaselines(tmp_path)
    for number in range(MOST_KEPT + 5):
        kept.keep(replace(HERE, limits=str(number)), observed)

    assert len(list(tmp_path.iterdir())) == MOST_KEPT
    assert kept.find(replace(HERE, limits=str(MOST_KEPT + 4))) is not None


def test_a_place_that_cannot_be_written_costs_only_time(tmp_path: Path, observed: Observed) -> None:
    (tmp_path / "file").write_text("")

    KeptBaselines(tmp_path / "file" / "below").keep(HERE, observed)


def test_a_base_is_tested_once(tmp_path: Path) -> None:
    kept = KeptBaselines(tmp_path / "kept")
    first = baseline(tmp_path / "a", kept=kept)
    second = baseline(tmp_path / "b", kept=kept)

    assert first.run is not None and second.run is not None
    assert not first.run.reused and second.run.reused
    assert second.run.passed_ids == first.run.passed_ids and second.problem is None


@pytest.mark.long
def test_another_command_or_other_tools_are_tested_anew(tmp_path: Path) -> None:
    kept = KeptBaselines(tmp_path / "kept")
    baseline(tmp_path / "a", kept=kept)
    tools = tmp_path / "tools"
    tools.mkdir()

    other = baseline(tmp_path / "b", kept=kept, section=TestSection(command="python3 -m pytest -q"))
    assert other.run is not None and not other.run.reused
    more = baseline(tmp_path / "c", kept=kept, path=f"{PATH}:{tools}")
    assert more.run is not None and not more.run.reused
    (tools / "new").write_text("")
    import os

    os.utime(tools, (1, 1))
    newer = baseline(tmp_path / "d", kept=kept, path=f"{PATH}:{tools}")
    assert newer.run is not None and not newer.run.reused


@pytest.mark.long
def test_a_broken_environment_is_looked_at_anew(tmp_path: Path) -> None:
    kept = KeptBaselines(tmp_path / "kept")
    section = TestSection(command="bash nowhere.sh")

    assert baseline(tmp_path / "a", kept=kept, section=section).problem is not None
    assert not (tmp_path / "kept").exists()
    assert FIXED
