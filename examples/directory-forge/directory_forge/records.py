"""The files of a directory forge: read at any time, written whole, and changed under one lock."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from domain.errors import ForgeUnavailable, NotFound

BOT_ID = "1"


def now() -> str:
    """Return the time as records keep it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


@dataclass(slots=True)
class Record:
    """A Markdown file with a head: an issue, a pull request or a comment."""

    path: Path
    head: dict[str, Any]
    body: str = ""

    @classmethod
    def read(cls, path: Path) -> Record:
        """Read a file. Raises FileNotFoundError."""
        head, _, body = path.read_bytes().decode().removeprefix("---\n").partition("\n---\n")
        return cls(path, yaml.safe_load(head), body)

    def write(self) -> None:
        """Put the file in place, whole."""
        head = yaml.safe_dump(self.head, allow_unicode=True, sort_keys=False, width=100)
        write_whole(self.path, f"---\n{head}---\n{self.body}")


@dataclass(slots=True)
class Home:
    """A repository: where it is, and what is known of it."""

    path: Path
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        """Its name now: the two directories that it is in."""
        return f"{self.path.parent.name}/{self.path.name}"

    @property
    def git_path(self) -> Path:
        """Where its git is."""
        return self.path / "git"

    def save(self) -> None:
        """Write what is known."""
        write_whole(self.path / "repository.json", json.dumps(self.facts, indent=2, ensure_ascii=False))

    def git(self, *arguments: str) -> str | None:
        """Return what git says of the repository, or None where it says no."""
        done = subprocess.run(
            ["git", "--git-dir", str(self.git_path), *arguments], capture_output=True, check=False
        )
        return os.fsdecode(done.stdout).strip() if done.returncode == 0 else None

    def sha(self, branch: str) -> str | None:
        """Return the commit of a branch, or None."""
        return self.git("rev-parse", "--verify", "--quiet", f"refs/heads/{branch}^{{commit}}")

    def issue(self, number: int) -> Record:
        """Return an issue or pull request. Raises NotFound."""
        try:
            return Record.read(self.path / f"{number:04d}.md")
        except FileNotFoundError:
            raise NotFound(f"there is no issue #{number} in {self.full_name}") from None

    def issues(self) -> list[Record]:
        """Return all issues and pull requests, oldest first."""
        found = [Record.read(path) for path in self.path.glob("*.md")]
        return sorted(found, key=lambda record: int(record.head["number"]))

    def comments(self, number: int) -> list[Record]:
        """Return the comments on an issue, oldest first. Raises NotFound."""
        self.issue(number)
        found = [Record.read(path) for path in (self.path / f"{number:04d}").glob("*.md")]
        return sorted(found, key=lambda record: int(record.head["id"]))


class Records:
    """All of a forge's directory."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Let nobody else change anything meanwhile, in this process or another. Raises ForgeUnavailable."""
        try:
            with (self.root / ".lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
        except OSError as error:
            raise ForgeUnavailable(f"the forge in {self.root} cannot be written: {error.strerror}") from error

    def new_id(self) -> int:
        """Return a number that nothing has had before; while changing."""
        path = self.root / ".last-id"
        number = int(path.read_text()) + 1 if path.exists() else 1001
        write_whole(path, str(number))
        return number

    def people(self) -> dict[str, dict[str, Any]]:
        """Return everybody by id; who is gone has `gone`."""
        try:
            found: dict[str, dict[str, Any]] = json.loads((self.root / "people.json").read_text())
        except FileNotFoundError:
            return {BOT_ID: {"login": "fixwright[bot]", "bot": True}}
        return found

    def save_people(self, people: dict[str, dict[str, Any]]) -> None:
        """Write everybody down."""
        write_whole(self.root / "people.json", json.dumps(people, indent=2, ensure_ascii=False))

    def homes(self) -> Iterator[Home]:
        """Yield every repository."""
        for path in sorted(self.root.glob("*/*/repository.json")):
            yield Home(path.parent, json.loads(path.read_text()))

    def home(self, repository_id: str) -> Home:
        """Return a repository by its id. Raises NotFound."""
        for home in self.homes():
            if home.facts["id"] == repository_id:
                return home
        raise NotFound(f"there is no repository with the id {repository_id[:40]!r}")


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader finds the old one or the new one, and nothing between."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.write_bytes(text.encode())
    draft.replace(path)
