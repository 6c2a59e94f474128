"""Signs in what a suite prints of what its environment lacks, each with the fix to make. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.testing.problems import EnvironmentProblem, ProblemKind

_MAX_LINES = 6
_CLOSES = "where the tests run"
_STDLIB = (
    "tomllib|zoneinfo|distutils|imp|asyncore|asynchat|smtpd|cgi|cgitb|crypt|pipes|telnetlib|nntplib|audioop"
)
"""Modules that some versions of Python have and others have not."""


@dataclass(frozen=True, slots=True)
class _Sign:
    """A pattern, whose first group that matched is put into `what` and `fix` in the place of `{}`."""

    kind: ProblemKind
    pattern: re.Pattern[str]
    what: str
    fix: str


def _sign(kind: ProblemKind, pattern: str, what: str, fix: str) -> _Sign:
    return _Sign(kind, re.compile(pattern, re.MULTILINE), what, fix)


_SIGNS = (
    _sign(
        ProblemKind.VERSION,
        r"(EBADENGINE|Unsupported engine|The engine \"?node\"? is incompatible[^\n]{0,100}"
        r"|requires a different Python: [^\n]{0,100}|requires-python [^\n]{0,80}"
        r"|go(?:\.mod)? requires go >= ?[\d.]+|module requires Go [\d.]+|invalid go version '[\d.]+'"
        r"|requires rustc [\d.]+|rustc [\d.]+ is not supported by"
        r"|UnsupportedClassVersionError|class file version [\d.]+|invalid target release: \S+"
        r"|release version \S+ not supported|Source option \S+ is no longer supported"
        r"|Your Ruby version is [\d.]+, but your Gemfile specified \S+"
        r"|requires php [^\n]{0,60} but your php version"
        r"|requires Node(?:\.js)? (?:version )?[>^~v\d][^\n]{0,40})",
        "A tool of another version is asked for: {}.",
        f"Install the version that the repository asks for {_CLOSES}, or lower what it asks for.",
    ),
    _sign(
        ProblemKind.VERSION,
        r"(cannot import name '\w+' from '[\w.]+' (?=\([^)\n]{0,200}/lib/python3[\d.]*/(?!site-|dist-))"
        rf"|No module named '(?:{_STDLIB})')",
        "Another version of Python is wanted; its standard library differs here: {}.",
        f"Install the Python that the repository supports {_CLOSES}, or a package in the module's place.",
    ),
    _sign(
        ProblemKind.LOCKFILE,
        r"(doesn't seem to be present in your lockfile|`?npm ci`? can only install[^\n]{0,80}"
        r"|ERR_PNPM_(?:NO|OUTDATED)_LOCKFILE|[Ll]ockfile would have been modified"
        r"|the lock file \S+ needs to be updated|cannot update the lock file"
        r"|missing go\.sum entry|updates to go\.mod needed"
        r"|(?:uv|poetry)\.lock (?:is not|needs to be)[^\n]{0,40}"
        r"|not find compatible versions for gem|lockfile is missing)",
        "The lockfile is missing, or is not what the manifest asks for: {}.",
        "Commit a lockfile that is up to date.",
    ),
    _sign(
        ProblemKind.IMPORT,
        r"(?:No cached version of (\S+) available for offline mode|(module lookup disabled by GOPROXY=\w+)"
        r"|Could not find gem '([^'\n]{1,80})'|(Bundler::(?:GemNotFound|HTTPError))"
        r"|(Could not reach host \S+)"
        r"|(vendor/autoload\.php)|(Could not resolve dependencies for project \S+)"
        r"|(Plugin \S+ or one of its dependencies could not be resolved)"
        r"|failed to (?:get|download) `([\w-]+)`|no matching package named `([\w-]+)` found"
        r"|Could not find a version that satisfies the requirement (\S+)"
        r"|(Couldn't find the node_modules state file)|(node_modules missing))",
        "Dependencies are not there, and there is no network during a run: {}.",
        "Install them beforehand: name the command under `setup.commands` in `.fixwright.yml`, or let the "
        f"operator open set-ups or install them {_CLOSES}.",
    ),
    _sign(
        ProblemKind.VARIABLE,
        r"(?:environ[\s\S]{0,400}?KeyError: '([A-Z][A-Z0-9_]{1,60})'"
        r"|key not found: \"([A-Z][A-Z0-9_]{1,60})\""
        r"|[Ee]nvironment variable[: ]+[\"'`]?([A-Z][A-Z0-9_]{1,60})[\"'`]? (?:is |was |must be )?"
        r"(?:not set|missing|required|not defined|not found)"
        r"|([A-Z][A-Z0-9]*_[A-Z0-9_]{1,60}) environment variable (?:is|was) (?:not set|required))",
        "The tests want the variable `{}`.",
        "Give it a harmless value under `test.env` in `.fixwright.yml`: `test: {env: {{}: value}}`. "
        "It must be no secret: the tests' environment is no place for one.",
    ),
    _sign(
        ProblemKind.PLACE,
        r"(setuptools[-_]scm was unable to detect version|unable to (?:detect|determine) version from"
        r"|No names found, cannot describe anything|fatal: not a git repository"
        r"|Versioning for this project requires either an sdist tarball|versioningit[^\n]{0,40}not a git)",
        "The version is taken from git, and a checkout has neither history nor tags: {}.",
        "Say the version by a variable under `test.env` in `.fixwright.yml`, such as "
        "`SETUPTOOLS_SCM_PRETEND_VERSION: '0.0.1'` or `PBR_VERSION`; tests that need a repository have to "
        "make one.",
    ),
    _sign(
        ProblemKind.PLACE,
        r"(no \$?DISPLAY environment variable|no display name and no \$DISPLAY|[Cc]an(?:no|')t open display"
        r"|could not connect to display|Missing X server or \$DISPLAY|Unable to open X display"
        r"|java\.awt\.HeadlessException|No protocol specified)",
        "The tests want a display, and the sandbox has none: {}.",
        "Set `test.env` in `.fixwright.yml` to what the toolkit takes for none (`QT_QPA_PLATFORM: "
        "offscreen`, `SDL_VIDEODRIVER: dummy`, `MPLBACKEND: Agg`), or run the tests by `xvfb-run -a`, "
        f"installed {_CLOSES}.",
    ),
    _sign(
        ProblemKind.PLACE,
        r"(unsupported locale setting|locale\.Error|Cannot set LC_\w+ to default locale|invalid locale)",
        "The tests want a locale that is not installed: {}.",
        f"Generate it {_CLOSES}, or set `LC_ALL: C.UTF-8` under `test.env` in `.fixwright.yml`.",
    ),
    _sign(
        ProblemKind.PLACE,
        r"(No time zone found with key [\w/+-]{1,60}|unknown time zone [\w/+-]{1,60}"
        r"|Invalid time zone specified|cannot find zoneinfo|TZInfo::DataSourceNotFound)",
        "The tests want time zones that are not installed: {}.",
        f"Install `tzdata` {_CLOSES}.",
    ),
    _sign(
        ProblemKind.TOOL_MISSING,
        r"(?:error while loading shared libraries: ([\w.+-]+)"
        r"|(?<![\w.+-])([\w.+-]{1,200}\.so[\w.]{0,40}): cannot open shared object file"
        r"|fatal error: ([\w./-]+\.h): No such file)",
        "A system library is missing: `{}`.",
        f"Install the package that holds `{{}}` {_CLOSES}.",
    ),
    _sign(
        ProblemKind.TOOL_MISSING,
        r"(?:_execute_child[\s\S]{0,1500}?\[Errno 2\] No such file or directory: '([\w+-][\w.+-]{0,60})'"
        r"|spawn ([\w.+-]{1,60}) ENOENT|exec: \"([\w.+-]{1,60})\": executable file not found"
        r"|^make(?:\[\d+\])?: ([\w.+-]{1,60}): No such file or directory"
        r"|Errno::ENOENT: No such file or directory - ([\w.+-]{1,60})$)",
        "A program is missing: `{}`.",
        f"Install `{{}}` {_CLOSES}.",
    ),
    _sign(
        ProblemKind.IMPORT,
        r"(?:No module named '(\w+(?:\.\w+)+)'|undefined symbol: (\w+)"
        r"|cannot import name '(_\w+)' from (?:partially initialized module )?'\w)",
        "A part of the repository's own package is missing that a build makes: `{}`.",
        "Name the build under `setup.commands` in `.fixwright.yml`, such as `pip install -e .`, "
        "`python setup.py build_ext --inplace`, or what generates it.",
    ),
)


def sign_in(texts: Sequence[str]) -> EnvironmentProblem | None:
    """Return what all of these texts say is lacking, told by the first of them; None if one says nothing."""
    found = [_first(text) for text in texts]
    if not found or None in found:
        return None
    return found[0]


def _first(text: str) -> EnvironmentProblem | None:
    for sign in _SIGNS:
        match = sign.pattern.search(text)
        if match is not None:
            named = next(filter(None, match.groups()), match[0])[:160]
            return EnvironmentProblem(
                kind=sign.kind,
                what=sign.what.replace("{}", named),
                lines=_lines(text, match),
                fix=sign.fix.replace("{}", named),
            )
    return None


def _lines(text: str, match: re.Match[str]) -> tuple[str, ...]:
    """Return the line in which a match ends, and those before it that belong to it."""
    start = text.rfind("\n", 0, match.end() - 1) + 1
    end = text.find("\n", match.end())
    lines: Iterable[str] = text[start : end if end >= 0 else len(text)].splitlines()
    return tuple(line.strip()[:300] for line in lines if line.strip())[-_MAX_LINES:]
