"""Cases: what is wrong with one is said in one line; patches and files come as they are."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from app.demo.cases import CASES, Case, load_case, patch_parts
from app.demo.sources import files_of
from domain.errors import ConfigurationError

GOOD = """
repository = "past/thing"
files = "repo"
title = "It is wrong"
issue = "It is."
[restatement]
expected = "right"
actual = "wrong"
confidence = 1
[claim]
root_cause = "a"
changes = "b"
"""


def case_in(directory: Path, text: str = GOOD) -> str:
    (directory / "repo").mkdir(exist_ok=True)
    (directory / "repo" / "a.py").write_text("x = 1\n")
    (directory / "case.toml").write_text(text)
    return str(directory)


@pytest.mark.parametrize("name", sorted(path.name for path in CASES.iterdir() if path.is_dir()))
def test_every_case_that_ships_can_be_read(name: str) -> None:
    assert load_case(name).title


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('repository = "past/thing"', 'repository = "thing"', "`repository` "),
        ('title = "It is wrong"', "", "`title` is missing"),
        ('files = "repo"', "", "either `files`, or `package` and `version`"),
        ('files = "repo"', 'files = "repo"\npackage = "x"\nversion = "1"', "either `files`, or"),
        ('files = "repo"', 'files = "nowhere"', "files: there is no directory"),
        ('files = "repo"', 'package = "../x"\nversion = "1"', "`package` "),
        ('files = "repo"', 'files = "repo"\ncolour = "red"', "`colour` is no key of a case"),
        ('files = "repo"', 'files = "repo"\npatch = "none.patch"', "none.patch: the patch cannot be read"),
        ("confidence = 1", "confidence = 7", "`restatement.confidence` "),
        ("[claim]", "[claim", "case.toml: "),
    ],
)
def test_a_wrong_case_is_refused_in_one_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GOOD
    with pytest.raises(ConfigurationError) as caught:
        load_case(case_in(tmp_path, GOOD.replace(old, new)))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_case_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"those that ship are: .*fairshare"):
        load_case(str(tmp_path / "nowhere"))
    with pytest.raises(ConfigurationError, match=r"case\.toml is not there"):
        load_case(str(tmp_path))


def test_a_patch_keeps_its_line_ends(tmp_path: Path) -> None:
    (tmp_path / "fix.patch").write_bytes(b"diff --git a/a b/a\r\n+x\r\n")
    case = load_case(case_in(tmp_path, 'patch = "fix.patch"\n' + GOOD))
    assert "+x\r\n" in case.all_turns[0].run


def test_a_large_patch_comes_file_by_file(tmp_path: Path) -> None:
    part = "diff --git a/{0} b/{0}\n" + "+x\n" * 25_000
    (tmp_path / "fix.patch").write_text(part.format("a") + part.format("b"))
    assert [say for say, _ in patch_parts(tmp_path / "fix.patch")] == [
        "The change, part 1.",
        "The change, part 2.",
    ]
    (tmp_path / "fix.patch").write_text("diff --git a/a b/a\n" + "+x\n" * 50_000)
    with pytest.raises(ConfigurationError, match="over 100000 bytes"):
        patch_parts(tmp_path / "fix.patch")


def test_a_working_copy_is_taken_without_what_is_not_its_own(tmp_path: Path) -> None:
    name = case_in(tmp_path)
    for path in (".git/config", ".venv/bin/python", "pkg/__pycache__/a.pyc", "pkg/b.py"):
        (tmp_path / "repo" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "repo" / path).write_text("x\n")
    (tmp_path / "repo" / "passwd").symlink_to("/etc/passwd")
    assert set(files_of(load_case(name), tmp_path)) == {"a.py", "pkg/b.py"}


# -- archives ---------------------------------------------------------------------------------------


def packed(cache: Path, name: str, content: bytes) -> Case:
    """Return a case whose archive is in the cache already."""
    (cache / "thing-1.0").mkdir(parents=True)
    (cache / "thing-1.0" / name).write_bytes(content)
    fields = {"package": "thing", "version": "1.0", "files": ""}
    return load_case("real-parse").model_copy(update=fields)


def test_a_zip_is_as_good_as_a_tar(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("thing-1.0/a.py", "x = 1\r\n")
        archive.writestr("thing-1.0/../../evil", "x")
    assert files_of(packed(tmp_path, "thing-1.0.zip", made.getvalue()), tmp_path) == {
        "a.py": (b"x = 1\r\n", 0o100644)
    }


def test_a_tar_gives_plain_files_only(tmp_path: Path) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        plain = tarfile.TarInfo("thing-1.0/run")
        plain.size, plain.mode = 1, 0o755
        archive.addfile(plain, io.BytesIO(b"x"))
        link = tarfile.TarInfo("thing-1.0/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    assert files_of(packed(tmp_path, "thing-1.0.tar.gz", made.getvalue()), tmp_path) == {
        "run": (b"x", 0o100755)
    }


def test_a_broken_archive_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"thing-1\.0\.tar\.gz is broken"):
        files_of(packed(tmp_path, "thing-1.0.tar.gz", b"\x1f\x8bnothing"), tmp_path)
