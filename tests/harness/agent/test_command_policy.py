"""The argv policy as a pure function: what runs, what does not, and whether one is told what to do."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.agent.command_paths import paths_in
from harness.agent.command_policy import REFUSED, CommandPolicy, Refusal, is_refused
from harness.agent.command_words import Words

POLICY = CommandPolicy.of(
    ["pytest", "python3", "git", "ls", "grep", "sed", "find", "tar", "awk", "cat"], ["edit", "view", "search"]
)
LINKS = {
    ("out",): "/etc",
    ("up",): "../elsewhere",
    ("-y",): "/etc",
    ("deep", "er"): "../../..",
    ("ok",): "src",
    ("abs",): "/work/src",
    ("chain",): "hop",
    ("hop",): "out",
    ("ring",): "ring",
    ("src", "home"): "/home/agent",
    ("a:b",): "/etc/passwd",
}


def judge(command: str, policy: CommandPolicy = POLICY) -> Words | Refusal:
    return policy.judge(command, LINKS.get)


def words(command: str) -> tuple[str, ...]:
    judged = judge(command)
    assert isinstance(judged, Words), judged
    return judged.words


def why(command: str) -> str:
    judged = judge(command)
    assert isinstance(judged, Refusal), judged
    return judged.why


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest -q", ["pytest", "-q"]),
        ("  pytest tests/test_a.py::TestX::test_y[1-2]  ", ["pytest", "tests/test_a.py::TestX::test_y[1-2]"]),
        ("grep -rn 'a | b && c; $(d) `e` > f' src", ["grep", "-rn", "a | b && c; $(d) `e` > f", "src"]),
        ('grep "foo$" src/a.py', ["grep", "foo$", "src/a.py"]),
        (r'grep "\$foo \`x\`" src', ["grep", "$foo `x`", "src"]),
        (r"grep foo\|bar src", ["grep", "foo|bar", "src"]),
        ("python3 -c 'import os\nprint(1)'", ["python3", "-c", "import os\nprint(1)"]),
        ("pytest -q \\\n  tests", ["pytest", "-q", "tests"]),
        ("sed -n '/^def foo/,/^def bar/p' src/a.py", ["sed", "-n", "/^def foo/,/^def bar/p", "src/a.py"]),
        ("sed -n 10,20p /work/src/a.py", ["sed", "-n", "10,20p", "/work/src/a.py"]),
        ("awk -F/ '{print}' a", ["awk", "-F/", "{print}", "a"]),
        ("git diff HEAD~2..HEAD -- src/a.py", ["git", "diff", "HEAD~2..HEAD", "--", "src/a.py"]),
        ("git show HEAD:src/a.py", ["git", "show", "HEAD:src/a.py"]),
        ("git log --format=%h/%s", ["git", "log", "--format=%h/%s"]),
        ("ls /work", ["ls", "/work"]),
        ("ls /work/./src/../tests", ["ls", "/work/./src/../tests"]),
        ("ls //work//src", ["ls", "//work//src"]),
        ("cat ok/a.py abs/a.py ok/../src", ["cat", "ok/a.py", "abs/a.py", "ok/../src"]),
        ("cat /dev/null", ["cat", "/dev/null"]),
        ("find . -name '*.py'", ["find", ".", "-name", "*.py"]),
        ("grep https://example.com/a/../b src", ["grep", "https://example.com/a/../b", "src"]),
        ("python3 -m pytest 'tests/ü x.py'", ["python3", "-m", "pytest", "tests/ü x.py"]),
        ("ls ''", ["ls", ""]),
        ("view src/a.py 1-20", ["view", "src/a.py", "1-20"]),
        ("search 'def foo' src", ["search", "def foo", "src"]),
        ("ls -la #x#y", None),
    ],
)
def test_one_program_with_plain_arguments_runs(command: str, expected: list[str] | None) -> None:
    if expected is None:
        assert "comments" in why(command)
    else:
        assert words(command) == tuple(expected)


@pytest.mark.parametrize(
    ("command", "sign", "hint"),
    [
        ("pytest | tail -20", "|", "search"),
        ("pytest || true", "||", "search"),
        ("pytest && ls", "&&", "next one"),
        ("cd src && pytest", "&&", "/work"),
        ("ls; ls", ";", "next one"),
        ("pytest & ls", "&", "next one"),
        ("pytest &", "&", "next one"),
        ("ls > out", ">", "edit PATH"),
        ("ls >> out", ">>", "edit PATH"),
        ("ls 2>&1", ">", "edit PATH"),
        ("pytest |& cat", "|&", "search"),
        ("cat < /etc/passwd", "<", "argument"),
        ("cat <<< x", "<<<", "argument"),
        ("cat <(ls)", "<(", "argument"),
        ("ls $(pwd)", "$(", "inner command"),
        ('ls "$(pwd)"', "$(", "inner command"),
        ("ls `pwd`", "`", "inner command"),
        ('ls "`pwd`"', "`", "inner command"),
        ("(ls)", "(", "inner command"),
        ("ls $((1+1))", "$((", "inner command"),
        ("ls'x'|cat", "|", "search"),
        ("cat <<EOF > x\ntext\nEOF", "<<", "argument"),
    ],
)
def test_what_only_a_shell_understands_is_named_with_a_way(command: str, sign: str, hint: str) -> None:
    told = why(command)
    assert f"`{sign}`" in told and hint in told


@pytest.mark.parametrize(
    "command", ["ls $HOME", 'ls "$HOME/x"', "ls ${x}", "ls $1", "ls $'\\n'", "echo $?", "ls $@"]
)
def test_nothing_is_expanded(command: str) -> None:
    assert "nothing is expanded" in why(command)


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("ls\nls", "one line"),
        ("ls 'x", "quotes do not match"),
        ('ls "x', "quotes do not match"),
        ("ls \\", "quotes do not match"),
        ("", "empty"),
        ("   \n", "empty"),
        ("''", "not on the list"),
        ("ls \0", "NUL"),
        ("PYTHONPATH=src pytest", "no variable"),
        ("make test", "not on the list"),
        ("if true", "not on the list"),
        ("{ ls", "not on the list"),
        ("! ls", "not on the list"),
        ("LS", "not on the list"),
        ("ｌｓ", "not on the list"),
        ("ls\u00a0-la", "not on the list"),
        ("-c ls", "not on the list"),
        ("./run.sh", "bare name"),
        ("/usr/bin/python3 x.py", "bare name"),
        ("/work/../usr/bin/git log", "bare name"),
        ("src/pytest", "bare name"),
    ],
)
def test_other_commands_are_refused_in_words(command: str, hint: str) -> None:
    assert hint in why(command)


def test_a_refused_program_tells_what_may_run() -> None:
    assert "awk, cat, edit, find, git, grep, ls, pytest, python3, search, sed, tar, view" in why("make")


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_some_are_refused_even_if_listed(name: str) -> None:
    policy = CommandPolicy.of([name, "ls"])
    assert name not in policy.programs
    assert isinstance(judge(f"{shlex.quote(name)} x", policy), Refusal)
    assert isinstance(judge(f"{name} x", CommandPolicy(frozenset({name}))), Refusal)


@pytest.mark.parametrize(
    "name",
    ["bash5", "bash-5.2", "BASH", "zsh-5.9", "nc.openbsd", "nc.traditional", "ksh93", "wget2",
     "busybox.static", "sh.distrib", "curl.exe", "ld-linux-x86-64.so.2", "env", "/bin/bash", "/usr/bin/env",
     "../bin/sh", "xargs"],
)  # fmt: skip
def test_neither_a_version_nor_a_path_makes_them_others(name: str) -> None:
    policy = CommandPolicy.of([name, name.rpartition("/")[2]])
    assert isinstance(judge(f"{name} -c ls", policy), Refusal)


@pytest.mark.parametrize(
    "name", ["sha256sum", "shellcheck", "bashate", "fishnet", "time2vec", "env-check", "node", "shred"]
)
def test_names_that_only_begin_like_one_are_others(name: str) -> None:
    assert not is_refused(name)


@pytest.mark.parametrize(
    "argument",
    [
        "..", "../x", "src/../../x", "/", "/etc/passwd", "//etc/passwd", "/work/../etc/passwd", "/work/..",
        "/workshop", "/workshop/x", "/work-2", "/wor", "/proc/self/cwd/x", "/tmp/x", "~", "~/x", "~root/.ssh",
        "out", "out/passwd", "up", "up/x", "deep/er", "deep/er/etc", "chain", "chain/passwd", "ring",
        "ok/../../x", "src/home", "ok/home/x", "abs/home", "a:b",
        "--file=/etc/passwd", "--file=../x", "--file=out/passwd", "--file=~/x", "-C/..", "-C..", "-I/etc",
        "-f../../x", "-C/etc", "-o=/etc/x", "if=/dev/sda", "--a=b=/etc/x", "src:/etc", "a,/etc/passwd",
        "@/etc/passwd", "file:///etc/passwd",
        "file:/etc/passwd", "user@host:/path", "-DROOT=/etc", "HEAD:../../x",
        "--x=a:b", "/etc/pass wd", "/x*/../etc/passwd", "./.././x", "src/./../..", "-flink=../../..",
        "/./etc", "/dev/sda", "--/../../etc/passwd", "-rf/etc/passwd", "-rf../../x", "-rfout/passwd", "-nout",
        "cache_dir = /etc/x", "-y/../..", "-y", "-vvC..", "-p /etc",
    ],
)  # fmt: skip
def test_a_path_that_leads_out_is_refused_by_name(argument: str) -> None:
    for program in ("cat", "git", "edit"):
        told = why(f"{program} {shlex.quote(argument)}")
        assert "`" in told and ("leads" in told or "home directory" in told)


@pytest.mark.parametrize(
    "argument",
    ["a/b", ".", "./a", "a..b", "...", "src/..", "a/../b", "/work/", "HEAD@{1}", "HEAD~2", "x~=1", "a:b:c",
     "-", "--", "--x=y", "-k", "not slow and x", "s/a/b/", "/^def /p", "/foo.*bar/d", "%d/%m",
     "origin/main...feature/x", "--cov=src,tests", "x" * 5000, "a=" * 3000, "a/" * 40_000, "a:" * 20_000,
     "fix: handle /etc in text", "'", '"', "src\\a"],
)  # fmt: skip
def test_what_stays_inside_or_is_no_path_passes(argument: str) -> None:
    assert words(f"git {shlex.quote(argument)}") == ("git", argument)


@pytest.mark.parametrize(
    "command",
    [
        "find . -exec sh -c ls {} +", "find . -name x -execdir ls", "find . -ok ls",
        "tar --to-command=ls -xf a.tar", "tar -xf a.tar --checkpoint-action=exec=ls", "tar -Ils -xf a.tar",
        "git -c alias.x=ls x", "git -calias.x=ls x", "git config alias.x ls", "git --exec-path=src x",
        "git rebase -x ls", "git rebase --exec=ls", "git grep --open-files-in-pager=ls x",
        "git bisect run ls",
        "git submodule foreach ls",
    ],
)  # fmt: skip
def test_options_that_start_other_programs_are_refused(command: str) -> None:
    assert "can start other programs" in why(command)


def test_a_text_is_given_as_it_is() -> None:
    command = "edit src/a.py <<'EOF'\n<<<<<<< OLD\nreturn `a` $b\n=======\nx | y > z\n>>>>>>> NEW\nEOF"
    judged = judge(command)
    assert judged == Words(
        ("edit", "src/a.py"), "<<<<<<< OLD\nreturn `a` $b\n=======\nx | y > z\n>>>>>>> NEW\n"
    )


@pytest.mark.parametrize("opening", ["<<EOF", "<< EOF", '<<"EOF"', "<<'EOF'  ", "<<-EOF"])
def test_a_text_may_be_announced_in_several_ways(opening: str) -> None:
    assert judge(f"python3 - {opening}\nprint(1)\nEOF\n") == Words(("python3", "-"), "print(1)\n")


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        ("edit a <<'EOF'\nx", "no end"),
        ("edit a <<'EOF'", "no end"),
        ("edit a <<'EOF'\nx\nEOF\nls", "more after"),
        ("edit ../a <<'EOF'\nx\nEOF", "leads out"),
        ("bash <<'EOF'\nls\nEOF", "refused here"),
        ("edit a | cat <<'EOF'\nx\nEOF", "`|`"),
        ("python3 -c 'x <<EOF\nEOF' | cat", "`|`"),
    ],
)
def test_a_text_excuses_nothing(command: str, hint: str) -> None:
    assert hint in why(command)


@settings(max_examples=80)
@given(
    st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12), max_size=4
    )
)
def test_quoted_arguments_arrive_as_they_are_or_are_refused_for_a_path(arguments: list[str]) -> None:
    judged = judge(shlex.join(["git", *arguments]))
    if isinstance(judged, Words):
        assert judged.words == ("git", *arguments)
    else:
        assert "leads" in judged.why or "home directory" in judged.why or "other programs" in judged.why


@settings(max_examples=150)
@given(st.text(st.sampled_from("ls catgi '\"\\$`|&;<>()#\n\t~*?[]{}=/.x"), max_size=30))
def test_whatever_runs_has_the_words_that_a_shell_would_make(command: str) -> None:
    """What passes must mean to us what it means to everybody else, else something slips between."""
    judged = judge(command, CommandPolicy.of(["ls", "cat", "git"]))
    if isinstance(judged, Words) and judged.text is None and not set("*?[]{}~") & set(command):
        script = f"set -f; for word in {command.strip()}; do printf '%s\\0' \"$word\"; done"
        shown = subprocess.run(["bash", "-c", script], capture_output=True, check=False).stdout
        assert shown == b"".join(word.encode() + b"\0" for word in judged.words)


STEPS = st.sampled_from(["..", ".", "a", "out", "ok", "home", "work", "etc", ""])


@settings(max_examples=60)
@given(steps=st.lists(STEPS, min_size=1, max_size=6), absolute=st.booleans())
def test_no_path_that_the_kernel_would_take_outside_passes(
    steps: list[str], absolute: bool, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Compared with the kernel's own walk over a real tree with the same links."""
    root = tmp_path_factory.getbasetemp() / "walk"
    tree = root / "work"
    if not root.exists():
        for directory in ("work/a", "work/src", "etc", "home", "work/home"):
            (root / directory).mkdir(parents=True)
        (tree / "ok").symlink_to("src")
        (tree / "out").symlink_to("../etc")
    links = {("ok",): "src", ("out",): "../etc"}
    path = ("/" if absolute else "") + "/".join(steps)
    judged = POLICY.judge(shlex.join(["cat", path]), links.get)
    if isinstance(judged, Words) and path:
        real = Path(os.path.realpath(root / path.lstrip("/") if path.startswith("/") else tree / path))
        assert real == tree or tree in real.parents


def test_every_part_of_an_argument_is_looked_at() -> None:
    assert {"/a", "b", "/c", "d=/e", "/e"} <= {*paths_in("x", "--o=/a:b,/c"), *paths_in("x", "q=d=/e")}


@pytest.mark.parametrize(
    ("command", "inside"),
    [
        ("cat x.py", True),
        ("cat ../../setup.py", True),
        ("cat ../../../etc/passwd", False),
        ("cat /work/setup.py", True),
        ("cat /etc/passwd", False),
        ("cat out", False),
        ("ls", True),
    ],
)
def test_relative_paths_are_from_where_the_command_begins(command: str, inside: bool) -> None:
    links = {("libs", "calc", "out"): "/etc/passwd"}
    judged = POLICY.judge(command, links.get, "libs/calc")
    assert isinstance(judged, Words) is inside, judged


def test_a_directory_that_became_a_link_is_no_place_to_begin() -> None:
    judged = POLICY.judge("ls", {("libs",): "/"}.get, "libs/calc")
    assert isinstance(judged, Refusal) and "leads out" in judged.why
