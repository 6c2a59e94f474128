"""Whether a changed tree resolves a case: the fix's own tests, put over it and run in the sandbox."""

from __future__ import annotations

from dataclasses import dataclass

from app.evaluation.case_files import EvalCase
from domain.model import Category, Severity
from domain.text import one_line
from harness.guard.change import read_change
from harness.guard.check import guard
from harness.trial import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of a change. `refused` says that the guard would not let it pass, whatever the tests show."""

    resolved: bool
    refused: bool
    why: str
    files: tuple[str, ...]


def judge(trial: Trial, case: EvalCase, tree: str) -> Verdict:
    """Judge a tree that was made from the case's base. Raises SandboxError, GitError, ConfigurationError."""
    mirror = trial.mirror
    base_tree = mirror.tree_of(case.base_commit)
    files = tuple(change.path for change in mirror.changes(base_tree, tree))
    if not files:
        return Verdict(resolved=False, refused=False, why="changes nothing", files=())
    change = read_change(mirror, case.base_commit, tree)
    against = [
        each for each in guard(change, Category.BUG, case.report) if each.severity is Severity.CRITICAL
    ]
    tested = mirror.overlay(tree, mirror.tree_of(case.bug_commit), case.test_side)
    config = trial.config(mirror.tree_of(case.bug_commit))
    plan = trial.plan(mirror.tree_of(case.bug_commit), config)
    if plan is None:
        return Verdict(resolved=False, refused=bool(against), why="no tests were found", files=files)
    seen = trial.run_some(tested, plan, case.test_files, config.test.timeout_seconds)
    missing = sorted(case.fail_to_pass - seen.run.passed_ids)
    broken = sorted(case.pass_to_pass - seen.run.passed_ids)
    why = "resolved"
    if missing or broken:
        first = (missing or broken)[0]
        why = f"{len(missing)} still red, {len(broken)} broken, such as {first} ({seen.run.status})"
    elif against:
        why = f"resolved, but the guard refuses it: {against[0].rule} {against[0].what}"
    return Verdict(
        resolved=not missing and not broken, refused=bool(against), why=one_line(why, 300), files=files
    )
