"""RH008: what decides which tests run in Rust, Go, Java, Ruby and JavaScript, apart from package.json."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from domain.model import Finding
from harness.guard.change import Delta
from harness.guard.context import Context, critical, warning
from harness.guard.syntax.model import Kind
from harness.guard.syntax.nodes import text_of

RULE = "RH008"
_WHY = "It changes which tests run or how they are judged, so the same suite no longer says the same."
_RUNNERS = re.compile(
    r"(?:.*/)?(?:\.cargo/config(?:\.toml)?|\.config/nextest\.toml|karma\.conf\.[cm]?[jt]s|wdio\.conf\.[jt]s"
    r"|jasmine\.json|\.mocharc\.ya?ml|\.taprc|ava\.config\.[cm]?js|bunfig\.toml|vitest\.workspace\.[jt]s"
    r"|\.rspec-local|testng\.xml|junit-platform\.properties|cucumber\.ya?ml|\.vscode-test\.m?js)"
)
_SCRIPTS = re.compile(
    r"(?:.*/)?(?:(?:bin|scripts?|ci|\.ci|tools)/(?:run[-_]?)?tests?(?:\.\w+)?|run[-_]?tests?(?:\.\w+)?|tests?\.sh)"
)
_SETUP = re.compile(
    r"(?:.*/)?(?:jest|vitest|test)[-._]?setup\.[cm]?[jt]sx?|(?:.*/)?setup[-_.]?[tT]ests?\.[cm]?[jt]sx?"
)
_HELPERS = frozenset({"spec_helper.rb", "rails_helper.rb", "test_helper.rb", ".rspec"})
_POWERS = re.compile(
    r"(?:filter_run\w*|run_all_when\w*|exclude_pattern|pattern|exclusion_filter|inclusion_filter|around|after|append_after"
    r"|at_exit|autorun|dry_run|fail_fast|prepend|class_eval|define_derived_metadata|silence_filter_announcements|alias_example_to)=?"
)
_MAVEN = re.compile(
    r"<plugin>(?:(?!</plugin>).)*?maven-(?:surefire|failsafe)-plugin.*?</plugin>"
    r"|<(?:skipTests|maven\.test\.skip|skipITs|testFailureIgnore|surefire\.\w+|test|groups|excludedGroups)>.*?</",
    re.DOTALL,
)
_GRADLE = re.compile(
    r"\b(?:useJUnit\w*|useTestNG|ignoreFailures|failOnNoMatching\w*|excludeTags|includeTags|excludeTestsMatching"
    r"|includeTestsMatching|onlyIf|exclude|setExcludes|forkEvery|filter|enabled)\b[^\n]*"
)
_TEST_NEAR = re.compile(r"\b[tT]est", re.MULTILINE)
_CARGO = ("lib", "test", "bench", "patch", "replace")


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for changed configuration of test tools, by what in it concerns tests."""
    for path, delta in context.change.deltas.items():
        name = PurePosixPath(path).name
        if _RUNNERS.fullmatch(path):
            yield critical(RULE, path, 0, "the test runner's configuration is changed", _WHY)
        elif _SCRIPTS.fullmatch(path):
            yield critical(RULE, path, 0, "the script that runs the tests is changed", _WHY)
        elif _SETUP.fullmatch(path):
            yield warning(RULE, path, 0, "what is loaded before every test is changed", _WHY)
        elif name == "Cargo.toml":
            yield from _cargo(delta)
        elif name in {"go.mod", "go.work"}:
            yield from _go(delta)
        elif name == "pom.xml":
            yield from _texts(delta, _MAVEN, "how Maven runs the tests is changed")
        elif name in {"build.gradle", "build.gradle.kts"}:
            yield from _gradle(delta)
        elif name in {"deno.json", "deno.jsonc", "turbo.json", "nx.json", "project.json"}:
            yield from _tasks(delta)
        elif name in {"justfile", "Justfile", "Taskfile.yml", "Taskfile.yaml"}:
            yield from _texts(
                delta,
                re.compile(r"^[ \t]*[\w-]*test[\w-]*[^\n]*:[^\n]*\n(?:[ \t]+[^\n]*\n?)*", re.M),
                "the recipe that runs the tests is changed",
            )
    yield from _ruby(context)


