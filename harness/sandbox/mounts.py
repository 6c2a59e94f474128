"""What of the host is visible inside, and where: the operator's tools, and the needed files of /etc."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from domain.errors import SandboxError
from domain.ports import Shown
from harness.sandbox import places

WORK, TEMPORARY = PurePosixPath(places.WORK), PurePosixPath(places.TEMPORARY)
"""The two guest directories that a command can write and that outlive it."""

_MADE_BY_US = tuple(PurePosixPath(name) for name in ("/proc", "/dev", "/sys", "/run", "/etc", "/usr"))
_NEEDED_OF_ETC = (
    "ld.so.cache",
    "alternatives",
    "ssl/certs",
    "ssl/openssl.cnf",
    "services",
    "protocols",
    "mime.types",
    "python3.*",
    "java-*",
    "maven/m2.conf",
    "maven/logging",
)
_FEW = 8
_SMALL_BYTES = 2**17


@dataclass(frozen=True, slots=True)
class Mount:
    """A host directory or file shown at a guest path, read-only unless `writable`."""

    source: Path
    target: PurePosixPath
    writable: bool = False


def needed_of_etc(etc: Path = Path("/etc")) -> tuple[list[Mount], dict[str, bytes]]:
    """Return what loaders, interpreters and TLS libraries need of /etc, as far as it exists.

    Small files are copied (guest path → content), the rest is mounted: for each mount bubblewrap reads the
    whole table of mounts. A copy is made only of what everybody may read.
    """
    mounts: list[Mount] = []
    files: dict[str, bytes] = {}
    for path in sorted(path for pattern in _NEEDED_OF_ETC for path in etc.glob(pattern)):
        parts = sorted(path.iterdir())[: _FEW + 1] if path.is_dir() else [path]
        copies = {
            _below_etc(part, etc): content for part in parts if (content := _copied(part, etc)) is not None
        }
        if parts and len(copies) == len(parts) <= _FEW:
            files |= copies
        else:
            mounts.append(Mount(path, PurePosixPath(_below_etc(path, etc))))
    return mounts, files


def _below_etc(path: Path, etc: Path) -> str:
    return f"/etc/{path.relative_to(etc).as_posix()}"


def _copied(path: Path, etc: Path) -> bytes | None:
    """Return the content of a small file that everybody may read, or None for anything else."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or not found.st_mode & stat.S_IROTH or found.st_size > _SMALL_BYTES:
        return None
    between = [parent for parent in path.parents if parent.is_relative_to(etc) and parent != etc]
    return path.read_bytes() if all(parent.stat().st_mode & stat.S_IXOTH for parent in between) else None


def tool_mounts(tools: Iterable[Path]) -> list[Mount]:
    """Return the mounts for the operator's tool directories, each at its own path.

    A Python virtual environment also needs the interpreter that it was made from, if that is outside /usr.
    Raises SandboxError for a directory that is missing or cannot be mounted.
    """
    directories: dict[Path, None] = {}
    for tool in tools:
        _check_tool(tool)
        directories[tool] = None
        for prefix in _base_prefixes(tool):
            if not any(prefix.is_relative_to(known) for known in (Path("/usr"), *directories)):
                directories[prefix] = None
    return [Mount(directory, PurePosixPath(directory)) for directory in directories]


def helper_mounts(helpers: Mapping[str, Path]) -> list[Mount]:
    """Return the mounts for helper directories, given as guest path → host directory. Raises SandboxError."""
    for target, source in helpers.items():
        if not target.startswith("/") or ".." in target or not source.is_dir():
            raise SandboxError(f"helper directory {source} cannot be shown at {target!r}")
    return [Mount(source, PurePosixPath(target)) for target, source in helpers.items()]


def shown_mounts(shown: Iterable[Shown]) -> list[Mount]:
    """Return the mounts that a session's policy asks for. Raises SandboxError."""
    return [_shown_mount(each) for each in shown]


def _shown_mount(shown: Shown) -> Mount:
    target = PurePosixPath(shown.target)
    kept = any(target.is_relative_to(made) or made.is_relative_to(target) for made in _MADE_BY_US)
    plain = target.is_absolute() and ".." not in target.parts and "\0" not in shown.target
    if not plain or kept or target in (WORK, TEMPORARY) or WORK.is_relative_to(target):
        raise SandboxError(f"{shown.source} cannot be shown at {shown.target!r}")
    if shown.source.is_symlink() or not shown.source.exists():
        raise SandboxError(f"{shown.source} cannot be shown: there is no such file or directory")
    return Mount(shown.source, target, shown.writable)


def search_path(helpers: Mapping[str, Path], tools: Sequence[Path], more: Sequence[str] = ()) -> list[str]:
    """Return what goes first on PATH: helpers, the policy's `more`, each tool's `bin` (or itself)."""
    return [*helpers, *more, *(str(tool / "bin" if (tool / "bin").is_dir() else tool) for tool in tools)]


def below(mounts: Iterable[Mount], guest: PurePosixPath) -> Iterator[Mount]:
    """Yield, relative to `guest`, the mounts that lie inside a directory the agent can write."""
    for mount in mounts:
        if mount.target.is_relative_to(guest) and mount.target != guest:
            yield Mount(mount.source, mount.target.relative_to(guest), mount.writable)


def _check_tool(tool: Path) -> None:
    guest = PurePosixPath(tool)
    taken = any(guest.is_relative_to(made) for made in _MADE_BY_US) or guest in (WORK, TEMPORARY)
    hides = any(made.is_relative_to(guest) for made in (*_MADE_BY_US, WORK, TEMPORARY))
    if not tool.is_absolute() or ".." in tool.parts or (taken and not tool.is_relative_to("/usr")) or hides:
        raise SandboxError(f"tool directory {tool} cannot be mounted at its own path; put it elsewhere")
    if not tool.is_dir():
        raise SandboxError(f"tool directory {tool} does not exist; correct the setting that names it")


def _base_prefixes(tool: Path) -> Iterator[Path]:
    """Yield the installation prefixes of the interpreter behind a virtual environment, written and real."""
    try:
        lines = (tool / "pyvenv.cfg").read_text("utf-8", "replace").splitlines()
    except FileNotFoundError:
        return
    homes = [
        Path(value.strip())
        for key, _, value in (line.partition("=") for line in lines)
        if key.strip() == "home"
    ]
    for home in homes:
        prefixes = {home.parent: None, home.resolve().parent: None}
        for interpreter in sorted((tool / "bin").glob("python*")):
            real = interpreter.resolve()
            if real.is_file():
                prefixes[real.parent.parent] = None
        yield from (prefix for prefix in prefixes if _is_installation(prefix))


def _is_installation(prefix: Path) -> bool:
    """Tell a Python installation from a directory that merely holds a `bin`, such as somebody's home."""
    return any((library / "os.py").exists() for library in prefix.glob("lib*/python3*"))
