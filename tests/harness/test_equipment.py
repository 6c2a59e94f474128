"""Set-ups in an attempt: before any money and any issue's text, and the same for agent and verification."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from domain.model import Category, Outcome, Reason
from domain.ports import Sandbox
from harness.interruption import InterruptibleSandbox
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.setup.cache import SetupCache
from harness.setup.clients import NO_CLIENTS, ClientConfiguration
from harness.setup.phase import SetupPhase
from harness.setup.site import SetupRules
from tests.harness.attempt_world import Workshop
from tests.harness.git_world import reachable_directory
from tests.worker.town import CALC, FIX, SHOW, plays

USES_DEP = CALC["test_calc.py"].replace("import unittest", "import dep\nimport unittest")
CONFIG = """\
setup:
  commands: ["mkdir $SETUP_DIR/lib && echo 'VALUE = 1' >$SETUP_DIR/lib/dep.py", "mkdir node_modules && touch node_modules/a"]
  env: {LAMP: lit}
test: {env: {PYTHONPATH: "/work:/setup/lib"}}
"""  # noqa: E501
FILES = {**CALC, "test_calc.py": USES_DEP, ".fixwright.yml": CONFIG}


@pytest.fixture(scope="session")
def uid() -> int | None:
    return 220_000 + os.getpid() if os.geteuid() == 0 else None


class Place:
    """A workshop with the real sandbox and set-ups."""

    def __init__(
        self,
        root: Path,
        uid: int | None,
        files: Mapping[str, str],
        rules: SetupRules,
        ask: Callable[[], ClientConfiguration] = lambda: NO_CLIENTS,
    ) -> None:
        self.shop = Workshop(root, files, None if uid is None else (uid, uid))
        self.sandbox: Sandbox = BubblewrapSandbox(uid=uid, nice=False)
        self.phase = SetupPhase(
            SetupCache(root / "data" / "setups", 2**30, settle=None), rules, ask_clients=ask
        )

    def attempt(self, *commands: str, category: Category = Category.BUG):
        order = self.shop.order(category=category)
        return self.shop.attempt(plays(*commands), order, sandbox=self.sandbox, setup=self.phase)

    def notes(self, phase: str) -> list[str]:
        return [note for name, note in self.shop.journal.phases if name == phase]


@pytest.fixture
def root() -> Iterator[Path]:
    with reachable_directory() as root:
        yield root


def test_what_is_set_up_serves_the_baseline_the_agent_and_verification(root: Path, uid: int | None) -> None:
    place = Place(root, uid, FILES, SetupRules())
    spoil = "echo 'VALUE = 2' >/setup/lib/dep.py; touch node_modules/b; rm -rf node_modules"
    result = place.attempt(f"{spoil}; echo saw $LAMP $(ls node_modules)", FIX, SHOW)
    assert result.outcome is Outcome.VERIFIED, result.detail
    assert "saw lit a" in str(place.shop.journal.steps)
    assert "`setup.commands` in .fixwright.yml" in result.prepared and "run now" in result.prepared
    assert [name for name, _ in place.shop.journal.phases][:4] == [
        "prepare",
        "set-up",
        "baseline",
        "localize",
    ]
    assert result.verified is not None
    assert sorted(result.verified.change.paths) == ["calc.py", "test_five.py"]
    (kept,) = place.phase.cache.root.glob("*/*")
    assert (kept / "setup/lib/dep.py").read_text() == "VALUE = 1\n"


@pytest.mark.long
def test_a_setup_that_fails_ends_the_attempt_before_the_agent(root: Path, uid: int | None) -> None:
    config = "setup: {commands: ['echo cannot find lamp-oil; exit 4']}\n"
    place = Place(root, uid, {**CALC, ".fixwright.yml": config}, SetupRules())
    result = place.attempt(FIX, SHOW)
    assert (result.outcome, result.reason) == (Outcome.UNJUDGED, Reason.ENVIRONMENT)
    assert "cannot find lamp-oil" in result.detail and "exit code 4" in result.detail
    assert place.shop.journal.steps == [] and place.shop.left_over() == []
    assert "exit code 4" in place.notes("set-up")[0]


@pytest.mark.long
def test_documentation_goes_on_where_the_setup_fails(root: Path, uid: int | None) -> None:
    files = {"README.md": "# Lamp\n", ".fixwright.yml": "setup: {commands: ['exit 4']}\n"}
    result = Place(root, uid, files, SetupRules()).attempt("echo more >>README.md", category=Category.DOCS)
    assert result.outcome is Outcome.VERIFIED, result.detail


@pytest.mark.long
def test_nothing_is_detected_unless_the_operator_allows_setups(root: Path, uid: int | None) -> None:
    files = {**CALC, "test_calc.py": USES_DEP, "requirements.txt": "dep\n"}
    result = Place(root, uid, files, SetupRules()).attempt(FIX, SHOW)
    assert result.reason is Reason.ENVIRONMENT and "missing `dep`" in result.detail
    assert "`setup.commands` in `.fixwright.yml`" in result.detail


@pytest.mark.long
def test_a_detected_setup_is_run_once_the_baseline_needs_it(root: Path, uid: int | None) -> None:
    files = {**CALC, "test_calc.py": USES_DEP, "requirements.txt": "dep\n"}
    place = Place(root, uid, files, SetupRules(setting="nowhere.example", resolve=lambda host, port: []))
    result = place.attempt(FIX, SHOW)
    assert result.reason is Reason.ENVIRONMENT
    assert (
        "pip install -r requirements.txt" in result.detail and "requirements.txt" in place.notes("set-up")[0]
    )
    (root / "other").mkdir(mode=0o711)
    working = Place(root / "other", uid, {**CALC, "requirements.txt": "dep\n"}, place.phase.rules)
    assert working.attempt(FIX, SHOW).outcome is Outcome.VERIFIED and working.notes("set-up") == []


LAMP_TEST = 'require("lamp-oil");\nrequire("node:test").it("burns", () => {});\n'
OIL = {"oil/package.json": '{"name": "lamp-oil", "version": "1.0.0"}', "oil/index.js": ""}
NPM = pytest.mark.skipif(shutil.which("npm", path="/usr/bin:/bin") is None, reason="npm is not installed")


def _package(script: str, name: str) -> str:
    scripts, wanted = {"test": script}, {name: "file:./oil"}
    return json.dumps({"name": "x", "scripts": scripts, "devDependencies": wanted})


def _phases(place: Place) -> list[str]:
    phases = [name for name, _ in place.shop.journal.phases if name in {"set-up", "baseline"}]
    place.shop.journal.phases.clear()
    return phases


@NPM
@pytest.mark.long
def test_a_suite_that_needed_a_setup_once_is_not_run_without_it_again(root: Path, uid: int | None) -> None:
    rules = SetupRules(setting="nowhere.example", resolve=lambda host, port: [])
    package = _package("node --test", "lamp-oil")
    place = Place(root, uid, {**OIL, "package.json": package, "test/lamp.test.js": LAMP_TEST}, rules)

    place.attempt("true")
    assert _phases(place) == ["baseline", "set-up", "baseline"]
    place.attempt("true")
    assert _phases(place) == ["set-up", "baseline"]


@NPM
@pytest.mark.long
def test_a_suite_whose_runner_is_yet_to_be_installed_is_not_run_before(root: Path, uid: int | None) -> None:
    rules = SetupRules(setting="nowhere.example", resolve=lambda host, port: [])
    mocha = {"oil/package.json": '{"name": "mocha", "version": "1.0.0"}', "oil/cli.js": ""}
    files = {**mocha, "package.json": _package("mocha test", "mocha"), "test/a.js": "it('a', () => {});\n"}
    place = Place(root, uid, files, rules)

    place.attempt("true")
    assert "npm install" in place.notes("set-up")[0]
    assert _phases(place) == ["set-up", "baseline"]


@pytest.mark.long
def test_a_stop_ends_a_setup_and_leaves_nothing_behind(root: Path, uid: int | None) -> None:
    config = "setup: {commands: ['sleep 300']}\n"
    place = Place(root, uid, {**CALC, ".fixwright.yml": config}, SetupRules())
    sandbox = InterruptibleSandbox(place.sandbox)
    threading.Timer(0.5, sandbox.interrupt).start()
    place.sandbox = sandbox
    result = place.attempt(FIX, SHOW)
    assert result.outcome is Outcome.INTERRUPTED
    assert place.shop.left_over() == [] and list(place.phase.cache.root.glob("*/*")) == []
