"""Contract checks of what a forge tells: repositories, issues, comments, permissions, clone access."""

# ruff: noqa: D102  (a check is described by its name)

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest

from domain.errors import ForgeError, NotFound
from domain.model import Actor, IssueRef, Permission
from domain.ports import Forge, Purpose
from providers.conformance.stage import ForgeStage, StagedChecks

LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
BRANCHES = ["main", "trunk", "release/2.x", "ünï", "feat(core)-x", "release/#12", "a+b,c@d"]

# Forges with fewer levels may report the next lower one that they have; what is public, everybody can read.
GRANTS = {
    Permission.NONE: {Permission.NONE, Permission.READ},
    Permission.READ: {Permission.READ},
    Permission.TRIAGE: {Permission.TRIAGE, Permission.READ},
    Permission.WRITE: {Permission.WRITE},
    Permission.MAINTAIN: {Permission.MAINTAIN, Permission.WRITE},
    Permission.ADMIN: {Permission.ADMIN},
}

LABELS = ["help wanted", "ünï 🎉", "a/b#c?d", 'it\'s "quoted"', "50%41", "a+b&c=d", "<b>"]

TEXTS = [
    "plain",
    "two\nlines and a tail\n\n    indented",
    "日本語 🎉 \u202eright to left",
    "<script>alert(1)</script> & <!-- hidden -->",
    "{{ template }} ${{ secrets.X }} %s {0}",
    "@everyone closes #1",
]


