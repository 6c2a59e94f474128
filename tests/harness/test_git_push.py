"""The push: leases, refusals and what they are called, credentials, on real remotes."""

from __future__ import annotations

import base64
import os
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from domain.errors import BranchMoved, CredentialRefused, GitError, GitUnavailable, PushRefused
from domain.model import CloneAccess
from harness.git import GitRunner, Mirror
from tests.harness.git_world import World, person, smart_http

WHEN = datetime(2024, 5, 1, tzinfo=UTC)
SECRET = "ghs_" + "canary" * 40


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def _next(world: World, parent: str, message: str) -> str:
    return world.mirror.commit(world.mirror.tree_of(parent), [parent], message, when=WHEN)


def _hook(world: World, script: str) -> None:
    hook = world.remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\n" + script)
    hook.chmod(0o755)


@pytest.mark.long
def test_first_second_and_rewriting_pushes_work_under_the_recorded_lease(world: World) -> None:
    base, _ = world.fetched({"a": "1"})
    one, two, rewritten = _next(world, base, "1"), _next(world, base, "2"), _next(world, base, "3")
    world.mirror.push(world.access, one, "fixwright/issue-1", "")
    world.mirror.push(world.access, two, "fixwright/issue-1", one)
    world.mirror.push(world.access, rewritten, "fixwright/issue-1", two)
    assert world.remote_refs() == {"refs/heads/main": base, "refs/heads/fixwright/issue-1": rewritten}


@pytest.mark.long
def test_d90_a_persons_commit_on_the_branch_is_never_overwritten(world: World) -> None:
    base, _ = world.fetched({"a": "1"})
    ours = _next(world, base, "ours")
    world.mirror.push(world.access, ours, "wip", "")
    theirs = _next(world, base, "theirs")
    person("fetch", "-q", str(world.mirror.path), theirs, at=world.remote)
    person("update-ref", "refs/heads/wip", theirs, at=world.remote)
    for expected in (ours, "", base):
        with pytest.raises(BranchMoved):
            world.mirror.push(world.access, _next(world, ours, "again"), "wip", expected)
    person("update-ref", "-d", "refs/heads/wip", at=world.remote)
    with pytest.raises(BranchMoved, match="nothing"):
        world.mirror.push(world.access, _next(world, ours, "again"), "wip", ours)
    assert world.remote_refs() == {"refs/heads/main": base}


def test_pushing_what_is_there_already_is_success_whatever_was_recorded(world: World) -> None:
    base, _ = world.fetched({"a": "1"})
    ours = _next(world, base, "ours")
    for expected in ("", base, ours):
        world.mirror.push(world.access, ours, "wip", expected)
    assert world.remote_refs()["refs/heads/wip"] == ours


def test_a_servers_rule_is_told_in_its_own_words_and_tried_once(world: World, tmp_path: Path) -> None:
    base, _ = world.fetched({"a": "1"})
    tries = tmp_path / "tries"
    _hook(world, f"echo x >> {tries}\necho 'error: GH013: Repository rule violations found' >&2\n"
                 "echo '- Commits must have verified signatures.' >&2\nexit 1\n")  # fmt: skip
    with pytest.raises(PushRefused) as caught:
        world.mirror.push(world.access, _next(world, base, "x"), "wip", "")
    assert caught.value.reasons == (
        "error: GH013: Repository rule violations found",
        "- Commits must have verified signatures.",
    )
    assert "GH013" in str(caught.value) and tries.read_text() == "x\n"
    assert world.remote_refs() == {"refs/heads/main": base}


def test_a_refused_workflow_names_the_missing_permission(world: World) -> None:
    base, _ = world.fetched({"a": "1"})
    _hook(world, "echo 'refusing to allow a GitHub App to create or update workflow `x`' >&2; exit 1\n")
    with pytest.raises(PushRefused, match="lacks the `workflows` permission"):
        world.mirror.push(world.access, _next(world, base, "x"), "wip", "")


@pytest.mark.long
@pytest.mark.parametrize(("there", "wanted"), [("fix", "fix/12"), ("fix/12/a", "fix/12")])
def test_a_branch_whose_name_is_a_directory_of_ours_is_named(world: World, there: str, wanted: str) -> None:
    base, _ = world.fetched({"a": "1"})
    person("push", "-q", "origin", f"HEAD:refs/heads/{there}", at=world.desk)
    with pytest.raises(PushRefused, match=rf"has a branch {there}, "):
        world.mirror.push(world.access, _next(world, base, "x"), wanted, "")


