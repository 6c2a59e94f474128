"""A container engine for the tests, with a store and an image of its own; or why there is none."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness.sandbox.container_engine import client_environment
from tests.harness.sandbox import small_image

SECONDS = 120


class NoEngine(Exception):
    """Containers cannot be run here; says why."""


@dataclass(frozen=True, slots=True)
class EngineWorld:
    """`program` is podman with a store of its own; `image` is in that store."""

    program: Path
    image: str

    def call(self, *arguments: str) -> str:
        """Return what a call prints; raises NoEngine with what it complains about."""
        ended = subprocess.run(
            [self.program, *arguments],
            capture_output=True, text=True, check=False, timeout=SECONDS, cwd="/", env=client_environment(),
        )  # fmt: skip
        if ended.returncode:
            raise NoEngine(f"podman {arguments[0]}: {ended.stderr.strip()[-600:]}")
        return ended.stdout

    def containers(self) -> list[str]:
        """Return the ids of all containers in the store."""
        return self.call("ps", "--all", "--quiet", "--no-trunc").split()


def prepare_engine() -> EngineWorld:
    """Return an engine that has just run a container. Raises NoEngine."""
    podman = shutil.which("podman", path="/usr/bin:/usr/local/bin")
    if podman is None:
        raise NoEngine("podman is not installed")
    if shutil.which("dpkg-query") is None:
        raise NoEngine("the small image is made of Debian's packages, and this is no Debian")
    home = Path(f"/var/tmp/fixwright-test-engine-{os.geteuid()}")
    home.mkdir(exist_ok=True, mode=0o755)
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        world = EngineWorld(_wrapper(home, podman), f"localhost/fixwright-test:{_fingerprint()}")
        try:
            world.call("image", "inspect", world.image)
        except NoEngine:
            _import_image(world, home)
        limits = ("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024")
        world.call("run", "--rm", "--network", "none", *limits, world.image, "true")
    return world


def _wrapper(home: Path, podman: str) -> Path:
    """Write podman with a store of its own; runc where it is, for crun refuses machines with both cgroups."""
    runtime = shutil.which("runc", path="/usr/sbin:/usr/bin")
    options = f"--root {home}/store --runroot {home}/run" + (f" --runtime {runtime}" if runtime else "")
    program = home / "podman"
    text = f'#!/bin/sh\nexec {podman} {options} "$@"\n'
    if not program.exists() or program.read_text() != text:
        program.write_text(text)
        program.chmod(0o755)
    return program


def _fingerprint() -> str:
    parts = (Path(small_image.__file__).read_bytes(), Path("/var/lib/dpkg/status").read_bytes())
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def _import_image(world: EngineWorld, home: Path) -> None:
    with tempfile.NamedTemporaryFile(dir=home, suffix=".tar") as archive:
        small_image.write_small_image(archive)
        archive.flush()
        world.call("import", archive.name, world.image)
