"""One past bug on a forge of its own: its base is measured once, then changes are judged as usual."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from app.demo.toolchain import tools_with
from domain.allowing import Allowance, asked_about, refusing
from domain.errors import PolicyRefusal
from domain.model import Actor, Category, Severity, Verdict
from domain.repo_config import RepoConfig, TestSection
from evals.verdict.cases import Releases
from evals.verdict.changes import Changed
from harness.change import check_change, scan_secrets
from harness.git import GitRunner, Mirror
from harness.ground import FreshCheckouts
from harness.guard.tolerance import FAILS_AS_IT_WAS
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.verify import Baseline, VerifiedChange, Verifier
from harness.workspace import Workspaces, remove_tree
from providers.local.forge import LocalForge
from providers.local.people import LocalWorld

FIRST_UID = 310_000
"""Each process gets a user of its own: limits on processes count per user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What came of a change: whether it may be published as verified, and why or why not.

    `asks` are the ids by which a maintainer could allow all that stands against it, where that is nothing but
    edits of tests which fail with the change as they were: only a person can say that these were wrong.
    """

    verified: bool
    why: str
    runs: tuple[tuple[str, str], ...] = ()
    asks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """A case that is ready to be judged."""

    case: Releases
    mirror: Mirror
    workspaces: Workspaces
    verifier: Verifier
    baseline: Baseline

    def judge(self, changed: Changed, allowed: Sequence[str] = ()) -> Judgement:
        """Judge a change by the rules before any commit, the guard and the tests.

        `allowed` are ids of findings that a maintainer has allowed by now.
        """
        try:
            tree = self._tree(changed)
        except PolicyRefusal as refusal:
            return Judgement(verified=False, why=f"before any commit: {refusal}")
        before = self.baseline.tree
        found = (
            *check_change(self.mirror.changes(before, tree), ()),
            *scan_secrets(self.mirror.added_lines(before, tree)),
        )
        critical = [finding for finding in found if finding.severity is Severity.CRITICAL]
        if critical:
            return Judgement(verified=False, why=f"before any commit: {critical[0].what}")
        change = self.verifier.read_change(self.baseline.commit, tree)
        change = replace(change, words=tuple(map(_word, allowed)))
        outcome = self.verifier.verify(change, self.baseline, Category.BUG, self.case.bug.issue)
        verdict: Verdict = outcome.verdict if isinstance(outcome, VerifiedChange) else outcome
        return Judgement(
            verified=isinstance(outcome, VerifiedChange),
            why=verdict.summary,
            runs=tuple((run.name, str(run.status)) for run in verdict.runs),
            asks=_asks(verdict),
        )

    def _tree(self, changed: Changed) -> str:
        """Return the base with the changed files, as the worker would take it from a worktree."""
        worktree = self.workspaces.fresh(self.mirror, self.baseline.tree)
        try:
            for path, content in changed.items():
                place = worktree / path
                if content is None:
                    place.unlink(missing_ok=True)
                    continue
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content)
            return self.mirror.snapshot(worktree, self.baseline.tree).tree
        finally:
            self.workspaces.remove(worktree)


def _asks(verdict: Verdict) -> tuple[str, ...]:
    against = refusing(verdict)
    corrects = all(each.rule in {"RH001", "RH002"} and FAILS_AS_IT_WAS in each.what for each in against)
    return asked_about(verdict) if corrects else ()


def _word(name: str) -> Allowance:
    return Allowance(change=name, by=Actor(id="1", login="maintainer"), comment_id="1", at=datetime.now(UTC))


@contextmanager
def bench(case: Releases) -> Iterator[Bench]:
    """Set a case up, measure its base, and clear up after the block. Raises ConfigurationError."""
    root = Path(tempfile.mkdtemp(prefix="fixwright-verdict-"))
    root.chmod(0o711)
    try:
        yield _set_up(case, root)
    finally:
        remove_tree(root)


def _set_up(case: Releases, root: Path) -> Bench:
    uid = FIRST_UID + os.getpid() % 100_000 if os.geteuid() == 0 else None
    world = LocalWorld(root / "forge")
    files = {path: content for path, (content, _) in case.old.items()}
    repository = world.create_repository(f"past/{case.bug.package}", files=files)
    workspaces = Workspaces(
        root / "ground", (uid, uid) if uid is not None else None, GitRunner(root / "git-home")
    )
    mirror = workspaces.mirror_for(repository)
    mirror.fetch(LocalForge(root / "forge").clone_access(repository.id))
    sandbox = BubblewrapSandbox(uid=uid, tools=[tools_with(case.bug.requirements)], nice=False)
    checkouts = FreshCheckouts(workspaces, mirror)
    verifier = Verifier(sandbox, mirror, checkouts)
    config = RepoConfig(test=TestSection(timeout_seconds=case.bug.timeout_seconds))
    baseline = verifier.baseline(mirror.default_head(repository.default_branch), config)
    return Bench(case=case, mirror=mirror, workspaces=workspaces, verifier=verifier, baseline=baseline)
