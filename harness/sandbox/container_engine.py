"""The container engine, docker or podman, as a program: found, asked about itself, called, heard out."""

from __future__ import annotations

import json
import os
import pwd
import re
import stat
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from domain.errors import SandboxError

ENGINES = ("podman", "docker")
"""In the order in which they are looked for: podman needs no daemon that is as good as root."""

_PLACES = tuple(Path(name) for name in ("/usr/bin", "/usr/local/bin", "/bin"))
_CALL_SECONDS = 30.0
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

Facts = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """An engine that answers. `cgroup` is "v1", "v2", or empty where it can set no limits."""

    program: Path
    name: str
    version: str
    rootless: bool
    cgroup: str
    selinux: bool

    @property
    def is_podman(self) -> bool:
        """Tell the two dialects apart."""
        return self.name == "podman"

    @property
    def writes_pid_files(self) -> bool:
        """Tell whether a container's first process can be had without asking: podman since 3.2."""
        found = re.match(r"(\d+)\.(\d+)", self.version)
        return self.is_podman and found is not None and (int(found[1]), int(found[2])) >= (3, 2)

    def call(self, *arguments: str) -> str:
        """Return what a call of the engine prints. Raises SandboxError with what it complains about."""
        return call_engine(self.program, arguments)


def find_engine(wanted: str = "", places: Iterable[Path] = _PLACES) -> Engine:
    """Return the engine: a name, an absolute path, or empty for the first that is installed.

    It is never looked for by PATH, and only taken where nobody but root and ourselves can have put it.
    Raises SandboxError naming what is missing and the way out.
    """
    if wanted.startswith("/"):
        candidates = [Path(wanted)]
    else:
        candidates = [place / name for name in ENGINES if wanted in ("", name) for place in places]
    for candidate in candidates:
        if candidate.is_file() and os.access(candidate, os.X_OK):
            _require_ours(candidate)
            return _introduced(candidate)
    named = wanted or "neither podman nor docker"
    raise SandboxError(f"container engine: {named} is not installed here; install Debian's package podman")


def call_engine(program: Path, arguments: Iterable[str], *, seconds: float = _CALL_SECONDS) -> str:
    """Return what a call prints. Raises SandboxError."""
    words = list(arguments)
    try:
        ended = subprocess.run(
            [os.fspath(program), *words],
            stdin=subprocess.DEVNULL, capture_output=True,
            env=client_environment(), cwd="/", check=False, timeout=seconds,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SandboxError(f"{program.name} {words[0]} did not answer within {seconds:.0f} seconds") from None
    except OSError as error:
        raise SandboxError(f"{program} cannot be run: {error.strerror}") from error
    if ended.returncode:
        said = (ended.stderr or ended.stdout).decode("utf-8", "replace").strip()
        raise SandboxError(
            f"{program.name} {words[0]} failed: {said[-1500:] or f'exit status {ended.returncode}'}"
        )
    return ended.stdout.decode("utf-8", "replace")


def client_environment() -> dict[str, str]:
    """Return the whole environment of the engine's program: nothing of ours is in it."""
    uid = os.geteuid()
    try:
        home = pwd.getpwuid(uid).pw_dir
    except KeyError:
        home = "/"
    runtime = Path(f"/run/user/{uid}")
    session = {"XDG_RUNTIME_DIR": os.fspath(runtime)} if uid and runtime.is_dir() else {}
    return {"PATH": _PATH, "HOME": home, "LANG": "C.UTF-8", **session}


def _require_ours(program: Path) -> None:
    for part in (program, program.parent):
        found = part.stat()
        if found.st_uid not in (0, os.geteuid()) or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise SandboxError(f"{part} can be changed by others than root; it is not used")


def _introduced(program: Path) -> Engine:
    """Ask a program what it is; a podman may well be installed under docker's name."""
    said = call_engine(program, ["--version"])
    found = re.match(r"(podman|docker)\b\D*([0-9][\w.+~-]*)", said.strip(), re.IGNORECASE)
    if found is None:
        raise SandboxError(f"{program} is neither docker nor podman: it calls itself {said.strip()[:80]!r}")
    name, version = found[1].lower(), found[2]
    if name == "podman":
        return _podman(program, version, read_facts(call_engine(program, ["info", "--format", "json"])))
    return _docker(program, version, read_facts(call_engine(program, ["info", "--format", "{{json .}}"])))


def _podman(program: Path, version: str, facts: Facts) -> Engine:
    host = _part(facts, "host")
    security = _part(host, "security")
    rootless = bool(security.get("rootless"))
    cgroup = str(host.get("cgroupVersion") or "")
    controllers = cast("list[str]", host.get("cgroupControllers") or [])
    # Without root, version 1 lets nobody set limits, and version 2 only where they were delegated.
    limited = {"memory", "pids"} <= set(controllers) and not (rootless and cgroup == "v1")
    return Engine(
        program=program,
        name="podman",
        version=version,
        rootless=rootless,
        cgroup=cgroup if limited else "",
        selinux=bool(security.get("selinuxEnabled")),
    )


def _docker(program: Path, version: str, facts: Facts) -> Engine:
    if problems := facts.get("ServerErrors"):
        raise SandboxError(f"docker does not answer: {problems}")
    options = [str(option) for option in cast("list[object]", facts.get("SecurityOptions") or [])]
    if any("name=rootless" in option for option in options):
        raise SandboxError(
            "docker runs rootless here, where its containers cannot use the worktree as the worker's user; "
            "use rootless podman"
        )
    return Engine(
        program=program,
        name="docker",
        version=str(facts.get("ServerVersion") or version),
        rootless=False,
        cgroup=f"v{facts.get('CgroupVersion') or 1}",
        selinux=any("name=selinux" in option for option in options),
    )


def read_facts(text: str) -> Facts:
    """Return the JSON object that an engine prints. Raises SandboxError."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise SandboxError(f"the engine's answer is not JSON: {error}") from None
    if isinstance(found, list) and len(found) == 1:
        found = found[0]
    if not isinstance(found, dict):
        raise SandboxError("the engine's answer is not an object")
    return found


def _part(facts: Facts, key: str) -> Facts:
    found = facts.get(key)
    return found if isinstance(found, dict) else {}
