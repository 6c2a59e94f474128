"""Every error that the product raises on purpose, in one tree.

FixwrightError
├── ConfigurationError      a setting or a repository file is wrong; the message names it and a right example
├── IllegalTransition       our own code asked for a move that the state table does not have
├── StaleWrite              a compare-and-set lost: somebody else moved the task meanwhile
├── StoreUnavailable        the database cannot be read or written now (locked, disk full); nothing changed
├── CapReached              the next model call does not fit a budget (carries which)
├── Unpriced                no price is known for the model
├── ForgeError              a forge said no
│   ├── ForgeUnavailable    ... and may say yes later (time-out, 5xx, rate limit)
│   ├── NotFound            ... because the thing is not there, or may not be seen
│   └── PermissionRefused   ... for good, until somebody changes a permission
├── GitError                a git command failed or took too long
│   ├── BranchMoved         the remote branch is not where we last saw it; nothing was pushed
│   ├── PushRefused         the server said no for good (rule, hook, permission); carries its own words
│   ├── CredentialRefused   the remote did not take the credential; a newly minted one may do
│   └── GitUnavailable      the remote may answer later (network, 5xx, time-out)
│       └── DiskFull        ... or our own disk have room again
├── TransactionError        a transaction on a working copy cannot be begun, kept or taken back
├── SandboxError            the sandbox cannot be had, or does not hold; nothing was run unprotected
├── PolicyRefusal           a change breaks a rule that stands before any commit (carries findings)
├── AgentFailure            the agent's process ended without a report
│   ├── ProviderUnavailable the model's provider could not be reached or asked us to wait
│   └── ModelRefused        ... or refuses the service's key, whatever the task
└── Stopped                 the attempt was asked to stop (shutdown or cancel); not a failure
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from domain.model import Finding, Limit


class FixwrightError(Exception):
    """Root of all deliberate errors; its text is fit to be shown to an operator."""


class ConfigurationError(FixwrightError):
    """A setting or a repository's `.fixwright.yml` is wrong."""


class IllegalTransition(FixwrightError):
    """The state table has no such move."""


class StaleWrite(FixwrightError):
    """A compare-and-set found another state or generation than expected; nothing was written."""


class StoreUnavailable(FixwrightError):
    """The database is locked for too long, or its disk is full or failing; nothing was written."""


class CapReached(FixwrightError):
    """A call does not fit under a cap; it was not made."""

    def __init__(self, limit: Limit, message: str) -> None:
        super().__init__(message)
        self.limit = limit

    def __reduce__(self) -> tuple[type[CapReached], tuple[Limit, str]]:
        """Let the error pass between processes, which would otherwise rebuild it from its text alone."""
        return type(self), (self.limit, str(self))


class Unpriced(FixwrightError):
    """No price is known for a model, so no call may be made with it."""


class ForgeError(FixwrightError):
    """The forge refused, or answered with something that cannot be used."""


class ForgeUnavailable(ForgeError):
    """The forge may answer later. `retry_after` are the seconds that it asked for, or None."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class NotFound(ForgeError):
    """The issue, repository or file is not there, or may not be seen."""


class PermissionRefused(ForgeError):
    """The service lacks a permission; the message names it."""


class GitError(FixwrightError):
    """A git command failed or did not end in time."""


class BranchMoved(GitError):
    """A push was refused because the remote branch is not at the commit that was recorded."""


class PushRefused(GitError):
    """The server refused a push for good; `reasons` are the lines it gave, redacted."""

    def __init__(self, message: str, reasons: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.reasons = reasons


class CredentialRefused(GitError):
    """The remote asked for a credential or did not take the one it got."""


class GitUnavailable(GitError):
    """The remote could not be reached, or not in time; worth another try later."""


class DiskFull(GitUnavailable):
    """There was no room on our disk for a mirror, a worktree or a transcript; nothing half written counts."""


class TransactionError(FixwrightError):
    """A transaction on a working copy cannot be begun, kept or taken back; the message says the way out."""


class SandboxError(FixwrightError):
    """No sandbox that holds can be had."""


class PolicyRefusal(FixwrightError):
    """A change breaks a rule that stands before any commit."""

    def __init__(self, message: str, findings: tuple[Finding, ...] = ()) -> None:
        super().__init__(message)
        self.findings = findings


class AgentFailure(FixwrightError):
    """The agent's process ended without a usable report."""


class ProviderUnavailable(AgentFailure):
    """The model's provider did not answer, or asked us to come back later.

    `retry_after` are the seconds that it asked for, or None.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ModelRefused(AgentFailure):
    """The model's provider refuses the service's key, or its account has no credit. No task is at fault."""


class Stopped(FixwrightError):
    """The attempt was asked to stop and did, at a step boundary."""
