"""Judging a test command before it runs: can its exit status say anything about tests at all?"""

from __future__ import annotations

import itertools
import re
import shlex
from dataclasses import dataclass

_OPERATORS = frozenset({";", "&&", "||", "|", "|&", "&", "\n"})
_TRIVIAL = frozenset(
    {
        *("true", ":", "echo", "printf", "ls", "cat", "pwd", "cd", "exit", "false", "test", "[", "[[", "git"),
        *("grep", "sleep", "date", "which", "type", "head", "tail", "wc", "find", "rm", "cp", "mv", "mkdir"),
        *("touch", "export", "source", ".", "set", "unset", "wait", "return", "tee"),
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
        *("shellcheck", "pre-commit", "rustfmt"),
    }
)
_BUILD_WORDS = {
    "go": frozenset({"build", "vet", "fmt", "mod", "generate"}),
    "cargo": frozenset({"build", "check", "clippy", "fmt", "doc"}),
}
_WRAPPERS = frozenset(
    {"env", "nice", "time", "exec", "command", "xvfb-run", "timeout", "nohup", "stdbuf", "npx"}
)
_RUNNERS = frozenset({"uv", "poetry", "pdm", "hatch", "pipenv", "rye"})
_INFORMATION = frozenset(
    {"--version", "-V", "--help", "-h", "--collect-only", "--co", "--list", "--listTests"}
)
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_CHECKING_TARGET = re.compile(r"(?:lint|format|fmt|typecheck|type-check|build|check-types)")
_COMPOUND = frozenset({"if", "then", "else", "for", "while", "until", "case", "do", "done", "fi", "select"})


@dataclass(frozen=True, slots=True)
class _Statement:
    """One pipeline, and the operator that follows it ("" at the end)."""

    pipeline: tuple[tuple[str, ...], ...]
    then: str


def why_not_evidence(command: str) -> str:
    """Return why a command's success would prove nothing about tests, or "" if it may prove something."""
    try:
        words = _words(command)
    except ValueError:
        return "the command cannot be read as one shell command line"
    if not words:
        return "the command is empty"
    if any("`" in word or word.endswith("$(") for word in words) or "$(" in command:
        return "what a command substitution does cannot be judged; write the command out"
    statements = _statements(words)
    if any(part[0] in _COMPOUND for statement in statements for part in statement.pipeline):
        return "a shell loop or condition reports only its last command; use one plain command"
    return _judge(statements, command)


def _words(command: str) -> list[str]:
    """Split like a shell: quotes kept together, operators and line ends as words of their own."""
    joined = command.strip().replace("\\\n", " ")
    joined = re.sub(r"\d?>&[\d-]", " ", joined).replace("&>", ">")
    words: list[str] = []
    for line in joined.split("\n"):
        lexer = shlex.shlex(line, posix=True, punctuation_chars=";&|()")
        lexer.whitespace_split = True
        lexer.commenters = "#"
        words += [*lexer, "\n"]
    flat: list[str] = []
    for word in words:
        is_run_of_signs = bool(word) and set(word) <= set(";&|()")
        flat += re.findall(r"&&|\|\||\|&|[;&|()]", word) if is_run_of_signs else [word]
    while flat and flat[-1] in {"\n", ";"}:
        flat.pop()
    return [word for word in flat if word not in {"(", ")", "{", "}"}]


def _statements(words: list[str]) -> list[_Statement]:
    statements: list[_Statement] = []
    pipeline: list[tuple[str, ...]] = []
    current: list[str] = []
    for word in words:
        if word not in _OPERATORS:
            current.append(word)
            continue
        pipeline.append(tuple(current))
        current = []
        if word not in {"|", "|&"}:
            statements.append(_Statement(tuple(part for part in pipeline if part), word))
            pipeline = []
    pipeline.append(tuple(current))
    statements.append(_Statement(tuple(part for part in pipeline if part), ""))
    return [statement for statement in statements if statement.pipeline or statement.then == "&"]


def _judge(statements: list[_Statement], command: str) -> str:
    """Walk the statements and decide whether a failing test must make the whole line fail."""
    stops_on_error = pipefail = False
    reason = "it runs no tests"
    for position, statement in enumerate(statements):
        if not statement.pipeline:
            continue
        first = statement.pipeline[0]
        if first[0] == "set":
            stops_on_error, pipefail = _after_set(first, stops_on_error, pipefail)
            continue
        if position and statements[position - 1].then == "||":
            continue
        why = _judge_pipeline(statement, pipefail)
        if why == "trivial":
            leaves = first[0] in {"exit", "return", "exec"} and position < len(statements) - 1
            if leaves or statement.then == "||":
                return f"`{' '.join(first)}` comes before the tests and can keep them from running"
            continue
        if not why:
            why = _hidden_by_what_follows(statements[position:], stops_on_error)
        if not why:
            return ""
        reason = why
    if reason == "it runs no tests":
        return f"`{command.strip()[:80]}` runs no tests"
    return reason


