"""A repository in a place that the sandbox's user can reach, and set-ups of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path

from domain.model import CommandResult, Repository
from domain.ports import Sandbox, SandboxPolicy
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.setup.cache import SetupCache
from harness.setup.clients import NO_CLIENTS, ClientConfiguration
from harness.setup.phase import SetupPhase
from harness.setup.plan import SetupPlan
from harness.setup.prepared import Prepared
from harness.setup.site import SetupRules, Site
from tests.harness.git_world import World

REPOSITORY = Repository(
    forge="local",
    id="7",
    full_name="acme/lamp",
    default_branch="main",
    private=False,
    archived=False,
    url="http://forge.invalid/acme/lamp",
)


class SetupWorld:
    """One repository, real git, a real sandbox, a cache."""

    def __init__(
        self,
        root: Path,
        uid: int | None,
        rules: SetupRules | None = None,
        ask: Callable[[], ClientConfiguration] = lambda: NO_CLIENTS,
    ) -> None:
        self.uid = uid
        self.git = World(root, None if uid is None else (uid, uid))
        self.sandbox: Sandbox = BubblewrapSandbox(uid=uid, nice=False)
        self.cache = SetupCache(root / "data" / "setups", 2**30, settle=None)
        self.rules = rules or SetupRules()
        self.ask = ask
        self.phase = SetupPhase(self.cache, self.rules, ask_clients=ask)

    def commit(self, files: Mapping[str, str]) -> str:
        """Commit files, fetch, and return the tree."""
        return self.git.fetched(files)[1]

    def site(self, tree: str) -> Site:
        place = self.git.places.root / "work"
        return Site(
            repository=REPOSITORY,
            mirror=self.git.mirror,
            tree=tree,
            sandbox=self.sandbox,
            workspaces=self.git.places,
            limits=SandboxPolicy(writable=place, scratch=place, memory_bytes=2**30),
        )

    def set_up(self, tree: str, *commands: str, **changes: object) -> Prepared:
        plan = SetupPlan(commands=commands, why="a test", **changes)  # type: ignore[arg-type]
        return self.phase.prepare(plan, self.site(tree))

    def later(self, prepared: Prepared, tree: str, *commands: str) -> list[CommandResult]:
        """Run commands as later sessions do: in a fresh checkout, with what was set up."""
        checkout = self.git.places.fresh(self.git.mirror, tree)
        scratch = self.git.places.corner("scratch-")
        policy = prepared.within(SandboxPolicy(writable=checkout, scratch=scratch, memory_bytes=2**30))
        try:
            with closing(self.sandbox.open(policy)) as session:
                return [session.run(command, 60) for command in commands]
        finally:
            self.git.places.remove(checkout)

    def work_left(self) -> list[str]:
        return [path.name for path in (self.git.places.root / "work").iterdir()]
