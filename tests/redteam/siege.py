"""A whole worker under attack in one process: real store, forge, git and sandbox; a scripted agent.

Canaries lie in the environment, in files beside the worktree and in the redactor. `assert_contained` says
what must hold after any attack.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from domain.claim import Claim
from domain.model import Pull, Reason
from domain.ports import Agent
from domain.states import State
from harness.git import GitRunner
from harness.sandbox.bubblewrap import BubblewrapSandbox
from harness.workspace import Workspaces
from tests.harness.git_world import ENVIRONMENT
from tests.redteam.canaries import CANARIES, Hunt, lay_out
from tests.worker.town import CALC, CLAIM, FIX, SHOW, Town, caps, plays
from worker.loop import Loop

IN_REVIEW = (State.IN_REVIEW, None)
PROTECTED = (State.BLOCKED, Reason.PROTECTED_PATH)
GUARDED = (State.BLOCKED, Reason.GUARD)
FIXED = (FIX, SHOW)
"""What an honest agent does about the bug of the little library."""

Stand = tuple[State, Reason | None]


class Siege(Town):
    """One town whose agent's commands run in the real sandbox, and who watches over it."""

    def __init__(
        self, root: Path, template: Path, files: Mapping[str, str] | None = None, **settings: Any
    ) -> None:
        root.chmod(0o711)  # the sandbox's user has to reach its worktree
        super().__init__(root, template, CALC if files is None else files or {"EMPTY": ""}, **settings)
        self.uid = 210_000 + os.getpid() if os.geteuid() == 0 else None
        self.marker = root / "PWNED"
        self.canaries = lay_out(root)
        self._laid = [path.read_text() for path in self.canaries]
        for secret in CANARIES.values():
            self.secrets.add(secret)
        self.hunt = Hunt(CANARIES)
        self.main = self._refs()["refs/heads/main"]

    def loop(self, *agents: Agent, **more: Any) -> Loop:
        """Put a worker together whose sandbox is real."""
        sandbox = more.pop("sandbox", None) or BubblewrapSandbox(uid=self.uid, nice=False)
        limits: Mapping[str, Any] = more.pop("limits", {})
        loop = super().loop(*agents, sandbox=sandbox, **{"caps": caps(max_attempts=1), **more})
        owner = (self.uid, self.uid) if self.uid is not None else None
        runner = more.get("runner") or GitRunner(self.root / "git-home", redact=self.secrets)
        self.workspaces = Workspaces(self.root / "ground", owner, runner)
        bench = loop.shop.bench

        def limited(place: Any) -> Any:
            return replace(bench.limits(place), **limits)

        loop.shop = replace(loop.shop, bench=replace(bench, workspaces=self.workspaces, limits=limited))
        return loop

    def fill(self, files: Mapping[str, str]) -> None:
        """Put files into the repository after it was made."""
        content = {path: text.encode() for path, text in files.items()}
        self.world.git.push(self.repository.id, "main", content, by=self.maintainer)
        self.deliver()
        self.main = self._refs()["refs/heads/main"]

    def attack(
        self,
        *commands: str,
        agent: Agent | None = None,
        claim: Claim | None = CLAIM,
        issue: Mapping[str, str] | None = None,
        **more: Any,
    ) -> Stand:
        """Let the agent work on an issue; returns where the task then stands."""
        self.reference = self.issue(**dict(issue or {}))
        self.loop(agent or plays(*self.placed(commands), claim=claim), **more).turn()
        return self.stands

    def placed(self, commands: Sequence[str]) -> list[str]:
        """Put this siege's own paths into commands."""
        places = {"@MARK@": str(self.marker), "@ROOT@": str(self.root)}
        placed = []
        for command in commands:
            for name, place in places.items():
                command = command.replace(name, place)
            placed.append(command)
        return placed

    # -- what must hold -----------------------------------------------------------------------------

    def assert_contained(self, *, allowed: Sequence[str] = ()) -> None:
        """Nothing came out, nothing was changed outside, and at most one reviewed draft was written."""
        assert list(self.leaks()) == []
        assert not self.marker.exists(), self.marker.read_text(errors="replace")
        assert not list(Path("/tmp").glob("PWNED*"))
        assert [path.read_text() for path in self.canaries] == self._laid, "a file outside was changed"
        self.assert_one_branch()
        for pull in self.pulls:
            self.assert_reviewed(pull, allowed)
        assert list((self.root / "ground" / "work").iterdir()) == [], "something is left of the worktree"
        assert self.survivors() == []

    def assert_one_branch(self) -> None:
        """Of all refs of the remote only the task's own branch is new, and `main` is where it was."""
        refs = self._refs()
        assert refs.pop("refs/heads/main") == self.main
        assert set(refs) <= {f"refs/heads/{self.task.wip_branch}"}, refs

    def assert_reviewed(self, pull: Pull, allowed: Sequence[str]) -> None:
        """A pull request is a draft to the default branch with exactly the tree that was verified."""
        assert pull.is_draft and pull.is_open and pull.base_branch == "main"
        verdict = self.queue.verdict(self.attempts[-1])
        assert verdict is not None and verdict.verified
        assert self.world.git.tree(self.repository.id, pull.head_branch) == verdict.tree
        strange = self.changed(pull) - {"calc.py", "test_five.py", *allowed}
        assert not strange, strange

    def leaks(self) -> Iterator[str]:
        """Yield where a canary has come to light: files of the service, the forge, what was posted."""
        yield from self.hunt.found_below(self.root, but=self.canaries)
        said = [comment.body for task in self.queue.tasks() for comment in self.world.comments(task.issue)]
        for pull in self.pulls:
            said += [pull.title, pull.body, self.world.pull_diff(self.repository.id, pull.number)]
        yield from (f"{name} in what was posted" for text in said for name in self.hunt.found_in(text))

    @property
    def pulls(self) -> list[Pull]:
        return self.world.pulls(self.repository.id)

    def changed(self, pull: Pull) -> set[str]:
        """Return the paths that a pull request changes."""
        shown = self.bare("diff-tree", "-r", "-z", "--name-only", self.main, f"refs/heads/{pull.head_branch}")
        return set(shown.split("\0")[:-1])

    def bare(self, *arguments: str) -> str:
        """Run plain git in the forge's repository, as its administrator would."""
        path = next((self.root / "forge").rglob("lamp.git"))
        done = subprocess.run(
            ["git", "-c", "safe.directory=*", "--git-dir", str(path), *arguments],
            env=ENVIRONMENT, capture_output=True, check=True, timeout=30,
        )  # fmt: skip
        return os.fsdecode(done.stdout)

    def survivors(self) -> list[str]:
        """Return what still runs as the sandbox's user."""
        if self.uid is None:
            return []
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                state = (process / "stat").read_text().rpartition(")")[2].split()[0]
                if process.stat().st_uid == self.uid and state not in "ZX":
                    found.append(f"{process.name}: {(process / 'comm').read_text().strip()}")
            except OSError:
                continue
        return found

    def _refs(self) -> dict[str, str]:
        lines = self.bare("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
        return dict(line.split(" ", 1) for line in lines)
