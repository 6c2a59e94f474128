"""One run of a set-up's commands: with the way out that it is allowed, and what it made taken apart."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import structlog

from domain.model import CommandResult
from domain.ports import SandboxPolicy, SandboxSession, Shown
from harness.sandbox.places import HOME, SETUP
from harness.setup.cache import Record, bytes_of
from harness.setup.certificates import certificate_shown, certificate_variables
from harness.setup.clients import ClientConfiguration
from harness.setup.ecosystems import Ecosystem, python_prologue
from harness.setup.failure import command_failed
from harness.setup.made import Findings, find_made
from harness.setup.plan import Ground, SetupPlan
from harness.setup.proxy import SetupProxy
from harness.setup.rules import Allowance
from harness.setup.site import SetupRules, Site
from harness.setup.upstream import Upstream

_log = structlog.get_logger(__name__)

_HOME_OPENED = frozenset({".cache", ".local", ".config"})
"""Directories of a home that are shared by many: what is in them is kept one by one."""

_HOME_LEFT = frozenset(
    {
        ".cache/pip",
        ".cache/uv",
        ".cache/go-build",
        ".cache/yarn",
        ".cache/node",
        ".npm",
        ".bash_history",
        ".wget-hsts",
    }
)


@dataclass(frozen=True, slots=True)
class Way:
    """Where a set-up may go, and what its package clients are told."""

    allowance: Allowance
    clients: ClientConfiguration


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupRun:
    """A plan on its site, with its package clients and the way out."""

    rules: SetupRules
    plan: SetupPlan
    site: Site
    ecosystems: tuple[Ecosystem, ...]
    way: Way

    def made(self, corner: Path, ground: Ground) -> tuple[Path, Record]:
        """Run the commands; return a directory below `corner` with what they made, and its description.

        Raises SetupFailed, SandboxError, GitError, OSError, Stopped.
        """
        site = self.site
        setup, home = site.empty(corner / "setup"), site.empty(corner / "home")
        self._configure(setup)
        checkout = corner / "tree"
        checkout.mkdir()
        site.mirror.materialize(site.tree, checkout)
        site.workspaces.hand_over(checkout)
        with self._way_out(corner) as proxy:
            shown = (
                Shown(source=setup, target=SETUP, writable=True),
                Shown(source=home, target=HOME, writable=True),
                *certificate_shown(self.rules.certificates),
                *self.way.clients.shown,
            )
            policy = self._policy(checkout, corner / "scratch", shown, proxy.path if proxy else None)
            with closing(site.sandbox.open(policy)) as session:
                self._run_all(session, proxy)
        found = find_made(checkout, ground.blobs)
        return self._gathered(corner, found)

    def _configure(self, setup: Path) -> None:
        """Write what clients take from files, each in a directory of its own, as the sandbox's user."""
        for name, text in self.way.clients.files.items():
            directory = self.site.empty(setup / Path(name).parent)
            (directory / Path(name).name).write_text(text)
            self.site.workspaces.hand_over(directory)

    def _policy(
        self, checkout: Path, scratch: Path, shown: tuple[Shown, ...], egress: Path | None
    ) -> SandboxPolicy:
        rules = self.rules
        env = {"SETUP_DIR": SETUP}
        for each in self.ecosystems:
            env |= {**each.always, **each.during}
        return replace(
            self.site.limits,
            writable=checkout,
            scratch=scratch,
            memory_bytes=rules.memory_bytes,
            processes=rules.processes,
            file_bytes=rules.disk_bytes,
            disk_bytes=rules.disk_bytes,
            env={**env, **certificate_variables(rules.certificates), **self.way.clients.env, **self.plan.env},
            shown=shown,
            path=(f"{SETUP}/bin", *(path for each in self.ecosystems for path in each.path)),
            egress=egress,
        )

    @contextmanager
    def _way_out(self, corner: Path) -> Iterator[SetupProxy | None]:
        if not self.way.allowance.targets:
            yield None
            return
        rules = self.rules
        upstream = Upstream(allowance=self.way.allowance, proxy=rules.proxy, resolve=rules.resolve)
        owner = self.site.workspaces.owner
        with SetupProxy(corner / "out.sock", upstream, owner=owner, caps=rules.caps) as proxy:
            yield proxy

    def _run_all(self, session: SandboxSession, proxy: SetupProxy | None) -> None:
        """Run one command after another. Raises SetupFailed at the first that fails."""
        until = time.monotonic() + min(self.plan.timeout_seconds, self.rules.seconds)
        before = [python_prologue()] if any(each.name == "python" for each in self.ecosystems) else []
        for command in (*before, *self.plan.commands):
            began = time.monotonic()
            given = self.plan.placed(command) if command in self.plan.commands else command
            result = session.run(given, until - began)
            _log.info(
                "set-up command ended",
                command=_shown(command, self.plan),
                exit_code=result.exit_code,
                seconds=round(result.seconds, 1),
            )
            if result.exit_code or result.timed_out or result.killed:
                self._fail(replace(result, command=_shown(command, self.plan)), proxy)

    def _fail(self, result: CommandResult, proxy: SetupProxy | None) -> None:
        refused = proxy.refused if proxy else ()
        raise command_failed(result, refused, why=self.plan.why, offline=not self.rules.is_online)

    def _gathered(self, corner: Path, found: Findings) -> tuple[Path, Record]:
        """Move what is kept into one directory, each thing under a number: no name of it leads anywhere."""
        entry = corner / "entry"
        (entry / "made").mkdir(parents=True)
        for number, each in enumerate(found.kept):
            _move(corner / "tree" / each.path, entry / "made" / str(number))
        _move(corner / "setup", entry / "setup")
        names = _kept_of_home(corner / "home")
        _move(corner / "home", entry / "home")
        entry.chmod(0o711)
        (entry / "made").chmod(0o711)
        record = Record(
            made=found.kept,
            home=names,
            remarks=tuple(f"not kept: {left}" for left in found.left[:5]) + self.way.clients.remarks,
            bytes=bytes_of(entry),
        )
        return entry, record


def _shown(command: str, plan: SetupPlan) -> str:
    """Return a command as it is told of; the lines that we put before them have a name."""
    return command if command in plan.commands else "python3 -m venv"


def _kept_of_home(home: Path) -> tuple[str, ...]:
    """Return the paths below a home that later sessions see, links and empty directories left out."""
    kept: list[str] = []
    for path in sorted(home.iterdir()):
        if path.is_symlink():
            continue
        opened = path.name in _HOME_OPENED and path.is_dir()
        inner = [each for each in sorted(path.iterdir()) if not each.is_symlink()] if opened else [path]
        kept += [each.relative_to(home).as_posix() for each in inner]
    return tuple(name for name in kept if name not in _HOME_LEFT)


def _move(source: Path, target: Path) -> None:
    """Move something that no process uses any more, and let its owner into it whatever its mode was."""
    mode = source.lstat().st_mode
    if stat.S_ISDIR(mode):
        source.chmod(stat.S_IMODE(mode) | stat.S_IRWXU)
    source.rename(target)
