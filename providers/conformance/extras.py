"""Contract checks of what only some forges can do; a forge that does not claim it skips them, visibly."""

# ruff: noqa: D102  (a check is described by its name)

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from domain.errors import ForgeError, NotFound, PermissionRefused
from domain.model import Actor, IssueRef
from domain.ports import (
    Capability,
    Checking,
    CheckReport,
    CiState,
    Conclusion,
    Forge,
    HoldingSecrets,
    Labelling,
    ListingPulls,
    ListingReactions,
    Reacting,
    ReadingFiles,
    Redelivering,
    RequestingReviews,
    Rerunning,
    Reviewing,
    SelfChecking,
    WatchingCi,
)
from providers.conformance.reading import LABELS
from providers.conformance.stage import ForgeStage, StagedChecks, needs, proposal

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


PROTOCOLS: dict[Capability, type] = {
    Capability.REACTIONS: Reacting,
    Capability.REACTION_LISTS: ListingReactions,
    Capability.LABELS: Labelling,
    Capability.FILES: ReadingFiles,
    Capability.CHECKS: Checking,
    Capability.CI: WatchingCi,
    Capability.RERUNS: Rerunning,
    Capability.REVIEWS: Reviewing,
    Capability.REVIEW_REQUESTS: RequestingReviews,
    Capability.DELIVERIES: Redelivering,
    Capability.SECRETS: HoldingSecrets,
}


