"""Looking behind commands: `npm test` and `make test` start what package.json or the Makefile say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.testing.adapters.registry import adapter_for, adapter_of
from harness.testing.calls import Call, call_of, directories, joined
from harness.testing.evidence import commands_of, why_not_evidence
from harness.testing.files import read_text
from harness.testing.plan import Reach, Runner
from harness.testing.shell import Script, Unreadable, parse

MAX_DEPTH = 4
_MANAGERS = frozenset({"npm", "yarn", "pnpm"})
_SCRIPT_WORDS = frozenset({"run", "run-script"})
_TARGET = r"^{name}[ \t]*::?(?!=)[^\n]*\n((?:\t[^\n]*\n?|[ \t]*\n)*)"
_VARIABLE = re.compile(r"^([A-Za-z_]\w*)[ \t]*(?::|\?|::)?=[ \t]*([^\n#]*)", re.MULTILINE)
_USE = re.compile(r"\$[({](\w+)[)}]")
_HIDES = ("hides", "pipe without", "replaces", "`!`", "background", "changes how", "ignores", "trap")
_NONE = "no test specified"
_DRY_RUN = {
    Runner.RSPEC: (".rspec", ".rspec-local"),
    Runner.MOCHA: (".mocharc.json", ".mocharc.jsonc", ".mocharc.yml", ".mocharc.yaml", "package.json"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a command turned out to start. `doubt` says why its success would prove nothing."""

    runner: Runner = Runner.OUTPUT
    reach: Reach = Reach.ENVIRONMENT
    arguments: tuple[str, ...] = ()
    directory: str = ""
    doubt: str = ""


def look_behind(tree: Path, command: str, *, directory: str = "", depth: int = 0) -> Found:
    """Return the runner that a command starts, directly or through scripts, and how to reach it."""
    doubt = why_not_evidence(command)
    try:
        script = parse(command)
        calls = [call for each in commands_of(script) if (call := call_of(each)) is not None]
    except Unreadable:
        return Found(doubt=doubt)
    place = joined(directory, directories(script)) if directories(script) else directory
    scripts = [(call, _inner_script(tree, call, place)) for call in calls]
    inner = [(call, found) for call, found in scripts if found is not None]
    runners = [call for call in calls if adapter_for(call) is not None and not _adapter_is_silent(call)]
    if len(inner) + len(runners) != 1 or depth > MAX_DEPTH:
        doubts = [_behind(tree, found, depth).doubt for _, found in inner] if depth <= MAX_DEPTH else []
        return Found(doubt=next(filter(None, [doubt, *doubts]), ""), directory=place)
    if runners:
        return _direct(tree, runners[0], place, doubt)
    call, text = inner[0]
    behind = _behind(tree, text, depth)
    is_last = _is_last(script, call)
    return Found(
        runner=_reached(behind, call, is_last)[0],
        reach=_reached(behind, call, is_last)[1],
        arguments=behind.arguments,
        directory=behind.directory,
        doubt=doubt or behind.doubt,
    )


@dataclass(frozen=True, slots=True)
class _Inner:
    """A script behind a call: its text, where it runs, and whether words can be added to its end."""

    text: str
    directory: str
    source: str
    takes_words: bool


def package_script(tree: Path, directory: str, name: str = "test") -> str:
    """Return a script of a package.json, "" where there is none."""
    try:
        package = json.loads(
            read_text(tree, f"{directory}/package.json" if directory else "package.json") or "{}"
        )
        script = package["scripts"][name]
    except (ValueError, KeyError, TypeError, RecursionError):
        return ""
    return script if isinstance(script, str) and _NONE not in script else ""


def make_recipe(tree: Path, directory: str, target: str) -> str | None:
    """Return a target's recipe with the Makefile's own variables put in, or None for no such target."""
    for name in ("GNUmakefile", "makefile", "Makefile"):
        text = read_text(tree, f"{directory}/{name}" if directory else name)
        if match := re.search(_TARGET.format(name=re.escape(target)), text + "\n", re.MULTILINE):
            return _expanded(match[1], dict(_VARIABLE.findall(text)))
        if text:
            return None
    return None


