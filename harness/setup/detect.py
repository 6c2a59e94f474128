"""The plain set-ups, found from a repository's own files: which commands, and why these."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from domain.repo_config import SetupSection
from harness.baseline import Baseline
from harness.setup.plan import SetupPlan
from harness.testing.diagnosis import ProblemKind, missing_modules
from harness.testing.plan import Runner, TestPlan

Has = Callable[[str], bool]

CURABLE = frozenset({ProblemKind.IMPORT, ProblemKind.TOOL_MISSING, ProblemKind.UNREADABLE})
"""Problems of a suite that a set-up may mend."""

_TEST_NAMES = ("test", "tests", "testing", "dev", "develop", "development")
_REQUIREMENTS = re.compile(
    r"(?:requirements/)?(?:(?:test|tests|testing|dev|develop|development)[-_.]?requirements"
    r"|requirements[-_.]?(?:test|tests|testing|dev|develop|development))\.txt"
    r"|(?:requirements|tests?)/(?:test|tests|testing|dev|develop|development|requirements)\.txt"
)
_VERSIONS_FROM_GIT = re.compile(
    r"setuptools[-_]scm|hatch-vcs|versioningit|pdm-backend|pbr|versioneer|flit_scm"
)
_GO_MODULE = re.compile(r"^(?:require[ \t]+[\w.-]+/|\t[\w.-]+\.\w+/)", re.MULTILINE)
_VERSION = "999.0.0"
_READ = 256 * 1024


@dataclass(frozen=True, slots=True)
class _Found:
    """Commands with the reason for them, programs that they need, and variables."""

    commands: tuple[str, ...]
    why: str
    needs: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Files:
    """A repository's files at its base: their paths, and how to read one."""

    names: frozenset[str]
    read: Callable[[str], bytes | None]

    def text(self, path: str) -> str:
        """Return a file's text, "" where there is none."""
        content = self.read(path) if path in self.names else None
        return (content or b"")[:_READ].decode("utf-8", "replace")

    def first(self, *paths: str) -> str:
        """Return the first of some paths that is there, or ""."""
        return next((path for path in paths if path in self.names), "")


def is_needed(baseline: Baseline) -> bool:
    """Tell whether a base's suite shows that something has to be installed for it."""
    if baseline.problem is not None:
        return baseline.problem.kind in CURABLE
    cases = baseline.observed.cases.values() if baseline.observed else ()
    return any(case.collection and missing_modules(case.message) for case in cases)


def must_fail_without(files: Files, plan: TestPlan) -> bool:
    """Tell from files alone that a suite cannot run before its dependencies are there. Raises GitError.

    What cannot be told is not claimed: the suite is run first, and says itself what it lacks.
    """
    if any(path.startswith(("vendor/", "node_modules/", ".pnp.", ".yarn/cache/")) for path in files.names):
        return False
    if plan.runner is Runner.GO:
        return bool(_GO_MODULE.search(files.text("go.mod")))
    if plan.runner in {Runner.CARGO, Runner.NEXTEST}:
        is_replaced = ".cargo/config.toml" in files.names or ".cargo/config" in files.names
        return not is_replaced and 'source = "registry+' in files.text("Cargo.lock")
    tool = {Runner.JEST: "jest", Runner.VITEST: "vitest", Runner.MOCHA: "mocha"}.get(plan.runner)
    return tool is not None and f'"{tool}"' in files.text("package.json")


def detect_setup(files: Files, plan: TestPlan | None, section: SetupSection, has: Has) -> SetupPlan | None:
    """Return the plain set-up for a suite that is run so, or None; `has` looks for a program.

    Raises GitError.
    """
    found = [each for find in _finders(plan) if (each := find(files, has)) is not None]
    if not found:
        return None
    return SetupPlan(
        commands=tuple(command for each in found for command in each.commands),
        why=", ".join(each.why for each in found),
        env={**{name: value for each in found for name, value in each.env}, **section.env},
        timeout_seconds=section.timeout_seconds,
        needs=tuple(dict.fromkeys(name for each in found for name in each.needs)),
    )


def _finders(plan: TestPlan | None) -> Iterable[Callable[[Files, Has], _Found | None]]:
    """Choose by the suite's own command; one that could be anything takes all that the root speaks of."""
    command = plan.command if plan else ""
    by_word = {
        "npm": _node, "yarn": _node, "pnpm": _node, "node": _node, "npx": _node,
        "cargo": _rust, "go": _go, "bundle": _ruby, "rake": _ruby, "rspec": _ruby,
        "mvn": _java, "mvnw": _java, "gradle": _java, "gradlew": _java,
    }  # fmt: skip
    if plan and plan.runner in {Runner.PYTEST, Runner.UNITTEST}:
        return [_python]
    words = [word.rpartition("/")[2] for word in re.findall(r"[\w./-]+", command)]
    chosen = dict.fromkeys(by_word[word] for word in words if word in by_word)
    return chosen or [_python, _node, _go, _rust, _ruby, _java]


