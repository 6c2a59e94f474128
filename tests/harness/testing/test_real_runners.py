"""The real tools on small real projects, as far as they are on this machine or can be installed from npm."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from domain.model import RunStatus
from domain.repo_config import TestSection
from harness.testing.cases import Observed
from harness.testing.plan import Reach, Runner
from harness.testing.run import RunRequest, TestBench
from tests.harness.testing import samples
from tests.harness.testing.doubles import PATH, GitTrees, PlainSandbox

pytestmark = pytest.mark.long
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "fixwright-tests" / "npm"
NEEDED = {
    Runner.NODE: "node",
    Runner.GO: "go",
    Runner.CARGO: "cargo",
    Runner.RSPEC: "rspec",
    Runner.PHPUNIT: "phpunit",
    Runner.CTEST: "ctest",
}


@pytest.fixture(scope="session")
def npm_tools() -> Path:
    """The JavaScript runners, installed once into a cache directory."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    CACHE.mkdir(parents=True, exist_ok=True)
    if not (CACHE / "node_modules/.bin/mocha").exists():
        done = subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "jest@^30", "vitest@^4", "mocha@^11"],
            cwd=CACHE,
            capture_output=True,
            timeout=300,
            check=False,
        )
        if done.returncode:
            pytest.skip(f"npm could not install the runners: {done.stderr.decode()[-200:]}")
    return CACHE


def run(
    tmp_path: Path,
    files: dict[str, str],
    command: str | None = None,
    *,
    targets: tuple[str, ...] = (),
    tools: Path | None = None,
) -> tuple[Observed, Runner, Reach]:
    path = f"{tools}/node_modules/.bin:{PATH}" if tools else f"{PATH}:{Path.home()}/.cargo/bin"
    trees = GitTrees(tmp_path)
    tree = trees.tree(files)
    bench = TestBench(PlainSandbox(path), _WithModules(trees, tools))
    env = {"RUSTUP_HOME": str(Path.home() / ".rustup"), "CARGO_HOME": str(Path.home() / ".cargo")}
    plan = bench.detect(tree, TestSection(command=command, env=env))
    assert plan is not None and not plan.doubt, plan
    request = RunRequest(name="base", plan=plan, tree=tree, deadline_seconds=120, targets=targets)
    return bench.run(request), plan.runner, plan.reach


class _WithModules:
    """Checkouts beside which the installed packages lie."""

    def __init__(self, trees: GitTrees, tools: Path | None) -> None:
        self._trees, self._tools = trees, tools

    def fresh(self, tree: str) -> Path:
        checkout = self._trees.fresh(tree)
        if self._tools is not None:
            (checkout / "node_modules").symlink_to(self._tools / "node_modules")
        return checkout

    def discard(self, checkout: Path) -> None:
        self._trees.discard(checkout)


def check(observed: Observed, passed: str, failed: str) -> None:
    assert observed.run.status is RunStatus.FAILED, (observed.run.note, observed.output[-3000:])
    assert passed in observed.run.passed_ids and failed in observed.run.failed_ids, observed.cases
    assert observed.run.skipped


@pytest.mark.parametrize(
    ("files", "runner", "passed", "failed"),
    [
        (
            samples.NODE,
            Runner.NODE,
            "test/lamp.test.js::twice > two is four",
            "test/lamp.test.js::twice > five is ten",
        ),
        (samples.CARGO, Runner.CARGO, "src/lib.rs::tests::two_is_four", "tests/outside.rs::five_is_ten"),
        (samples.GO, Runner.GO, "example.org/lamp::TestTwo", "example.org/lamp::TestFive"),
        (
            samples.RSPEC,
            Runner.RSPEC,
            "spec/lamp_spec.rb::twice two is four",
            "spec/lamp_spec.rb::twice five is ten",
        ),
        (samples.PHPUNIT, Runner.PHPUNIT, "tests/LampTest.php::testTwo", "tests/LampTest.php::testFive"),
        (samples.CTEST, Runner.CTEST, "two_is_four", "five_is_ten"),
    ],
    ids=lambda value: value if isinstance(value, Runner) else "",
)
def test_a_detected_suite_gives_single_results(
    tmp_path: Path, files: dict[str, str], runner: Runner, passed: str, failed: str
) -> None:
    tool = NEEDED[runner]
    if shutil.which(tool, path=f"{PATH}:{Path.home()}/.cargo/bin") is None:
        pytest.skip(f"{tool} is not installed")
    observed, found, _ = run(tmp_path, files)

    assert found is runner
    check(observed, passed, failed)


@pytest.mark.parametrize(
    ("files", "command", "runner"),
    [
        (samples.JEST, None, Runner.JEST),
        (samples.JEST, "npx jest --ci", Runner.JEST),
        (samples.VITEST, None, Runner.VITEST),
        (samples.VITEST, "node_modules/.bin/vitest", Runner.VITEST),
        (samples.MOCHA, None, Runner.MOCHA),
        (samples.MOCHA, "mocha test && echo done", Runner.MOCHA),
        ({**samples.MOCHA, "Makefile": ".PHONY: test\ntest:\n\t@mocha test\n"}, "make test", Runner.MOCHA),
        (
            {**samples.NODE, "Makefile": "T ?= test\ncheck:\n\tnode --test $(T)\n"},
            "make check",
            Runner.NODE,
        ),
    ],
    ids=str,
)
def test_javascript_runners_are_reached(
    tmp_path: Path, npm_tools: Path, files: dict[str, str], command: str | None, runner: Runner
) -> None:
    observed, found, _ = run(tmp_path, files, command, tools=npm_tools)

    assert found is runner
    name = "test/lamp.js" if runner is Runner.MOCHA else "test/lamp.test.js"
    file = "sub/lamp.test.js" if runner in {Runner.JEST, Runner.VITEST} else name
    between = " " if runner is Runner.MOCHA else " > "
    check(observed, f"{file}::twice{between}two is four", f"{file}::twice{between}five is ten")


@pytest.mark.parametrize(
    "files", [samples.JEST, samples.VITEST, samples.NODE], ids=["jest", "vitest", "node"]
)
def test_single_files_are_run_by_themselves(tmp_path: Path, npm_tools: Path, files: dict[str, str]) -> None:
    other = next(path for path in files if path.endswith("other.test.js"))
    command = "node --test" if files is samples.NODE else None
    observed, _, _ = run(tmp_path, files, command, tools=npm_tools, targets=(other,))

    assert observed.run.status is RunStatus.PASSED, observed.output[-2000:]
    assert observed.run.passed_ids == {f"{other}::other"}


@pytest.mark.parametrize(
    ("files", "command"),
    [
        (samples.JEST, "jest --passWithNoTests nothing-like-this"),
        (samples.VITEST, "vitest --run --passWithNoTests nothing-like-this"),
        (samples.MOCHA, "mocha --fgrep nothing-like-this test"),
        (samples.NODE, "npm test --if-present -- --test-name-pattern=nothing-like-this"),
        ({**samples.JEST, "package.json": '{"name": "x"}'}, "npm test --if-present"),
    ],
    ids=str,
)
def test_what_selects_nothing_is_no_pass(
    tmp_path: Path, npm_tools: Path, files: dict[str, str], command: str
) -> None:
    observed, _, _ = run(tmp_path, files, command, tools=npm_tools)

    assert observed.run.status in {RunStatus.NO_TESTS, RunStatus.COULD_NOT_TELL}, observed.run