def makefile_doubt(tree: Path, directory: str) -> str:
    """Return what in a whole Makefile makes every failure pass, or ""."""
    for name in ("GNUmakefile", "makefile", "Makefile"):
        text = read_text(tree, f"{directory}/{name}" if directory else name)
        if re.search(r"^\.IGNORE[ \t]*:[ \t]*$", text, re.MULTILINE):
            return f"{name} ignores all failures (`.IGNORE:`)"
        if re.search(
            r"^(?:export[ \t]+)?MAKEFLAGS[ \t]*[:+?]?=.*(?:(?<![\w-])-?\w*i\w*\b(?!=)|--ignore-errors)",
            text,
            re.M,
        ):
            return f"{name} sets MAKEFLAGS so that failures are ignored"
        if match := re.search(r"^SHELL[ \t]*[:?]?=[ \t]*(\S+)", text, re.MULTILINE):
            shell = match[1].rsplit("/", 1)[-1]
            if shell not in {"bash", "sh", "dash", "zsh", "ksh", "env"} and not shell.startswith("$"):
                return f"{name} runs its recipes with `{match[1][:60]}`, which is no shell"
        if text:
            return ""
    return ""


def recipe_doubt(recipe: str) -> str:
    """Return why a recipe would hide a failure, or ""."""
    for line in recipe.replace("\\\n", " ").splitlines():
        text = line.strip()
        signs = re.match(r"[@+-]*", text)
        prefix = signs[0] if signs else ""
        text = _USE.sub(r"\1", text[len(prefix) :]).replace("$$", "$")
        if "-" in prefix and text:
            return f"make ignores failures of `{text[:80]}` (it begins with `-`)"
        doubt = why_not_evidence(text) if text else ""
        if any(sign in doubt for sign in _HIDES):
            return f"the Makefile's recipe: {doubt}"
    return ""


def _adapter_is_silent(call: Call) -> bool:
    adapter = adapter_for(call)
    return adapter is not None and bool(adapter.silent(call))


def _direct(tree: Path, call: Call, place: str, doubt: str) -> Found:
    adapter = adapter_for(call)
    if adapter is None:
        return Found(doubt=doubt, directory=place)
    reach = Reach.ENVIRONMENT if call.name in {"tox", "nox"} else Reach.CALL
    doubt = doubt or _pretends(tree, place, adapter.runner)
    return Found(runner=adapter.runner, reach=reach, arguments=call.arguments, directory=place, doubt=doubt)


def _pretends(tree: Path, directory: str, runner: Runner) -> str:
    """Name a settings file by which a runner only pretends, and reports passes all the same."""
    for name in _DRY_RUN.get(runner, ()):
        text = read_text(tree, f"{directory}/{name}" if directory else name)
        if re.search(r"""^[^#\n]*(?:--dry-run\b|["']?dry-?run["']?\s*:\s*true)""", text, re.MULTILINE | re.I):
            return f"{name} asks for a dry run, in which nothing is tested"
    return ""


def _inner_script(tree: Path, call: Call, place: str) -> _Inner | None:
    if call.name in _MANAGERS:
        return _package_call(tree, call, place)
    if call.name == "make":
        return _make_call(tree, call, place)
    return None


def _package_call(tree: Path, call: Call, place: str) -> _Inner | None:
    words = list(call.arguments)
    takes_words = "--" not in words
    if "--" in words:
        words = words[: words.index("--")]
    for option in ("--prefix", "-C", "--cwd", "--dir"):
        if option in words[:-1]:
            place = joined(place, words[words.index(option) + 1])
            del words[words.index(option) : words.index(option) + 2]
    names = [word for word in words if not word.startswith("-")]
    if names[:1] and names[0] in _SCRIPT_WORDS:
        names = names[1:]
    if not names or any(word in {"--workspaces", "-ws", "-w", "--workspace", "-r"} for word in words):
        return None
    name = "test" if names[0] in {"t", "tst"} else names[0]
    text = package_script(tree, place, name)
    extra = " ".join(words[words.index(names[0]) + 1 :]) if call.name == "yarn" else ""
    if not text:
        return None
    return _Inner(f"{text} {extra}".strip(), place, "package.json's script", takes_words)


