"""Makes the back end that the operator has set. The one that does not isolate is never chosen by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from domain.ports import Sandbox, SandboxPolicy
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.sandbox.container import ContainerSandbox
from harness.sandbox.process import Consent, ProcessSandbox
from harness.sandbox.session import CommandSession

BackEnd = Literal["bubblewrap", "container", "process"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxWishes:
    """What the operator has set. `uid`, `tools` and `helpers` are those of the back ends.

    `state`, `image`, `engine` and `service` are for containers, `allow_unsandboxed` for the process back end.
    """

    back_end: BackEnd
    uid: int | None
    state: Path
    tools: Sequence[Path] = ()
    helpers: Mapping[str, Path] = field(default_factory=dict)
    image: str = ""
    engine: str = ""
    service: str = "fixwright"
    allow_unsandboxed: bool = False


def choose_sandbox(wishes: SandboxWishes) -> Sandbox:
    """Return the back end. Raises SandboxError where the operator's part of a consent is missing."""
    if wishes.back_end == "container":
        return ContainerSandbox(
            state=wishes.state,
            image=wishes.image,
            uid=wishes.uid,
            engine=wishes.engine,
            service=wishes.service,
            tools=wishes.tools,
            helpers=wishes.helpers,
        )
    if wishes.back_end == "process":
        return PrivateRepositoriesOnly(uid=wishes.uid, allowed=wishes.allow_unsandboxed)
    return BubblewrapSandbox(uid=wishes.uid, tools=wishes.tools, helpers=wishes.helpers)


class PrivateRepositoriesOnly:
    """Implements `domain.ports.Sandbox` without isolation, where the policy tells of a private repository.

    What the operator must give is asked for when this is made; the rest with every session.
    """

    def __init__(self, *, uid: int | None, allowed: bool) -> None:
        self._uid = uid
        self._allowed = allowed
        self._by_consent(private=True)

    @property
    def isolation(self) -> str:
        """Return "not sandboxed", with what there is instead."""
        return self._by_consent(private=True).isolation

    def self_test(self) -> None:
        """Check that commands can run as the other user. Raises SandboxError."""
        self._by_consent(private=True).self_test()

    def open(self, policy: SandboxPolicy) -> CommandSession:
        """Return a session. Raises SandboxError for a repository that is not private."""
        return self._by_consent(private=policy.private_repository).open(policy)

    def _by_consent(self, *, private: bool) -> ProcessSandbox:
        consent = Consent(configured=True, allowed=self._allowed, private_repository=private)
        return ProcessSandbox(uid=self._uid, consent=consent)
