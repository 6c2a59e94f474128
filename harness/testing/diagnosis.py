"""Why a test environment does not work: the kind of problem, the lines that show it, and the fix to make."""

from __future__ import annotations

import re
from dataclasses import replace

from domain.model import RunStatus
from harness.testing.cases import Observed
from harness.testing.problems import EnvironmentProblem, ProblemKind
from harness.testing.signs import sign_in

__all__ = [
    "EnvironmentProblem",
    "ProblemKind",
    "diagnose",
    "missing_modules",
    "never_loaded",
    "no_tests_found",
]

_TOOL = re.compile(r"(?<![\w./@+-])([\w./@+-]{1,200}): (?:command )?not found")
_NO_RUNNER = re.compile(r"No module named '?(pytest|unittest2|nose|tox|nox)'?\b")
_MODULE = re.compile(
    r"ModuleNotFoundError: No module named '([^']+)'|Cannot find (?:module|package) '([^']+)'"
    r"|no required module provides package (\S+?)[;:]|cannot load such file -- (\S+)"
    r"|unresolved import `([^`]+)`"
)
_METADATA = re.compile(
    r"PackageNotFoundError: (?:No package metadata was found for )?([\w.-]+)"
    r"|DistributionNotFound: The '([\w.-]+)[^']*' distribution was not found"
)
_NOT_LOADED = re.compile(r"ModuleNotFoundError|ImportError|No package metadata was found")
_IMPORT = re.compile(r"^.*(?:ImportError|ERR_MODULE_NOT_FOUND|LoadError|DLL load failed).*$", re.MULTILINE)
_SERVICE = re.compile(
    r"^.*(?:\bECONNREFUSED\b|\bENOTFOUND\b|\bEAI_AGAIN\b"
    r"|Connection refused|Temporary failure in name resolution"
    r"|Name or service not known|Network is unreachable|getaddrinfo|could not connect to server"
    r"|Could not resolve host"
    r"|Cannot connect to the Docker daemon|docker\.sock|Can't connect to (?:local )?MySQL"
    r"|ServerSelectionTimeout|could not translate host name|Max retries exceeded with url"
    r"|NewConnectionError|no such host|dial tcp).*$",
    re.MULTILINE | re.IGNORECASE,
)
_RESOURCES = re.compile(
    r"^.*(?:No space left on device|Cannot allocate memory|MemoryError|ENOSPC|ENOMEM|Disk quota exceeded"
    r"|Resource temporarily unavailable|heap out of memory).*$",
    re.MULTILINE,
)
_ARGUMENTS = re.compile(
    r"^.*(?:unrecognized arguments|required plugins?|Missing required plugins?).*$", re.MULTILINE | re.I
)
_INTERNAL = re.compile(r"^INTERNALERROR> (?!  |Traceback)(?=\S)(.+)$", re.MULTILINE)
_MAX_LINES = 6


def no_tests_found() -> EnvironmentProblem:
    """Return the diagnosis for a tree in which no test command was detected."""
    return EnvironmentProblem(
        kind=ProblemKind.NO_TESTS,
        what="No test suite was found in this repository.",
        lines=(),
        fix="If there are tests, name the command in `.fixwright.yml`: `test: {command: python3 -m pytest}`.",
    )


def diagnose(observed: Observed) -> EnvironmentProblem | None:
    """Return what keeps a suite from showing anything, or None if it works (failing tests are no problem)."""
    run = observed.run
    if run.status is RunStatus.PASSED:
        return None
    if run.status is RunStatus.FAILED and run.passed:
        return _mostly_unloaded(observed)
    text = (
        f"{run.note}\n{observed.output}\n"
        + "\n".join(case.message for case in observed.cases.values())[:200_000]
    )
    if run.status is RunStatus.FAILED:
        return _all_red(text, observed)
    direct = {
        RunStatus.TIMED_OUT: _timed_out,
        RunStatus.NOT_EVIDENCE: _not_evidence,
        RunStatus.NO_TESTS: _no_tests,
    }
    if run.status in direct:
        return direct[run.status](observed)
    for find in (_stopped, _internal, _tool, _resources, _sign, _module, _service):
        problem = find(text)
        if problem is not None:
            return problem
    return _unreadable(observed)


def _mostly_unloaded(observed: Observed) -> EnvironmentProblem | None:
    """Object where more test files cannot be loaded than can: what is left proves next to nothing."""
    unloaded = [case for case in observed.cases.values() if case.collection]
    loaded = {case.file for case in observed.cases.values() if not case.collection and case.file}
    if len(unloaded) <= len(loaded) or not loaded:
        return None
    problem = _module("\n".join(case.message for case in unloaded)[:200_000])
    if problem is None:
        return None
    count = f"{len(unloaded)} of {len(unloaded) + len(loaded)} test files cannot be loaded. "
    return replace(problem, what=count + problem.what)


