"""How a repository's documentation is built: as it says itself, else by MkDocs or Sphinx. Pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection
from dataclasses import replace
from pathlib import PurePosixPath

from domain.model import RunStatus, TestRun
from domain.repo_config import DocsSection
from harness.testing.adapters.adapter import SCRATCH, WORK
from harness.testing.cases import Observed
from harness.testing.plan import Runner, TestPlan

_MKDOCS = ("mkdocs.yml", "mkdocs.yaml")
_SPHINX = ("docs", "doc", "docs/source", "doc/source", "docs/src", "documentation", "")
_MISSING = re.compile(
    r"No module named '?(?:mkdocs|sphinx)\b|(?:mkdocs|sphinx-build): (?:command )?not found", re.IGNORECASE
)
_LACKS = re.compile(
    r"Could not import extension [\w.]+|The \"[\w./-]+\" plugin is not installed"
    r"|Unrecognised theme name: '[\w-]+'|no theme named '[\w-]+' found|ModuleNotFoundError: [^\n]{1,200}",
)
"""What a builder says where something that it needs is not installed."""


def build_plan(section: DocsSection, paths: Collection[str], place: str = "") -> TestPlan | None:
    """Return how the documentation is built, or None where nothing says so.

    `paths` are those of the tree; `place` is the directory that all is about, "" for the root.
    """
    if section.command is not None:
        return _plan(section.command, "`docs.command` in .fixwright.yml", paths, place)
    prefix = f"{place}/" if place else ""
    for name in _MKDOCS:
        if prefix + name in paths:
            command = f"python3 -m mkdocs build --strict --config-file {name} --site-dir {SCRATCH}/site"
            return _plan(command, f"{name} is there", paths, place)
    for directory in _SPHINX:
        inner = PurePosixPath(prefix) / directory / "conf.py"
        if str(inner) in paths and _has_index(inner, paths):
            source = shlex.quote(directory or ".")
            command = f"python3 -m sphinx -b html -W --keep-going -d {SCRATCH}/trees {source} {SCRATCH}/site"
            return _plan(command, f"{inner} is there", paths, place)
    return None


def as_build(observed: Observed) -> TestRun:
    """Return a run of a build with the status that a build has: its exit status alone, if it could run."""
    run = observed.run
    if run.status is RunStatus.TIMED_OUT or run.exit_code in {126, 127} or run.exit_code < 0:
        status = run.status if run.status is RunStatus.TIMED_OUT else RunStatus.COULD_NOT_RUN
        return replace(run, status=status, passed=None, failed=None, skipped=None)
    lacking = (_MISSING.search(observed.output) or _LACKS.search(observed.output)) if run.exit_code else None
    built = RunStatus.PASSED if run.exit_code == 0 else RunStatus.FAILED
    if run.exit_code and run.status is RunStatus.COULD_NOT_RUN and lacking is None:
        return replace(run, passed=None, failed=None, skipped=None)
    if lacking is not None:
        built = RunStatus.COULD_NOT_RUN
    note = lacking[0] if lacking is not None else ""
    return replace(run, status=built, note=note, passed=None, failed=None, skipped=None)


def _plan(command: str, why: str, paths: Collection[str], place: str) -> TestPlan:
    """Return the plan of a build, for which the repository's own Python packages can be imported."""
    root = f"{WORK}/{place}".rstrip("/")
    has_source = any(path.startswith(f"{place}/src/".lstrip("/")) for path in paths)
    env = {"PYTHONPATH": f"{root}/src:{root}" if has_source else root}
    return TestPlan(command=command, runner=Runner.OUTPUT, why=why, place=place, env=env)


def _has_index(configuration: PurePosixPath, paths: Collection[str]) -> bool:
    """Tell whether a conf.py is Sphinx's: a page that all begin with lies beside it."""
    return any(
        str(configuration.with_name(name)) in paths for name in ("index.rst", "index.md", "contents.rst")
    )
