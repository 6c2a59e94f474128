"""Where one set-up happens, and what the operator allows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from domain.hosts import Target, parse_target
from domain.model import Repository
from domain.ports import Sandbox, SandboxPolicy
from harness.git import Mirror
from harness.setup.plan import Ground
from harness.setup.proxy import ProxyCaps
from harness.setup.rules import Network
from harness.setup.upstream import OperatorProxy, Resolve, look_up
from harness.workspace import Workspaces


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupRules:
    """What the operator allows a set-up. Bytes and seconds; `certificates` are those that are trusted.

    `setting` is the word on hosts: "" for no network at all, and nothing is detected; else "auto" and names
    of hosts, comma separated. `networks` may be reached although they are not public.
    """

    setting: str = ""
    networks: tuple[Network, ...] = ()
    proxy: OperatorProxy | None = None
    disk_bytes: int = 600 * 2**20
    processes: int = 256
    seconds: float = 1800.0
    caps: ProxyCaps = field(default_factory=ProxyCaps)
    certificates: Path | None = None
    resolve: Resolve = look_up

    @property
    def is_online(self) -> bool:
        """Whether anything may be reached."""
        return bool(self.setting)

    @property
    def is_auto(self) -> bool:
        """Whether the package clients of this machine are asked where they would go."""
        return "auto" in self.setting.split(",")

    @property
    def named(self) -> frozenset[Target]:
        """The hosts that the setting names itself."""
        words = [word for word in self.setting.split(",") if word != "auto"]
        return frozenset(filter(None, map(parse_target, words)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """The repository at its base, the sandbox with an attempt's limits, and the places on disk."""

    repository: Repository
    mirror: Mirror
    tree: str
    sandbox: Sandbox
    workspaces: Workspaces
    limits: SandboxPolicy

    def ground(self) -> Ground:
        """Return the base's files. Raises GitError."""
        listed = self.mirror.list_files(self.tree)
        return Ground(self.tree, {path: entry.sha for path, entry in listed.items()})

    @contextmanager
    def corner(self) -> Iterator[Path]:
        """Yield a directory beside the worktrees that is gone afterwards, with everything in it."""
        place = self.workspaces.corner("setup-")
        try:
            yield place
        finally:
            self.workspaces.remove(place)

    def empty(self, path: Path) -> Path:
        """Make an empty directory of the sandbox's user."""
        path.mkdir()
        self.workspaces.hand_over(path)
        return path