class ReadingChecks(StagedChecks):
    """Reading changes nothing, sees all pages, and goes by ids."""

    def test_the_identity_is_the_same_for_every_client(self, stage: ForgeStage) -> None:
        first, second = stage.forge(), stage.forge()
        assert first.identity == second.identity
        assert first.identity.id and first.identity.is_bot
        assert first.name == second.name and first.capabilities == second.capabilities

    @pytest.mark.parametrize("branch", BRANCHES)
    def test_a_repository_is_found_by_its_id(self, stage: ForgeStage, branch: str) -> None:
        repository_id = stage.repository(default_branch=branch)
        found = stage.forge().repository(repository_id)
        assert (found.id, found.default_branch) == (repository_id, branch)
        assert (found.private, found.archived, found.forge) == (False, False, stage.forge().name)
        assert found.full_name.count("/") >= 1 and found.url

    def test_a_repository_says_that_it_is_private_or_archived(self, stage: ForgeStage) -> None:
        private, archived = stage.repository(private=True), stage.repository()
        stage.archive(archived)
        forge = stage.forge()
        assert forge.repository(private).private and not forge.repository(private).archived
        assert forge.repository(archived).archived and not forge.repository(archived).private

    def test_a_repository_is_found_by_its_name(self, stage: ForgeStage, forge: Forge) -> None:
        found = forge.repository(stage.repository())
        assert forge.repository_named(found.full_name) == found
        assert forge.repository_named(found.full_name.upper()) == found
        for wrong in (found.full_name + "-not", "nobody/nothing", "x", ""):
            with pytest.raises(NotFound):
                forge.repository_named(wrong)

    def test_a_renamed_repository_is_known_by_its_id(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        before = forge.repository(issue.repository_id)
        forge.ensure_comment(issue, "status", "before")
        stage.rename_repository(issue.repository_id)
        after = forge.repository(issue.repository_id)
        assert (after.id, after.default_branch) == (before.id, before.default_branch)
        assert after.full_name != before.full_name
        assert stage.forge().repository_named(after.full_name).id == before.id
        assert forge.issue(issue).title == "Crash on start"
        assert forge.ensure_comment(issue, "status", "after").id == forge.comments(issue)[0].id
        assert forge.permission_of(issue.repository_id, person) in GRANTS[Permission.NONE]

    def test_a_name_that_was_given_up_is_nobodys_or_leads_on(
        self, stage: ForgeStage, repository_id: str, forge: Forge
    ) -> None:
        old = forge.repository(repository_id).full_name
        stage.rename_repository(repository_id)
        for client in (forge, stage.forge()):
            with suppress(NotFound):
                assert client.repository_named(old).id == repository_id

    @pytest.mark.parametrize("name", LABELS)
    def test_labels_keep_their_names(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge, name: str
    ) -> None:
        ref = stage.open_issue(repository_id, person, "Labels", "", ("bug",))
        stage.label(ref, person, name)
        assert set(forge.issue(ref).labels) == {"bug", name}
        assert [change.label for change in forge.label_changes(ref)] == ["bug", name]
        found = forge.labelled_issues(repository_id, [name], changed_since=LONG_AGO)
        assert [issue.number for issue in found] == [ref.number]

    def test_labelled_issues_are_no_pull_requests(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        ref = stage.open_issue(repository_id, person, "An issue", "", ("bug",))
        stage.push(repository_id, "topic", "new.txt")
        number = stage.open_pull(repository_id, person, "topic", "main")
        stage.label(IssueRef(forge=forge.name, repository_id=repository_id, number=number), person, "bug")
        found = forge.labelled_issues(repository_id, ["bug"], changed_since=LONG_AGO)
        assert [issue.number for issue in found] == [ref.number]

    def test_labelled_issues_are_the_open_ones_oldest_first(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        both = stage.open_issue(repository_id, person, "Both", "", ("bug", "docs"))
        stage.open_issue(repository_id, person, "Other", "", ("question",))
        closed = stage.open_issue(repository_id, person, "Closed", "", ("bug",))
        stage.close_issue(closed, person)
        later = stage.open_issue(repository_id, person, "Later", None)
        stage.label(later, person, "docs")
        stage.open_issue(stage.repository(), person, "Elsewhere", "", ("bug",))

        def numbers(*labels: str, since: datetime = LONG_AGO) -> list[int]:
            found = forge.labelled_issues(repository_id, labels, changed_since=since)
            return [issue.number for issue in found]

        assert numbers("bug", "docs") == [both.number, later.number]
        assert numbers("bug") == numbers("BUG") == [both.number]
        assert numbers("nothing") == numbers() == []
        assert numbers("bug", "docs", since=datetime.now(UTC) + timedelta(days=2)) == []
        stage.unlabel(later, person, "docs")
        assert numbers("docs") == [both.number]
        changed = forge.issue(both).changed_at
        assert changed is None or changed.tzinfo is not None

    def test_all_of_120_labelled_issues_are_found(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        opened = [
            stage.open_issue(repository_id, person, f"Issue {number}", "", ("bug",)).number
            for number in range(120)
        ]
        found = forge.labelled_issues(repository_id, ["bug"], changed_since=LONG_AGO)
        assert [issue.number for issue in found] == opened

    def test_labelled_issues_of_an_unknown_repository_are_not_found(self, forge: Forge) -> None:
        with pytest.raises(NotFound):
            list(forge.labelled_issues("999999999", ["bug"], changed_since=LONG_AGO))

    def test_a_label_tells_who_put_it_on_and_who_took_it_off(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        other = stage.person("otto")
        ref = stage.open_issue(repository_id, person, "Labels", "", ("bug",))
        assert [(c.label, c.added, c.actor) for c in forge.label_changes(ref)] == [("bug", True, person)]
        stage.unlabel(ref, other, "bug")
        stage.label(ref, other, "bug")
        stage.open_issue(repository_id, other, "Another", "", ("bug",))
        found = forge.label_changes(ref)
        assert [(change.label, change.added, change.actor.id) for change in found] == [
            ("bug", True, person.id),
            ("bug", False, other.id),
            ("bug", True, other.id),
        ]
        times = [change.at for change in found]
        assert times == sorted(times) and all(time.tzinfo is not None for time in times)

    def test_all_of_130_label_changes_are_told(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        for _ in range(65):
            stage.label(issue, person, "bug")
            stage.unlabel(issue, person, "bug")
        assert [change.added for change in forge.label_changes(issue)] == [True, False] * 65

    def test_who_is_gone_is_not_named_as_the_one_who_labelled(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        ref = stage.open_issue(repository_id, person, "Labels", "", ("bug",))
        stage.delete_person(person)
        (change,) = forge.label_changes(ref)
        assert change.actor.id not in {person.id, forge.identity.id} and not change.actor.is_bot

    def test_an_empty_repository_is_a_repository(self, stage: ForgeStage) -> None:
        repository_id = stage.repository(empty=True)
        assert stage.forge().repository(repository_id).default_branch == "main"
        assert stage.forge().clone_access(repository_id).url

    @pytest.mark.parametrize("wrong", ["999999999", "", "not-a-number", "-1", "9" * 40, "٣"])
    def test_an_unknown_repository_is_not_found(self, forge: Forge, wrong: str) -> None:
        with pytest.raises(NotFound):
            forge.repository(wrong)
        with pytest.raises(NotFound):
            forge.clone_access(wrong)

    def test_an_issue_is_as_it_was_written(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        ref = stage.open_issue(repository_id, person, "Crash on start", "It crashes.", ("bug", "help wanted"))
        found = forge.issue(ref)
        assert (found.number, found.title, found.body) == (ref.number, "Crash on start", "It crashes.")
        assert found.author == person and set(found.labels) == {"bug", "help wanted"}
        assert found.is_open and not found.is_pull and not found.locked and found.assignees == ()

    @pytest.mark.parametrize("text", TEXTS)
    def test_text_comes_back_as_it_was(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge, text: str
    ) -> None:
        ref = stage.open_issue(repository_id, person, "A title", text)
        stage.comment(ref, person, text)
        assert forge.issue(ref).body == text
        assert [comment.body for comment in forge.comments(ref)] == [text]

    def test_no_body_is_an_empty_one(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        assert forge.issue(stage.open_issue(repository_id, person, "Only a title", None)).body == ""

    def test_a_closed_issue_says_so(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        stage.close_issue(issue, person)
        assert not forge.issue(issue).is_open

    def test_all_of_forty_labels_are_there(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        names = tuple(f"area-{number}" for number in range(40))
        ref = stage.open_issue(repository_id, person, "Labels", "", names)
        assert set(forge.issue(ref).labels) == set(names)

    def test_an_unknown_issue_is_not_found(self, issue: IssueRef, forge: Forge) -> None:
        for wrong in (
            IssueRef(forge=issue.forge, repository_id=issue.repository_id, number=987654),
            IssueRef(forge=issue.forge, repository_id="999999999", number=issue.number),
        ):
            with pytest.raises(NotFound):
                forge.issue(wrong)
            with pytest.raises(NotFound):
                forge.comments(wrong)
            with pytest.raises(NotFound):
                forge.label_changes(wrong)

    def test_a_pull_request_is_also_an_issue(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        stage.push(repository_id, "topic", "new.txt")
        number = stage.open_pull(repository_id, person, "topic", "main")
        ref = IssueRef(forge=forge.name, repository_id=repository_id, number=number)
        assert forge.issue(ref).is_pull
        stage.comment(ref, person, "on the pull request")
        assert [comment.body for comment in forge.comments(ref)] == ["on the pull request"]

    def test_text_of_a_deleted_author_is_still_there(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        stage.comment(issue, person, "so long")
        stage.delete_person(person)
        authors = {forge.issue(issue).author, forge.comments(issue)[0].author}
        assert forge.comments(issue)[0].body == "so long"
        assert not {author.id for author in authors} & {person.id, forge.identity.id}
        assert not any(author.is_bot for author in authors)

    def test_an_issue_without_comments_has_none(self, issue: IssueRef, forge: Forge) -> None:
        assert forge.comments(issue) == ()

    def test_all_of_130_comments_come_oldest_first(
        self, stage: ForgeStage, issue: IssueRef, person: Actor, forge: Forge
    ) -> None:
        ids = [stage.comment(issue, person, f"comment {number}") for number in range(130)]
        found = forge.comments(issue)
        assert [comment.id for comment in found] == ids
        assert [comment.body for comment in found] == [f"comment {number}" for number in range(130)]
        assert len({comment.url for comment in found}) == 130
        times = [comment.created_at for comment in found]
        assert times == sorted(times) and all(time.tzinfo is not None for time in times)

    @pytest.mark.parametrize("granted", list(GRANTS))
    def test_a_permission_is_as_granted(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge, granted: Permission
    ) -> None:
        stage.grant(repository_id, person, granted)
        assert forge.permission_of(repository_id, person) in GRANTS[granted]

    def test_a_permission_is_as_it_is_now(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        stage.grant(repository_id, person, Permission.WRITE)
        assert forge.permission_of(repository_id, person) is Permission.WRITE
        stage.grant(repository_id, person, Permission.NONE)
        assert forge.permission_of(repository_id, person) in GRANTS[Permission.NONE]

    def test_a_permission_belongs_to_one_repository(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        stage.grant(repository_id, person, Permission.ADMIN)
        other = stage.repository()
        assert forge.permission_of(other, person) in {Permission.NONE, Permission.READ}

    def test_a_permission_goes_by_id_and_not_by_login(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        stage.grant(repository_id, person, Permission.WRITE)
        stage.rename(person, f"{person.login}-renamed")
        impostor = stage.person(person.login)
        assert forge.permission_of(repository_id, person) is Permission.WRITE, "the old login was given"
        assert forge.permission_of(repository_id, impostor) in {Permission.NONE, Permission.READ}

    def test_strangers_may_do_nothing(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        stage.grant(repository_id, person, Permission.ADMIN)
        same_login = Actor(id="999999999", login=person.login)
        assert forge.permission_of(repository_id, same_login) is Permission.NONE
        stage.delete_person(person)
        assert forge.permission_of(repository_id, person) is Permission.NONE

    @pytest.mark.parametrize("odd", ["", "0", "-1", "abc", "9" * 40, "٣", "1 OR 1=1", "../1"])
    def test_an_odd_id_is_a_strangers(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge, odd: str
    ) -> None:
        stage.grant(repository_id, person, Permission.ADMIN)
        with suppress(ForgeError):
            held = forge.permission_of(repository_id, Actor(id=odd, login=person.login))
            assert held is Permission.NONE, "the login of an administrator helps nobody"

    def test_an_unknown_repository_permits_nothing(
        self, stage: ForgeStage, repository_id: str, person: Actor, forge: Forge
    ) -> None:
        stage.grant(repository_id, person, Permission.ADMIN)
        with suppress(ForgeError):
            assert forge.permission_of("999999999", person) is Permission.NONE

    def test_a_permission_in_a_private_repository(
        self, stage: ForgeStage, person: Actor, forge: Forge
    ) -> None:
        private = stage.repository(private=True)
        assert forge.permission_of(private, person) is Permission.NONE
        stage.grant(private, person, Permission.READ)
        assert forge.permission_of(private, person) is Permission.READ

    @pytest.mark.parametrize("purpose", list(Purpose))
    def test_a_credential_is_minted_for_each_operation_and_revoked(
        self, repository_id: str, forge: Forge, purpose: Purpose
    ) -> None:
        one, other = (forge.clone_access(repository_id, purpose) for _ in range(2))
        assert one.url == other.url
        assert not one.secret or one.secret != other.secret
        for access in (one, one, other):
            forge.revoke_access(access)

    def test_an_address_for_commits_shows_nobodys_own(self, person: Actor, forge: Forge) -> None:
        address = forge.noreply_address(person)
        assert not address or re.fullmatch(r"[^\s@<>]+@[a-z0-9.-]+", address)

    @pytest.mark.parametrize("purpose", list(Purpose))
    def test_clone_access_keeps_the_credential_out_of_the_url(
        self, repository_id: str, forge: Forge, purpose: Purpose
    ) -> None:
        access = forge.clone_access(repository_id, purpose)
        parts = urlsplit(access.url)
        allowed = {"https", "file"} | ({"http"} if parts.hostname == "127.0.0.1" else set())
        assert parts.scheme == access.protocol in allowed
        assert not parts.username and not parts.password and not parts.query
        assert not access.secret or access.secret not in access.url
        assert not access.secret or access.secret not in repr(access)