def _cargo(delta: Delta) -> Iterator[Finding]:
    before, now = _toml(delta.old_text), _toml(delta.new_text)
    if before is None or now is None or delta.old is None:
        return
    for table in _CARGO:
        if before.get(table) != now.get(table):
            yield critical(RULE, delta.path, 0, f"the table [{table}] of Cargo.toml is changed", _WHY)
    for key in ("autotests", "autobins", "autobenches"):
        if _inner(before, "package").get(key) != _inner(now, "package").get(key):
            yield critical(RULE, delta.path, 0, f"`{key}` of Cargo.toml is changed", _WHY)
    if _inner(before, "profile").get("test") != _inner(now, "profile").get("test"):
        yield critical(RULE, delta.path, 0, "[profile.test] of Cargo.toml is changed", _WHY)


def _toml(text: str) -> Mapping[str, object] | None:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        return None


def _inner(table: Mapping[str, object], key: str) -> Mapping[str, object]:
    found = table.get(key)
    return found if isinstance(found, dict) else {}


def _go(delta: Delta) -> Iterator[Finding]:
    pattern = re.compile(r"^\s*(?:replace\s+)?([\w./-]+)(?:\s+v\S+)?\s*=>\s*(\S+).*$", re.MULTILINE)
    before = {match[0].strip() for match in pattern.finditer(delta.old_text)}
    for match in pattern.finditer(delta.new_text):
        if match[0].strip() in before:
            continue
        line = delta.new_text.count("\n", 0, match.start(1)) + 1
        is_tool = re.search(r"testify|gomega|ginkgo|go-cmp|quicktest|gocheck|gotest", match[1])
        make = critical if is_tool else warning
        yield make(RULE, delta.path, line, f"`{match[1]}` is replaced by `{match[2]}`", _WHY)


def _texts(delta: Delta, pattern: re.Pattern[str], what: str) -> Iterator[Finding]:
    if delta.old is None and delta.path.endswith("pom.xml"):
        return
    sides = [
        [" ".join(match[0].split()) for match in pattern.finditer(text)]
        for text in (delta.old_text, delta.new_text)
    ]
    if sides[0] != sides[1]:
        yield critical(RULE, delta.path, 0, what, _WHY)


def _gradle(delta: Delta) -> Iterator[Finding]:
    sides = []
    for text in (delta.old_text, delta.new_text):
        is_about = _TEST_NEAR.search(text) is not None
        sides.append(
            sorted(" ".join(match[0].split()) for match in _GRADLE.finditer(text)) if is_about else []
        )
    if sides[0] != sides[1] and delta.old is not None:
        yield critical(RULE, delta.path, 0, "how Gradle runs the tests is changed", _WHY)


def _tasks(delta: Delta) -> Iterator[Finding]:
    sides = []
    for text in (delta.old_text, delta.new_text):
        try:
            value = json.loads(text or "{}")
        except (ValueError, RecursionError):
            value = {}
        table = value if isinstance(value, dict) else {}
        found = {key: table.get(key) for key in ("tasks", "targets", "pipeline", "targetDefaults", "test")}
        sides.append({key: _about_tests(part) for key, part in found.items()})
    if sides[0] != sides[1]:
        yield critical(RULE, delta.path, 0, "the task that runs the tests is changed", _WHY)


def _about_tests(part: object) -> object:
    return {key: value for key, value in part.items() if "test" in key} if isinstance(part, dict) else part


def _ruby(context: Context) -> Iterator[Finding]:
    """Object to helpers that filter examples or wrap them, and to tasks that run the tests otherwise."""
    for file in context.files:
        name = PurePosixPath(file.path).name
        if name in _HELPERS:
            before = {called for view in file.gone for called in view.called if _POWERS.fullmatch(called)}
            now = {called for view in file.came for called in view.called if _POWERS.fullmatch(called)}
            for called in sorted(now - before):
                yield critical(RULE, file.path, 0, f"`{called}` in {name} can change which tests run", _WHY)
            if file.new is None:
                yield critical(RULE, file.path, 0, f"{name} is deleted", _WHY)
        elif name == "Rakefile" or file.path.endswith(".rake"):
            for view in (*file.gone, *file.came):
                about = view.unit.kind is Kind.OTHER and re.search(
                    r"TestTask|RSpec::Core|\btask\b.*\b(?:test|spec|default)\b", text_of(view.unit.node)
                )
                if about:
                    yield critical(RULE, file.path, 0, "the task that runs the tests is changed", _WHY)
                    break