def _after_set(words: tuple[str, ...], stops: bool, pipefail: bool) -> tuple[bool, bool]:
    for word in words[1:]:
        if re.fullmatch(r"-[a-z]*e[a-z]*", word):
            stops = True
        elif re.fullmatch(r"\+[a-z]*e[a-z]*", word):
            stops = False
    if "pipefail" in words:
        pipefail = any(re.fullmatch(r"-[a-z]*o", word) for word in words[1:])
    return stops, pipefail


def _judge_pipeline(statement: _Statement, pipefail: bool) -> str:
    """Return "" for a pipeline that can carry evidence, "trivial", or the reason against it."""
    if statement.pipeline[0][0] == "!":
        return "`!` turns a failure into a success"
    judged = [_judge_simple(part) for part in statement.pipeline]
    if all(why == "trivial" for why in judged):
        return "trivial"
    if statement.then == "&":
        return "a trailing `&` puts the tests in the background, so their exit status is lost"
    if len(judged) > 1 and not pipefail and any(not why for why in judged):
        return "a pipe without `set -o pipefail` reports the last command's exit status, not the tests'"
    real = [why for why in judged if why != "trivial"]
    return "" if "" in real else real[0]


def _hidden_by_what_follows(rest: list[_Statement], stops_on_error: bool) -> str:
    """Return why the first statement's failure would not become the line's failure, or ""."""
    for statement, following in itertools.pairwise(rest):
        shown = " ".join(following.pipeline[0]) if following.pipeline else ""
        if statement.then == "||" and not _surely_fails(following):
            return f"`|| {shown}` hides a failure"
        if statement.then in {";", "\n"} and not stops_on_error and shown != "exit $?":
            return f"what follows (`{shown[:60]}`) replaces the tests' exit status"
        if statement.then == "&":
            return "a trailing `&` puts the tests in the background, so their exit status is lost"
    return ""


def _surely_fails(statement: _Statement) -> bool:
    words = statement.pipeline[0] if statement.pipeline else ()
    if words[:1] in {("exit",), ("return",)}:
        return len(words) == 2 and words[1].isdigit() and int(words[1]) % 256 != 0
    return words == ("false",)


def _judge_simple(words: tuple[str, ...]) -> str:
    """Return "" for a command that may run tests, "trivial", or the reason against it."""
    words = _unwrapped(words)
    if not words or words[0].rsplit("/", 1)[-1] in _TRIVIAL:
        return "trivial"
    name, rest = words[0].rsplit("/", 1)[-1], words[1:]
    if name in {"bash", "sh", "zsh", "dash"} and len(rest) >= 2 and re.fullmatch(r"-[a-z]*c", rest[0]):
        return why_not_evidence(rest[1])
    if _PYTHON.fullmatch(words[0]):
        if rest[:1] == ("-c",):
            return "`python -c` is a one-off script, not a test run"
        if rest[:1] == ("-m",) and len(rest) > 1:
            return _judge_simple(rest[1:])
    if name == "coverage" and rest[:2] == ("run", "-m"):
        return _judge_simple(rest[2:])
    if asks := next((word for word in rest if word in _INFORMATION), ""):
        return f"`{name} {asks}` only asks for information; no test runs"
    return _judge_tool(name, rest)


def _judge_tool(name: str, rest: tuple[str, ...]) -> str:
    if name in _LINTERS or (name in {"npm", "yarn", "pnpm", "make"} and _is_lint_target(rest)):
        return f"`{name}` checks style or types; it runs no tests"
    if name in {"compileall", "py_compile", "node"} and ("--check" in rest or name != "node"):
        return f"`{name}` only compiles; it runs no tests"
    if rest and rest[0] in _BUILD_WORDS.get(name, ()):
        return f"`{name} {rest[0]}` only builds or checks; it runs no tests"
    if name in {"npm", "yarn", "pnpm"} and rest[:1] and rest[0] in {"ci", "install", "i", "add"}:
        return "trivial"
    if name == "pip" or rest[:1] == ("install",):
        return "trivial"
    return ""


def _is_lint_target(rest: tuple[str, ...]) -> bool:
    targets = [word for word in rest if not word.startswith("-") and word not in {"run", "run-script"}]
    return bool(targets) and all(_CHECKING_TARGET.match(target) for target in targets)


def _unwrapped(words: tuple[str, ...]) -> tuple[str, ...]:
    """Take variable assignments and wrappers such as `timeout 60` off the front of a command."""
    while words:
        if _ASSIGNMENT.fullmatch(words[0]):
            words = words[1:]
        elif words[0] in _WRAPPERS:
            words = words[1:]
            while words and (words[0].startswith("-") or re.fullmatch(r"\d+(\.\d+)?[smhd]?", words[0])):
                words = words[1:]
        elif (words[0] in _RUNNERS and words[1:2] == ("run",)) or words[:2] == ("bundle", "exec"):
            words = words[2:]
        else:
            break
    return words
