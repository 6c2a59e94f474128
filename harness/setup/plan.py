"""What a set-up is to run, why, and the name under which its result is kept."""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.setup.ecosystems import Ecosystem, concerned, is_manifest, words_in

FORMAT = 1
"""Changes with everything that makes the same commands come to something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupPlan:
    """Commands with their variables, seconds for all of them, and where they come from.

    `needs` are programs without which none of it makes sense; `commands` never came from an issue or a model.
    They are run in `directory`, from the root, "" for it.
    """

    commands: tuple[str, ...]
    why: str
    env: Mapping[str, str] = field(default_factory=dict)
    timeout_seconds: int = 900
    needs: tuple[str, ...] = ()
    directory: str = ""

    @property
    def shown(self) -> str:
        """The commands in one line."""
        return "; ".join(self.commands)

    def placed(self, command: str) -> str:
        """Return a command as the shell gets it."""
        return f"cd {shlex.quote(self.directory)} || exit 1\n{command}" if self.directory else command


@dataclass(frozen=True, slots=True)
class Ground:
    """The base's files, by path: the object name of each blob."""

    tree: str
    blobs: Mapping[str, str]

    def inputs(self, commands: Sequence[str], directory: str = "") -> dict[str, str]:
        """Return what a result depends on: manifests, lockfiles, and files that the commands name."""
        words = {word.removeprefix("./") for word in words_in(commands)}
        words |= {f"{directory}/{word}" for word in words} if directory else set()
        makes = {"make", "just", "task"} & words
        builders = {"Makefile", "makefile", "GNUmakefile", "justfile", "Taskfile.yml"} if makes else set()
        placed_builders = builders | {f"{directory}/{name}" for name in builders if directory}
        return {
            path: blob
            for path, blob in self.blobs.items()
            if path in words or path in placed_builders or is_manifest(path)
        }

    def ecosystems(self, commands: Sequence[str]) -> tuple[Ecosystem, ...]:
        """Return the package clients that are concerned."""
        return concerned(self.blobs, commands)


def key_of(plan: SetupPlan, ground: Ground, toolchains: Mapping[str, str]) -> str:
    """Return the name of a result: the same commands on the same manifests with the same tools."""
    said = {
        "format": FORMAT,
        "commands": plan.commands,
        "env": dict(plan.env),
        "inputs": ground.inputs(plan.commands, plan.directory),
        "toolchains": dict(toolchains),
    }
    if plan.directory:
        said["directory"] = plan.directory
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:32]