def _make_call(tree: Path, call: Call, place: str) -> _Inner | None:
    words = list(call.arguments)
    for position, word in enumerate(words[:-1]):
        if word in {"-C", "--directory"}:
            place = joined(place, words[position + 1])
            words[position : position + 2] = []
            break
    targets = [word for word in words if not word.startswith("-") and "=" not in word and not word.isdigit()]
    if len(targets) != 1:
        return None
    recipe = make_recipe(tree, place, targets[0])
    return None if recipe is None else _Inner(recipe, place, "the Makefile's recipe", False)


def _behind(tree: Path, inner: _Inner, depth: int) -> Found:
    if inner.source.startswith("the Makefile"):
        return _behind_recipe(tree, inner, depth)
    found = look_behind(tree, inner.text, directory=inner.directory, depth=depth + 1)
    doubt = f"{inner.source}: {found.doubt}" if found.doubt else ""
    is_last = found.reach is Reach.CALL and _ends_with_runner(inner.text)
    reach = Reach.SCRIPT if is_last and inner.takes_words else Reach.ENVIRONMENT
    return Found(
        runner=found.runner, reach=reach, arguments=found.arguments, directory=found.directory, doubt=doubt
    )


def _behind_recipe(tree: Path, inner: _Inner, depth: int) -> Found:
    doubt = makefile_doubt(tree, inner.directory) or recipe_doubt(inner.text)
    found: list[Found] = []
    for line in inner.text.replace("\\\n", " ").splitlines():
        text = re.sub(r"^[@+-]*", "", line.strip()).replace("$$", "$")
        if text and not text.startswith("#"):
            found.append(look_behind(tree, text, directory=inner.directory, depth=depth + 1))
    known = [each for each in found if each.runner is not Runner.OUTPUT]
    if len(known) != 1:
        return Found(doubt=doubt, directory=inner.directory)
    return Found(
        runner=known[0].runner, arguments=known[0].arguments, directory=known[0].directory, doubt=doubt
    )


def _reached(behind: Found, call: Call, is_last: bool) -> tuple[Runner, Reach]:
    """Return how the runner behind a script is reached; one that cannot be is read by what is printed."""
    if behind.reach is Reach.SCRIPT and is_last:
        # npm keeps what stands before `--` for itself; yarn and pnpm hand on what they are given.
        return behind.runner, Reach.DASHES if call.name == "npm" else Reach.SCRIPT
    if adapter_of(behind.runner).by_environment:
        return behind.runner, Reach.ENVIRONMENT
    return Runner.OUTPUT, Reach.ENVIRONMENT


def _is_last(script: Script, call: Call) -> bool:
    """Tell whether a call is the very last thing of a line, so that words can be added to its end."""
    last = script[-1].links[-1][1].parts[-1]
    inner = commands_of(script)[-1]
    return last == inner and call.words[-1] == inner.words[-1]


def _ends_with_runner(text: str) -> bool:
    try:
        script = parse(text)
        call = call_of(commands_of(script)[-1])
    except (Unreadable, IndexError):
        return False
    is_runner = call is not None and adapter_for(call) is not None and "--" not in call.arguments
    return (
        is_runner
        and call is not None
        and _is_last(script, call)
        and text.rstrip().endswith(text[call.words[-1].start : call.end])
    )


def _expanded(recipe: str, variables: Mapping[str, str]) -> str:
    """Put a Makefile's variables into a recipe, a few levels deep; unknown ones are left as they are."""
    for _ in range(3):
        recipe = _USE.sub(lambda match: variables.get(match[1], match[0]).strip(), recipe)[:20_000]
    return recipe
