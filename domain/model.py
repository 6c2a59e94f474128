"""The nouns: frozen values that every room speaks in. Money is Decimal US dollars, times are aware UTC."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from domain.limits import Limit as Limit
from domain.protected import ProtectedChange as ProtectedChange
from domain.states import State
from domain.verdict import Check as Check
from domain.verdict import CommandResult as CommandResult
from domain.verdict import Finding as Finding
from domain.verdict import RunStatus as RunStatus
from domain.verdict import Severity as Severity
from domain.verdict import TestRun as TestRun
from domain.verdict import Verdict as Verdict

Money = Decimal
"""US dollars, exact."""


class Category(StrEnum):
    """What kind of work a task is; the trigger label of the same name chooses it."""

    BUG = "bug"
    DOCS = "docs"
    CHORE = "chore"


class Permission(StrEnum):
    """What a user may do on a repository, as the forge says it now."""

    NONE = "none"
    READ = "read"
    TRIAGE = "triage"
    WRITE = "write"
    MAINTAIN = "maintain"
    ADMIN = "admin"


class Outcome(StrEnum):
    """How one attempt ended, as the harness saw it.

    UNJUDGED: its change could not be judged, for reasons that are the environment's; it uses up no attempt.
    """

    VERIFIED = "verified"
    UNVERIFIED = "unverified"
    REFUSED = "refused"
    NO_CHANGE = "no_change"
    DECLINED = "declined"
    UNJUDGED = "unjudged"
    REPEATED = "repeated"
    TASK_LIMIT = "task_limit"
    DAILY_LIMIT = "daily_limit"
    TRANSIENT = "transient"
    INTERRUPTED = "interrupted"
    ORPHANED = "orphaned"
    CANCELLED = "cancelled"


class Reason(StrEnum):
    """Why a task is BLOCKED or CANCELLED: what a person has to look at next."""

    NEEDS_INFORMATION = "needs_information"
    AWAITING_APPROVAL = "awaiting_approval"
    NOT_REPRODUCIBLE = "not_reproducible"
    FLAKY_BASELINE = "flaky_baseline"
    ENVIRONMENT = "environment"
    UNPUBLISHED = "unpublished"
    GUARD = "guard"
    NO_CHANGE = "no_change"
    REPEATED_DIFF = "repeated_diff"
    TASK_LIMIT = "task_limit"
    UNPRICED = "unpriced"
    ATTEMPTS_EXHAUSTED = "attempts_exhausted"
    CRASH_LOOP = "crash_loop"
    CONFIG = "config"
    PROTECTED_PATH = "protected_path"
    BRANCH_MOVED = "branch_moved"
    CONFLICT = "conflict"
    CI_RED = "ci_red"
    SANDBOX = "sandbox"
    INTERNAL_ERROR = "internal_error"
    NOT_PERMITTED = "not_permitted"
    RIGHT_LOST = "right_lost"
    OUT_OF_REACH = "out_of_reach"
    VISIBILITY_CHANGED = "visibility_changed"
    WITHDRAWN = "withdrawn"
    TAKEN = "taken"
    EXPIRED = "expired"


# -- the forge's side -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Somebody on a forge. The id is the forge's permanent one; logins can be renamed."""

    id: str
    login: str
    is_bot: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueRef:
    """Which issue: forge name, the forge's permanent repository id, issue number."""

    forge: str
    repository_id: str
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository as its forge describes it now."""

    forge: str
    id: str
    full_name: str
    default_branch: str
    private: bool
    archived: bool
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue as its forge describes it now. `body` is "" and `changed_at` None where the forge has none."""

    number: int
    title: str
    body: str
    is_open: bool
    labels: tuple[str, ...]
    author: Actor
    url: str
    locked: bool = False
    is_pull: bool = False
    assignees: tuple[Actor, ...] = ()
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Comment:
    """A comment on an issue or pull request. `changed_at` is None where the forge does not say."""

    id: str
    author: Actor
    body: str
    created_at: datetime
    url: str
    changed_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pull:
    """A pull request as its forge describes it now."""

    number: int
    url: str
    title: str
    body: str
    head_branch: str
    head_sha: str
    base_branch: str
    is_open: bool
    is_draft: bool
    merged: bool = False
    author: Actor | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullProposal:
    """The pull request that we want to exist: always a draft where the forge knows drafts."""

    title: str
    body: str
    head_branch: str
    base_branch: str
    marker: str
    labels: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneAccess:
    """How git reaches a repository: a url without credentials, and the credential apart."""

    url: str
    protocol: str
    username: str = ""
    secret: str = field(default="", repr=False)


# -- our side ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One issue being worked on. Moves only along `domain.states.TRANSITIONS`.

    `word_at` is when, by the forge's clock, the newest word was said that has moved it, where that is known.
    `label` is what it was last asked for by, "" where that was a command; a repository's own file may say
    more of it than `category`, by whose rules it is judged. `by_command` says that a command asked for it
    last.
    """

    id: int
    issue: IssueRef
    repository_name: str
    category: Category
    title: str
    body: str
    requested_by: Actor
    state: State
    created_at: datetime
    updated_at: datetime
    reason: Reason | None = None
    detail: str = ""
    attempts: int = 0
    recoveries: int = 0
    generation: int = 0
    not_before: datetime | None = None
    wip_sha: str = ""
    wip_branch: str = ""
    word_at: datetime | None = None
    label: str = ""
    by_command: bool = False

    @property
    def label_shown(self) -> str:
        """The label that people take off or put on again for this task."""
        return self.label or str(self.category)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One run of the agent on a task; `number` counts from 1.

    `generation` is that of the task under which this run was last begun or taken up; it fences its writes.
    """

    id: int
    task_id: int
    number: int
    started_at: datetime
    ended_at: datetime | None = None
    outcome: Outcome | None = None
    base_sha: str = ""
    checkpoint_sha: str = ""
    steps: int = 0
    generation: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One stretch of an attempt on the clock, for the timeline. Seconds of wall time, dollars settled."""

    name: str
    started_at: datetime
    seconds: float
    cost: Money
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one model call as the provider counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """List prices in dollars per token. `source` says where they come from.

    `estimated` says that nobody knows the price, and that this is the operator's stated upper one.
    """

    input: Money
    output: Money
    cache_read: Money | None = None
    cache_write: Money | None = None
    free: bool = False
    estimated: bool = False
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A place that the fix may touch, best first. Lines count from 1; 0 means the whole file."""

    path: str
    symbol: str
    score: float
    first_line: int
    last_line: int
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Localization:
    """What the localizer found: ranked suspects, and numbered source slices within the token budget."""

    strategy: str
    suspects: tuple[Suspect, ...]
    slices: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PastChange:
    """A commit that led to the state at hand: its message (untrusted text), and the paths that it changed."""

    message: str
    paths: tuple[str, ...]


class PublicationKind(StrEnum):
    """What is put on the forge: a verified pull request, or unfinished work on its branch."""

    PULL = "pull"
    WIP = "wip"


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """An intent to publish, written first; the remote facts are filled in after."""

    id: int
    task_id: int
    attempt_id: int
    kind: PublicationKind
    branch: str
    commit_sha: str
    tree: str
    expected_sha: str
    title: str
    body: str
    done_at: datetime | None = None
    pull_number: int | None = None
    url: str = ""
    base_branch: str = ""
