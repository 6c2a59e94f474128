"""What a checkout leaves out of a repository: submodules, and files that Git LFS keeps elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from harness.testing.cases import Observed
from harness.testing.problems import EnvironmentProblem, ProblemKind

Read = Callable[[str], str]
"""Returns a file of the tree, "" where there is none."""

_SUBMODULE = re.compile(r"^\s*path\s*=\s*(\S{1,300})\s*$", re.MULTILINE)
_POINTER = "git-lfs.github.com/spec"
_MOST = 5


def with_left_out(
    problem: EnvironmentProblem | None, observed: Observed | None, read: Read
) -> EnvironmentProblem | None:
    """Add to a diagnosis what the checkout did not bring, or make one where all red tests speak of that."""
    submodules = tuple(dict.fromkeys(_SUBMODULE.findall(read(".gitmodules"))))[:_MOST]
    has_lfs = "filter=lfs" in read(".gitattributes")
    if not submodules and not has_lfs:
        return problem
    fix = _fix(submodules, has_lfs)
    if problem is not None:
        return problem if problem.kind is ProblemKind.NOT_EVIDENCE else _added(problem, fix)
    if observed is None or observed.run.passed or not observed.run.failed:
        return None
    messages = [case.message for case in observed.cases.values() if case.outcome == "failed"]
    signs = [*submodules, *([_POINTER] if has_lfs else [])]
    if not messages or not all(any(sign in message for sign in signs) for message in messages):
        return None
    lines = [line for message in messages for line in message.splitlines() if any(s in line for s in signs)]
    return EnvironmentProblem(
        kind=ProblemKind.PLACE,
        what="The tests want files that a checkout here does not bring.",
        lines=tuple(dict.fromkeys(line.strip()[:300] for line in lines))[:6],
        fix=fix,
    )


def _added(problem: EnvironmentProblem, fix: str) -> EnvironmentProblem:
    return replace(problem, fix=f"{problem.fix} Perhaps this is why: {fix[:1].lower()}{fix[1:]}")


def _fix(submodules: tuple[str, ...], has_lfs: bool) -> str:
    parts = []
    if submodules:
        named = ", ".join(f"`{path}`" for path in submodules)
        parts.append(f"Submodules ({named}) are not checked out")
    if has_lfs:
        parts.append(f"{'f' if parts else 'F'}iles in Git LFS are there as pointers only")
    return (
        " and ".join(parts) + ". Set `test.command` in `.fixwright.yml` to the part of the suite that does "
        "without them, or fetch them under `setup.commands`."
    )
