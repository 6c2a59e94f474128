"""A set-up in the real sandbox: what it makes is there later, read-only, once for all that are alike."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.hosts import Target
from harness.setup.cache import SetupCache
from harness.setup.failure import SetupFailed
from harness.setup.phase import SetupPhase
from harness.setup.plan import SetupPlan
from harness.setup.site import SetupRules
from tests.harness.setup.setup_world import SetupWorld

FILES = {"app/main.sh": "echo app\n", "deps.txt": "one\n", "keep/me": "x\n"}
TOOL = "cd $SETUP_DIR && mkdir bin && printf '#!/bin/sh\\necho tool\\n' >bin/tool && chmod +x bin/tool"
MODULES = "mkdir -p app/node_modules/x && cp deps.txt app/node_modules/x/ && echo v1 >app/version.gen"


def test_e105_what_a_setup_makes_is_seen_later_and_cannot_be_changed(world: SetupWorld) -> None:
    tree = world.commit(FILES)
    prepared = world.set_up(
        tree, TOOL, MODULES, "mkdir -p ~/.rcs ~/.cache/tool && echo h >~/.rcs/a >~/.cache/tool/b"
    )
    assert not prepared.from_cache and "run now" in prepared.note
    see, *attacks = world.later(
        prepared,
        tree,
        "tool; cat app/node_modules/x/deps.txt app/version.gen; ls -A ~ ~/.cache; cat app/main.sh",
        "echo evil >$SETUP_DIR/bin/tool",
        "echo evil >app/node_modules/x/deps.txt",
        "rm -rf $SETUP_DIR/bin app/node_modules/x",
        "echo evil >>app/version.gen",
        "touch ~/.rcs/new",
    )
    assert see.output.startswith("tool\none\nv1\n") and "echo app" in see.output and ".rcs" in see.output
    assert all(attack.exit_code != 0 for attack in attacks)
    (again,) = world.later(
        prepared, tree, "tool; cat app/node_modules/x/deps.txt app/version.gen; touch ~/mine"
    )
    assert (again.exit_code, again.output) == (0, "tool\none\nv1\n")
    prepared.release()


@pytest.mark.long
def test_the_same_setup_is_not_run_twice(world: SetupWorld) -> None:
    tree = world.commit(FILES)
    first = world.set_up(tree, "date +%N >$SETUP_DIR/when")
    other = world.commit({**FILES, "app/main.sh": "echo changed\n"})
    twin = SetupCache(world.cache.root, world.cache.most_bytes)
    fresh = SetupPhase(twin, world.rules)  # as another process, later
    plan = SetupPlan(commands=("date +%N >$SETUP_DIR/when",), why="a test")
    second = fresh.prepare(plan, world.site(other))
    assert second.from_cache and "from the cache" in second.note and second.shown == first.shown


@pytest.mark.long
@pytest.mark.parametrize(
    ("changed", "commands", "env"),
    [
        ({"Gemfile": "new\n"}, ("true",), {}),
        ({"deps.txt": "two\n"}, ("cat deps.txt",), {}),
        ({}, ("true", "true"), {}),
        ({}, ("true",), {"A": "1"}),
    ],
)
def test_whatever_it_depends_on_makes_it_run_again(
    world: SetupWorld, changed: dict[str, str], commands: tuple[str, ...], env: dict[str, str]
) -> None:
    world.set_up(world.commit(FILES), "cat deps.txt" if "deps.txt" in changed else "true")
    assert not world.set_up(world.commit(changed), *commands, env=env).from_cache


@pytest.mark.long
def test_e105_a_failed_setup_is_told_of_and_never_kept(world: SetupWorld) -> None:
    tree = world.commit(FILES)
    for _ in range(2):
        with pytest.raises(SetupFailed) as failed:
            world.set_up(tree, "echo fine", "echo no such package; exit 3", "echo never")
        said = str(failed.value)
        assert "exit 3" in said and "exit code 3" in said and "no such package" in said and "a test" in said
        assert "FIXWRIGHT_SETUP_HOSTS=auto" in said  # this world's set-ups have no network
    assert list(world.cache.root.glob("*/*")) == []
    assert world.work_left() == []


@pytest.mark.long
def test_a_setup_that_takes_too_long_ends(world: SetupWorld) -> None:
    with pytest.raises(SetupFailed, match="took too long"):
        world.set_up(world.commit(FILES), "sleep 60", timeout_seconds=1)


@pytest.mark.long
def test_a17_without_hosts_there_is_no_way_out(world: SetupWorld) -> None:
    prepared = world.set_up(world.commit(FILES), "env >$SETUP_DIR/env; ls /run >>$SETUP_DIR/env")
    (seen,) = world.later(prepared, world.commit({}), "cat $SETUP_DIR/env")
    assert "proxy" not in seen.output.lower() and "fixwright" not in seen.output


@pytest.mark.long
def test_only_what_git_does_not_track_is_kept(world: SetupWorld) -> None:
    tree = world.commit(FILES)
    prepared = world.set_up(
        tree,
        "echo changed >deps.txt; rm -r keep; mkdir -p target/x app/lib empty; echo a >target/x/a",
        "ln -s /etc app/link; mkfifo app/pipe; echo l >app/lib/l; ln -s /etc/passwd app/lib/inner",
    )
    targets = sorted(each.target for each in prepared.shown)
    assert targets == ["/setup", "/work/app/lib"]
    (seen,) = world.later(prepared, tree, "cat deps.txt keep/me; head -1 app/lib/inner; ls app")
    assert seen.output.split("\n")[:2] == ["one", "x"] and "agent" not in seen.output.split("\n")[3]
    assert "not kept: app/link" in prepared.note


@pytest.mark.long
def test_where_a_change_brings_the_path_itself_the_change_counts(world: SetupWorld) -> None:
    tree = world.commit(FILES)
    prepared = world.set_up(tree, "mkdir vendor; echo old >vendor/a; echo 1 >version.gen")
    changed = world.commit({**FILES, "vendor/a": "mine\n", "version.gen": "2\n"})
    (seen,) = world.later(prepared, changed, "cat vendor/a version.gen")
    assert seen.output == "mine\n2\n"


def test_a_missing_tool_is_named_before_anything_runs(world: SetupWorld) -> None:
    tree = world.commit({"go.mod": "module x\n"})
    with pytest.raises(SetupFailed, match=r"tool missing: `gopher-tool`.*FIXWRIGHT_SANDBOX_TOOLS"):
        world.set_up(tree, "true", needs=("gopher-tool",))


def test_a17_hosts_that_the_operator_does_not_allow_are_refused_with_the_line(world: SetupWorld) -> None:
    phase = SetupPhase(world.cache, SetupRules(setting="a.example"))
    plan = SetupPlan(commands=("true",), why="a test")
    with pytest.raises(SetupFailed, match=r"b\.example:.*FIXWRIGHT_SETUP_HOSTS=a\.example,b\.example"):
        phase.prepare(plan, world.site(world.commit(FILES)), ("a.example", "b.example"))


def test_an_operators_setting_names_hosts_and_auto() -> None:
    rules = SetupRules(setting="auto,a.example,b.example:8443")
    assert rules.is_auto and rules.is_online
    assert rules.named == {Target("a.example"), Target("b.example", 8443)}
    assert not SetupRules().is_online


@pytest.mark.long
def test_a_result_in_use_is_not_evicted(world: SetupWorld) -> None:
    tree = world.commit(FILES)
    held = world.set_up(tree, "echo 1 >$SETUP_DIR/a")
    let_go = world.set_up(tree, "echo 2 >$SETUP_DIR/a")
    let_go.release()
    paths = [path for path, _, _ in world.cache.entries()]
    assert sorted(map(world.cache.evict, paths)) == [False, True]
    (seen,) = world.later(held, tree, "cat $SETUP_DIR/a")
    assert seen.output == "1\n"
    held.release()


@pytest.mark.long
def test_the_longest_unused_results_go_first(world: SetupWorld) -> None:
    tree = world.commit(FILES)
    for number in range(3):
        world.set_up(tree, f"head -c 300000 /dev/urandom >$SETUP_DIR/{number}").release()
    world.set_up(tree, "head -c 300000 /dev/urandom >$SETUP_DIR/0").release()
    world.cache.most_bytes = 700_000
    world.set_up(tree, "head -c 300000 /dev/urandom >$SETUP_DIR/3").release()
    kept = {file.name for path in world.cache.root.glob("*/*") for file in (path / "setup").iterdir()}
    assert kept == {"0", "3"}


def test_what_a_crash_left_is_swept_away(world: SetupWorld, tmp_path: Path) -> None:
    world.set_up(world.commit(FILES), "true").release()
    (broken,) = world.cache.root.glob("*/*")
    (broken / "record.json").unlink()
    world.cache.sweep()
    assert list(world.cache.root.iterdir()) == []


@pytest.mark.long
@pytest.mark.parametrize("broken", ["", "{", "[]", '{"made": 7}'])
def test_a_result_that_cannot_be_read_is_made_anew(world: SetupWorld, broken: str) -> None:
    tree = world.commit(FILES)
    world.set_up(tree, "echo 1 >$SETUP_DIR/a").release()
    (entry,) = world.cache.root.glob("*/*")
    (entry / "record.json").write_text(broken)
    for from_cache in (False, True):
        prepared = world.set_up(tree, "echo 1 >$SETUP_DIR/a")
        assert prepared.from_cache is from_cache
        prepared.release()


@pytest.mark.long
def test_the_way_out_is_said_before_a_long_output(world: SetupWorld) -> None:
    with pytest.raises(SetupFailed) as failed:
        world.set_up(world.commit(FILES), "for n in $(seq 99); do echo $n $(seq 200); done; exit 1")
    assert len(str(failed.value)) < 2000
    assert "setup.commands" in str(failed.value)
    assert str(failed.value).endswith("199 200") or "99 1 2 3" in str(failed.value)


@pytest.mark.long
def test_a_setup_of_one_part_of_a_repository_runs_there(world: SetupWorld) -> None:
    tree = world.commit(FILES)
    prepared = world.set_up(
        tree, "pwd >$SETUP_DIR/where && mkdir -p .venv/bin", "false || ls main.sh", directory="app"
    )
    (where,) = world.later(prepared, tree, "cat $SETUP_DIR/where")
    assert where.output == "/work/app\n"
    prepared.release()
    with pytest.raises(SetupFailed):
        world.set_up(tree, "true", directory="nowhere")
