"""The Forge port on a directory. What each method promises is in `domain/ports/forge.py`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from directory_forge.plugin import NAME
from directory_forge.records import BOT_ID, Home, Record, Records, now
from domain.errors import ForgeError, NotFound, PermissionRefused
from domain.model import (
    Actor,
    CloneAccess,
    Comment,
    Issue,
    IssueRef,
    Permission,
    Pull,
    PullProposal,
    Repository,
)
from domain.ports import Capability, LabelChange, Purpose

MOST_CHARACTERS = 100_000
LONGEST_TITLE = 255
MAY_WRITE = {"write", "maintain", "admin"}


class DirectoryForge:
    """The service's client. It keeps nothing in memory, and so is good for any thread and process."""

    def __init__(self, root: Path) -> None:
        self.name = NAME
        self.capabilities = frozenset({Capability.DRAFT_PULLS})
        self._records = Records(root)

    @property
    def identity(self) -> Actor:
        """Who we are on this forge."""
        return self._actor(BOT_ID)

    # -- reading ------------------------------------------------------------------------------------

    def repository(self, repository_id: str) -> Repository:
        """Return the repository by its permanent id. Raises NotFound."""
        return _repository(self._records.home(repository_id))

    def repository_named(self, full_name: str) -> Repository:
        """Return the repository that is called so now, in whatever case. Raises NotFound."""
        for home in self._records.homes():
            if home.full_name.lower() == full_name.lower():
                return _repository(home)
        raise NotFound(f"there is no repository {full_name!r}")

    def labelled_issues(
        self, repository_id: str, labels: Sequence[str], *, changed_since: datetime
    ) -> Iterator[Issue]:
        """Yield open issues that carry one of the labels, oldest first. Raises NotFound."""
        wanted = {label.lower() for label in labels}
        home = self._records.home(repository_id)
        for record in home.issues():
            issue = self._issue(home, record)
            has_one = any(label.lower() in wanted for label in issue.labels)
            is_new = issue.changed_at is None or issue.changed_at >= changed_since
            if issue.is_open and not issue.is_pull and has_one and is_new:
                yield issue

    def label_changes(self, issue: IssueRef) -> tuple[LabelChange, ...]:
        """Return every label put on and taken off, oldest first. Raises NotFound."""
        record = self._records.home(issue.repository_id).issue(issue.number)
        return tuple(
            LabelChange(
                label=entry["label"],
                added=entry["added"],
                actor=self._actor(entry["by"]),
                at=datetime.fromisoformat(entry["at"]),
            )
            for entry in record.head["label_history"]
        )

    def issue(self, issue: IssueRef) -> Issue:
        """Return the issue as it stands now. Raises NotFound."""
        home = self._records.home(issue.repository_id)
        return self._issue(home, home.issue(issue.number))

    def comments(self, issue: IssueRef) -> tuple[Comment, ...]:
        """Return every comment, oldest first. Raises NotFound."""
        found = self._records.home(issue.repository_id).comments(issue.number)
        return tuple(self._comment(record) for record in found)

    def permission_of(self, repository_id: str, actor: Actor) -> Permission:
        """Return what this user may do now; NONE for a stranger."""
        home = self._records.home(repository_id)
        person = self._records.people().get(actor.id)
        if person is None or person.get("gone"):
            return Permission.NONE
        return Permission(home.facts["permissions"].get(actor.id, "none"))

    def find_pull(self, repository_id: str, head_branch: str) -> Pull | None:
        """Return the newest pull request from this branch, open ones first, or None."""
        home = self._records.home(repository_id)
        found = _pulls_from(home, head_branch)
        return self._pull(home, found[0]) if found else None

    # -- git ----------------------------------------------------------------------------------------

    def clone_access(self, repository_id: str, purpose: Purpose = Purpose.FETCH) -> CloneAccess:
        """Return the bare repository's address; there is no credential. Raises NotFound."""
        return CloneAccess(url=self._records.home(repository_id).git_path.as_uri(), protocol="file")

    def revoke_access(self, access: CloneAccess) -> None:
        """Do nothing: there was no credential."""

    def noreply_address(self, actor: Actor) -> str:
        """Return "": a directory knows no mail addresses."""
        return ""

    # -- writing ------------------------------------------------------------------------------------

    def ensure_pull(self, repository_id: str, proposal: PullProposal) -> Pull:
        """Create the draft, or bring our open one from the same branch to this text.

        Raises PermissionRefused; ForgeError for a text or branch that cannot be, and where somebody else's
        pull request is open.
        """
        title, body = _title(proposal.title), _marked(proposal.body, _hidden(proposal.marker))
        with self._records.changing():
            home = self._writable(repository_id)
            record = self._own_open_pull(home, proposal.head_branch)
            _check_branches(home, proposal.head_branch, proposal.base_branch)
            if record is None:
                pull = {"head": proposal.head_branch, "draft": True, "merged": False}
                record = new_issue(home, by=BOT_ID, title=title, body=body, pull=pull)
            record.head |= {"title": title, "changed": now()}
            record.head["pull"]["base"] = proposal.base_branch
            record.body = body
            for label in proposal.labels:
                set_label(record, label, added=True, by=BOT_ID)
            record.write()
            return self._pull(home, record)

    def ensure_comment(self, issue: IssueRef, topic: str, body: str) -> Comment:
        """Write our comment on this topic, or rewrite it. Raises PermissionRefused, NotFound, ForgeError."""
        marker = _hidden(f"topic:{topic}")
        with self._records.changing():
            home = self._writable(issue.repository_id)
            record = _own_comment(home, issue.number, marker)
            if record is None:
                return self._write_comment(home, issue.number, _marked(body, marker))
            record.body = _marked(body, marker)
            record.write()
            return self._comment(record)

    def add_comment(self, issue: IssueRef, key: str, body: str) -> Comment:
        """Write a comment once per `key`. Raises PermissionRefused, NotFound, ForgeError."""
        marker = _hidden(f"once:{key}")
        with self._records.changing():
            home = self._writable(issue.repository_id)
            record = _own_comment(home, issue.number, marker)
            if record is not None:
                return self._comment(record)
            return self._write_comment(home, issue.number, _marked(body, marker))

    def _write_comment(self, home: Home, number: int, body: str) -> Comment:
        return self._comment(new_comment(home, number, self._records.new_id(), by=BOT_ID, body=body))

    def _writable(self, repository_id: str) -> Home:
        home = self._records.home(repository_id)
        if home.facts["permissions"].get(BOT_ID) not in MAY_WRITE:
            raise PermissionRefused(f"the service may not write in {home.full_name}: it needs 'write'")
        if home.facts["archived"]:
            raise PermissionRefused(f"{home.full_name} is archived")
        return home

    def _own_open_pull(self, home: Home, head: str) -> Record | None:
        opened = [record for record in _pulls_from(home, head) if record.head["state"] == "open"]
        for record in opened:
            if record.head["author"] == BOT_ID:
                return record
        if opened:
            raise ForgeError(f"{head!r} has a pull request by somebody else: #{opened[0].head['number']}")
        return None

    # -- records into the port's values -------------------------------------------------------------

    def _actor(self, person_id: str) -> Actor:
        person = self._records.people().get(person_id, {"gone": True})
        if person.get("gone"):
            return Actor(id="0", login="ghost")
        return Actor(id=person_id, login=person["login"], is_bot=person["bot"])

    def _issue(self, home: Home, record: Record) -> Issue:
        head = record.head
        return Issue(
            number=head["number"],
            title=head["title"],
            body=record.body,
            is_open=head["state"] == "open",
            labels=tuple(head["labels"]),
            author=self._actor(head["author"]),
            url=record.path.as_uri(),
            is_pull="pull" in head,
            changed_at=datetime.fromisoformat(head["changed"]),
        )

    def _comment(self, record: Record) -> Comment:
        return Comment(
            id=str(record.head["id"]),
            author=self._actor(record.head["author"]),
            body=record.body,
            created_at=datetime.fromisoformat(record.head["written"]),
            url=record.path.as_uri(),
        )

    def _pull(self, home: Home, record: Record) -> Pull:
        head, pull = record.head, record.head["pull"]
        return Pull(
            number=head["number"],
            url=record.path.as_uri(),
            title=head["title"],
            body=record.body,
            head_branch=pull["head"],
            head_sha=pull.get("last_sha") or home.sha(pull["head"]) or "",
            base_branch=pull["base"],
            is_open=head["state"] == "open",
            is_draft=pull["draft"],
            merged=pull["merged"],
            author=self._actor(head["author"]),
        )