def _all_red(text: str, observed: Observed) -> EnvironmentProblem | None:
    """Object where not one test passes, and each says that it lacks something of its environment."""
    if _all_failed_by_service(observed):
        return _service(text)
    messages = [case.message for case in observed.cases.values() if case.outcome == "failed"]
    if messages and all(map(_RESOURCES.search, messages)):
        return _resources(text)
    return sign_in(messages) or _imports(text, observed)


def _sign(text: str) -> EnvironmentProblem | None:
    return sign_in([text])


def _stopped(text: str) -> EnvironmentProblem | None:
    """Tell what the sandbox itself, or the kernel, has ended."""
    match = re.search(
        r"stopped by the sandbox: (memory|disk|output)|ended: the (memory|disk) limit was reached"
        r"|^(?:.{0,200} )?(Killed)(?: +\S.{0,200})?$",
        text,
        re.MULTILINE,
    )
    if match is None:
        return None
    what = next(filter(None, match.groups()))
    return EnvironmentProblem(
        kind=ProblemKind.RESOURCES,
        what=f"The tests were ended: {'memory, most likely' if what == 'Killed' else what}.",
        lines=(match[0].strip()[:300],),
        fix="Raise the sandbox's limits, or set `test.command` to a smaller part of the suite.",
    )


def _conftest(text: str) -> EnvironmentProblem | None:
    """Say with what a conftest.py breaks: pytest calls it an import error, whatever it is."""
    match = re.search(r"^ImportError while loading conftest '(?:[^'\n]*/)?([^/'\n]+)'", text, re.MULTILINE)
    if match is None:
        return None
    raised = re.findall(r"^E +(\S.*)$", text[match.end() :], re.MULTILINE)
    why = raised[-1].strip()[:200] if raised else "for no reason that was told"
    return EnvironmentProblem(
        kind=ProblemKind.IMPORT,
        what=f"The tests cannot be loaded: {match[1]} breaks with {why}.",
        lines=tuple(line.strip()[:300] for line in (match[0], *raised[-2:])),
        fix="Make it load from a clean checkout (is a version wrong, a variable missing, or a build step?).",
    )


def _all_failed_by_service(observed: Observed) -> bool:
    failed = [case for case in observed.cases.values() if case.outcome == "failed"]
    return bool(failed) and all(_SERVICE.search(case.message) for case in failed)


def _imports(text: str, observed: Observed) -> EnvironmentProblem | None:
    """A suite that is all red is the environment's fault only where nothing in it could be loaded."""
    failed = [case for case in observed.cases.values() if case.outcome == "failed"]
    is_unloaded = [case.collection or bool(_NOT_LOADED.search(case.message)) for case in failed]
    return _module(text) if all(is_unloaded) and any(case.collection for case in failed) else None


def _internal(text: str) -> EnvironmentProblem | None:
    errors = _INTERNAL.findall(text)
    if not errors:
        return None
    return EnvironmentProblem(
        kind=ProblemKind.TOOL_MISSING,
        what=f"pytest broke before it could run the tests: {errors[-1].strip()[:200]}",
        lines=tuple(f"INTERNALERROR> {line.strip()[:300]}" for line in errors[-_MAX_LINES:]),
        fix="Install the plugin that the repository's conftest.py or marks come from, or the version of "
        "pytest that it was written for, where the tests run; or set `test.command` in `.fixwright.yml`.",
    )


def _tool(text: str) -> EnvironmentProblem | None:
    if match := _NO_RUNNER.search(text) or _TOOL.search(text):
        tool = match[1]
    elif _ARGUMENTS.search(text):
        lines = _lines(_ARGUMENTS, text)
        return EnvironmentProblem(
            kind=ProblemKind.TOOL_MISSING,
            what="The test runner lacks a plugin that the repository's configuration asks for.",
            lines=lines,
            fix="Install the plugin where the tests run, or set `test.command` in `.fixwright.yml` to a "
            "command that does without it, such as `python3 -m pytest -o addopts=`.",
        )
    else:
        return None
    return EnvironmentProblem(
        kind=ProblemKind.TOOL_MISSING,
        what=f"tool missing: {tool}",
        lines=(match[0].strip()[:300],),
        fix=f"Install `{tool}` where the tests run, or name another command under `test.command` in "
        "`.fixwright.yml`.",
    )


def missing_modules(text: str) -> tuple[str, ...]:
    """Return the names of modules that a message says are missing, sorted."""
    return tuple(sorted({next(filter(None, groups)) for groups in _MODULE.findall(text)}))


def never_loaded(first: Observed, second: Observed) -> dict[str, str]:
    """Return the test files that load in neither of two runs, each with why it does not."""
    return {
        identity: _why_unloaded(case.message)
        for identity, case in first.cases.items()
        if case.collection and identity in second.run.failed_ids and second.cases[identity].collection
    }


