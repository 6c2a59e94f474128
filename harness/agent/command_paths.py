"""Finds the paths in a command's arguments, and follows them through the worktree step by step. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

WORK = "/work"
MOST_LINKS = 40
_LONGEST_PATH = 4096
_LONGEST_CLUSTER = 12

LinkAt = Callable[[tuple[str, ...]], str | None]
"""Returns the target of a link in the worktree, given as its components; None if there is no link."""

_ALLOWED_OUTSIDE = frozenset({"/dev/null"})
_TOP = frozenset({
    "bin", "boot", "data", "dev", "etc", "home", "lib", "lib32", "lib64", "libx32", "lost+found",
    "media", "mnt", "nix", "opt", "proc", "root", "run", "sbin", "snap", "srv", "sys", "tmp", "usr",
    "var", "work",
})  # fmt: skip
_NOT_IN_A_PATH = frozenset("^$*+?()[]{}|\\\"'<>; \t\n")
_ADDRESS = re.compile(r"(https?|wss?|ftps?|git|ssh)://[^\s,]*", re.IGNORECASE)
_HOME = re.compile(r"~([A-Za-z_][\w.-]*)?(/|\Z)")
_SEPARATOR_OPTIONS = frozenset({("awk", "F"), ("gawk", "F"), ("mawk", "F"), ("cut", "d"), ("sort", "t")})


class LeadsOut(Exception):
    """A path leads out of the worktree; the message says which and how."""


def require_inside(program: str, arguments: tuple[str, ...], link_at: LinkAt, directory: str = "") -> None:
    """Check every path in a program's arguments. Raises LeadsOut naming the first that leads out.

    Relative ones are from `directory` in the worktree, which itself must not lead out any more.
    """
    if directory:
        _follow(directory, directory, link_at)
    for argument in arguments:
        for path in paths_in(program, argument):
            is_relative = not path.startswith("/") and not _HOME.match(path)
            _follow(f"{directory}/{path}" if directory and is_relative else path, argument, link_at)


def paths_in(program: str, argument: str) -> Iterator[str]:
    """Yield all that may be a path in one argument: itself, an option's value, the parts of a list.

    Of short options a value may follow after any number of letters (-rf../x).
    """
    if _ADDRESS.fullmatch(argument):
        return
    wholes = [argument]
    if argument.startswith("-") and not argument.startswith("--"):
        if (program, argument[1:2]) in _SEPARATOR_OPTIONS and len(argument) == 3:
            return
        wholes += [argument[at:] for at in range(1, min(len(argument), _LONGEST_CLUSTER))]
    if "=" in argument:
        wholes.append(argument.partition("=")[2])
    for whole in wholes:
        yield whole.strip()
        if not _ADDRESS.fullmatch(whole):
            yield from (part.strip() for part in re.split(r"[=:,;@]", whole))


def _follow(path: str, argument: str, link_at: LinkAt) -> None:
    """Walk a path as the kernel would. Raises LeadsOut."""
    if len(path) > _LONGEST_PATH:
        return  # the kernel takes no such path
    if "\0" in path:
        raise LeadsOut("an argument contains a NUL character")
    if _HOME.match(path):
        raise LeadsOut(f"{_named(path, argument)} is a home directory: only files in {WORK} can be named")
    if path.startswith("/") and (_is_pattern(path) or "/" + "/".join(_steps(path)) in _ALLOWED_OUTSIDE):
        return
    here = [] if path.startswith("/") else _steps(WORK)
    pending, links = list(reversed(_steps(path))), 0
    while pending:
        step = pending.pop()
        is_above = step == ".." and not here
        here = here[:-1] if step == ".." else [*here, step]
        # On the way to /work itself a path may stand above it; once anything else is named it is outside.
        if is_above or here[:1] not in ([], _steps(WORK)) or (not here and not path.startswith("/")):
            raise LeadsOut(f"{_named(path, argument)} leads out of {WORK}: {_WAY_IN}")
        target = link_at(tuple(here[1:])) if len(here) > 1 and step != ".." else None
        if target is None:
            continue
        links += 1
        if links > MOST_LINKS:
            raise LeadsOut(f"{_named(path, argument)} leads through too many links")
        here = [] if target.startswith("/") else here[:-1]
        pending += reversed(_steps(target))
    if here[:1] != _steps(WORK):
        raise LeadsOut(f"{_named(path, argument)} leads out of {WORK}: {_WAY_IN}")


_WAY_IN = "name files by their path from /work, such as src/example.py"


def _steps(path: str) -> list[str]:
    return [step for step in path.split("/") if step not in ("", ".")]


def _is_pattern(path: str) -> bool:
    """Tell a regular expression such as /^def /p from a path: no shell will make a path of it."""
    steps = _steps(path)
    return bool(_NOT_IN_A_PATH & set(path)) and ".." not in steps and steps[:1] != [] and steps[0] not in _TOP


def _named(path: str, argument: str) -> str:
    shown = path if len(path) <= 200 else path[:200] + "…"
    return f"`{shown}`" if path == argument or len(argument) > 200 else f"`{shown}` in `{argument}`"
