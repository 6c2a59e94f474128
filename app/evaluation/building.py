"""Makes cases of a repository's own fixes: taken back, tests kept, red and green seen in the sandbox."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from app.evaluation import lines
from app.evaluation.candidates import Candidate, Commit, candidate, history, speaks_of_a_bug
from app.evaluation.gold import names_a_file, touched_definitions
from app.evaluation.walks import Walk
from domain.errors import ConfigurationError, GitError
from domain.model import RunStatus
from domain.repo_config import RepoConfig
from domain.text import one_line
from harness.git import Mirror
from harness.testing.cases import Observed
from harness.testing.compare import turned_green
from harness.testing.diagnosis import diagnose
from harness.testing.plan import TestPlan
from harness.trial import Trial

CASES, JUDGED, REPOSITORY = "cases.jsonl", "judged.jsonl", "repository.git"
CASE_REF, FIX_REF, BASE_REF = "cases", "fixes", "bases"
NO_BUG = "its message speaks of no bug"
_GIVEN_UP = frozenset(
    {RunStatus.TIMED_OUT, RunStatus.COULD_NOT_RUN, RunStatus.NO_TESTS, RunStatus.NOT_EVIDENCE}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be built: how many cases, from how many commits, and which."""

    name: str
    head: str
    limit: int
    scan: int
    walk: Walk = Walk.FIXES


@dataclass(frozen=True, slots=True)
class Suite:
    """How a repository is tested, and the seconds that one run may take."""

    plan: TestPlan
    seconds: float


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came of one commit: a case's id, or why it was dropped. `known` says that it was judged before."""

    commit: Commit
    case: str
    why: str
    known: bool = False


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds into a directory: `cases.jsonl`, `judged.jsonl`, and a bare repository with each case's tree."""

    out: Path
    mirror: Mirror
    trial: Trial
    wish: Wish

    def build(self, watch: Callable[[Judgement], None]) -> Iterator[Judgement]:
        """Judge commits, newest first, until there are enough cases; what was judged before is not run again.

        Raises SandboxError, GitError, OSError.
        """
        known = {str(each["commit"]): each for each in lines.read(self.out / JUDGED)}
        cases = 0
        for commit in history(self.mirror, self.wish.head, self.wish.scan, self.wish.walk):
            if cases >= self.wish.limit:
                return
            before = known.get(commit.sha)
            if before is not None and (self.wish.walk is Walk.FIXES or before["why"] != NO_BUG):
                judgement = Judgement(commit, str(before["case"]), str(before["why"]), known=True)
            else:
                judgement = self._judged(commit)
                lines.append(
                    self.out / JUDGED,
                    {
                        "commit": commit.sha,
                        "subject": commit.subject,
                        "case": judgement.case,
                        "why": judgement.why,
                    },
                )
            cases += bool(judgement.case)
            watch(judgement)
            yield judgement

    def _judged(self, commit: Commit) -> Judgement:
        if self.wish.walk is Walk.FIXES and not speaks_of_a_bug(commit.message):
            return Judgement(commit, "", NO_BUG)
        found = candidate(self.mirror, commit)
        if isinstance(found, str):
            return Judgement(commit, "", found)
        try:
            case = self._case(found)
        except (GitError, ConfigurationError) as error:
            return Judgement(commit, "", f"cannot be tried: {one_line(str(error), 200)}")
        if isinstance(case, str):
            return Judgement(commit, "", case)
        identity = str(case["instance_id"])
        lines.append(self.out / CASES, case)
        return Judgement(commit, identity, "")

    def _case(self, found: Candidate) -> dict[str, object] | str:
        """Return a case, or why there is none."""
        mirror, commit = self.mirror, found.commit
        fixed, parent = mirror.tree_of(commit.sha), mirror.tree_of(commit.parent)
        bug = mirror.overlay(parent, fixed, found.tests)
        config = self.trial.config(fixed)
        plan = self.trial.plan(fixed, config)
        if plan is None:
            return "no tests were found"
        seen = self._seen(found, Suite(plan, config.test.timeout_seconds), fixed, bug)
        if isinstance(seen, str):
            return seen
        identity = f"{self.wish.name}-{commit.sha[:12]}"
        sha = mirror.commit(bug, [], f"{identity}: before the fix", when=datetime.fromtimestamp(0, UTC))
        mirror.set_ref(f"{CASE_REF}/{identity}", sha)
        whole = mirror.commit(fixed, [], f"{identity}: with the fix", when=datetime.fromtimestamp(0, UTC))
        mirror.set_ref(f"{FIX_REF}/{identity}", whole)
        base = mirror.commit(parent, [], f"{identity}: as it was", when=datetime.fromtimestamp(0, UTC))
        mirror.set_ref(f"{BASE_REF}/{identity}", base)
        return {
            **self._facts(found, identity, config),
            **seen,
            "base_commit": base,
            "bug_commit": sha,
            "bug_tree": bug,
            "fixed_tree": fixed,
        }

    def _seen(self, found: Candidate, suite: Suite, fixed: str, bug: str) -> dict[str, object] | str:
        """Run the fix's tests with and without it; return the tests that show the bug, or why none does."""
        green = self._run(fixed, suite, found)
        if why := _useless(green):
            return why
        if green.run.failed_ids or green.run.status is not RunStatus.PASSED:
            return "not green with the fix"
        red = self._run(bug, suite, found)
        greened = turned_green(baseline=None, with_tests=red, fixed=green, touched=found.tests)
        shown = greened.tests
        if not shown:
            return (
                "not red with the bug" if red.run.status is RunStatus.PASSED else "its tests show no red test"
            )
        again = self._run(fixed, suite, found)
        if again.run.failed_ids or not set(shown) <= (again.run.passed_ids or set(shown)):
            return "flaky: green with the fix, but not twice"
        return {
            "fail_to_pass": list(shown),
            "pass_to_pass": sorted(green.run.passed_ids & red.run.passed_ids),
            "loads_only_with_fix": list(greened.unloaded),
            "test_command": suite.plan.shown,
        }

    def _run(self, tree: str, suite: Suite, found: Candidate) -> Observed:
        return self.trial.run_some(tree, suite.plan, found.test_files, suite.seconds)

    def _facts(self, found: Candidate, identity: str, config: RepoConfig) -> dict[str, object]:
        commit, report = found.commit, found.commit.message
        functions: list[str] = []
        for path in found.sources:
            before, after = (self._text(sha, path) for sha in (commit.parent, commit.sha))
            functions += touched_definitions(path, before, after)
        gold = [
            path for path in found.sources if self.mirror.read_file(commit.parent, path, 2**24) is not None
        ]
        return {
            "instance_id": identity,
            "repo": self.wish.name,
            "commit": commit.sha,
            "parent": commit.parent,
            "at": commit.at,
            "problem_statement": report,
            "gold_files": gold,
            "gold_functions": functions,
            "test_files": list(found.test_files),
            "test_side": list(found.tests),
            "flags": {"names_gold_file": names_a_file(report, gold), "text_is_of_the_fix": True},
            "directory": config.working_directory,
        }

    def _text(self, sha: str, path: str) -> str:
        return (self.mirror.read_file(sha, path, 2**24) or b"").decode("utf-8", "replace")


def _useless(observed: Observed) -> str:
    """Return why a run shows nothing, or ""."""
    problem = diagnose(observed)
    if problem is not None:
        return f"the tests do not run here: {one_line(' '.join((problem.what, *problem.lines)), 160)}"
    return f"the tests {observed.run.status}" if observed.run.status in _GIVEN_UP else ""