class ExtraChecks(StagedChecks):
    """Labels, files, checks, continuous integration, review threads, missed deliveries, secrets."""

    def test_what_is_claimed_is_there(self, forge: Forge) -> None:
        lacking = [
            capability.value
            for capability in forge.capabilities
            if capability in PROTOCOLS and not isinstance(forge, PROTOCOLS[capability])
        ]
        assert lacking == [], "claimed, but without the methods"

    def test_a_forge_that_checks_itself_finds_nothing(self, repository_id: str, forge: Forge) -> None:
        if not isinstance(forge, SelfChecking):
            pytest.skip(f"{forge.name} does not check itself")
        forge.check()

    @needs(Capability.LABELS)
    @pytest.mark.parametrize("name", LABELS)
    def test_labels_of_ours_keep_their_names(self, issue: IssueRef, forge: Forge, name: str) -> None:
        assert isinstance(forge, Labelling)
        forge.add_labels(issue, [name])
        assert forge.issue(issue).labels == (name,)
        assert [change.actor.id for change in forge.label_changes(issue)] == [forge.identity.id]
        forge.remove_label(issue, name)
        assert forge.issue(issue).labels == ()

    @needs(Capability.FILES)
    def test_files_of_an_unknown_repository_are_not_found(self, forge: Forge) -> None:
        assert isinstance(forge, ReadingFiles)
        with pytest.raises(NotFound):
            forge.file_at("999999999", "main", "README.md")

    @needs(Capability.CHECKS)
    @pytest.mark.parametrize("conclusion", list(Conclusion))
    def test_a_check_ends_in_every_way(
        self, stage: ForgeStage, repository_id: str, forge: Forge, conclusion: Conclusion
    ) -> None:
        assert isinstance(forge, Checking)
        sha = stage.push(repository_id, "topic", "new.txt")
        report = CheckReport(
            name="Fixwright", sha=sha, key="k", title="日本語 🎉", summary="s", conclusion=conclusion
        )
        assert forge.ensure_check(repository_id, report) == forge.ensure_check(repository_id, report)

    @needs(Capability.SECRETS)
    def test_after_closing_new_credentials_are_used(self, repository_id: str, forge: Forge) -> None:
        assert isinstance(forge, HoldingSecrets)
        told: list[str] = []
        forge.on_secret(told.append)
        forge.repository(repository_id)
        held = set(told)
        for _ in range(2):
            forge.close()
        told.clear()
        forge.repository(repository_id)
        assert told and not held & set(told), "after closing, nothing of old is used"

    @needs(Capability.LABELS)
    def test_labels_are_put_on_and_taken_off(self, issue: IssueRef, forge: Forge) -> None:
        assert isinstance(forge, Labelling)
        forge.add_labels(issue, ["in progress", "a/b #1"])
        forge.add_labels(issue, ["in progress"])
        assert sorted(forge.issue(issue).labels) == ["a/b #1", "in progress"]
        for _ in range(2):
            forge.remove_label(issue, "a/b #1")
        assert forge.issue(issue).labels == ("in progress",)
        forge.add_labels(issue, [])
        wrong = IssueRef(forge=issue.forge, repository_id=issue.repository_id, number=987654)
        with pytest.raises(NotFound):
            forge.remove_label(wrong, "x")

    @needs(Capability.LABELS)
    def test_labels_need_a_permission(
        self, stage: ForgeStage, repository_id: str, issue: IssueRef, forge: Forge
    ) -> None:
        assert isinstance(forge, Labelling)
        stage.restrict_bot(repository_id)
        with pytest.raises(PermissionRefused):
            forge.add_labels(issue, ["x"])

    @needs(Capability.FILES)
    @pytest.mark.parametrize("path", ["lib/a b.txt", "ünï/🎉.md", "a#b?c%20d"])
    def test_a_file_is_as_it_was_pushed(
        self, stage: ForgeStage, repository_id: str, forge: Forge, path: str
    ) -> None:
        assert isinstance(forge, ReadingFiles)
        sha = stage.push(repository_id, "topic/a", path)
        assert forge.file_at(repository_id, "topic/a", path) == path.encode()
        assert forge.file_at(repository_id, sha, path) == path.encode()
        assert forge.file_at(repository_id, "main", path) is None

    @needs(Capability.FILES)
    @pytest.mark.parametrize("path", ["", "/", "..", "../README.md", "lib/../README.md", "lib", "README.md/"])
    def test_what_is_no_file_is_none(
        self, stage: ForgeStage, repository_id: str, forge: Forge, path: str
    ) -> None:
        assert isinstance(forge, ReadingFiles)
        stage.push(repository_id, "main", "lib/a.txt")
        assert forge.file_at(repository_id, "main", path) is None
        assert forge.file_at(repository_id, "no-such-branch", "README.md") is None

    @needs(Capability.CHECKS)
    def test_a_check_is_made_once_and_brought_up_to_date(
        self, stage: ForgeStage, repository_id: str, forge: Forge
    ) -> None:
        assert isinstance(forge, Checking)
        sha = stage.push(repository_id, "topic", "new.txt")
        begun = CheckReport(name="Fixwright", sha=sha, key="attempt-1", title="Verifying", summary="...")
        first = forge.ensure_check(repository_id, begun)
        ended = CheckReport(
            name="Fixwright",
            sha=sha,
            key="attempt-1",
            title="Verified",
            summary="x" * 100_000,
            conclusion=Conclusion.SUCCESS,
        )
        assert forge.ensure_check(repository_id, ended) == first
        other = CheckReport(name="Fixwright", sha=sha, key="attempt-2", title="Again", summary="")
        assert forge.ensure_check(repository_id, other) != first
        if isinstance(forge, WatchingCi):
            assert forge.ci_status(repository_id, sha).state is CiState.NONE, "our own checks are no CI"

    @needs(Capability.CI)
    def test_checks_and_statuses_count_together(
        self, stage: ForgeStage, repository_id: str, forge: Forge
    ) -> None:
        assert isinstance(forge, WatchingCi)
        sha = stage.push(repository_id, "topic", "new.txt")
        assert forge.ci_status(repository_id, sha).state is CiState.NONE
        for number in range(120):
            stage.report_ci(repository_id, sha, f"test-{number}", "success")
        stage.report_ci(repository_id, sha, "optional", "skipped")
        stage.report_ci(repository_id, sha, "old style", "success", as_status=True)
        found = forge.ci_status(repository_id, sha)
        assert found.state is CiState.GREEN and len(found.jobs) == 122
        stage.report_ci(repository_id, sha, "deploy", "failure", as_status=True)
        assert forge.ci_status(repository_id, sha).state is CiState.RED
        stage.report_ci(repository_id, sha, "slow", "")
        assert forge.ci_status(repository_id, sha).state is CiState.PENDING

    @needs(Capability.CI)
    def test_the_end_of_a_failed_jobs_log(self, stage: ForgeStage, repository_id: str, forge: Forge) -> None:
        assert isinstance(forge, WatchingCi)
        sha = stage.push(repository_id, "topic", "new.txt")
        lines = [f"line {number:06d} ünï" for number in range(20_000)]
        stage.report_ci(repository_id, sha, "tests", "failure", log="\n".join(lines))
        (job,) = forge.ci_status(repository_id, sha).jobs
        assert job.state is CiState.RED and job.job_id
        tail = forge.job_log_tail(repository_id, job.job_id, most_bytes=1000)
        assert 900 < len(tail.encode()) <= 1000 and tail.splitlines() == lines[-len(tail.splitlines()) :]
        assert forge.job_log_tail(repository_id, job.job_id, most_bytes=10**7).splitlines() == lines
        with pytest.raises(NotFound):
            forge.job_log_tail(repository_id, "987654321")

    @needs(Capability.RERUNS)
    def test_a_job_is_run_again_or_that_is_refused(
        self, stage: ForgeStage, repository_id: str, forge: Forge
    ) -> None:
        assert isinstance(forge, Rerunning) and isinstance(forge, WatchingCi)
        sha = stage.push(repository_id, "topic", "new.txt")
        stage.report_ci(repository_id, sha, "tests", "failure", log="no space left on device")
        (job,) = forge.ci_status(repository_id, sha).jobs
        try:
            forge.rerun_job(repository_id, job.job_id)
        except PermissionRefused:
            assert forge.ci_status(repository_id, sha).state is CiState.RED
        else:
            assert forge.ci_status(repository_id, sha).state is CiState.PENDING
            with pytest.raises(NotFound):
                forge.rerun_job(repository_id, "987654321")

    @needs(Capability.REVIEW_REQUESTS)
    def test_somebody_is_asked_for_a_review_and_nobody_unknown(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        assert isinstance(forge, RequestingReviews)
        stage.push(repository_id, "fixwright/issue-1", "fix.txt")
        number = forge.ensure_pull(repository_id, proposal()).number
        for _ in range(2):
            forge.request_review(repository_id, number, person)
        forge.request_review(repository_id, number, Actor(id="", login=person.login))
        for nobody in (Actor(id="987654321", login="nobody"), Actor(id="", login="nobody")):
            with pytest.raises(ForgeError):
                forge.request_review(repository_id, number, nobody)

    @needs(Capability.PULL_LISTS)
    def test_open_pull_requests_are_listed_and_closed_ones_are_not(
        self, stage: ForgeStage, repository_id: str, forge: Forge
    ) -> None:
        assert isinstance(forge, ListingPulls)
        assert list(forge.open_pulls(repository_id)) == []
        stage.push(repository_id, "fixwright/issue-1", "fix.txt")
        made = forge.ensure_pull(repository_id, proposal())
        (found,) = forge.open_pulls(repository_id)
        assert (found.number, found.title, found.is_open) == (made.number, made.title, True)
        assert found.author is not None and found.author.id == forge.identity.id

    @needs(Capability.REVIEWS)
    def test_review_threads_are_read_whole_and_answered_once(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        assert isinstance(forge, Reviewing)
        stage.push(repository_id, "fixwright/issue-1", "fix.txt")
        number = forge.ensure_pull(repository_id, proposal()).number
        assert forge.review_threads(repository_id, number) == ()
        for at in range(3):
            stage.review(repository_id, number, person, "fix.txt", [f"{at}.{n}" for n in range(5)])
        found = forge.review_threads(repository_id, number)
        told = [[comment.body for comment in thread.comments] for thread in found]
        assert told == [[f"{at}.{n}" for n in range(5)] for at in range(3)]
        assert found[0].path == "fix.txt" and found[0].comments[0].author == person
        first = forge.reply(repository_id, number, found[1], "round-1", "Done.")
        assert forge.reply(repository_id, number, found[1], "round-1", "Done.") == first
        assert forge.reply(repository_id, number, found[1], "round-2", "Done again.") != first
        with pytest.raises(NotFound):
            forge.review_threads(repository_id, 987654)

    @needs(Capability.DELIVERIES)
    def test_a_missed_delivery_is_found_and_sent_again(self, stage: ForgeStage, forge: Forge) -> None:
        assert isinstance(forge, Redelivering)
        assert forge.missed_deliveries(LONG_AGO) == ()
        guids = [stage.miss_delivery() for _ in range(3)]
        missed = forge.missed_deliveries(LONG_AGO)
        assert [delivery.guid for delivery in missed] == guids
        forge.redeliver(missed[1].id)
        assert [delivery.guid for delivery in forge.missed_deliveries(LONG_AGO)] == guids[::2]
        assert forge.missed_deliveries(datetime.now(UTC).replace(year=2100)) == ()
        for wrong in ("987654321", "", "x"):
            with pytest.raises(ForgeError):
                forge.redeliver(wrong)

    @needs(Capability.SECRETS)
    def test_every_credential_is_told_of(self, repository_id: str, forge: Forge) -> None:
        assert isinstance(forge, HoldingSecrets)
        told: list[str] = []
        forge.on_secret(told.append)
        secret = forge.clone_access(repository_id).secret
        assert secret and secret in told
        forge.close()
        assert forge.repository(repository_id).id == repository_id
