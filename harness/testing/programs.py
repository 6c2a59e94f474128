"""What one program call is: a test run, perhaps one, a build, a question, or nothing of the kind."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from harness.testing.adapters.registry import adapter_for
from harness.testing.calls import Call

_TRIVIAL = frozenset(
    {
        *("true", ":", "echo", "printf", "ls", "cat", "pwd", "cd", "exit", "false", "test", "[", "[[", "git"),
        *("grep", "sleep", "date", "which", "type", "head", "tail", "wc", "find", "rm", "cp", "mv", "mkdir"),
        *("touch", "export", "source", ".", "set", "unset", "wait", "return", "tee", "pushd", "popd", "hash"),
        *("chmod", "ln", "sed", "awk", "shopt", "ulimit", "umask", "declare", "readonly", "local", "nvm"),
        *("id", "env", "uname", "nproc", "diff", "sort", "seq", "kill", "pip", "pip3", "apt-get", "curl"),
    }
)
_LINTERS = frozenset(
    {
        *(
            "ruff",
            "flake8",
            "black",
            "mypy",
            "pylint",
            "pyright",
            "isort",
            "bandit",
            "pyflakes",
            "pycodestyle",
        ),
        *("eslint", "prettier", "tsc", "stylelint", "gofmt", "golangci-lint", "staticcheck", "rubocop"),
        *("shellcheck", "pre-commit", "rustfmt", "biome", "xo", "standard", "phpcs", "phpstan", "checkstyle"),
        *("semgrep", "hadolint", "yamllint", "codespell", "vulture", "markdownlint", "knip", "oxlint"),
    }
)
_ONLY_BUILD = {
    "go": frozenset({"build", "vet", "fmt", "mod", "generate", "list", "install", "get", "version"}),
    "cargo": frozenset({"build", "check", "clippy", "fmt", "doc", "fetch", "update", "b", "c"}),
    "bundle": frozenset({"install", "check"}),
    "composer": frozenset({"install", "update", "validate"}),
    "cmake": frozenset(),
    "bundler": frozenset({"install"}),
}
_PACKAGE_MANAGERS = frozenset({"npm", "yarn", "pnpm", "bun"})
_INSTALLS = frozenset({"ci", "install", "i", "add", "clean-install", "install-ci-test"}) - {"install-ci-test"}
_QUESTIONS = frozenset({"--version", "-V", "--help", "-h"})
_LINT_TARGET = re.compile(r"(?:lint|format|fmt|typecheck|type-check|build|check-types|tsc)")
_REFUSED = {
    "trap": "a `trap` can replace the exit status",
    "eval": "what `eval` runs cannot be judged; write the command out",
    "function": "a shell function cannot be judged; use one plain command",
    "coproc": "a coprocess loses the tests' exit status",
    "alias": "an alias cannot be judged; write the command out",
    "disown": "a job in the background loses the tests' exit status",
}


class Kind(StrEnum):
    """What a call is good for."""

    TESTS = "a known test runner"
    PERHAPS = "may run tests"
    NOTHING = "no test run"
    REFUSED = "makes the whole line unreadable"


@dataclass(frozen=True, slots=True)
class Judged:
    """What a call is, and why where it is no evidence."""

    kind: Kind
    why: str = ""


def judge_call(call: Call) -> Judged:
    """Return what a call is. `why` is "" for calls that merely do something else."""
    name, rest = call.name, call.arguments
    if name in _REFUSED:
        return Judged(Kind.REFUSED, _REFUSED[name])
    if call.words[0].dynamic:
        return Judged(Kind.PERHAPS)
    adapter = adapter_for(call)
    if adapter is not None:
        why = adapter.silent(call)
        return Judged(Kind.NOTHING, why) if why else Judged(Kind.TESTS)
    if name in _TRIVIAL or "install" in rest[:1]:
        return Judged(Kind.NOTHING)
    if why := _no_tests(name, rest):
        return Judged(Kind.NOTHING, why)
    if name in _PACKAGE_MANAGERS:
        return Judged(Kind.NOTHING) if rest[:1] and rest[0] in _INSTALLS else Judged(Kind.TESTS)
    return Judged(Kind.TESTS if name == "make" else Kind.PERHAPS)


def _no_tests(name: str, rest: tuple[str, ...]) -> str:
    if (
        re.fullmatch(r"(?:python|pypy|node|ruby|perl|php)[\d.]*", name)
        and rest[:1]
        and rest[0] in {*("-c", "-e", "-r", "--eval", "-p")}
    ):
        return f"`{name} {rest[0]}` is a one-off script, not a test run"
    if name == "make" and (why := _make(rest)):
        return why
    if asks := next((word for word in rest if word in _QUESTIONS), ""):
        return f"`{name} {asks}` only asks for information; no test runs"
    if name in _LINTERS or (name in {*_PACKAGE_MANAGERS, "make"} and _is_lint_target(rest)):
        return f"`{name}` checks style or types; it runs no tests"
    if name in {"compileall", "py_compile", "javac", "gcc", "g++", "cc"} or "--check" in rest[:1]:
        return f"`{name}` only compiles or checks; it runs no tests"
    rest = tuple(word for word in rest if not word.startswith("+"))
    if name == "cargo" and rest[:1] == ("nextest",):
        return f"`cargo {' '.join(rest[:2])}` runs no tests"
    if name in _ONLY_BUILD and (not _ONLY_BUILD[name] or (rest and rest[0] in _ONLY_BUILD[name])):
        return f"`{' '.join((name, *rest[:1]))}` only builds or checks; it runs no tests"
    return ""


def _make(rest: tuple[str, ...]) -> str:
    for word in rest:
        if word in {"--ignore-errors", "--just-print", "--dry-run", "--recon", "--touch", "--question"}:
            return f"`make {word}` runs nothing, or ignores what fails"
        if re.fullmatch(r"-[a-zA-Z]*[intq][a-zA-Z]*", word) and not re.match(r"-[CfIjlo]", word):
            return f"`make {word}` runs nothing, or ignores what fails"
        if re.match(r"(?:SHELL|MAKEFLAGS|\.SHELLFLAGS)=", word):
            return f"`make {word}` changes how recipes are run"
    return ""


def _is_lint_target(rest: tuple[str, ...]) -> bool:
    targets = [word for word in rest if not word.startswith("-") and word not in {"run", "run-script"}]
    return bool(targets) and all(_LINT_TARGET.match(target) for target in targets)
