"""The nouns: frozen values that every room speaks in. Money is Decimal US dollars, times are aware UTC."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from enum import StrEnum

from domain.limits import Limit as Limit
from domain.protected import ProtectedChange as ProtectedChange
from domain.states import State

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
    SANDBOX = "sandbox"
    INTERNAL_ERROR = "internal_error"
    NOT_PERMITTED = "not_permitted"
    WITHDRAWN = "withdrawn"


class Severity(StrEnum):
    """Whether a finding stops the change or is shown beside it."""

    CRITICAL = "critical"
    WARNING = "warning"


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
    """A comment on an issue or pull request."""

    id: str
    author: Actor
    body: str
    created_at: datetime
    url: str


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
    """One issue being worked on. Moves only along `domain.states.TRANSITIONS`."""

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
class Finding:
    """What the guard objects to, and where. By `id` a maintainer may allow it; it does not count in `==`."""

    rule: str
    path: str
    line: int
    what: str
    why: str
    severity: Severity
    id: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandResult:
    """One command in the sandbox. `output` is stdout and stderr together, clipped head and tail."""

    command: str
    exit_code: int
    output: str
    seconds: float
    timed_out: bool = False
    bytes_seen: int = 0
    killed: str = ""


class RunStatus(StrEnum):
    """What a test run can be said to have shown. Only PASSED is ever evidence for a fix."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed out"
    COULD_NOT_RUN = "could not run"
    COULD_NOT_TELL = "could not tell"
    NO_TESTS = "no tests ran"
    NOT_EVIDENCE = "not evidence"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """One run of tests by the harness, on a tree that can be named.

    `command` is what was run, our options included; `isolation` is what was achieved while it ran. `at` is
    when it began, and `reused` says that it was run for an earlier attempt on the same tree.
    """

    __test__ = False

    name: str
    command: str
    tree: str
    status: RunStatus
    exit_code: int
    seconds: float
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    passed_ids: frozenset[str] = frozenset()
    failed_ids: frozenset[str] = frozenset()
    tail: str = ""
    note: str = ""
    timed_out: bool = False
    isolation: str = ""
    at: datetime | None = None
    reused: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the harness itself saw of one change. The agent's words are never in here.

    `environment` says that the change could not be judged, and that no other change could be: the tests that
    would show it do not load here. `protected` is set where the change waits for nothing but a maintainer's
    word about protected paths. `flaky` are the tests that varied on the same code and were kept out of the
    decision; `flaky_baseline` says that the very tests which show the fault are among them.
    """

    verified: bool
    summary: str
    base_sha: str
    tree: str
    runs: tuple[TestRun, ...]
    findings: tuple[Finding, ...]
    turned_green: tuple[str, ...]
    broken: tuple[str, ...]
    isolation: str
    environment: bool = False
    protected: ProtectedChange | None = None
    flaky: tuple[str, ...] = ()
    flaky_baseline: bool = False


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
