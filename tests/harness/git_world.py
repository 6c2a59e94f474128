"""A small world for git tests: a bare remote, a person's clone of it, our runner, mirror and workspaces."""

from __future__ import annotations

import base64
import os
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TypeVar

from domain.model import CloneAccess
from domain.ports import Purpose
from harness.git import GitRunner, Mirror
from harness.workspace import Workspace, Workspaces, remove_tree

Result = TypeVar("Result")

ENVIRONMENT = {
    "PATH": os.defpath + ":/usr/local/bin",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    **{
        f"GIT_{who}_{what}": "person@example.invalid"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    },
}


def person(*arguments: str, at: Path, env: Mapping[str, str] | None = None, check: bool = True) -> str:
    """Run plain git as somebody at their own desk would, and return what it printed."""
    done = subprocess.run(
        ["git", "-c", "safe.directory=*", "-c", "protocol.file.allow=always", *arguments],
        cwd=at,
        env={**ENVIRONMENT, **(env or {})},
        capture_output=True,
        timeout=60,
        check=False,
    )
    if check and done.returncode:
        raise AssertionError(f"git {arguments} failed: {done.stderr.decode(errors='replace')}")
    return os.fsdecode(done.stdout).strip()


class World:
    """`remote` is bare, `desk` a person's clone on `main`; `mirror` and `places` are ours."""

    def __init__(self, root: Path, owner: tuple[int, int] | None = None) -> None:
        self.root = root
        self.remote = root / "remote.git"
        self.desk = root / "desk"
        person("init", "-q", "--bare", "-b", "main", str(self.remote), at=root)
        person("init", "-q", "-b", "main", str(self.desk), at=root)
        person("remote", "add", "origin", f"file://{self.remote}", at=self.desk)
        self.access = CloneAccess(url=f"file://{self.remote}", protocol="file")
        self.git = GitRunner(root / "git")
        self.places = Workspaces(root / "data", owner, self.git)
        self.mirror = Mirror(root / "data" / "mirrors" / "world.git", self.git)

    def commit(self, files: Mapping[str, str | bytes | None], message: str = "change") -> str:
        """Write (None: delete) files at the desk, commit and push; returns the commit."""
        for name, content in files.items():
            path = self.desk / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        person("add", "-A", "-f", at=self.desk)
        person("commit", "-q", "--allow-empty", "-m", message, at=self.desk)
        branch = person("symbolic-ref", "--short", "HEAD", at=self.desk)
        person("push", "-q", "origin", f"HEAD:refs/heads/{branch}", at=self.desk)
        return person("rev-parse", "HEAD", at=self.desk)

    def fetched(self, files: Mapping[str, str | bytes | None]) -> tuple[str, str]:
        """Commit, fetch into the mirror; returns (commit, tree)."""
        commit = self.commit(files)
        self.mirror.fetch(self.access)
        return commit, self.mirror.tree_of(commit)

    def workspace(self, commit: str, branch: str = "main") -> Workspace:
        """Return a filled workspace on a commit."""
        place = self.places.open(1, 1)
        place.fill(self.mirror, commit, branch=branch, url="https://forge.invalid/o/r.git")
        return place

    def remote_refs(self) -> dict[str, str]:
        """Return every ref of the remote."""
        lines = person("for-each-ref", "--format=%(refname) %(objectname)", at=self.remote).splitlines()
        return dict(line.split(" ", 1) for line in lines)


@contextmanager
def reachable_directory() -> Iterator[Path]:
    """Yield a directory that another uid can walk into, unlike pytest's own."""
    path = Path(tempfile.mkdtemp(prefix="reachable-"))
    path.chmod(0o711)
    try:
        yield path
    finally:
        remove_tree(path)


@dataclass(frozen=True, slots=True)
class Standing:
    """An access that is always the same, for worlds without a forge."""

    access: CloneAccess

    def during(self, purpose: Purpose, work: Callable[[CloneAccess], Result]) -> Result:
        return work(self.access)


@contextmanager
def smart_http(root: Path, secret: str) -> Iterator[str]:
    """Serve bare repositories under `root` over smart HTTP behind a password; yields the address."""
    with token_http(root, lambda given, is_push: given == secret) as address:
        yield address


@contextmanager
def token_http(root: Path, takes: Callable[[str, bool], bool]) -> Iterator[str]:
    """Serve like `smart_http`; `takes` judges each request by its password and whether it is of a push."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            basic = self.headers.get("Authorization", "").removeprefix("Basic ")
            user, _, password = base64.b64decode(basic).decode().partition(":")
            if user != "x-access-token" or not takes(password, "receive-pack" in self.path):
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="forge"')
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self._backend(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

        def _backend(self, body: bytes) -> None:
            path, _, query = self.path.partition("?")
            environment = {
                **ENVIRONMENT,
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "REMOTE_USER": "fixwright",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(len(body)),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            command = ["git", "-c", "safe.directory=*", "-c", "http.receivepack=true", "http-backend"]
            answer = subprocess.run(
                command, input=body, env=environment, capture_output=True, check=True
            ).stdout
            head, _, content = answer.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
            self.send_response(int(fields.pop("Status", "200").split()[0]))
            for name, value in fields.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = _serve
        do_POST = _serve

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