def _python(files: Files, has: Has) -> _Found | None:
    if "uv.lock" in files.names and has("uv"):
        return _Found(("uv sync --frozen --all-groups --all-extras",), "uv.lock", ("uv",))
    wanted: list[str] = []
    why: list[str] = []
    for path in sorted(files.names):
        if path == "requirements.txt" or _REQUIREMENTS.fullmatch(path):
            wanted += ["-r", path]
            why.append(path)
    project = _python_project(files)
    if project is not None:
        wanted += project.wanted
        why += project.why
    if not wanted:
        return None
    wanted.append("pytest")
    env = (
        (("SETUPTOOLS_SCM_PRETEND_VERSION", _VERSION), ("PBR_VERSION", _VERSION))
        if project and project.scm
        else ()
    )
    command = shlex.join(["pip", "install", *wanted])
    return _Found((command,), " and ".join(why), ("python3",), env)


@dataclass(frozen=True, slots=True)
class _Project:
    wanted: tuple[str, ...]
    why: tuple[str, ...]
    scm: bool


def _python_project(files: Files) -> _Project | None:
    """Return how the repository's own package is installed, with what its tests ask for."""
    texts = [files.text(name) for name in ("pyproject.toml", "setup.py", "setup.cfg")]
    try:
        document = tomllib.loads(texts[0])
    except (tomllib.TOMLDecodeError, RecursionError):
        document = {}
    is_package = bool(
        "project" in document or "build-system" in document or texts[1] or "[metadata]" in texts[2]
    )
    groups = _group(document.get("dependency-groups"), _TEST_NAMES)
    if not is_package:
        return _Project(groups, ("the dependency groups of pyproject.toml",), False) if groups else None
    extras = _extras(document, texts[1] + texts[2])
    spec = f".[{','.join(extras)}]" if extras else "."
    why = files.first("pyproject.toml", "setup.py", "setup.cfg")
    return _Project(("-e", spec, *groups), (why,), bool(_VERSIONS_FROM_GIT.search("".join(texts))))


def _extras(document: dict[str, object], legacy: str) -> list[str]:
    project = document.get("project")
    named = project.get("optional-dependencies") if isinstance(project, dict) else None
    if isinstance(named, dict):
        return [name for name in _TEST_NAMES if name in named]
    return [
        name
        for name in _TEST_NAMES
        if re.search(rf"extras_require[\s\S]{{0,4000}}?[\"']{name}[\"']\s*:", legacy)
        or re.search(rf"^\[options\.extras_require\][\s\S]*?^{name}\s*=", legacy, re.MULTILINE)
    ]


def _group(groups: object, names: Iterable[str], seen: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the requirements of the dependency groups with these names, included groups among them."""
    if not isinstance(groups, dict):
        return ()
    found: dict[str, None] = {}
    for name in names:
        entries = groups.get(name)
        for entry in entries if isinstance(entries, list) and name not in seen else []:
            if isinstance(entry, str) and not entry.lstrip().startswith("-"):
                found[entry] = None
            elif isinstance(entry, dict) and isinstance(entry.get("include-group"), str):
                found |= dict.fromkeys(_group(groups, (entry["include-group"],), seen | {name}))
    return tuple(found)


def _node(files: Files, has: Has) -> _Found | None:
    if "package.json" not in files.names:
        return None
    if lock := files.first("package-lock.json", "npm-shrinkwrap.json"):
        return _Found(("npm ci",), lock, ("node", "npm"))
    if "pnpm-lock.yaml" in files.names:
        return _Found(("pnpm install --frozen-lockfile",), "pnpm-lock.yaml", ("node", "pnpm"))
    if "yarn.lock" in files.names:
        flag = "--immutable" if ".yarnrc.yml" in files.names else "--frozen-lockfile"
        return _Found((f"yarn install {flag}",), "yarn.lock", ("node", "yarn"))
    try:
        package = json.loads(files.text("package.json"))
    except (ValueError, RecursionError):
        return None
    if not isinstance(package, dict) or not any(
        package.get(key) for key in ("dependencies", "devDependencies")
    ):
        return None
    return _Found(("npm install --no-package-lock",), "package.json, which has no lockfile", ("node", "npm"))


def _go(files: Files, has: Has) -> _Found | None:
    if "go.mod" not in files.names or "require" not in files.text("go.mod"):
        return None
    return _Found(("go mod download",), "go.mod", ("go",))


def _rust(files: Files, has: Has) -> _Found | None:
    if "Cargo.toml" not in files.names:
        return None
    locked = "Cargo.lock" in files.names
    command = "cargo fetch --locked" if locked else "cargo fetch"
    return _Found((command,), "Cargo.lock" if locked else "Cargo.toml", ("cargo",))


def _ruby(files: Files, has: Has) -> _Found | None:
    if "Gemfile" not in files.names:
        return None
    return _Found(("bundle install",), files.first("Gemfile.lock", "Gemfile"), ("ruby", "bundle"))


def _java(files: Files, has: Has) -> _Found | None:
    if "pom.xml" in files.names:
        return _Found(("mvn -B -q -DskipTests test",), "pom.xml", ("java", "mvn"))
    if build := files.first("build.gradle", "build.gradle.kts"):
        wrapped = "gradlew" in files.names and not has("gradle")
        program = "sh ./gradlew" if wrapped else "gradle"
        needs = ("java",) if wrapped else ("java", "gradle")
        return _Found((f"{program} --no-daemon --console=plain testClasses",), build, needs)
    return None
