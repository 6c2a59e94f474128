"""Runs again, itself, what is to show that nothing has to be changed: the agent's word shows nothing."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from domain.claim import Claim, Conclusion
from domain.model import Check, Outcome, Reason, RunStatus, TestRun, Verdict
from domain.text import one_line
from harness.git import Mirror, Snapshot
from harness.order import Ended
from harness.runs import Runs
from harness.testing.paths import is_test_side
from harness.testing.plan import Runner
from harness.verify import Baseline, Verifier

MOST_COMMANDS = 3
"""Commands of the agent's that are run again."""

LONGEST_COMMAND = 4_000
MOST_SECONDS = 600.0
REPRODUCTION = "the agent's reproduction"
NEW_TESTS = "base + the agent's tests"

_LANGUAGES: dict[Runner, str] = {
    Runner.PYTEST: "python3 --version || python --version",
    Runner.UNITTEST: "python3 --version || python --version",
    Runner.GO: "go version",
    Runner.JEST: "node --version",
    Runner.VITEST: "node --version",
    Runner.MOCHA: "node --version",
    Runner.NODE: "node --version",
    Runner.CARGO: "rustc --version",
    Runner.NEXTEST: "rustc --version",
    Runner.RSPEC: "ruby --version",
    Runner.PHPUNIT: "php --version | head -n 1",
    Runner.MAVEN: "java -version",
    Runner.GRADLE: "java -version",
    Runner.CTEST: "c++ --version | head -n 1",
}
"""How a runner's language says which version it is; where it is not known, common ones are asked."""

_ANY_LANGUAGE = "python3 --version; node --version; go version; ruby --version; true"

_SAID: dict[Conclusion, str] = {
    "not_reproducible": "that the fault does not show",
    "already_fixed": "that it is fixed already",
    "as_documented": "that it behaves as it is documented",
    "changed": "nothing of why it changed nothing",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """What is to be shown of one attempt that changed nothing but, perhaps, tests.

    `may_run` says whether the agent's own commands may be run as they are: not under a command policy.
    """

    mirror: Mirror
    verifier: Verifier
    baseline: Baseline
    claim: Claim
    snapshot: Snapshot
    isolation: str
    may_run: bool = True

    def judge(self) -> tuple[Verdict, Ended]:
        """Return what was seen, and how the attempt ends by it. Raises SandboxError, GitError."""
        runs = [*self._tests(), *self._commands()]
        red = [run for run in runs if run.status is not RunStatus.PASSED]
        summary = self._summary(runs, red)
        verdict = Verdict(
            verified=False,
            summary=summary,
            base_sha=self.baseline.commit,
            tree=self.snapshot.tree,
            runs=(*((self.baseline.run,) if self.baseline.run else ()), *runs),
            findings=(),
            turned_green=(),
            broken=(),
            isolation=self.isolation,
            checks=self._versions(),
        )
        if red and self.claim.conclusion != "changed":
            return verdict, Ended(Outcome.UNVERIFIED, None, summary)
        reason = Reason.NO_CHANGE
        if self.claim.conclusion == "not_reproducible":
            reason = Reason.NOT_REPRODUCIBLE
        return verdict, Ended(Outcome.NO_CHANGE, reason, summary)

    def _summary(self, runs: Sequence[TestRun], red: Sequence[TestRun]) -> str:
        said = f"The agent says {_SAID[self.claim.conclusion]}, and changed no code."
        if not runs:
            return f"{said} It left no test and named no command that could be run: this is its word alone."
        if not red:
            return f"{said} What it named to show it passes on the unchanged code, run by the harness."
        which = f"{len(red)} of {len(runs)} runs that it named to show it"
        return f"{said} But {which} did not pass on the unchanged code when the harness ran them."

    def _tests(self) -> list[TestRun]:
        """Run the tests that the agent left, on the code as it is."""
        change = self.verifier.read_change(self.baseline.commit, self.snapshot.tree)
        bench, baseline = self.verifier.bench, self.baseline
        if not change.paths:
            return []
        plan = baseline.plan or bench.detect(self.snapshot.tree, baseline.section, baseline.place)
        if plan is None:
            return []
        runs = Runs(self.mirror, bench, change, baseline)
        observed = runs.new_tests(plan, NEW_TESTS)
        return [observed.run] if observed else []

    def _commands(self) -> list[TestRun]:
        if not self.may_run:
            return []
        named = [self.claim.reproduction] if self.claim.reproduction else self.claim.test_commands
        commands = [each for each in named if each.strip() and len(each) <= LONGEST_COMMAND]
        seconds = min(MOST_SECONDS, float(self.baseline.section.timeout_seconds))
        tree, place, run = self.snapshot.tree, self.baseline.place, self.verifier.bench.run_command
        return [run(REPRODUCTION, tree, each, seconds, place) for each in commands[:MOST_COMMANDS]]

    def _versions(self) -> tuple[Check, ...]:
        """Say with which runtime, and on which version of the package, all this was seen."""
        runner = self.baseline.plan.runner if self.baseline.plan else None
        ask = _LANGUAGES.get(runner, _ANY_LANGUAGE) if runner else _ANY_LANGUAGE
        tree = self.baseline.tree
        seen = self.verifier.bench.run_command("runtime", tree, ask, 30, self.baseline.place)
        runtime = one_line(seen.tail, 200) if seen.exit_code == 0 else ""
        package = package_version(lambda path: self.mirror.read_file(tree, path), self.baseline.place)
        named = {"runtime": runtime, "package": package}
        known = {name: what for name, what in named.items() if what}
        return tuple(Check(name=name, status=RunStatus.PASSED, what=what) for name, what in known.items())


def is_nothing_to_change(claim: Claim, changed: Sequence[str]) -> bool:
    """Tell whether nothing is to be changed: no file was, or tests alone where the agent says so."""
    return not changed or (claim.conclusion != "changed" and all(map(is_test_side, changed)))


def package_version(read: Callable[[str], bytes | None], place: str = "") -> str:
    """Return name and version as the tree itself names them, "" where it does not, or not in plain words."""
    start = f"{place}/" if place else ""
    for path, find in _MANIFESTS:
        try:
            text = (read(start + path) or b"").decode("utf-8")
            name, version = find(text) if text else ("", "")
        except (ValueError, AttributeError, RecursionError):
            continue  # people's files may say anything
        if isinstance(version, str) and version:
            return one_line(f"{name if isinstance(name, str) else ''} {version} ({start}{path})".strip(), 200)
    return ""


def _of_pyproject(text: str) -> tuple[object, object]:
    content = tomllib.loads(text)
    project = content.get("project") or content.get("tool", {}).get("poetry", {})
    return project.get("name", ""), project.get("version", "")


def _of_package_json(text: str) -> tuple[object, object]:
    content = json.loads(text)
    return content.get("name", ""), content.get("version", "")


def _of_cargo(text: str) -> tuple[object, object]:
    package = tomllib.loads(text).get("package", {})
    return package.get("name", ""), package.get("version", "")


_MANIFESTS: tuple[tuple[str, Callable[[str], tuple[object, object]]], ...] = (
    ("pyproject.toml", _of_pyproject),
    ("package.json", _of_package_json),
    ("Cargo.toml", _of_cargo),
)
