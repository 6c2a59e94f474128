"""Finding the test command of a checked-out tree: the configured one, else what its files say."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path

from domain.repo_config import TestSection
from harness.testing.evidence import why_not_evidence
from harness.testing.files import read_file, read_text
from harness.testing.plan import Runner, TestPlan
from harness.testing.python_tests import python_environment, python_plan

_ALWAYS = {"CI": "true", "NO_COLOR": "1", "FORCE_COLOR": "0"}
_PYTEST_WORD = re.compile(r"(?<![\w./-])(?:py\.test|pytest)(?![\w-])")
_DIRECT_PYTEST = re.compile(r"(?:python[\d.]*\s+-m\s+)?(?:pytest|py\.test)(?:\s+-[^\s]*)*")
_DIRECT_GO = re.compile(r"go\s+test(?:\s+[\w./-]+)*")
_MAKE_TARGET = re.compile(r"^(test|check)[ \t]*::?(?!=)[^\n]*\n((?:\t[^\n]*\n?|[ \t]*\n)*)", re.MULTILINE)
_HIDES = ("hides", "pipe without", "replaces", "`!`", "background")


def detect(tree: Path, section: TestSection) -> TestPlan | None:
    """Return how the tests of a tree are run and why, or None where no tests were found."""
    if section.command is not None:
        return _configured(tree, section)
    for find in (python_plan, _node, _go, _cargo, _make):
        plan = find(tree)
        if plan is not None:
            return _with_environment(plan, section)
    return None


def _configured(tree: Path, section: TestSection) -> TestPlan:
    command = (section.command or "").strip()
    mentions = len(_PYTEST_WORD.findall(command))
    runner = Runner.PYTEST if mentions == 1 else Runner.OUTPUT
    direct = bool(_DIRECT_PYTEST.fullmatch(command))
    if _DIRECT_GO.fullmatch(command) and "-json" not in command:
        runner, direct = Runner.GO, True
    plan = TestPlan(
        command=command,
        runner=runner,
        why="`test.command` in .fixwright.yml",
        env=python_environment(tree),
        direct=direct,
        doubt=why_not_evidence(command) or _script_doubt(tree, command),
    )
    return _with_environment(plan, section)


def _with_environment(plan: TestPlan, section: TestSection) -> TestPlan:
    fallback = _with_environment(plan.fallback, section) if plan.fallback else None
    return TestPlan(
        command=plan.command,
        runner=plan.runner,
        why=plan.why,
        env={**_ALWAYS, **plan.env, **section.env},
        direct=plan.direct,
        doubt=plan.doubt,
        fallback=fallback,
    )


def _script_doubt(tree: Path, command: str) -> str:
    """Look behind `npm test` and `make test`: what they run may hide its status."""
    words = shlex.split(command, comments=True) if not why_not_evidence(command) else []
    find: Callable[[Path], TestPlan | None] | None = None
    if words[:2] in (["npm", "test"], ["npm", "t"], ["yarn", "test"], ["pnpm", "test"]):
        find = _node
    elif words == ["make", "test"]:
        find = _make
    plan = find(tree) if find else None
    return plan.doubt if plan else ""


def _node(tree: Path) -> TestPlan | None:
    try:
        package = json.loads(read_text(tree, "package.json") or "{}")
        script = package["scripts"]["test"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    if not isinstance(script, str) or not script.strip() or "no test specified" in script:
        return None
    doubt = why_not_evidence(script)
    return TestPlan(
        command="npm test",
        runner=Runner.OUTPUT,
        why=f"package.json has the test script `{script[:200]}`",
        doubt=f"package.json's test script: {doubt}" if doubt else "",
    )


def _go(tree: Path) -> TestPlan | None:
    if read_file(tree, "go.mod", 1) is None:
        return None
    return TestPlan(command="go test ./...", runner=Runner.GO, why="go.mod", direct=True)


def _cargo(tree: Path) -> TestPlan | None:
    if read_file(tree, "Cargo.toml", 1) is None:
        return None
    locked = " --locked" if read_file(tree, "Cargo.lock", 1) is not None else ""
    return TestPlan(command=f"cargo test --offline{locked}", runner=Runner.OUTPUT, why="Cargo.toml")


def _make(tree: Path) -> TestPlan | None:
    for name in ("GNUmakefile", "makefile", "Makefile"):
        for target, recipe in _MAKE_TARGET.findall(read_text(tree, name) + "\n"):
            runner = Runner.PYTEST if len(_PYTEST_WORD.findall(recipe)) == 1 else Runner.OUTPUT
            return TestPlan(
                command=f"make {target}",
                runner=runner,
                why=f"{name} has the target `{target}`",
                env=python_environment(tree),
                doubt=_recipe_doubt(recipe),
            )
    return None


def _recipe_doubt(recipe: str) -> str:
    for line in recipe.replace("\\\n", " ").splitlines():
        text = line.strip()
        signs = re.match(r"[@+-]*", text)
        prefix = signs[0] if signs else ""
        text = re.sub(r"\$[({](\w+)[)}]", r"\1", text[len(prefix) :]).replace("$$", "$")
        if "-" in prefix and text:
            return f"make ignores failures of `{text[:80]}` (it begins with `-`)"
        doubt = why_not_evidence(text) if text else ""
        if any(sign in doubt for sign in _HIDES):
            return f"the Makefile's recipe: {doubt}"
    return ""
