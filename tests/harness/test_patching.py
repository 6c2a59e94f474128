"""Patches on trees: prefixes, missing context, wrong counts, binary files, modes, and never half of one."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.errors import GitError
from harness.git.borrowed import looking_at
from tests.harness.git_world import person

TEXT = "".join(f"line {number}\n" for number in range(1, 21))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    person("init", "-q", "-b", "main", ".", at=place)
    (place / "text").write_text(TEXT)
    (place / "picture").write_bytes(bytes(range(256)))
    (place / "link").symlink_to("text")
    person("add", "-A", at=place)
    person("commit", "-q", "-m", "first", at=place)
    return place


def _file(place: Path, patch: str | bytes, path: str) -> bytes | None:
    with looking_at(place) as checkout:
        made = checkout.with_patch(patch.encode() if isinstance(patch, str) else patch)
        return checkout.mirror.read_file(made.tree, path)


HUNK = "@@ -1,3 +1,3 @@\n line 1\n-line 2\n+LINE 2\n line 3\n"
READINGS = {
    "git": f"diff --git a/text b/text\n--- a/text\n+++ b/text\n{HUNK}",
    "other letters": f"--- i/text\n+++ w/text\n{HUNK}",
    "two directories": f"--- old/text\t2020-01-01\n+++ new/text\t2020-01-02\n{HUNK}",
    "no letters": f"--- text\n+++ text\n{HUNK}",
    "no context": "--- a/text\n+++ b/text\n@@ -2 +2 @@\n-line 2\n+LINE 2\n",
    "wrong counts": f"--- a/text\n+++ b/text\n{HUNK.replace('3 +1,3', '9 +1,7')}",
    "other lines": f"--- a/text\n+++ b/text\n{HUNK.replace('-1,3 +1,3', '-8,3 +8,3')}",
}


@pytest.mark.parametrize("patch", READINGS.values(), ids=READINGS)
def test_however_a_patch_is_written(place: Path, patch: str) -> None:
    assert _file(place, patch, "text") == TEXT.replace("line 2\n", "LINE 2\n", 1).encode()


def test_everything_that_git_writes_comes_back(place: Path) -> None:
    (place / "picture").write_bytes(bytes(reversed(range(256))))
    (place / "text").rename(place / "a name\twith a tab")
    (place / "link").unlink()
    (place / "link").write_text("now a file")
    (place / "tool").write_text("#!/bin/sh\n")
    (place / "tool").chmod(0o755)
    person("add", "-A", at=place)
    patch = person("diff", "--cached", "--binary", "-M", at=place) + "\n"
    wanted = person("write-tree", at=place)

    with looking_at(place) as checkout:
        made = checkout.with_patch(patch.encode(), checkout.mirror.tree_of(checkout.commit("HEAD")))

        assert made.tree == wanted
        assert set(made.paths) == {"picture", "text", "a name\twith a tab", "link", "tool"}


@pytest.mark.long
def test_a_patch_without_context_after_it_fits_and_is_not_applied_twice(place: Path) -> None:
    added = "--- a/text\n+++ b/text\n@@ -3,1 +3,2 @@\n line 3\n+line 3 and a half\n"
    wanted = TEXT.replace("line 3\n", "line 3\nline 3 and a half\n", 1)
    with looking_at(place) as checkout:
        made = checkout.fitted(added.encode())
        assert checkout.mirror.read_file(made.tree, "text") == wanted.encode()

        (place / "text").write_text(wanted)
        whole = "--- a/text\n+++ b/text\n@@ -3,2 +3,3 @@\n line 3\n+line 3 and a half\n line 4\n"
        with pytest.raises(GitError, match="in the working copy already"):
            checkout.fitted(whole.encode())


REFUSED = {
    "half of it": f"--- a/text\n+++ b/text\n{HUNK}--- a/text2\n+++ b/text2\n@@ -1 +1 @@\n-x\n+y\n",
    "other context": "--- a/text\n+++ b/text\n@@ -1,2 +1,2 @@\n line one\n-line 2\n+LINE 2\n",
    "there already": "--- /dev/null\n+++ b/text\n@@ -0,0 +1 @@\n+new\n",
    "through a link": "--- /dev/null\n+++ b/link/inside\n@@ -0,0 +1 @@\n+new\n",
    "into .git": "--- /dev/null\n+++ b/.git/hooks/post-commit\n@@ -0,0 +1 @@\n+new\n",
    "absolute": "--- /dev/null\n+++ b//etc/passwd2\n@@ -0,0 +1 @@\n+new\n",
    "above": "--- /dev/null\n+++ b/../../escape\n@@ -0,0 +1 @@\n+new\n",
}


@pytest.mark.parametrize("patch", REFUSED.values(), ids=REFUSED)
def test_what_does_not_fit_is_refused_as_a_whole(place: Path, patch: str) -> None:
    with looking_at(place) as checkout, pytest.raises(GitError):
        checkout.with_patch(patch.encode())
    assert (place / "text").read_text() == TEXT


def test_a_linked_working_copy_and_a_directory_below(place: Path, tmp_path: Path) -> None:
    person("worktree", "add", "-q", str(tmp_path / "linked"), "-b", "other", at=place)
    (tmp_path / "linked" / "below").mkdir()

    with looking_at(tmp_path / "linked" / "below") as checkout:
        assert checkout.root == tmp_path / "linked"
        assert checkout.commit("HEAD") == person("rev-parse", "HEAD", at=place)
        assert checkout.mirror.list_files(checkout.commit("other"))["text"].size == len(TEXT)


def test_a_repository_with_longer_names(tmp_path: Path) -> None:
    person("init", "-q", "--object-format=sha256", ".", at=tmp_path)
    (tmp_path / "text").write_text(TEXT)
    person("add", "-A", at=tmp_path)
    person("commit", "-q", "-m", "first", at=tmp_path)

    assert _file(tmp_path, READINGS["git"], "text") == TEXT.replace("line 2\n", "LINE 2\n", 1).encode()


def test_a_file_in_another_line_ending_is_patched_byte_by_byte(tmp_path: Path) -> None:
    (tmp_path / ".gitattributes").write_text("* text=auto eol=lf\n")
    (tmp_path / "text").write_bytes(b"one\r\ntwo\r\n")
    patch = b"--- a/text\n+++ b/text\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+2\r\n"

    assert _file(tmp_path, patch, "text") == b"one\r\n2\r\n"
