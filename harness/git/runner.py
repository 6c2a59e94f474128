"""Starts git, the only place that does: closed environment, allowed verbs, time and output limits."""

from __future__ import annotations

import copy
import os
import re
import select
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from domain.errors import CredentialRefused, GitError, GitUnavailable, Stopped
from domain.model import CloneAccess
from domain.text import Redactor, plain
from harness.git.credential import check_access, offered
from harness.git.environment import DEFAULT_COMMITTER, SEARCH_PATH, VERBS, Person, settings, variables
from harness.room import no_room
from harness.stopping import StopSignal

_STDERR_KEPT = 64 * 2**10
_USERINFO = re.compile(r"(?<=://)[^/\s@]+@")
_UNREACHABLE = re.compile(
    r"could not resolve host|failed to connect|connection (?:refused|reset|timed out)|timed? ?out"
    r"|the requested URL returned error: (?:408|429|5\d\d)|early EOF|unexpected disconnect|hung up"
    r"|rpc failed|empty reply|operation too slow",
    re.IGNORECASE,
)
_NO_ROOM = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)
_UNAUTHORIZED = re.compile(
    r"authentication failed|could not read (?:username|password)|invalid username or (?:password|token)"
    r"|terminal prompts disabled|returned error: 40[13]",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What a call works on: a repository, and where needed a worktree and an index. Absolute paths."""

    git_dir: Path
    work_tree: Path | None = None
    index: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds and bytes of standard output. With `clip` more output is cut off instead of an error."""

    seconds: float = 60.0
    output: int = 64 * 2**20
    clip: bool = False


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class Completed:
    """How a call ended. `error` is its standard error, redacted and without control characters."""

    verb: str
    code: int
    output: bytes
    error: str
    clipped: bool = False

    def failure(self) -> GitError:
        """Return the error that this call stands for, of the kind its words tell."""
        said = " / ".join(line.strip() for line in self.error.splitlines() if line.strip())[-1500:]
        message = f"git {self.verb} failed ({self.code}): {said or 'no message'}"
        if _NO_ROOM.search(self.error):
            return no_room(f"git {self.verb}")
        if _UNAUTHORIZED.search(self.error):
            return CredentialRefused(message)
        return GitUnavailable(message) if _UNREACHABLE.search(self.error) else GitError(message)


class GitRunner:
    """Runs git so that nothing a repository or an agent left behind can steer it.

    `home` is a directory of ours; an empty one below it becomes git's working directory. `protocols` are
    those a remote may be reached by. `ca_file` holds the certificates of a private authority.
    """

    def __init__(
        self,
        home: Path,
        *,
        committer: Person = DEFAULT_COMMITTER,
        redact: Callable[[str], str] = plain,
        protocols: frozenset[str] = frozenset({"https", "file"}),
        ca_file: Path | None = None,
    ) -> None:
        self.committer = committer
        self._redact = redact
        self._protocols = protocols
        self._ca_file = ca_file
        self._stop: StopSignal | None = None
        self._leash = _leash()
        self._directory = home.absolute() / "empty"
        self._directory.mkdir(mode=0o711, parents=True, exist_ok=True)

    def stoppable(self, stop: StopSignal) -> GitRunner:
        """Return the same runner for one attempt: with the stop, calls to a remote end and raise Stopped.

        What works on our own repositories alone is short, and is let finish: a checkpoint may be in it.
        """
        runner = copy.copy(self)
        runner._stop = stop
        return runner

    def check_stop(self) -> None:
        """Raise Stopped where a stop was asked for."""
        if self._stop is not None and self._stop.requested:
            raise Stopped("asked to stop")

    def run(
        self,
        place: Place,
        verb: str,
        *arguments: str,
        stdin: bytes = b"",
        limits: Limits = DEFAULT_LIMITS,
        access: CloneAccess | None = None,
    ) -> bytes:
        """Return what git printed. Raises GitError when it fails, runs too long or prints too much."""
        done = self.call(place, verb, *arguments, stdin=stdin, limits=limits, access=access)
        if done.code != 0 and not done.clipped:
            raise done.failure()
        return done.output

    def call(
        self,
        place: Place,
        verb: str,
        *arguments: str,
        stdin: bytes = b"",
        limits: Limits = DEFAULT_LIMITS,
        access: CloneAccess | None = None,
        people: Mapping[str, str] | None = None,
    ) -> Completed:
        """Run one verb and return how it ended, whatever its exit status.

        `people` may set GIT_AUTHOR_* and GIT_COMMITTER_* only. Raises GitError for a forbidden verb or
        address, a time-out, or more output than allowed; Stopped for a remote when a stop was asked for.
        """
        if verb not in VERBS:
            raise GitError(f"git {verb} is not one of the verbs that the harness uses")
        if access is not None:
            check_access(access, self._protocols)
            self.check_stop()
        environment = self._environment(place, access, people or {})
        if verb == "check-ignore":
            del environment["GIT_LITERAL_PATHSPECS"]  # it takes no patterns anyway, and refuses the variable
        with offered(access) as (credential, descriptors), _standard_input(stdin) as source:
            command = self._command(place, access, credential)
            process = subprocess.Popen(
                [*command, verb, *arguments],
                env=environment,
                cwd=self._directory,
                stdin=source,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=descriptors,
                start_new_session=True,
                umask=0o022,
            )
            output, error, clipped = _collect(process, verb, limits, self._stop if access else None)
        text = self._redacted(error.decode("utf-8", "replace"), access)
        return Completed(verb, process.returncode, output, text, clipped)

    def _environment(
        self, place: Place, access: CloneAccess | None, people: Mapping[str, str]
    ) -> dict[str, str]:
        environment = variables(self.committer, access.protocol if access else "")
        if any(not name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_")) for name in people):
            raise GitError("only author and committer may be set for a call")
        environment.update(people)
        if place.index is not None:
            environment["GIT_INDEX_FILE"] = str(place.index)
        return environment

    def _command(self, place: Place, access: CloneAccess | None, credential: list[str]) -> list[str]:
        chosen = [*settings(access.protocol if access else ""), *credential]
        if self._ca_file is not None:
            chosen.append(f"http.sslCAInfo={self._ca_file}")
        command = [*self._leash, "git", "--no-pager", f"--git-dir={place.git_dir.absolute()}"]
        if place.work_tree is not None:
            command.append(f"--work-tree={place.work_tree.absolute()}")
        for setting in chosen:
            command += ["-c", setting]
        return command

    def _redacted(self, text: str, access: CloneAccess | None) -> str:
        text = _USERINFO.sub("", text)
        if access is not None:
            text = Redactor([access.secret])(text)
        return plain(self._redact(text))


@contextmanager
def _standard_input(content: bytes) -> Iterator[int]:
    """Yield a descriptor to read from: a memory file, so that no pipe can fill up and hang us."""
    descriptor = os.memfd_create("stdin") if content else os.open(os.devnull, os.O_RDONLY)
    try:
        remaining = memoryview(content)
        while remaining:
            remaining = remaining[os.write(descriptor, remaining) :]
        if content:
            os.lseek(descriptor, 0, os.SEEK_SET)
        yield descriptor
    finally:
        os.close(descriptor)


def _leash() -> list[str]:
    """Return what makes the kernel end git with the thread that waits for it, where the machine has it.

    A git that outlived a killed worker could still write when the next one has begun.
    """
    found = shutil.which("setpriv", path=SEARCH_PATH)
    if found is None or Path(found).resolve().name == "busybox":
        return []
    return [found, "--pdeathsig", "KILL", "--"]


def _collect(
    process: subprocess.Popen[bytes], verb: str, limits: Limits, stop: StopSignal | None
) -> tuple[bytes, bytes, bool]:
    """Read both pipes up to the limits, and leave no process of the call behind, however this ends."""
    deadline = time.monotonic() + limits.seconds
    output, error = bytearray(), bytearray()
    clipped = False
    try:
        for is_output, chunk in _chunks(process, deadline, stop):
            if not is_output:
                error += chunk[: max(0, _STDERR_KEPT - len(error))]
                continue
            output += chunk
            if len(output) > limits.output:
                clipped = True
                break
        if not clipped:
            _await_end(process, deadline)
    except TimeoutError:
        raise GitUnavailable(f"git {verb} did not end within {limits.seconds:g} seconds") from None
    finally:
        _end(process)
    if clipped and not limits.clip:
        raise GitError(f"git {verb} printed more than {limits.output} bytes")
    return bytes(output[: limits.output]), bytes(error), clipped


def _chunks(
    process: subprocess.Popen[bytes], deadline: float, stop: StopSignal | None
) -> Iterator[tuple[bool, bytes]]:
    """Yield (is standard output, bytes) until both pipes end, or the process has and all is read.

    Raises TimeoutError, Stopped.
    """
    with selectors.DefaultSelector() as selector:
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            if left <= 0:
                raise TimeoutError
            ready = selector.select(min(left, 0.2))
            if stop is not None and stop.requested:
                raise Stopped("asked to stop")
            if not ready and _has_ended(process):
                return  # a stray child still holds the pipe; nobody reads what it may say
            for key, _ in ready:
                chunk = os.read(key.fd, 2**16)
                if chunk:
                    yield key.fileobj is process.stdout, chunk
                else:
                    selector.unregister(key.fileobj)


def _await_end(process: subprocess.Popen[bytes], deadline: float) -> None:
    """Wait for the leader's death, without reaping it. Raises TimeoutError."""
    descriptor = os.pidfd_open(process.pid)
    try:
        ending = select.poll()  # select() takes no descriptor above 1023
        ending.register(descriptor, select.POLLIN)
        if not ending.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError
    finally:
        os.close(descriptor)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Tell whether the leader is dead, without reaping it: its number must stay ours until the kill."""
    return os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is not None


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the call's process group, reap the leader and close the pipes."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
