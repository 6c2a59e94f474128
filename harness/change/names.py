"""What file names give away: git directories in disguise, and things that no commit should hold. Pure."""

from __future__ import annotations

import fnmatch
import re
import unicodedata

_IGNORED_BY_HFS = re.compile(
    r"[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u206a-\u206f\ufeff\u00ad\ufe00-\ufe0f]"
)
_SHORT_NAME = re.compile(r"(?:git~[0-9]+|\.git~[0-9]+|gi[0-9a-f]{4}~[0-9]+)\Z")

_ARTEFACT_DIRECTORIES = frozenset(
    {
        ".cache",
        ".eggs",
        ".gradle",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".mypy_cache",
        ".nox",
        ".nyc_output",
        ".parcel-cache",
        ".pytest_cache",
        ".ruff_cache",
        ".tox",
        ".turbo",
        ".venv",
        "__pycache__",
        "htmlcov",
        "node_modules",
        "venv",
    }
)
_ARTEFACT_FILES = (
    "*.pyc",
    "*.pyo",
    "*.orig",
    "*.rej",
    "*.swp",
    "*.swo",
    "*~",
    ".#*",
    ".coverage",
    ".coverage.*",
    ".DS_Store",
    "Thumbs.db",
    "nohup.out",
    ".eslintcache",
    "*.tsbuildinfo",
)
DIRECTORY_MARKERS = frozenset({"CACHEDIR.TAG", "pyvenv.cfg"})
"""A directory that holds one of these says of itself that it can be made anew."""

BARE_REPOSITORY = frozenset({"HEAD", "objects", "refs"})
"""A directory that holds all of these is a git repository without a worktree."""


def is_git_directory(name: str) -> bool:
    """Tell whether a name means `.git` to git on some system: other case, short names, invisible letters."""
    bare = _IGNORED_BY_HFS.sub("", unicodedata.normalize("NFKC", name))
    bare = bare.split(":", 1)[0].rstrip(". \t").casefold()
    return bare == ".git" or bool(_SHORT_NAME.match(bare)) or bare.split("\\", 1)[0].rstrip(". ") == ".git"


def artefact_directory(name: str) -> bool:
    """Tell whether a directory of this name is a cache or an installed environment."""
    return name in _ARTEFACT_DIRECTORIES or name.endswith(".egg-info")


def artefact_file(name: str) -> bool:
    """Tell whether a file of this name is left over from running or editing."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in _ARTEFACT_FILES)


def may_be_core_dump(name: str) -> bool:
    """Tell whether a file of this name may be a core dump; its first bytes decide."""
    return re.fullmatch(r"(?:[\w.-]+\.)?core(?:\.[0-9]+)?", name) is not None


def points_inside(path: str, target: str) -> bool:
    """Tell whether a symlink at `path` stays in the tree, wherever other links of the tree lead.

    `..` may stand only at the front: further in it could climb out through a link to a higher place.
    """
    if not target or target.startswith("/") or "\0" in target or "\\" in target:
        return False
    steps = [step for step in target.split("/") if step not in {"", "."}]
    climbs = next((index for index, step in enumerate(steps) if step != ".."), len(steps))
    if climbs > path.count("/") or ".." in steps[climbs:]:
        return False
    return not any(is_git_directory(step) for step in steps)
