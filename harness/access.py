"""How git gets its credential: one for each operation, known to the redactor at once, revoked after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import structlog

from domain.errors import CredentialRefused, ForgeError
from domain.model import CloneAccess
from domain.ports import Forge, Purpose
from domain.text import Redactor

log = structlog.get_logger(__name__)

Result = TypeVar("Result")


class Access(Protocol):
    """A way to one repository, opened for each operation anew."""

    def during(self, purpose: Purpose, work: Callable[[CloneAccess], Result]) -> Result:
        """Return what `work` makes of an access that is good for this purpose and this long, and no more."""


class RepositoryAccess:
    """Mints on one forge for one repository. Nothing is kept: a token lives as long as one call of `during`.

    A token to push with can therefore not be there while an agent works: nothing is pushed then.
    """

    def __init__(self, forge: Forge, repository_id: str, redact: Redactor) -> None:
        self._forge = forge
        self._repository_id = repository_id
        self._redact = redact

    def during(self, purpose: Purpose, work: Callable[[CloneAccess], Result]) -> Result:
        """Mint, work, revoke. A credential that the remote does not take is replaced once, never twice.

        Raises what `work` raises, ForgeError.
        """
        try:
            return self._once(purpose, work)
        except CredentialRefused as error:
            log.warning("credential refused; trying a new one", purpose=purpose, why=str(error))
        return self._once(purpose, work)

    def _once(self, purpose: Purpose, work: Callable[[CloneAccess], Result]) -> Result:
        access = self._forge.clone_access(self._repository_id, purpose)
        self._redact.lend(access.secret)
        try:
            return work(access)
        finally:
            self._revoke(access)

    def _revoke(self, access: CloneAccess) -> None:
        """Revoke; where that fails the token lives until it expires by itself, and the work counts."""
        if not access.secret:
            return
        try:
            self._forge.revoke_access(access)
        except ForgeError as error:
            log.warning("credential not revoked; it expires by itself", why=str(error))
