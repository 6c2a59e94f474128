"""What the files at one place of a tree say of how it is tested: one small finder for each ecosystem."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

from harness.testing.files import read_file, read_text, walk
from harness.testing.plan import Reach, Runner, TestPlan
from harness.testing.scripts import look_behind, make_recipe, package_script

Finder = Callable[[Path, str], TestPlan | None]
"""Takes the tree and a directory in it, "" for the root."""

_RUBY_TESTS = re.compile(r"(?:test_[^/]*|[^/]*_test)\.rb")


def has(tree: Path, directory: str, name: str) -> bool:
    """Tell whether a regular file is there."""
    return read_file(tree, f"{directory}/{name}" if directory else name, 1) is not None


def text_of(tree: Path, directory: str, name: str) -> str:
    """Return a file's text, "" where it is not there."""
    return read_text(tree, f"{directory}/{name}" if directory else name)


def node_plan(tree: Path, directory: str) -> TestPlan | None:
    """Return `npm test` where package.json has a test script."""
    script = package_script(tree, directory)
    if not script.strip():
        return None
    return _plan(tree, directory, "npm test", f"package.json has the test script `{script[:200]}`")


def go_plan(tree: Path, directory: str) -> TestPlan | None:
    """Return `go test ./...` where there is a go.mod."""
    return _plan(tree, directory, "go test ./...", "go.mod") if has(tree, directory, "go.mod") else None


def cargo_plan(tree: Path, directory: str) -> TestPlan | None:
    """Return `cargo test`, over the whole workspace where there is one."""
    if not has(tree, directory, "Cargo.toml"):
        return None
    locked = " --locked" if has(tree, directory, "Cargo.lock") else ""
    is_workspace = re.search(r"^\[workspace[\].]", text_of(tree, directory, "Cargo.toml"), re.MULTILINE)
    whole = " --workspace" if is_workspace else ""
    return _plan(tree, directory, f"cargo test --offline{locked}{whole}", "Cargo.toml")


def ruby_plan(tree: Path, directory: str) -> TestPlan | None:
    """Return RSpec where a .rspec or a Gemfile with specs is there, else rake's tests."""
    gemfile = text_of(tree, directory, "Gemfile")
    start = "bundle exec " if gemfile else ""
    specs = _any(tree, directory, re.compile(r"[^/]*_spec\.rb"))
    if specs and (has(tree, directory, ".rspec") or gemfile or has(tree, directory, "spec/spec_helper.rb")):
        why = ".rspec" if has(tree, directory, ".rspec") else f"{specs} is RSpec's"
        return _plan(tree, directory, f"{start}rspec", why)
    tests = _any(tree, directory, _RUBY_TESTS)
    if tests and (gemfile or has(tree, directory, "Rakefile")) and has(tree, directory, "Rakefile"):
        return _plan(tree, directory, f"{start}rake test", f"Rakefile, and {tests}")
    return None


def maven_plan(tree: Path, directory: str) -> TestPlan | None:
    """Return `mvn test` where there is a pom.xml; offline, as nothing can be fetched during a run."""
    if not has(tree, directory, "pom.xml"):
        return None
    tool = "sh ./mvnw" if has(tree, directory, "mvnw") else "mvn"
    return _plan(tree, directory, f"{tool} -B -o test", "pom.xml")


def gradle_plan(tree: Path, directory: str) -> TestPlan | None:
    """Return `gradle test` where there is a build.gradle."""
    names = ("build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts")
    name = next((name for name in names if has(tree, directory, name)), "")
    if not name:
        return None
    tool = "sh ./gradlew" if has(tree, directory, "gradlew") else "gradle"
    return _plan(tree, directory, f"{tool} --offline --console=plain test", name)


def php_plan(tree: Path, directory: str) -> TestPlan | None:
    """Return PHPUnit where it is configured, else composer's own test script."""
    tool = "php vendor/bin/phpunit" if has(tree, directory, "vendor/bin/phpunit") else "phpunit"
    for name in ("phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"):
        if has(tree, directory, name):
            return _plan(tree, directory, tool, name)
    try:
        package = json.loads(text_of(tree, directory, "composer.json") or "{}")
        needed = package["require-dev"]
        script = package.get("scripts", {}).get("test")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if isinstance(script, str):
        return _plan(tree, directory, "composer test", f"composer.json has the test script `{script[:200]}`")
    if isinstance(needed, dict) and "phpunit/phpunit" in needed:
        return _plan(tree, directory, f"{tool} tests", "composer.json needs phpunit/phpunit")
    return None


def cmake_plan(tree: Path, directory: str) -> TestPlan | None:
    """Return a build and a run of CTest where CMakeLists.txt enables tests."""
    text = text_of(tree, directory, "CMakeLists.txt")
    if not re.search(r"^[ \t]*(?:enable_testing|include\s*\(\s*CTest)\b", text, re.MULTILINE | re.IGNORECASE):
        return None
    build = "/tmp/fixwright-build"
    command = f"cmake -S . -B {build} && cmake --build {build} && ctest --test-dir {build}"
    return _plan(tree, directory, command, "CMakeLists.txt enables tests")


def make_plan(tree: Path, directory: str) -> TestPlan | None:
    """Return `make test` or `make check`, whichever the Makefile has."""
    for target in ("test", "check"):
        if make_recipe(tree, directory, target) is not None:
            return _plan(tree, directory, f"make {target}", f"the Makefile has the target `{target}`")
    return None


FINDERS: tuple[Finder, ...] = (
    *(node_plan, go_plan, cargo_plan, ruby_plan, maven_plan, gradle_plan, php_plan, cmake_plan),
)
"""All of equal rank: where two of them find something at one place, nobody can tell which is meant."""


def _plan(tree: Path, directory: str, command: str, why: str) -> TestPlan:
    place = f"cd {directory} && {command}" if directory else command
    found = look_behind(tree, place)
    return TestPlan(
        command=place,
        runner=found.runner,
        why=f"{directory}/{why}" if directory else why,
        reach=found.reach,
        arguments=found.arguments,
        directory=found.directory,
        doubt=found.doubt,
    )


def _any(tree: Path, directory: str, pattern: re.Pattern[str]) -> str:
    root = tree / directory if directory else tree
    for path, _, name in walk(root, max_files=20_000):
        if pattern.fullmatch(name):
            return path
    return ""


__all__ = ["FINDERS", "Finder", "Reach", "Runner", "has", "make_plan", "text_of"]
