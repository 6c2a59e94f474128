"""Judges what the agent left: snapshot, the rules that stand before any commit, then verification."""

from __future__ import annotations

from dataclasses import dataclass

from domain.errors import PolicyRefusal
from domain.model import Finding, Outcome, Reason, Severity, Verdict
from harness.change import check_change, scan_secrets
from harness.git import Snapshot
from harness.ground import Ground
from harness.journal import Journal
from harness.order import Ended, Order, Progress
from harness.publish import WipChange
from harness.verify import Baseline, VerifiedChange, Verifier

_JUDGED = frozenset({Outcome.VERIFIED, Outcome.UNVERIFIED, Outcome.REFUSED, Outcome.REPEATED})
"""Outcomes that say something of the change itself; after the others the same change may come again."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The judgement of one attempt; what it finds goes into `known`, and to the journal."""

    order: Order
    ground: Ground
    journal: Journal
    known: Progress

    def keep_unfinished(self) -> None:
        """Keep what a stopped agent left, if it is fit for a branch; never as anything verified."""
        try:
            snapshot = self._snapshot()
        except PolicyRefusal:
            return
        moved = snapshot.tree != self.ground.mirror.tree_of(self.ground.start.sha)
        if moved and not self._critical_findings(snapshot):
            self.known.wip = WipChange(tree=snapshot.tree)

    def check(self, isolation: str) -> Snapshot:
        """Return the worktree as a tree that may be verified. Raises Ended, PolicyRefusal."""
        snapshot = self._snapshot()
        if snapshot.tree == self.ground.base_tree:
            raise Ended(Outcome.NO_CHANGE, Reason.NO_CHANGE, "The agent left the repository as it was.")
        self._refuse_repetition(snapshot)
        findings = self._critical_findings(snapshot)
        if findings:
            self._refuse(snapshot, findings, isolation)
        return snapshot

    def verify(self, verifier: Verifier, baseline: Baseline, snapshot: Snapshot) -> str:
        """Run the tests and return the verdict's summary. Raises Ended for a change that is not verified."""
        change = verifier.read_change(self.ground.base_sha, snapshot.tree)
        outcome = verifier.verify(change, baseline, self.order.task.category, self.order.authority)
        verdict = outcome.verdict if isinstance(outcome, VerifiedChange) else outcome
        self.known.verdict = verdict
        self.journal.judged(verdict)
        if isinstance(outcome, VerifiedChange):
            self.known.verified = outcome
            return verdict.summary
        if _critical(verdict.findings):
            raise Ended(Outcome.REFUSED, Reason.GUARD, verdict.summary)
        self.known.wip = WipChange(tree=snapshot.tree)
        if verdict.environment:
            raise Ended(Outcome.DECLINED, Reason.ENVIRONMENT, verdict.summary)
        raise Ended(Outcome.UNVERIFIED, None, verdict.summary)

    def _snapshot(self) -> Snapshot:
        ground = self.ground
        snapshot = ground.mirror.snapshot(ground.workspace.tree, ground.start_tree)
        self.known.left_out = (
            *(f"{excluded.path} ({excluded.why})" for excluded in snapshot.excluded),
            *(f"{path} (ignored by the repository)" for path in snapshot.ignored),
        )
        return snapshot

    def _critical_findings(self, snapshot: Snapshot) -> tuple[Finding, ...]:
        mirror, base_tree = self.ground.mirror, self.ground.base_tree
        found = check_change(mirror.changes(base_tree, snapshot.tree), self.ground.config.protected_paths)
        return _critical((*found, *scan_secrets(mirror.added_lines(base_tree, snapshot.tree))))

    def _refuse_repetition(self, snapshot: Snapshot) -> None:
        """End where an earlier attempt came to the same tree, with what was said of it then."""
        judged = [past for past in self.order.past if past.outcome in _JUDGED]
        earlier = next((past for past in judged if past.tree == snapshot.tree), None)
        if earlier is None:
            return
        if earlier.outcome is Outcome.REFUSED and earlier.verdict is not None:
            self._judged(earlier.verdict)
            raise Ended(Outcome.REPEATED, Reason.GUARD, earlier.verdict.summary)
        if earlier.outcome is Outcome.UNVERIFIED:
            self.known.wip = WipChange(tree=snapshot.tree)
        seen = f": {earlier.verdict.summary}" if earlier.verdict is not None else "."
        detail = f"The change equals that of attempt {earlier.number}, which ended {earlier.outcome}{seen}"
        raise Ended(Outcome.REPEATED, Reason.REPEATED_DIFF, detail)

    def _refuse(self, snapshot: Snapshot, findings: tuple[Finding, ...], isolation: str) -> None:
        self._judged(
            Verdict(
                verified=False,
                summary=f"Refused before any test was run: {findings[0].what}",
                base_sha=self.ground.base_sha,
                tree=snapshot.tree,
                runs=(),
                findings=findings,
                turned_green=(),
                broken=(),
                isolation=isolation,
            )
        )
        raise Ended(Outcome.REFUSED, Reason.PROTECTED_PATH, findings[0].what)

    def _judged(self, verdict: Verdict) -> None:
        self.known.verdict = verdict
        self.journal.judged(verdict)


def _critical(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if finding.severity is Severity.CRITICAL)
