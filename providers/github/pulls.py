"""Pull requests from our branch: found, made as a draft, brought up to date, never a second one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import structlog

from domain.errors import ForgeError
from domain.model import Actor, Pull, PullProposal
from providers.github import markers, shapes
from providers.github.calls import Invalid, Patience
from providers.github.desk import Desk

log = structlog.get_logger(__name__)

MOST_TITLE = 256

NO_DRAFTS_TITLE = "[not ready] "
NO_DRAFTS_NOTE = (
    "> **Treat this as a draft.** This repository's plan has no draft pull requests, so it could only be "
    "opened as a plain one.\n\n"
)
LOOKS = 3
"""How often GitHub is asked again where its own servers may not have seen the branch yet."""


def opened(desk: Desk) -> Iterator[Pull]:
    """Yield a repository's open pull requests, the newest first."""
    query = {"state": "open", "sort": "created", "direction": "desc"}
    for data in desk.items("/pulls", query):
        yield shapes.pull(data)


class PullBook:
    """The pull requests of one repository, as the account `me` may write them."""

    def __init__(self, desk: Desk, repository_id: str, me: Actor, patience: Patience) -> None:
        self._desk = desk
        self._repository_id = repository_id
        self._me = me
        self._patience = patience

    def find(self, head_branch: str) -> list[Pull]:
        """Return the pull requests from this branch of this repository, open ones first, then the newest."""
        query = {"head": f"{self._desk.owner}:{head_branch}", "state": "all", "direction": "desc"}
        found = [
            shapes.pull(data)
            for data in self._desk.items("/pulls", {**query, "sort": "created"})
            if shapes.text(shapes.part(data, "head").get("ref")) == head_branch and self._is_home(data)
        ]
        return sorted(found, key=lambda pull: (not pull.is_open, -pull.number))

    def ensure(self, proposal: PullProposal) -> Pull:
        """Make the pull request, or bring our open one from this branch to this text.

        Raises Invalid or ForgeError saying which of title, body, head, base or commits is the trouble;
        PermissionRefused, Ambiguous.
        """
        wanted = replace(
            proposal,
            title=_title(proposal.title),
            body=markers.marked(proposal.body, proposal.marker),
        )
        pull = self._ours(wanted.head_branch)
        pull = self._update(pull, wanted) if pull else self._create(wanted)
        if wanted.labels:
            path = f"/issues/{pull.number}/labels"
            self._desk.call("POST", path, body={"labels": list(wanted.labels)})
        return pull

    def _ours(self, head_branch: str) -> Pull | None:
        """Return our open pull request; raise ForgeError if only somebody else's is open there."""
        opened = [pull for pull in self.find(head_branch) if pull.is_open]
        for pull in sorted(opened, key=lambda pull: pull.number):
            if pull.author and pull.author.id == self._me.id:
                return pull
        if opened:
            author = opened[0].author
            login = author.login if author else "somebody"
            shown = f"#{opened[0].number} by {login}: {opened[0].url}"
            raise ForgeError(f"{head_branch!r} already has the pull request {shown}")
        return None

    def _update(self, pull: Pull, wanted: PullProposal) -> Pull:
        if not pull.is_draft and pull.title.startswith(NO_DRAFTS_TITLE):
            wanted = _without_draft(wanted)
        stands = {"title": pull.title, "body": pull.body, "base": pull.base_branch}
        should = {"title": wanted.title, "body": wanted.body, "base": wanted.base_branch}
        changes = {key: value for key, value in should.items() if value != stands[key]}
        if not changes:
            return pull
        reply = self._desk.call("PATCH", f"/pulls/{pull.number}", body=changes)
        return shapes.pull(shapes.obj(reply.data, "pull request"))

    def _create(self, wanted: PullProposal) -> Pull:
        looks = 0
        draft = True
        while True:
            try:
                return self._post(wanted, draft=draft)
            except Invalid as error:
                said = str(error).lower()
                if draft and "draft" in said and "not supported" in said:
                    log.warning("the repository has no drafts", branch=wanted.head_branch)
                    wanted, draft = _without_draft(wanted), False
                    continue
                if "already exists" in said:
                    return self._adopt(wanted, error)
                looks += 1
                if not _may_pass(error, said) or looks >= min(LOOKS, self._patience.tries):
                    raise _explained(wanted, error, said) from None
                self._patience.sleep(self._patience.backoff(looks + 1))

    def _post(self, wanted: PullProposal, *, draft: bool) -> Pull:
        body = {
            "title": wanted.title,
            "body": wanted.body,
            "head": wanted.head_branch,
            "base": wanted.base_branch,
            "draft": draft,
        }
        reply = self._desk.call("POST", "/pulls", body=body)
        return shapes.pull(shapes.obj(reply.data, "pull request"))

    def _adopt(self, wanted: PullProposal, error: Invalid) -> Pull:
        """Take up the one that is there already; the list may not show it for a moment."""
        for look in range(1, LOOKS + 1):
            pull = self._ours(wanted.head_branch)
            if pull is not None:
                return self._update(pull, wanted)
            if look < self._patience.tries:
                self._patience.sleep(self._patience.backoff(look + 1))
        raise ForgeError(f"{error}, but it is not to be found")

    def _is_home(self, data: shapes.Json) -> bool:
        """Tell whether the head is in this repository: a fork's branch may be named like ours."""
        home = shapes.part(data, "head").get("repo")
        return isinstance(home, dict) and str(home.get("id")) == self._repository_id


def _title(title: str) -> str:
    if not title.strip():
        raise ForgeError("the title is blank")
    if len(title) > MOST_TITLE:
        raise ForgeError(f"the title is too long ({len(title)} characters; the maximum is {MOST_TITLE})")
    return title


def _without_draft(wanted: PullProposal) -> PullProposal:
    if wanted.title.startswith(NO_DRAFTS_TITLE):
        return wanted
    title = (NO_DRAFTS_TITLE + wanted.title)[:MOST_TITLE]
    return replace(wanted, title=title, body=markers.marked(NO_DRAFTS_NOTE + wanted.body, wanted.marker))


def _may_pass(error: Invalid, said: str) -> bool:
    """Tell a branch that GitHub's servers may not all have seen yet."""
    return "head:invalid" in error.codes or "head sha" in said or "no commits between" in said


def _explained(wanted: PullProposal, error: Invalid, said: str) -> ForgeError:
    if "no commits between" in said:
        return ForgeError(f"there are no commits between {wanted.base_branch!r} and {wanted.head_branch!r}")
    if "base:invalid" in error.codes:
        return ForgeError(f"the base branch {wanted.base_branch!r} does not exist, or was renamed ({error})")
    if "head:invalid" in error.codes or "head:missing" in error.codes:
        return ForgeError(f"the head branch {wanted.head_branch!r} does not exist ({error})")
    return error
