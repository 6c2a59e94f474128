"""Contract checks of pull requests: one open from our branch, always a draft, never somebody else's."""

# ruff: noqa: D102  (a check is described by its name)

from __future__ import annotations

import pytest

from domain.errors import ForgeError, ForgeUnavailable, NotFound, PermissionRefused
from domain.model import Actor, IssueRef
from domain.ports import Capability, Forge
from providers.conformance.reading import BRANCHES, TEXTS
from providers.conformance.stage import ForgeStage, StagedChecks, needs, proposal

HEAD = "fixwright/issue-1"


class PullingChecks(StagedChecks):
    """find_pull and ensure_pull."""

    @pytest.fixture
    def head_sha(self, stage: ForgeStage, repository_id: str) -> str:
        """The sha of our branch, one commit ahead of `main`."""
        return stage.push(repository_id, HEAD, "fix.txt")

    def test_there_is_no_pull_request_before_one_is_made(
        self, repository_id: str, head_sha: str, forge: Forge
    ) -> None:
        assert forge.find_pull(repository_id, HEAD) is None
        assert forge.find_pull(repository_id, "no-such-branch") is None

    def test_a_pull_request_is_as_proposed(self, repository_id: str, head_sha: str, forge: Forge) -> None:
        made = forge.ensure_pull(repository_id, proposal())
        assert (made.title, made.head_branch, made.base_branch) == ("Fix the crash", HEAD, "main")
        assert made.body.startswith("Why and how.") and made.body.count("<!-- fixwright:task-1 -->") == 1
        assert made.head_sha == head_sha and made.is_open and not made.merged and made.url
        assert made.author is not None and made.author.id == forge.identity.id
        assert forge.find_pull(repository_id, HEAD) == made

    @needs(Capability.DRAFT_PULLS)
    def test_a_pull_request_is_a_draft(self, repository_id: str, head_sha: str, forge: Forge) -> None:
        assert forge.ensure_pull(repository_id, proposal()).is_draft

    def test_a_branch_has_one_open_pull_request(
        self, repository_id: str, head_sha: str, forge: Forge
    ) -> None:
        first = forge.ensure_pull(repository_id, proposal())
        assert forge.ensure_pull(repository_id, proposal()) == first

    def test_a_new_proposal_replaces_the_old(self, repository_id: str, head_sha: str, forge: Forge) -> None:
        first = forge.ensure_pull(repository_id, proposal())
        second = forge.ensure_pull(repository_id, proposal(title="Fix it better", body="New words."))
        assert second.number == first.number
        found = forge.find_pull(repository_id, HEAD)
        assert found is not None and found.title == "Fix it better"
        assert "New words." in found.body and "Why and how." not in found.body

    def test_another_client_adopts_the_pull_request(
        self, stage: ForgeStage, repository_id: str, head_sha: str, forge: Forge
    ) -> None:
        first = forge.ensure_pull(repository_id, proposal())
        assert stage.forge().ensure_pull(repository_id, proposal()) == first
        assert forge.find_pull(repository_id, HEAD) == first

    def test_a_new_base_is_taken(
        self, stage: ForgeStage, repository_id: str, head_sha: str, forge: Forge
    ) -> None:
        stage.push(repository_id, "stable", "old.txt")
        first = forge.ensure_pull(repository_id, proposal())
        second = forge.ensure_pull(repository_id, proposal(base_branch="stable"))
        assert (second.number, second.base_branch) == (first.number, "stable")

    @pytest.mark.parametrize("text", TEXTS)
    def test_texts_are_written_as_they_are(
        self, repository_id: str, head_sha: str, forge: Forge, text: str
    ) -> None:
        made = forge.ensure_pull(repository_id, proposal(title="Ünï 🎉 `x`", body=text))
        assert made.title == "Ünï 🎉 `x`" and made.body.startswith(text.rstrip())
        assert forge.find_pull(repository_id, HEAD) == made

    def test_a_renamed_repository_keeps_its_pull_request(
        self, stage: ForgeStage, repository_id: str, head_sha: str, forge: Forge
    ) -> None:
        first = forge.ensure_pull(repository_id, proposal())
        stage.rename_repository(repository_id)
        found = forge.find_pull(repository_id, HEAD)
        assert found is not None and found.number == first.number
        assert forge.ensure_pull(repository_id, proposal(title="Again")).number == first.number

    def test_an_archived_repository_takes_no_pull_request(
        self, stage: ForgeStage, repository_id: str, head_sha: str, forge: Forge
    ) -> None:
        stage.archive(repository_id)
        with pytest.raises(PermissionRefused):
            forge.ensure_pull(repository_id, proposal())
        assert forge.find_pull(repository_id, HEAD) is None

    def test_a_marker_in_the_body_is_not_doubled(
        self, repository_id: str, head_sha: str, forge: Forge
    ) -> None:
        wanted = proposal(body="Words.\n\n<!-- fixwright:task-1 -->")
        forge.ensure_pull(repository_id, wanted)
        assert forge.ensure_pull(repository_id, wanted).body.count("fixwright:task-1") == 1

    def test_labels_are_put_on(self, repository_id: str, head_sha: str, forge: Forge) -> None:
        made = forge.ensure_pull(repository_id, proposal(labels=("fixwright", "bug")))
        forge.ensure_pull(repository_id, proposal(labels=("fixwright",)))
        ref = IssueRef(forge=forge.name, repository_id=repository_id, number=made.number)
        assert set(forge.issue(ref).labels) == {"fixwright", "bug"}

    def test_the_head_is_where_the_branch_is_now(
        self, stage: ForgeStage, repository_id: str, head_sha: str, forge: Forge
    ) -> None:
        forge.ensure_pull(repository_id, proposal())
        moved = stage.push(repository_id, HEAD, "more.txt")
        found = forge.find_pull(repository_id, HEAD)
        assert found is not None and moved != head_sha and found.head_sha == moved

    @pytest.mark.parametrize("branch", BRANCHES[1:])
    def test_branch_names_that_git_takes_are_taken(self, stage: ForgeStage, branch: str) -> None:
        repository_id = stage.repository(default_branch=branch)
        stage.push(repository_id, f"topic/{branch}", "new.txt")
        wanted = proposal(head=f"topic/{branch}", base_branch=branch)
        made = stage.forge().ensure_pull(repository_id, wanted)
        assert (made.head_branch, made.base_branch) == (f"topic/{branch}", branch)
        assert stage.forge().find_pull(repository_id, f"topic/{branch}") == made

    def test_branches_do_not_run_into_one_another(
        self, stage: ForgeStage, repository_id: str, forge: Forge
    ) -> None:
        for number in (1, 11):
            stage.push(repository_id, f"fixwright/issue-{number}", "fix.txt")
        longer = forge.ensure_pull(repository_id, proposal("fixwright/issue-11"))
        assert forge.find_pull(repository_id, "fixwright/issue-1") is None
        assert forge.ensure_pull(repository_id, proposal("fixwright/issue-1")).number != longer.number

    def test_no_commits_is_said(self, stage: ForgeStage, repository_id: str, forge: Forge) -> None:
        with pytest.raises(ForgeError, match=r"(?i)no commits") as refused:
            forge.ensure_pull(repository_id, proposal("main"))
        assert not isinstance(refused.value, ForgeUnavailable)

    def test_a_missing_base_is_said(self, repository_id: str, head_sha: str, forge: Forge) -> None:
        with pytest.raises(ForgeError, match=r"(?i)base"):
            forge.ensure_pull(repository_id, proposal(base_branch="was-renamed"))
        assert forge.find_pull(repository_id, HEAD) is None

    def test_a_missing_head_is_said(self, repository_id: str, forge: Forge) -> None:
        with pytest.raises(ForgeError, match=r"(?i)head"):
            forge.ensure_pull(repository_id, proposal("never-pushed"))

    @pytest.mark.parametrize(
        ("field", "text"), [("title", "t" * 5000), ("title", " "), ("body", "b" * 2_000_000)]
    )
    def test_a_text_that_cannot_be_is_refused(
        self, repository_id: str, head_sha: str, forge: Forge, field: str, text: str
    ) -> None:
        with pytest.raises(ForgeError):
            forge.ensure_pull(repository_id, proposal(**{field: text}))
        assert forge.find_pull(repository_id, HEAD) is None

    def test_somebody_elses_pull_request_is_left_alone(
        self, stage: ForgeStage, repository_id: str, head_sha: str, person: Actor, forge: Forge
    ) -> None:
        number = stage.open_pull(repository_id, person, HEAD, "main")
        before = forge.find_pull(repository_id, HEAD)
        assert before is not None and before.author == person
        with pytest.raises(ForgeError, match=rf"\b{number}\b") as refused:
            forge.ensure_pull(repository_id, proposal())
        assert not isinstance(refused.value, ForgeUnavailable)
        assert forge.find_pull(repository_id, HEAD) == before

    def test_a_closed_pull_request_is_not_taken_up_again(
        self, stage: ForgeStage, repository_id: str, head_sha: str, person: Actor, forge: Forge
    ) -> None:
        first = forge.ensure_pull(repository_id, proposal())
        stage.close_pull(repository_id, first.number, person)
        closed = forge.find_pull(repository_id, HEAD)
        assert closed is not None and not closed.is_open and not closed.merged
        second = forge.ensure_pull(repository_id, proposal())
        assert second.number != first.number and second.is_open

    def test_the_open_pull_request_is_found_first_then_the_newest(
        self, stage: ForgeStage, repository_id: str, head_sha: str, person: Actor, forge: Forge
    ) -> None:
        numbers = []
        for _ in range(3):
            numbers.append(forge.ensure_pull(repository_id, proposal()).number)
            found = forge.find_pull(repository_id, HEAD)
            assert found is not None and found.is_open and found.number == numbers[-1]
            stage.close_pull(repository_id, numbers[-1], person)
        found = forge.find_pull(repository_id, HEAD)
        assert found is not None and found.number == max(numbers)

    def test_an_open_pull_request_is_found_before_a_newer_closed_one(
        self, stage: ForgeStage, repository_id: str, head_sha: str, person: Actor, forge: Forge
    ) -> None:
        stage.push(repository_id, "stable", "old.txt")
        ours = forge.ensure_pull(repository_id, proposal())
        newer = stage.open_pull(repository_id, person, HEAD, "stable")
        stage.close_pull(repository_id, newer, person)
        assert newer > ours.number
        assert forge.find_pull(repository_id, HEAD) == ours

    def test_a_merged_pull_request_says_so(
        self, stage: ForgeStage, repository_id: str, head_sha: str, person: Actor, forge: Forge
    ) -> None:
        number = forge.ensure_pull(repository_id, proposal()).number
        stage.merge_pull(repository_id, number, person)
        found = forge.find_pull(repository_id, HEAD)
        assert found is not None and found.merged and not found.is_open and found.head_sha == head_sha

    def test_pull_requests_need_a_permission(
        self, stage: ForgeStage, repository_id: str, head_sha: str, forge: Forge
    ) -> None:
        stage.restrict_bot(repository_id)
        with pytest.raises(PermissionRefused):
            forge.ensure_pull(repository_id, proposal())
        assert forge.find_pull(repository_id, HEAD) is None

    def test_pull_requests_need_a_repository(self, forge: Forge) -> None:
        with pytest.raises(NotFound):
            forge.ensure_pull("999999999", proposal())
