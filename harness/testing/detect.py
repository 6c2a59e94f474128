"""Finding the test command of a checked-out tree: the configured one, else what its files say."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from domain.repo_config import TestSection
from harness.testing.evidence import why_not_evidence
from harness.testing.files import walk
from harness.testing.manifests import FINDERS, make_plan
from harness.testing.paths import TEST_DIRECTORIES
from harness.testing.plan import TestPlan
from harness.testing.python_tests import WORK, has_python_root, python_environment, python_plan
from harness.testing.scripts import look_behind

_ALWAYS = {"CI": "true", "NO_COLOR": "1", "FORCE_COLOR": "0"}
_MANIFESTS = frozenset(
    {
        *(
            "package.json",
            "go.mod",
            "Cargo.toml",
            "pom.xml",
            "build.gradle",
            "build.gradle.kts",
            "composer.json",
        ),
        *("phpunit.xml", "phpunit.xml.dist", ".rspec", "Gemfile"),
    }
)
_NOT_OURS = TEST_DIRECTORIES | {
    "example",
    "examples",
    "docs",
    "doc",
    "fixtures",
    "testdata",
    "benchmarks",
    "templates",
}
_DEEPEST = 3
_MOST_PLACES = 40


def detect(tree: Path, section: TestSection, place: str = "") -> TestPlan | None:
    """Return how the tests of a tree are run and why, or None where no tests were found.

    `place` is the directory of the tree that all is about, "" for its root.
    """
    part = tree / place
    if section.command is not None:
        plan: TestPlan | None = _configured(part, section.command)
    else:
        plan = _at_root(part) or _below(part) or make_plan(part, "")
    if plan is None:
        return None
    if plan.env == {}:
        plan = replace(plan, env=python_environment(part) if _is_python(plan) else {})
    return _with_environment(_placed(plan, place), section)


def _placed(plan: TestPlan, place: str) -> TestPlan:
    """Return a plan that was made for a directory as one for the whole tree."""
    if not place:
        return plan
    env = dict(plan.env)
    if "PYTHONPATH" in env:
        roots = env["PYTHONPATH"].split(":")
        env["PYTHONPATH"] = ":".join(f"{WORK}/{place}{root.removeprefix(WORK)}" for root in roots)
    directory = f"{place}/{plan.directory}" if plan.directory else place
    fallback = _placed(plan.fallback, place) if plan.fallback else None
    return replace(plan, env=env, directory=directory, place=place, fallback=fallback)


def _configured(tree: Path, text: str) -> TestPlan:
    command = text.strip()
    found = look_behind(tree, command)
    return TestPlan(
        command=command,
        runner=found.runner,
        why="`test.command` in .fixwright.yml",
        env=python_environment(tree),
        reach=found.reach,
        arguments=found.arguments,
        directory=found.directory,
        doubt=found.doubt,
    )


def _is_python(plan: TestPlan) -> bool:
    return plan.runner in {"pytest", "unittest", "summary lines"}


def _with_environment(plan: TestPlan, section: TestSection) -> TestPlan:
    fallback = _with_environment(plan.fallback, section) if plan.fallback else None
    variables = [f"{name}={value}" for name, value in section.env.items()]
    doubt = plan.doubt or (why_not_evidence(plan.command, variables) if variables else "")
    return replace(plan, env={**_ALWAYS, **plan.env, **section.env}, fallback=fallback, doubt=doubt)


def _at_root(tree: Path) -> TestPlan | None:
    """Return the one plan for the root; where several are found, one that says so and is not run."""
    python = python_plan(tree)
    others = [plan for find in FINDERS if (plan := find(tree, "")) is not None]
    if python is not None and (has_python_root(tree) or not others):
        others.insert(0, python)
    elif python is not None:
        others[0] = replace(others[0], why=f"{others[0].why}; Python tests ({python.why}) are not run by it")
    if len(others) > 1:
        return _undecided(others)
    return _with_rest(tree, others[0]) if others else None


def _below(tree: Path) -> TestPlan | None:
    """Return the one plan for a directory below a root that has none itself."""
    found = [plan for place in _places(tree) for find in FINDERS if (plan := find(tree, place)) is not None]
    if len(found) > 1:
        return make_plan(tree, "") or _undecided(found)
    return found[0] if found else None


def _undecided(plans: list[TestPlan]) -> TestPlan:
    listed = "; ".join(f"`{plan.command}` ({plan.why[:100]})" for plan in plans[:6])
    more = f" and {len(plans) - 6} more" if len(plans) > 6 else ""
    return replace(
        plans[0],
        why="several test suites of equal rank",
        doubt=f"several test suites were found, and any one of them would be half the truth: {listed}{more}; "
        "name the command that runs what counts under `test.command` in `.fixwright.yml`",
        fallback=None,
    )


def _with_rest(tree: Path, plan: TestPlan) -> TestPlan:
    """Say which suites below the root the plan does not run, so that nothing is left out in silence."""
    rest = [
        other.command
        for place in _places(tree)
        for find in FINDERS
        if (other := find(tree, place)) is not None and other.runner is not plan.runner
    ]
    if not rest:
        return plan
    listed = ", ".join(f"`{command}`" for command in rest[:4])
    return replace(plan, why=f"{plan.why}; not run with it: {listed}")


def _places(tree: Path) -> list[str]:
    """Return the directories below the root, not too deep, that hold a manifest of some ecosystem."""
    found: dict[str, None] = {}
    for path, _, name in walk(tree, max_files=20_000):
        parts = path.split("/")[:-1]
        if name in _MANIFESTS and 0 < len(parts) <= _DEEPEST and not _NOT_OURS.intersection(parts):
            found["/".join(parts)] = None
        if len(found) >= _MOST_PLACES:
            break
    return [place for place in found if re.fullmatch(r"[\w./@+-]+", place)]
