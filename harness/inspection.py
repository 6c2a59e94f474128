"""Judges what the agent left: snapshot, the rules that stand before any commit, then verification."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from domain.allowing import Allowance, is_cleared
from domain.errors import GitError, PolicyRefusal
from domain.model import Finding, Outcome, ProtectedChange, Reason, Severity, Verdict
from harness.change import PROTECTED_RULE, check_change, scan_secrets
from harness.git import Snapshot
from harness.ground import Ground
from harness.handoff import PastAttempt, actions_in, progress_note
from harness.journal import Journal
from harness.order import Ended, Order, Progress
from harness.protection import Protection, allowed_by
from harness.publish import WipChange
from harness.verify import Baseline, VerifiedChange, Verifier

_JUDGED = frozenset({Outcome.VERIFIED, Outcome.UNVERIFIED, Outcome.REFUSED, Outcome.REPEATED})
"""Outcomes that say something of the change itself; after the others the same change may come again."""

_REJECTED = _JUDGED - {Outcome.VERIFIED}
"""Outcomes after which the same change is no better on another base: it would go round in circles."""


@dataclass(frozen=True, slots=True)
class _Objections:
    """What stands against a change. `protected` is set where a maintainer's word would take all of it away.

    Nobody is asked about a change that could not be taken anyway.
    """

    findings: tuple[Finding, ...]
    protected: ProtectedChange | None = None


@dataclass(frozen=True, slots=True)
class Inspection:
    """The judgement of one attempt; what it finds goes into `known`, and to the journal."""

    order: Order
    ground: Ground
    journal: Journal
    known: Progress
    protected_everywhere: Sequence[str] = ()

    def keep_unfinished(self) -> str:
        """Keep what a stopped agent left, if it is fit for a branch; never as anything verified.

        Returns what a person may want to know of it: files changed, and the last actions.
        """
        try:
            snapshot = self._snapshot()
        except PolicyRefusal:
            return ""
        moved = snapshot.tree != self.ground.mirror.tree_of(self.ground.start.sha)
        if moved and not self._objections(snapshot).findings:
            self.known.wip = WipChange(tree=snapshot.tree)
        changes = self.ground.mirror.changes(self.ground.base_tree, snapshot.tree)
        return progress_note(changes, actions_in(self.journal.past_steps()))

    def left(self) -> Snapshot:
        """Return the worktree as it was left, as a tree. Raises PolicyRefusal."""
        return self._snapshot()

    def changed(self, snapshot: Snapshot) -> tuple[str, ...]:
        """Return the paths in which a tree differs from the base. Raises GitError."""
        changes = self.ground.mirror.changes(self.ground.base_tree, snapshot.tree)
        return tuple(change.path for change in changes)

    def seen(self, verdict: Verdict) -> None:
        """Take down what was seen where nothing has to be changed."""
        self._judged(verdict)

    def check(self, isolation: str) -> Snapshot:
        """Return the worktree as a tree that may be verified. Raises Ended, PolicyRefusal."""
        snapshot = self._snapshot()
        self._refuse_repetition(snapshot)
        objections = self._objections(snapshot)
        if objections.findings:
            self._refuse(snapshot, objections, isolation)
        return snapshot

    def verify(self, verifier: Verifier, baseline: Baseline, snapshot: Snapshot) -> str:
        """Run the tests and return the verdict's summary. Raises Ended for a change that is not verified."""
        change = verifier.read_change(self.ground.base_sha, snapshot.tree)
        change = replace(change, words=self.order.allowances())
        if self.known.allowed is not None:
            change = replace(change, allowed=frozenset(self.known.allowed.change.paths))
        outcome = verifier.verify(change, baseline, self.ground.category, self.order.authority)
        verdict = outcome.verdict if isinstance(outcome, VerifiedChange) else outcome
        self.known.words = self._used(change.words, verdict)
        self.known.verdict = verdict
        self.journal.judged(verdict)
        if isinstance(outcome, VerifiedChange):
            self.known.verified = outcome
            return verdict.summary
        if _critical(verdict.findings):
            raise Ended(Outcome.REFUSED, Reason.GUARD, verdict.summary)
        self.known.wip = WipChange(tree=snapshot.tree)
        if verdict.environment:
            raise Ended(Outcome.UNJUDGED, Reason.ENVIRONMENT, verdict.summary)
        if verdict.flaky_baseline:
            raise Ended(Outcome.UNJUDGED, Reason.FLAKY_BASELINE, verdict.summary)
        raise Ended(Outcome.UNVERIFIED, None, verdict.summary)

    def _used(self, words: Sequence[Allowance], verdict: Verdict) -> tuple[Allowance, ...]:
        """Return those of the maintainers' words without which this change would have been refused."""
        used = {finding.id for finding in verdict.findings if finding.allowed_by}
        if self.known.allowed is not None:
            used.add(self.known.allowed.change.name)
        return tuple(word for word in words if word.change in used)

    def _snapshot(self) -> Snapshot:
        ground = self.ground
        snapshot = ground.mirror.snapshot(ground.workspace.tree, ground.start_tree)
        self.known.left_out = (
            *(f"{excluded.path} ({excluded.why})" for excluded in snapshot.excluded),
            *(f"{path} (ignored by the repository)" for path in snapshot.ignored),
        )
        return snapshot

    def _objections(self, snapshot: Snapshot) -> _Objections:
        ground = self.ground
        protection = Protection(ground.mirror, ground.base_tree, ground.config, self.protected_everywhere)
        changes = ground.mirror.changes(ground.base_tree, snapshot.tree)
        protected = protection.touched(changes, snapshot.tree)
        self.known.allowed = allowed_by(protected, self.order.allowances())
        found = _critical(
            (
                *check_change(changes, protection.patterns),
                *scan_secrets(ground.mirror.added_lines(ground.base_tree, snapshot.tree)),
            )
        )
        others = tuple(finding for finding in found if finding.rule != PROTECTED_RULE)
        if self.known.allowed is not None:
            return _Objections(others)
        return _Objections(found, None if others else protected)

    def _refuse_repetition(self, snapshot: Snapshot) -> None:
        """End where an earlier attempt came to the same change, with what was said of it then."""
        earlier = self._earlier(snapshot)
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

    def _earlier(self, snapshot: Snapshot) -> PastAttempt | None:
        """Return an earlier attempt that came to the same tree, or did the very same on another base."""
        words = self.order.allowances()
        judged = [
            past
            for past in self.order.past
            if past.outcome in _JUDGED and not (past.verdict and is_cleared(past.verdict, words))
        ]
        same = next((past for past in judged if past.tree == snapshot.tree), None)
        rejected = [past for past in judged if past.outcome in _REJECTED and past.tree]
        if same is not None or not rejected:
            return same
        mine = self.ground.mirror.fingerprint(self.ground.base_tree, snapshot.tree)
        return next((past for past in rejected if self._fingerprint(past) == mine), None)

    def _fingerprint(self, past: PastAttempt) -> str:
        mirror = self.ground.mirror
        if past.verdict is None:
            return ""
        try:
            return mirror.fingerprint(mirror.tree_of(past.verdict.base_sha), past.tree)
        except GitError:
            return ""  # a mirror that was made anew lacks what was never pushed

    def _refuse(self, snapshot: Snapshot, objections: _Objections, isolation: str) -> None:
        """End before anything is committed or tested; where a maintainer's word is enough, for good."""
        first = objections.findings[0]
        self._judged(
            Verdict(
                verified=False,
                summary=f"Refused before any test was run: {first.what}",
                base_sha=self.ground.base_sha,
                tree=snapshot.tree,
                runs=(),
                findings=objections.findings,
                turned_green=(),
                broken=(),
                isolation=isolation,
                protected=objections.protected,
            )
        )
        outcome = Outcome.DECLINED if objections.protected else Outcome.REFUSED
        raise Ended(outcome, Reason.PROTECTED_PATH, first.what)

    def _judged(self, verdict: Verdict) -> None:
        self.known.verdict = verdict
        self.journal.judged(verdict)


def _critical(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(finding for finding in findings if finding.severity is Severity.CRITICAL)