def new_issue(home: Home, *, by: str, title: str, body: str, pull: dict[str, Any] | None = None) -> Record:
    """Return a new issue or pull request, not yet written; while changing."""
    number = max((record.head["number"] for record in home.issues()), default=0) + 1
    head = {"number": number, "title": title, "state": "open", "author": by, "opened": now()}
    head |= {"changed": head["opened"], "labels": [], "label_history": []}
    return Record(home.path / f"{number:04d}.md", head | ({"pull": pull} if pull else {}), body)


def new_comment(home: Home, number: int, comment_id: int, *, by: str, body: str) -> Record:
    """Write a comment; while changing. Raises NotFound."""
    home.issue(number)
    head = {"id": comment_id, "author": by, "written": now()}
    record = Record(home.path / f"{number:04d}" / f"{comment_id}.md", head, body)
    record.write()
    return record


def set_label(record: Record, label: str, *, added: bool, by: str) -> None:
    """Put a label on or take it off, and remember who did; what is so already stays."""
    if (label in record.head["labels"]) is added:
        return
    if added:
        record.head["labels"].append(label)
    else:
        record.head["labels"].remove(label)
    at = record.head["changed"] = now()
    record.head["label_history"].append({"label": label, "added": added, "by": by, "at": at})


def _repository(home: Home) -> Repository:
    return Repository(
        forge=NAME,
        id=home.facts["id"],
        full_name=home.full_name,
        default_branch=home.facts["default_branch"],
        private=home.facts["private"],
        archived=home.facts["archived"],
        url=home.path.as_uri(),
    )


