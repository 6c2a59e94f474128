"""The Forge port on GitHub, as a GitHub App. Each method is one operation with a token of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from urllib.parse import quote, urlsplit

import structlog

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
from domain.ports import (
    Capability,
    CheckReport,
    CiStatus,
    Examination,
    Expected,
    LabelChange,
    MissedDelivery,
    Purpose,
    Reaction,
    ReviewThread,
)
from providers.github import ci, deliveries, markers, needs, pulls, reading, reviews, shapes
from providers.github.app import App
from providers.github.calls import Api, Patience, Reply
from providers.github.comments import CommentBook
from providers.github.desk import Desk, Desks
from providers.github.directory import Directory
from providers.github.examining import Examiner
from providers.github.manifest import web_root
from providers.github.pulls import PullBook
from providers.github.tokens import Tokens

log = structlog.get_logger(__name__)

REACTIONS = frozenset({"+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"})

GIT_USER = "x-access-token"


class GithubForge:
    """GitHub for the repositories that are served. For any number of threads.

    Nothing is asked of GitHub before the first call; `check` is for the start. What each method does stands
    at the Forge port and at its capabilities.
    """

    name = shapes.NAME

    def __init__(
        self,
        *,
        app_id: str,
        private_key: str,
        api_url: str,
        served: Collection[str],
        patience: Patience | None = None,
    ) -> None:
        """Take the App's id and key, the API's address, and owner/name of what is served, in lower case.

        Raises ConfigurationError where the key is none.
        """
        self.capabilities = frozenset(Capability)
        self._api = Api(api_url, patience)
        self._app = App(self._api, app_id, private_key)
        self._tokens = Tokens(self._app)
        self._served = served
        self._directory = Directory(self._app, self._tokens, served)
        self._desks = Desks(self._api, self._tokens, self._directory)
        self._slug = ""
        self._app_number = ""
        self._identity: Actor | None = None
        self._lock = threading.Lock()

    # -- who we are ---------------------------------------------------------------------------------

    def check(self) -> None:
        """Ask GitHub whether all is as it must be. Raises ConfigurationError, ForgeError.

        What is wrong in a single repository is logged and no more: the others are served.
        """
        self._slug = self._app.check()
        for name in sorted(self._served):
            try:
                _, _, granted = self._app.installation_of(name)
            except (NotFound, PermissionRefused) as error:
                log.error(
                    "repository not served: the App is not installed there", repository=name, why=str(error)
                )
                continue
            lacking = needs.missing(granted)
            if lacking:
                log.error(
                    "the App's installation lacks permissions", repository=name, missing=", ".join(lacking)
                )

    def examine(self, expected: Expected) -> Iterator[Examination]:
        """See `Examining`."""
        looks = Examiner(app=self._app, served=self._served, look_up=self._found_by_name)
        return looks.examine(expected)

    def _found_by_name(self, full_name: str) -> Repository:
        return self.repository(self._directory.by_name(full_name).repository_id)

    @property
    def identity(self) -> Actor:
        """The App's bot account. Asked of GitHub once. Raises ForgeUnavailable, ForgeError."""
        with self._lock:
            if self._identity is None:
                self._identity = self._ask_identity()
            return self._identity

    def _ask_identity(self) -> Actor:
        self._slug = self._slug or self._app.check()
        for name in sorted(self._served):
            try:
                place = self._directory.by_name(name)
                with self._desks.at(place.repository_id, needs.METADATA) as desk:
                    return self._app.bot(self._slug, desk.anywhere)
            except (NotFound, PermissionRefused):
                continue
        return self._app.bot(self._slug, self._anonymously)

    def _anonymously(self, path: str) -> Reply:
        return self._api.call("GET", path, auth=None, scope="nobody")

    def _own_app_id(self) -> str:
        """Return the App's number, also where its client id is configured."""
        if not self._app_number:
            self._app_number = str(shapes.obj(self._app.call("GET", "/app").data, "App").get("id", ""))
        return self._app_number

    # -- credentials --------------------------------------------------------------------------------

    def on_secret(self, tell: Callable[[str], None]) -> None:
        """See `HoldingSecrets`."""
        self._tokens.on_secret(tell)

    def close(self) -> None:
        """See `HoldingSecrets`."""
        self._tokens.revoke_all()

    def clone_access(self, repository_id: str, purpose: Purpose = Purpose.FETCH) -> CloneAccess:
        """See `Forge`."""
        need = needs.PUSHING if purpose is Purpose.PUSH else needs.FILES
        token = self._desks.mint(repository_id, need)
        root = self._git_root()
        return CloneAccess(
            url=f"{root}/{token.full_name}.git",
            protocol=urlsplit(root).scheme,
            username=GIT_USER,
            secret=token.secret,
        )

    def noreply_address(self, actor: Actor) -> str:
        """Return the mail address by which GitHub ties a commit to an account, or "" for nobody."""
        if not actor.id or not actor.login:
            return ""
        host = urlsplit(self._git_root()).hostname or ""
        return f"{actor.id}+{actor.login}@users.noreply.{host}"

    def revoke_access(self, access: CloneAccess) -> None:
        """See `Forge`. What could not be revoked dies within the hour."""
        if access.secret:
            self._tokens.end(access.secret)

    def _git_root(self) -> str:
        """Return where git is: beside the API on github.com, in front of it on an Enterprise server."""
        return web_root(self._api.base_url)

    # -- reading ------------------------------------------------------------------------------------

    def repository(self, repository_id: str) -> Repository:
        """See `Forge`."""
        with self._desks.at(repository_id, needs.READING) as desk:
            found = shapes.repository(shapes.obj(desk.get("").data, "repository"))
        if found.id != repository_id:
            raise NotFound(f"the repository {found.full_name} has the id {found.id} now")
        return found

    def repository_named(self, full_name: str) -> Repository:
        """See `Forge`."""
        found = self._found_by_name(full_name)
        if found.full_name.lower() != full_name.lower():
            raise NotFound(f"the repository {full_name} is called {found.full_name} now")
        return found

    def lacking_rights(self, repository_id: str) -> tuple[str, ...]:
        """See `KnowingItsRights`: what the installation has granted, as GitHub has it now."""
        place = self._directory.by_id(repository_id)
        return needs.missing(self._app.granted(place.installation_id), needs.PUBLISHING)

    def labelled_issues(
        self, repository_id: str, labels: Sequence[str], *, changed_since: datetime
    ) -> Iterator[Issue]:
        """See `Forge`."""
        with self._desks.at(repository_id, needs.READING) as desk:
            yield from reading.labelled_issues(desk, labels, changed_since)

    def label_changes(self, issue: IssueRef) -> tuple[LabelChange, ...]:
        """See `Forge`."""
        with self._desks.at(issue.repository_id, needs.READING) as desk:
            return reading.label_changes(desk, issue.number)

    def issue(self, issue: IssueRef) -> Issue:
        """See `Forge`."""
        with self._desks.at(issue.repository_id, needs.READING) as desk:
            return reading.issue(desk, issue.number, self._api.patience)

    def comments(self, issue: IssueRef) -> tuple[Comment, ...]:
        """See `Forge`."""
        with self._desks.at(issue.repository_id, needs.READING) as desk:
            return CommentBook(desk, issue.number, shapes.GHOST).all()

    def permission_of(self, repository_id: str, actor: Actor) -> Permission:
        """See `Forge`."""
        with self._desks.at(repository_id, needs.METADATA) as desk:
            return reading.permission(desk, actor)

    def file_at(self, repository_id: str, ref: str, path: str) -> bytes | None:
        """See `ReadingFiles`. Raises ForgeError beyond 1 MiB."""
        with self._desks.at(repository_id, needs.FILES) as desk:
            return reading.file_at(desk, ref, path)

    def find_pull(self, repository_id: str, head_branch: str) -> Pull | None:
        """See `Forge`."""
        with self._desks.at(repository_id, needs.READING) as desk:
            found = self._pulls(desk, repository_id, shapes.GHOST).find(head_branch)
            return found[0] if found else None

    # -- writing ------------------------------------------------------------------------------------

    def ensure_pull(self, repository_id: str, proposal: PullProposal) -> Pull:
        """See `Forge`."""
        me = self.identity

        def act() -> Pull:
            with self._desks.at(repository_id, needs.PULLING) as desk:
                return self._pulls(desk, repository_id, me).ensure(proposal)

        return self._api.persist(act)

    def ensure_comment(self, issue: IssueRef, topic: str, body: str) -> Comment:
        """See `Forge`."""
        return self._comment(issue, markers.topic(topic), body, rewrite=True)

    def add_comment(self, issue: IssueRef, key: str, body: str) -> Comment:
        """See `Forge`."""
        return self._comment(issue, markers.once(key), body, rewrite=False)

    def _comment(self, issue: IssueRef, mark: str, body: str, *, rewrite: bool) -> Comment:
        me = self.identity

        def act() -> Comment:
            with self._desks.at(issue.repository_id, needs.COMMENTING) as desk:
                return CommentBook(desk, issue.number, me).ensure(mark, body, rewrite=rewrite)

        return self._api.persist(act)

    def react(self, issue: IssueRef, comment_id: str, reaction: str) -> None:
        """See `Reacting`."""
        if reaction not in REACTIONS:
            raise ForgeError(f"{reaction!r} is not a reaction; there are {', '.join(sorted(REACTIONS))}")
        path = f"/issues/comments/{quote(comment_id, safe='')}/reactions"
        with self._desks.at(issue.repository_id, needs.COMMENTING) as desk:
            self._api.persist(lambda: desk.call("POST", path, body={"content": reaction}))

    def reactions(self, issue: IssueRef, comment_id: str) -> tuple[Reaction, ...]:
        """See `ListingReactions`."""
        path = f"/issues/comments/{quote(comment_id, safe='')}/reactions"
        with self._desks.at(issue.repository_id, needs.READING) as desk:
            return self._api.persist(lambda: tuple(map(shapes.reaction, desk.items(path))))

    def add_labels(self, issue: IssueRef, labels: Sequence[str]) -> None:
        """See `Labelling`."""
        path = f"/issues/{issue.number}/labels"
        if not labels:
            return
        with self._desks.at(issue.repository_id, needs.COMMENTING) as desk:
            self._api.persist(lambda: desk.call("POST", path, body={"labels": list(labels)}))

    def remove_label(self, issue: IssueRef, label: str) -> None:
        """See `Labelling`."""
        with self._desks.at(issue.repository_id, needs.COMMENTING) as desk:
            try:
                desk.call("DELETE", f"/issues/{issue.number}/labels/{quote(label, safe='')}")
            except NotFound:
                desk.get(f"/issues/{issue.number}")  # the label is off, unless there is no such issue

    def ensure_check(self, repository_id: str, report: CheckReport) -> str:
        """See `Checking`."""

        def act() -> str:
            with self._desks.at(repository_id, needs.CHECKING) as desk:
                return ci.ensure_check(desk, report, self._own_app_id())

        return self._api.persist(act)

    # -- continuous integration, reviews, deliveries ------------------------------------------------

    def ci_status(self, repository_id: str, sha: str) -> CiStatus:
        """See `WatchingCi`."""
        own = self._own_app_id()
        try:
            with self._desks.at(repository_id, needs.CI) as desk:
                return ci.status(desk, sha, own, with_statuses=True)
        except PermissionRefused:
            with self._desks.at(repository_id, needs.CI_WITHOUT_STATUSES) as desk:
                return ci.status(desk, sha, own, with_statuses=False)

    def job_log_tail(self, repository_id: str, job_id: str, *, most_bytes: int = 32_768) -> str:
        """See `WatchingCi`."""
        with self._desks.at(repository_id, needs.CI_WITHOUT_STATUSES) as desk:
            address = desk.location(f"/actions/jobs/{quote(job_id, safe='')}/logs")
        return ci.log_tail(self._api.session, address, most_bytes)

    def rerun_job(self, repository_id: str, job_id: str) -> None:
        """See `Rerunning`. Most installations have not granted `actions: write`, which this needs."""
        with self._desks.at(repository_id, needs.RERUNNING) as desk:
            desk.call("POST", f"/actions/jobs/{quote(job_id, safe='')}/rerun")

    def review_threads(self, repository_id: str, pull_number: int) -> tuple[ReviewThread, ...]:
        """See `Reviewing`."""
        with self._desks.at(repository_id, needs.READING) as desk:
            return reviews.threads(desk, pull_number)

    def reply(self, repository_id: str, pull_number: int, thread: ReviewThread, key: str, body: str) -> str:
        """See `Reviewing`."""
        me = self.identity

        def act() -> str:
            with self._desks.at(repository_id, needs.COMMENTING) as desk:
                return reviews.reply(desk, pull_number, thread, markers.once(key), body, me)

        return self._api.persist(act)

    def open_pulls(self, repository_id: str) -> Iterator[Pull]:
        """See `ListingPulls`."""
        with self._desks.at(repository_id, needs.READING) as desk:
            yield from pulls.opened(desk)

    def request_review(self, repository_id: str, pull_number: int, reviewer: Actor) -> None:
        """See `RequestingReviews`."""

        def act() -> None:
            with self._desks.at(repository_id, needs.COMMENTING) as desk:
                reviews.request(desk, pull_number, reviewer)

        self._api.persist(act)

    def missed_deliveries(self, since: datetime) -> tuple[MissedDelivery, ...]:
        """See `Redelivering`."""
        return deliveries.missed(self._app, since)

    def redeliver(self, delivery_id: str) -> None:
        """See `Redelivering`."""
        deliveries.redeliver(self._app, delivery_id)

    def _pulls(self, desk: Desk, repository_id: str, me: Actor) -> PullBook:
        return PullBook(desk, repository_id, me, self._api.patience)