def _why_unloaded(message: str) -> str:
    if names := missing_modules(message):
        return "missing " + ", ".join(f"`{name}`" for name in names)
    lines = [line.removeprefix("E ").strip() for line in message.splitlines() if line.strip()]
    raised = [line for line in lines if re.match(r"[\w.]*(?:Error|Warning|Exception|Removed\w*)\b", line)]
    return (raised or lines or ["for no reason that was told"])[-1][:200]


def _metadata(text: str) -> EnvironmentProblem | None:
    names = sorted({next(filter(None, groups)) for groups in _METADATA.findall(text)})
    if not names:
        return None
    return EnvironmentProblem(
        kind=ProblemKind.IMPORT,
        what="The tests cannot be loaded: they look up installed packages, and "
        + ", ".join(f"`{name}`" for name in names[:5])
        + " is not installed where they run.",
        lines=_lines(_METADATA, text),
        fix="Install it there (for the repository's own package, its metadata is enough): a checkout has "
        "none. There is no network during a run.",
    )


def _module(text: str) -> EnvironmentProblem | None:
    if (unregistered := _metadata(text)) is not None:
        return unregistered
    names = missing_modules(text)
    if names:
        return EnvironmentProblem(
            kind=ProblemKind.IMPORT,
            what="The tests cannot be loaded: missing " + ", ".join(f"`{name}`" for name in names[:5]) + ".",
            lines=_lines(_MODULE, text),
            fix="Install these dependencies where the tests run; there is no network during a run.",
        )
    if (broken := _conftest(text)) is not None:
        return broken
    if _IMPORT.search(text):
        return EnvironmentProblem(
            kind=ProblemKind.IMPORT,
            what="The tests cannot be loaded: an import fails.",
            lines=_lines(_IMPORT, text),
            fix="Make the test suite importable from a clean checkout (is a version wrong, "
            "or a build step missing?).",
        )
    return None


def _service(text: str) -> EnvironmentProblem | None:
    if not _SERVICE.search(text):
        return None
    return EnvironmentProblem(
        kind=ProblemKind.SERVICE,
        what="The tests need a service or the network, and neither is there in the sandbox.",
        lines=_lines(_SERVICE, text),
        fix="Set `test.command` in `.fixwright.yml` to the part of the suite that runs offline.",
    )


def _resources(text: str) -> EnvironmentProblem | None:
    if not _RESOURCES.search(text):
        return None
    return EnvironmentProblem(
        kind=ProblemKind.RESOURCES,
        what="The tests ran out of memory, disk or processes.",
        lines=_lines(_RESOURCES, text),
        fix="Raise the sandbox's limits, or set `test.command` to a smaller part of the suite.",
    )


def _timed_out(observed: Observed) -> EnvironmentProblem:
    return EnvironmentProblem(
        kind=ProblemKind.TIMEOUT,
        what=f"The suite {observed.run.note}.",
        lines=_last_lines(observed),
        fix="Turn watch mode off, raise `test.timeout_seconds`, or set `test.command` to a part of it.",
    )


def _not_evidence(observed: Observed) -> EnvironmentProblem:
    return EnvironmentProblem(
        kind=ProblemKind.NOT_EVIDENCE,
        what=f"`{observed.run.command[:200]}` cannot show whether tests pass: {observed.run.note}.",
        lines=(),
        fix="Set `test.command` in `.fixwright.yml` to a plain command that fails when a test fails.",
    )


def _no_tests(observed: Observed) -> EnvironmentProblem:
    return EnvironmentProblem(
        kind=ProblemKind.NO_TESTS,
        what=f"`{observed.run.command[:200]}` ran no tests ({observed.run.note}).",
        lines=_last_lines(observed),
        fix="Check the paths and selections of the test command, or set `test.command` in `.fixwright.yml`.",
    )


def _unreadable(observed: Observed) -> EnvironmentProblem:
    return EnvironmentProblem(
        kind=ProblemKind.UNREADABLE,
        what=f"The run of `{observed.run.command[:200]}` could not be judged: {observed.run.note}.",
        lines=_last_lines(observed),
        fix="Set `test.command` in `.fixwright.yml` to a command that prints how many tests passed.",
    )


def _lines(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    shown: dict[str, None] = {}
    for line in text.splitlines():
        if pattern.search(line):
            shown[line.strip()[:300]] = None
        if len(shown) == _MAX_LINES:
            break
    return tuple(shown)


def _last_lines(observed: Observed) -> tuple[str, ...]:
    lines = [line.rstrip()[:300] for line in observed.output.splitlines() if line.strip()]
    return tuple(lines[-_MAX_LINES:])