def _pulls_from(home: Home, branch: str) -> list[Record]:
    """Return the pull requests from a branch: open ones first, then the newest."""
    found = [record for record in home.issues() if record.head.get("pull", {}).get("head") == branch]
    return sorted(found, key=lambda record: (record.head["state"] != "open", -record.head["number"]))


def _check_branches(home: Home, head: str, base: str) -> None:
    for what, branch in (("base", base), ("head", head)):
        if home.sha(branch) is None:
            raise ForgeError(f"the {what} branch {branch!r} is not in {home.full_name}")
    if home.git("rev-list", "--count", f"refs/heads/{base}..refs/heads/{head}") == "0":
        raise ForgeError(f"there are no commits between {base!r} and {head!r}")


def _own_comment(home: Home, number: int, marker: str) -> Record | None:
    """Return our comment that ends in a marker; the same words by somebody else are not ours."""
    for record in home.comments(number):
        if record.head["author"] == BOT_ID and record.body.endswith(marker):
            return record
    return None


def _hidden(words: str) -> str:
    """Return words as a comment that Markdown does not show."""
    if words.startswith("<!--"):
        return words
    return f"<!-- fixwright:{words.replace('>', '')} -->"


def _marked(body: str, marker: str) -> str:
    """Put a marker at the end of a text, once. Raises ForgeError where it is too long: never cut."""
    text = body.rstrip()
    whole = text if text.endswith(marker) else f"{text}\n\n{marker}".lstrip("\n")
    if len(whole) > MOST_CHARACTERS:
        raise ForgeError(f"a text has at most {MOST_CHARACTERS} characters; this one has {len(whole)}")
    return whole


def _title(text: str) -> str:
    if not text.strip() or len(text) > LONGEST_TITLE:
        raise ForgeError(f"a title has 1 to {LONGEST_TITLE} characters")
    return text