def test_a_remote_that_is_gone_is_an_error_with_its_words(world: World) -> None:
    base, _ = world.fetched({"a": "1"})
    access = CloneAccess(url=f"file://{world.root}/absent.git", protocol="file")
    with pytest.raises(GitError, match="absent"):
        world.mirror.push(access, base, "wip", "")


def test_c73_configured_push_settings_of_the_mirror_move_no_other_ref(world: World) -> None:
    base, _ = world.fetched({"a": "1"})
    config = (
        '[push]\n\tfollowTags = true\n\tdefault = matching\n[remote "x"]\n\tmirror = true\n\tpush = +refs/*\n'
    )
    with (world.mirror.path / "config").open("a") as file:
        file.write(config)
    person("tag", "-a", "v1", "-m", "tag", base, at=world.mirror.path)
    world.mirror.push(world.access, _next(world, base, "x"), "wip", "")
    assert sorted(world.remote_refs()) == ["refs/heads/main", "refs/heads/wip"]


class _Witness(threading.Thread):
    """Reads every command line and environment on the machine while git runs."""

    def __init__(self, *needles: str) -> None:
        super().__init__(daemon=True)
        self._needles = [needle.encode() for needle in needles]
        self._done = threading.Event()
        self.seen: list[str] = []
        self.commands: set[bytes] = set()

    def run(self) -> None:
        while not self._done.is_set():
            for process in Path("/proc").glob("[0-9]*"):
                if process.name != str(os.getpid()):
                    self._look(process)

    def _look(self, process: Path) -> None:
        for part in ("cmdline", "environ"):
            try:
                content = (process / part).read_bytes()
            except OSError:
                continue
            self.commands.add(content.split(b"\0", 1)[0])
            self.seen += [f"{process}/{part}" for needle in self._needles if needle in content]

    def stop(self) -> None:
        self._done.set()
        self.join()


def test_d85_the_credential_reaches_the_server_and_no_command_line_environment_or_file(world: World) -> None:
    base, _ = world.fetched({"a": "1"})
    git = GitRunner(world.root / "git", protocols=frozenset({"http"}))
    mirror = Mirror(world.mirror.path, git)
    basic = base64.b64encode(f"x-access-token:{SECRET}".encode()).decode()
    witness = _Witness(SECRET, basic, base64.b64encode(SECRET.encode()).decode().rstrip("="))
    witness.start()
    with smart_http(world.root, SECRET) as address:
        access = CloneAccess(
            url=f"{address}/remote.git", protocol="http", username="x-access-token", secret=SECRET
        )
        mirror.fetch(access)
        ours = _next(world, base, "ours")
        mirror.push(access, ours, "wip", "")
        assert mirror.remote_head(access, "wip") == ours
    witness.stop()
    assert b"git" in witness.commands, "the witness saw no git at all"
    assert witness.seen == []
    left = [path for path in world.root.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert left == []


@pytest.mark.long
@pytest.mark.parametrize("secret", ["", "wrong-" + SECRET])
def test_a_refused_credential_is_its_own_error_without_the_credential(world: World, secret: str) -> None:
    base, _ = world.fetched({"a": "1"})
    mirror = Mirror(world.mirror.path, GitRunner(world.root / "git", protocols=frozenset({"http"})))
    with smart_http(world.root, SECRET) as address:
        access = CloneAccess(url=f"{address}/remote.git", protocol="http", username="u", secret=secret)
        for call in (lambda: mirror.fetch(access), lambda: mirror.push(access, base, "wip", "")):
            with pytest.raises(CredentialRefused) as caught:
                call()
            assert SECRET not in str(caught.value)


def test_nobody_listening_may_be_tried_again_later(world: World) -> None:
    mirror = Mirror(world.mirror.path, GitRunner(world.root / "git", protocols=frozenset({"http"})))
    with pytest.raises(GitUnavailable):
        mirror.fetch(CloneAccess(url="http://127.0.0.1:1/x.git", protocol="http", secret=SECRET))


def test_d89_a_secret_echoed_by_the_server_is_redacted(world: World) -> None:
    base, _ = world.fetched({"a": "1"})
    access = CloneAccess(url=world.access.url, protocol="file", username="u", secret=SECRET)
    encoded = base64.b64encode(SECRET.encode()).decode()
    _hook(world, f"echo 'token {SECRET} https://u:{SECRET}@host {encoded}' >&2; exit 1\n")
    with pytest.raises(PushRefused) as caught:
        world.mirror.push(access, base, "wip", "")
    said = str(caught.value) + "".join(caught.value.reasons)
    assert "[redacted]" in said and "canary" not in said and encoded not in said
