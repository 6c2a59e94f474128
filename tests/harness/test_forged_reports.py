"""Source that forges its own tests' results, tried on every runner that is on this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from domain.model import Category, RunStatus, Verdict
from domain.repo_config import RepoConfig, TestSection
from harness.verify import VerifiedChange, Verifier
from tests.harness.testing.doubles import PATH, GitTrees, PlainSandbox
from tests.harness.testing.forgers import FORGERS, MODE, Forger
from tests.harness.testing.test_real_runners import _WithModules, npm_tools

__all__ = ["npm_tools"]

SEARCH = f"{PATH}:{Path.home()}/.cargo/bin"
EVERY_DAY = {("pytest", "reported"), ("unittest", "written")}


def judge(
    tmp_path: Path, forger: Forger, change: dict[str, str], tools: Path | None
) -> VerifiedChange | Verdict:
    if shutil.which(forger.tool, path=SEARCH) is None:
        pytest.skip(f"{forger.tool} is not installed")
    if not Path(forger.needs).exists():
        pytest.skip(f"{forger.needs} is not there, and nothing is downloaded for {forger.tool}")
    trees = GitTrees(tmp_path)
    path = f"{tools}/node_modules/.bin:{SEARCH}" if tools else SEARCH
    verifier = Verifier(PlainSandbox(path), trees, _WithModules(trees, tools))
    commit = trees.commit(forger.honest)
    env = {"RUSTUP_HOME": str(Path.home() / ".rustup"), "CARGO_HOME": str(Path.home() / ".cargo")}
    section = TestSection(command=forger.command, env=env)
    baseline = verifier.baseline(commit, RepoConfig(test=section))
    assert baseline.problem is None, baseline
    tree = trees.tree({**forger.honest, **change})
    return verifier.verify(verifier.read_change(commit, tree), baseline, Category.BUG)


LIES = [
    pytest.param(
        name, mode, id=f"{name}-{mode}", marks=[] if (name, mode) in EVERY_DAY else [pytest.mark.long]
    )
    for name, forger in FORGERS.items()
    for mode in forger.modes
]


def _tools(forger: Forger, request: pytest.FixtureRequest) -> Path | None:
    found = request.getfixturevalue("npm_tools") if forger.needs_npm else None
    assert found is None or isinstance(found, Path)
    return found


@pytest.mark.long
@pytest.mark.parametrize(("name", "mode"), LIES)
def test_a_forged_success_is_not_verified(
    tmp_path: Path, name: str, mode: str, request: pytest.FixtureRequest
) -> None:
    forger = FORGERS[name]
    result = judge(tmp_path, forger, {MODE: f"{mode}\n", **forger.shows}, _tools(forger, request))

    assert isinstance(result, Verdict), result.verdict.summary
    assert not result.verified and not result.environment


@pytest.mark.long
@pytest.mark.parametrize("name", FORGERS)
def test_an_honest_fix_is_verified_and_a_planted_test_was_seen_to_fail(
    tmp_path: Path, name: str, request: pytest.FixtureRequest
) -> None:
    forger = FORGERS[name]
    result = judge(tmp_path, forger, {**forger.fix, **forger.shows}, _tools(forger, request))

    assert isinstance(result, VerifiedChange), result
    assert ("control", RunStatus.PASSED) in {(check.name, check.status) for check in result.verdict.checks}
