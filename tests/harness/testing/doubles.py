"""Stand-ins for tests: a session on a plain subprocess, and trees in a real git repository."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from domain.model import CommandResult
from domain.ports import SandboxPolicy, SandboxSession

PATH = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"


class PlainSession:
    """Runs commands unprotected, with /work and /tmp put in the place of the real directories."""

    def __init__(self, policy: SandboxPolicy, path: str) -> None:
        self._policy, self._path = policy, path

    def run(self, command: str, deadline_seconds: float) -> CommandResult:
        env = {name: self._placed(value) for name, value in self._policy.env.items()}
        # The plugins of this project's own environment cost 2 s a start and are nobody's business here.
        env.setdefault("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        started = time.monotonic()
        process = subprocess.Popen(
            ["/bin/bash", "-c", self._placed(command)],
            cwd=self._policy.writable,
            env={"PATH": self._path, "HOME": str(self._policy.scratch), "LANG": "C.UTF-8", **env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        timed_out = False
        try:
            output, _ = process.communicate(timeout=deadline_seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
            os.killpg(process.pid, signal.SIGKILL)
            output, _ = process.communicate()
        return CommandResult(
            command=command,
            exit_code=process.returncode,
            output=output.decode("utf-8", "replace"),
            seconds=time.monotonic() - started,
            timed_out=timed_out,
        )

    def close(self) -> None:
        pass

    def _placed(self, text: str) -> str:
        places = {"/work": str(self._policy.writable), "/tmp": str(self._policy.scratch)}
        return re.sub(r"(?<![\w.])(?:/work|/tmp)(?![\w-])", lambda match: places[match[0]], text)


class PlainSandbox:
    """A sandbox that is none; `opened` keeps the policies for tests to look at."""

    isolation = "none (test double)"

    def __init__(self, path: str = PATH) -> None:
        self._path = path
        self.opened: list[SandboxPolicy] = []

    def self_test(self) -> None:
        pass

    def open(self, policy: SandboxPolicy) -> SandboxSession:
        self.opened.append(policy)
        return PlainSession(policy, self._path)


@dataclass(frozen=True)
class Changed:
    """A path that differs between two trees."""

    path: str
    status: str
    old_mode: str
    new_mode: str
    old_sha: str
    new_sha: str


class GitTrees:
    """A bare repository with the few operations that verification needs of a mirror and its workspaces."""

    def __init__(self, directory: Path) -> None:
        self._repository = directory / "trees.git"
        self._directory = directory
        self._count = 0
        self._git("init", "-q", "--bare", str(self._repository))

    def tree(self, files: Mapping[str, str | bytes]) -> str:
        entries = {}
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            sha = self._git("hash-object", "-w", "--stdin", stdin=data).strip()
            entries[path] = ("100644", sha)
        return self._written(entries)

    def commit(self, files: Mapping[str, str | bytes]) -> str:
        return self._git("commit-tree", self.tree(files), "-m", "test").strip()

    def tree_of(self, commit: str) -> str:
        return self._git("rev-parse", f"{commit}^{{tree}}").strip()

    def read_file(self, tree: str, path: str, limit: int = 2**20) -> bytes | None:
        entry = self._entries(tree).get(path)
        if entry is None:
            return None
        return self._git("cat-file", "blob", entry[1]).encode("utf-8", "surrogateescape")

    def changes(self, base_tree: str, tree: str) -> tuple[Changed, ...]:
        old, new = self._entries(base_tree), self._entries(tree)
        absent = ("000000", "0" * 40)
        found = []
        for path in sorted({*old, *new}):
            before, after = old.get(path, absent), new.get(path, absent)
            if before != after:
                status = "A" if path not in old else "D" if path not in new else "M"
                found.append(Changed(path, status, before[0], after[0], before[1], after[1]))
        return tuple(found)

    def overlay(self, base_tree: str, from_tree: str, paths: Sequence[str]) -> str:
        entries, source = self._entries(base_tree), self._entries(from_tree)
        for path in paths:
            entries.pop(path, None)
            if path in source:
                entries[path] = source[path]
        return self._written(entries)

    def with_texts(self, tree: str, texts: Mapping[str, bytes]) -> str:
        entries = self._entries(tree)
        for path, text in texts.items():
            entries[path] = (entries[path][0], self._git("hash-object", "-w", "--stdin", stdin=text).strip())
        return self._written(entries)

    def fresh(self, tree: str) -> Path:
        self._count += 1
        checkout = self._directory / f"checkout-{self._count}"
        checkout.mkdir()
        archive = subprocess.run(
            ["git", "--git-dir", str(self._repository), "archive", tree], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", str(checkout)], input=archive.stdout, check=True)
        return checkout

    def discard(self, checkout: Path) -> None:
        shutil.rmtree(checkout)

    def _entries(self, tree: str) -> dict[str, tuple[str, str]]:
        entries = {}
        for record in self._git("ls-tree", "-r", "-z", tree).split("\0"):
            if record:
                meta, _, path = record.partition("\t")
                mode, _, sha = meta.split(" ")
                entries[path] = (mode, sha)
        return entries

    def _written(self, entries: Mapping[str, tuple[str, str]]) -> str:
        self._count += 1
        index = self._directory / f"index-{self._count}"
        lines = "".join(f"{mode} {sha}\t{path}\n" for path, (mode, sha) in entries.items())
        self._git("update-index", "--add", "--index-info", stdin=lines.encode(), index=index)
        tree = self._git("write-tree", index=index).strip()
        index.unlink(missing_ok=True)
        return tree

    def _git(self, *arguments: str, stdin: bytes = b"", index: Path | None = None) -> str:
        person = {"NAME": "t", "EMAIL": "t@example.org"}
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            **{f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in person.items()},
        }
        if index is not None:
            env["GIT_INDEX_FILE"] = str(index)
        place = () if arguments[0] == "init" else ("--git-dir", str(self._repository))
        completed = subprocess.run(
            ["git", *place, *arguments], input=stdin, env=env, capture_output=True, check=True
        )
        return completed.stdout.decode("utf-8", "surrogateescape")
