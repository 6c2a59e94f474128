"""Watches continuous integration of pushed commits, by asking now and then, and settles what it says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import structlog

from domain.errors import ForgeError, ForgeUnavailable, PermissionRefused, StaleWrite
from domain.model import Publication, PublicationKind, Task
from domain.ports import (
    Capability,
    CiEnd,
    CiJob,
    CiState,
    CiStatus,
    Forge,
    Landing,
    Rerunning,
    Watch,
    WatchingCi,
)
from domain.states import State, Trigger
from domain.text import clip, one_line
from domain.watching import CiReading, FailedJob, Patience, of_red, settle_watch, without_red
from worker import ci_words
from worker.housekeeping import Steps
from worker.task_work import Shop
from worker.voice import Voice

log = structlog.get_logger(__name__)

MOST_LOGS = 20
"""Red jobs whose logs are read; each of the others counts as one without a log."""

MOST_SHOWN = 5
"""Of these, as many are shown to the next attempt, the ones with an error to be read first."""

LOG_BYTES = 32_768
EVIDENCE_PER_JOB = 6000
"""Characters of a log's end that the next attempt is shown."""

PAGE = 200


@dataclass(slots=True)
class CiWatcher:
    """Looks at every watched commit, a task at a time; between tasks, so that nothing waits for it."""

    shop: Shop
    patience: Patience
    _green: dict[int, tuple[frozenset[str], datetime]] = field(default_factory=dict)
    """Which jobs were green when they were first seen so, by watch: others may only appear when these end."""

    def steps(self) -> Steps:
        """Look once at each WATCHING task. A forge that is unavailable is left until the next round."""
        away: set[str] = set()
        for task in self._watching():
            if task.issue.forge in away:
                continue
            try:
                self._look(task)
            except ForgeUnavailable as error:
                away.add(task.issue.forge)
                log.warning("watch waits for the forge", task=task.id, error=str(error))
            except ForgeError as error:
                log.warning("commit not looked at", task=task.id, error=str(error))
            except StaleWrite as error:
                log.info("watched task was moved by somebody else", task=task.id, why=str(error))
            yield 0.0

    def _watching(self) -> Iterator[Task]:
        after = 0
        while page := self.shop.queue.live_tasks(after, PAGE):
            yield from (task for task in page if task.state is State.WATCHING)
            after = page[-1].id

    def _look(self, task: Task) -> None:
        forge, published = self.shop.forges.get(task.issue.forge), self._published(task)
        if forge is None or published is None or not isinstance(forge, WatchingCi):
            self.shop.queue.move(task, Trigger.CI_SETTLED)  # nobody is left who could tell
            return
        since = published.done_at or self.shop.clock.now()
        watch = self.shop.watches.begin(task, published.commit_sha, published.pull_number or 0, since)
        if watch.end is None:
            watch = self._watched(forge, task, watch)
        if watch.end is not None:
            self._settle(forge, task, watch)

    def _published(self, task: Task) -> Publication | None:
        done = [
            each
            for each in self.shop.queue.publications(task.id)
            if each.done_at is not None and each.kind is PublicationKind.PULL
        ]
        return done[-1] if done else None

    # -- reading ------------------------------------------------------------------------------------

    def _watched(self, forge: Forge, task: Task, watch: Watch) -> Watch:
        reading, jobs = self._read(forge, task, watch)
        if reading.rerun:
            return self._run_again(forge, task, watch, reading)
        return watch if reading.end is None else self._end(watch, reading, jobs)

    def _end(self, watch: Watch, reading: CiReading, jobs: Sequence[CiJob]) -> Watch:
        assert reading.end is not None
        minutes = (self.shop.clock.now() - watch.since).total_seconds() / 60
        about = [each.job for each in reading.jobs] or jobs
        return self.shop.watches.end(
            watch,
            reading.end,
            said=ci_words.line(reading.end, watch.sha, about, reruns=watch.reruns, minutes=minutes),
            error=reading.error,
            evidence=self._evidence(reading.jobs) if reading.end is CiEnd.OURS else "",
        )

    def _read(self, forge: Forge, task: Task, watch: Watch) -> tuple[CiReading, Sequence[CiJob]]:
        """Return what is to be done, and the jobs that it is about where none of them has failed."""
        assert isinstance(forge, WatchingCi)
        pull = forge.find_pull(task.issue.repository_id, task.wip_branch)
        if pull is not None and not pull.is_open:
            return CiReading(), ()  # its end is news of its own
        if pull is None or pull.head_sha != watch.sha:
            return CiReading(end=CiEnd.OVERTAKEN), ()
        status = forge.ci_status(task.issue.repository_id, watch.sha)
        found = without_red(status, watch, self.patience, self.shop.clock.now())
        if found is not None and found.end is CiEnd.GREEN and not self._stays_green(watch, status):
            return CiReading(), ()
        if found is not None:
            waits = found.end is CiEnd.UNFINISHED
            jobs = [job for job in status.jobs if job.state is CiState.PENDING or not waits]
            return found, jobs
        can_rerun = Capability.RERUNS in forge.capabilities and isinstance(forge, Rerunning)
        return of_red(self._failed(forge, task, status), watch, can_rerun=can_rerun), ()

    def _stays_green(self, watch: Watch, status: CiStatus) -> bool:
        """Tell whether the same jobs were green a while ago, and no other has appeared since."""
        names, now = frozenset(job.name for job in status.jobs), self.shop.clock.now()
        seen, since = self._green.get(watch.id, (frozenset[str](), now))
        if seen != names:
            self._green[watch.id] = (names, now)
            return False
        return now - since >= self.patience.calm

    def _failed(self, forge: WatchingCi, task: Task, status: CiStatus) -> list[FailedJob]:
        red = [job for job in status.jobs if job.state is CiState.RED]
        base = self._red_on_base(forge, task)
        repository = task.issue.repository_id
        found = []
        for position, job in enumerate(red):
            there = base.get(job.name)
            has_log = position < MOST_LOGS
            found.append(
                FailedJob(
                    job=job,
                    log=_log(forge, repository, job) if has_log else "",
                    base_log=(_log(forge, repository, there) if has_log else "") if there else None,
                )
            )
        return found

    def _red_on_base(self, forge: WatchingCi, task: Task) -> Mapping[str, CiJob]:
        """Return the jobs that are red on the newest base commit of which anything is known, by name."""
        queue = self.shop.queue
        ours = {each.commit_sha for each in queue.publications(task.id)}
        bases = [attempt.base_sha for attempt in queue.attempts(task.id)]
        for sha in dict.fromkeys(sha for sha in reversed(bases) if sha and sha not in ours):
            try:
                jobs = forge.ci_status(task.issue.repository_id, sha).jobs
            except ForgeUnavailable:
                raise
            except ForgeError:
                continue  # a merge of ours that nobody else has seen
            if jobs:
                return {job.name: job for job in jobs if job.state is CiState.RED}
        return {}

    def _run_again(self, forge: Forge, task: Task, watch: Watch, reading: CiReading) -> Watch:
        """Ask for another run, which is counted first; where that is refused, the watch ends."""
        assert isinstance(forge, Rerunning)
        counted = self.shop.watches.count_rerun(watch)
        try:
            for job in reading.rerun:
                forge.rerun_job(task.issue.repository_id, job.job_id)
                log.info("job run again", task=task.id, job=job.name, time=counted.reruns)
        except PermissionRefused as error:
            log.warning("job may not be run again", task=task.id, error=str(error))
            return self._end(watch, of_red(reading.jobs, watch, can_rerun=False), ())
        return counted

    def _evidence(self, failed: Sequence[FailedJob]) -> str:
        parts = []
        told = sorted(failed, key=lambda each: not each.log)  # stable: the forge's order among equals
        for each in told[:MOST_SHOWN]:
            tail = clip_end(self.shop.redact(each.log), EVIDENCE_PER_JOB)
            parts.append(f"Job {one_line(each.job.name, 80)}:\n{tail or '(there is no log to be had)'}")
        return "\n\n".join(parts)

    # -- settling -----------------------------------------------------------------------------------

    def _settle(self, forge: Forge, task: Task, watch: Watch) -> None:
        """Say what came of a watch, then move its task: a crash between the two repeats the words."""
        shop, voice = self.shop, Voice(forge, self.shop.redact)
        earlier = {
            each.error: each.sha
            for each in shop.watches.of_task(task.id)
            if each.id != watch.id and each.end is CiEnd.OURS and each.error
        }
        settled = settle_watch(
            watch, earlier=earlier, attempts=task.attempts, max_attempts=shop.caps.max_attempts
        )
        said = watch.said
        if settled.trigger is Trigger.RETRIED:
            said = ci_words.tries_again(said)
        elif settled.why:
            said = ci_words.stops(said, settled.why)
        if not voice.on_pull(task, watch.pull_number, "ci", said):
            return  # the next look says it again
        shop.queue.move(task, settled.trigger, Landing(reason=settled.reason, detail=clip(said, 2000)))
        log.info("watch settled", task=task.id, sha=watch.sha, end=watch.end, trigger=settled.trigger)
        shop.desk.has_moved(task.id)


def clip_end(text: str, most: int) -> str:
    """Return at most so many characters of a text's end, from the beginning of a line on."""
    if len(text) <= most:
        return text.strip()
    return "… " + text[-most:].partition("\n")[2].strip()


def _log(forge: WatchingCi, repository_id: str, job: CiJob) -> str:
    if not job.job_id:
        return ""
    try:
        return forge.job_log_tail(repository_id, job.job_id, most_bytes=LOG_BYTES)
    except ForgeUnavailable:
        raise
    except ForgeError as error:
        log.info("no log of a job", job=job.name, error=str(error))
        return ""
