"""Gives an attempt's tests what they need: runs the set-up, and measures the base with it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from domain.model import Category, Outcome, Reason
from domain.ports import SandboxPolicy
from domain.repo_config import SetupSection
from harness.baseline import Baseline
from harness.ground import FreshCheckouts, Ground
from harness.journal import Journal
from harness.kept_baselines import KeptBaselines
from harness.order import Bench, Ended, Order
from harness.setup.detect import Files, detect_setup, is_needed, must_fail_without
from harness.setup.failure import SetupFailed
from harness.setup.phase import SetupPhase
from harness.setup.plan import SetupPlan
from harness.setup.prepared import NOTHING, Prepared
from harness.setup.site import Site
from harness.testing.plan import TestPlan
from harness.verify import Verifier
from harness.workspace.mirrors import KEPT_BASELINES


@dataclass(frozen=True, slots=True)
class Equipped:
    """What the attempt works with from here on: a bench whose sessions see the set-up, and the baseline."""

    bench: Bench
    verifier: Verifier
    baseline: Baseline
    prepared: Prepared


@dataclass(frozen=True, slots=True)
class Equipment:
    """Sets up one attempt, before any of the issue's text goes anywhere."""

    bench: Bench
    order: Order
    ground: Ground
    journal: Journal

    @contextmanager
    def equip(self) -> Iterator[Equipped]:
        """Yield the equipment; the set-up's result is held as long.

        What the configuration names is set up first. What is only detected has to be allowed by the operator,
        and needed by the base's own suite: the suite's run says so, unless its files say it before, or an
        earlier run did. Raises Ended, SandboxError, GitError, Stopped.
        """
        prepared = self._configured()
        try:
            if prepared is NOTHING:
                prepared = self._foreseen()
            equipped = self._measured(prepared)
            if prepared is NOTHING and (plan := self._detected(equipped.baseline)) is not None:
                prepared = self._set_up(plan)
                equipped = self._measured(prepared)
            yield equipped
        finally:
            prepared.release()

    def _configured(self) -> Prepared:
        """Run what `.fixwright.yml` names."""
        section = self.ground.config.setup
        if section.commands:
            plan = SetupPlan(
                commands=tuple(section.commands),
                why="`setup.commands` in .fixwright.yml",
                env=section.env,
                timeout_seconds=section.timeout_seconds,
                directory=self.ground.config.working_directory,
            )
            return self._set_up(plan)
        return NOTHING

    def _foreseen(self) -> Prepared:
        """Set up before the suite is run what it is known not to run without.

        A set-up that fails here is no verdict yet: the suite may do without after all, and says so itself.
        """
        phase = self.bench.setup
        if phase is None or not self._may_detect(phase):
            return NOTHING
        test_plan = self._verifier(NOTHING).plan(self.ground.base_sha, self.ground.config)
        files, site = self._files(), self._site()
        if test_plan is None or (plan := self._plain(phase, test_plan)) is None:
            return NOTHING
        kept = phase.kept(plan, site)
        if kept is None and not must_fail_without(files, test_plan):
            return NOTHING
        with self.journal.phase("set-up") as note:
            try:
                prepared = kept or phase.prepare(plan, site, _hosts(self.ground.config.setup))
            except SetupFailed as failure:
                note.text = str(failure).partition("\n")[0]
                return NOTHING
            note.text = prepared.note
            return prepared

    def _detected(self, baseline: Baseline) -> SetupPlan | None:
        """Return the plain set-up of a repository whose suite does not work without one."""
        phase = self.bench.setup
        if phase is None or not self._may_detect(phase) or not is_needed(baseline):
            return None
        return self._plain(phase, baseline.plan)

    def _may_detect(self, phase: SetupPhase) -> bool:
        return self.ground.config.setup.commands is None and phase.rules.is_online

    def _plain(self, phase: SetupPhase, test_plan: TestPlan | None) -> SetupPlan | None:
        """Return the set-up that the repository's files speak of, for a suite that is run so."""
        site = self._site()
        place = self.ground.config.working_directory
        section = self.ground.config.setup
        plan = detect_setup(self._files(), test_plan, section, lambda name: phase.has(name, site))
        return replace(plan, directory=place) if plan else None

    def _files(self) -> Files:
        """Return the base's files, as seen from the directory that all is about."""
        site = self._site()
        place = self.ground.config.working_directory
        start = f"{place}/" if place else ""
        names = frozenset(path.removeprefix(start) for path in site.ground().blobs if path.startswith(start))
        return Files(names, lambda path: site.mirror.read_file(site.tree, start + path))

    def _set_up(self, plan: SetupPlan) -> Prepared:
        with self.journal.phase("set-up") as note:
            try:
                prepared = self._phase().prepare(plan, self._site(), _hosts(self.ground.config.setup))
            except SetupFailed as failure:
                note.text = str(failure).partition("\n")[0]
                if self.ground.category is Category.DOCS:
                    return NOTHING  # documentation can be judged without the tests
                raise Ended(Outcome.UNJUDGED, Reason.ENVIRONMENT, str(failure)) from None
            note.text = prepared.note
            return prepared

    def _phase(self) -> SetupPhase:
        if self.bench.setup is None:
            raise SetupFailed("This service sets nothing up; its operator has to be asked.")
        return self.bench.setup

    def _measured(self, prepared: Prepared) -> Equipped:
        """Run the base's own suite with what is set up so far."""
        bench = replace(self.bench, limits=lambda place: prepared.within(self.bench.limits(place)))
        verifier = self._verifier(prepared)
        with self.journal.phase("baseline") as note:
            baseline = verifier.baseline(self.ground.base_sha, self.ground.config)
            note.text = baseline.in_words
        return Equipped(bench, verifier, baseline, prepared)

    def _verifier(self, prepared: Prepared) -> Verifier:
        """Return the verifier whose runs see what is set up so far."""
        limits = self.bench.policy(self.ground.workspace, self.order.repository)

        def policy(given: SandboxPolicy) -> SandboxPolicy:
            mine = replace(limits, writable=given.writable, scratch=given.scratch, env=given.env)
            return prepared.within(mine)

        checkouts = FreshCheckouts(self.bench.workspaces, self.ground.mirror)
        kept = KeptBaselines(self.ground.mirror.path / KEPT_BASELINES)
        return Verifier(self.bench.sandbox, self.ground.mirror, checkouts, policy=policy, kept=kept)

    def _site(self) -> Site:
        ground = self.ground
        return Site(
            repository=self.order.repository,
            mirror=ground.mirror,
            tree=ground.base_tree,
            sandbox=self.bench.sandbox,
            workspaces=self.bench.workspaces,
            limits=self.bench.policy(ground.workspace, self.order.repository),
        )


def _hosts(section: SetupSection) -> tuple[str, ...] | None:
    return None if section.hosts == "auto" else tuple(section.hosts)
