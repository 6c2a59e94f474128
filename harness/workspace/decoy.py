"""The agent's own `.git`: enough history to work with, no credential, and nothing that the harness reads."""

from __future__ import annotations

import os
import re
import shutil
import urllib.parse
from pathlib import Path

from harness.git import Limits, Mirror, Place
from harness.git.environment import ATTRIBUTES
from harness.git.values import branch_ref, object_name

_WHOLE_HISTORY_BYTES = 48 * 2**20
_COMMITS_OTHERWISE = 100
_CACHE = "decoy"


def write_decoy(mirror: Mirror, tree: Path, commit: str, *, branch: str, url: str) -> None:
    """Write `.git` into a worktree: `branch` at `commit`, its history, an index, a remote without a token.

    Only what `commit` reaches is in there: no later commit, no other branch, no work of ours.
    """
    pack = _pack(mirror, object_name(commit))
    git = tree / ".git"
    for directory in ("objects/pack", "objects/info", "refs/heads", "refs/tags", "info"):
        (git / directory).mkdir(parents=True)
    for part in sorted(pack.glob("pack-*")):
        shutil.copyfile(part, git / "objects" / "pack" / part.name)
    if (pack / "shallow").exists():
        shutil.copyfile(pack / "shallow", git / "shallow")
    ref = branch_ref(branch)
    (git / "HEAD").write_bytes(os.fsencode(f"ref: {ref}\n"))
    tracking = ref.replace("refs/heads/", "refs/remotes/origin/", 1)
    (git / "packed-refs").write_bytes(
        os.fsencode(f"# pack-refs with: peeled fully-peeled sorted \n{commit} {ref}\n{commit} {tracking}\n")
    )
    (git / "info" / "attributes").write_text(ATTRIBUTES)
    (git / "config").write_text(_config(url, len(commit)))
    with mirror.throwaway() as place:
        mirror.runner.run(place, "read-tree", "--", mirror.tree_of(commit))
        if place.index is not None:
            shutil.copyfile(place.index, git / "index")


def _config(url: str, digits: int) -> str:
    lines = ["[core]", "\tbare = false", "\tfilemode = true", "\tlogallrefupdates = true"]
    lines += [f"\trepositoryformatversion = {1 if digits == 64 else 0}"]
    if digits == 64:
        lines += ["[extensions]", "\tobjectFormat = sha256"]
    lines += ["[user]", "\tname = Agent", "\temail = agent@sandbox.invalid", "[gc]", "\tauto = 0"]
    lines += ["[advice]", "\tdetachedHead = false", "[pull]", "\tff = only"]
    lines += [
        '[remote "origin"]',
        f'\turl = "{_tokenless(url)}"',
        "\tfetch = +refs/heads/*:refs/remotes/origin/*",
    ]
    return "\n".join(lines) + "\n"


def _tokenless(url: str) -> str:
    """Return an address without user name and password, safe inside a quoted configuration value."""
    parts = urllib.parse.urlsplit(url)
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()
    return re.sub(r'[\x00-\x20"\\\x7f]', "", bare)


def _pack(mirror: Mirror, commit: str) -> Path:
    """Return a directory with a commit's pack, kept for the next attempt on the same commit."""
    kept = mirror.path / _CACHE / commit
    if kept.exists():
        return kept
    made = mirror.path / _CACHE / f"{commit}.new"
    shutil.rmtree(mirror.path / _CACHE, ignore_errors=True)
    made.mkdir(parents=True)
    boundary = _boundary(mirror, commit)
    stdin = "".join(f"--shallow {sha}\n" for sha in boundary) + commit + "\n"
    place = Place(git_dir=mirror.path)
    mirror.runner.run(
        place,
        "pack-objects",
        "--revs",
        "--quiet",
        "--delta-base-offset",
        "--window=0",
        str(made / "pack"),
        stdin=stdin.encode(),
        limits=Limits(seconds=300),
    )
    if boundary:
        (made / "shallow").write_text("".join(sha + "\n" for sha in boundary))
    made.rename(kept)
    return kept


def _boundary(mirror: Mirror, commit: str) -> list[str]:
    """Return the commits at which a large history is cut off: those whose parents are left out."""
    told = mirror.runner.run(mirror.place, "count-objects", "-v").decode()
    kibibytes = sum(int(found) for found in re.findall(r"^size(?:-pack)?: (\d+)$", told, re.MULTILINE))
    if kibibytes * 1024 <= _WHOLE_HISTORY_BYTES:
        return []
    shown = mirror.runner.run(
        mirror.place, "rev-list", "--parents", f"--max-count={_COMMITS_OTHERWISE}", object_name(commit)
    )
    rows = [line.split() for line in shown.decode().splitlines()]
    inside = {row[0] for row in rows}
    return [row[0] for row in rows if not set(row[1:]) <= inside]
