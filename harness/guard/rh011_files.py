"""RH011: files that get between the tests and their runner by where they lie, in any language."""

from __future__ import annotations

import re
from collections.abc import Iterator

from domain.model import Finding
from harness.guard.context import Context, critical, warning

RULE = "RH011"
_WHY = "It puts something between the tests and their result, so the result can no longer be believed."
_TOOLS = (
    r"(?:@?jest|vitest|mocha|chai|sinon|ava|tape|jasmine|@vitest|@jest|@testing-library|testify|gomega|ginkgo|gocheck"
    r"|quicktest|go-cmp|junit|assertj|hamcrest|mockito|testng|rspec[\w-]*|minitest|test-unit|mocha|rstest|proptest|insta)"
)
_INSTALLED = re.compile(r"(?:.*/)?node_modules/.*|(?:.*/)?site-packages/.*|(?:.*/)?\.venv/.*")
_VENDORED = re.compile(rf"(?:.*/)?(?:vendor|third_party)/(?:.*/)?{_TOOLS}(?:/.*|@.*)", re.IGNORECASE)
_SERVICES = re.compile(
    r"(?:.*/)?(?:META-INF/services/org\.(?:junit|testng|mockito)\..*|junit-platform\.properties)"
)
_SHADOWS = re.compile(
    r"(?:.*/)?java/(?:org/(?:junit|hamcrest|assertj|mockito|testng)|junit/framework)/.*\.java"
)
_MOCKS = re.compile(r"__mocks__/[^/]+\.[cm]?[jt]sx?")
_OPTIONS = re.compile(
    r"(?im)^\s*(?:node[-_]options\s*=|NODE_OPTIONS\s*=|RUBYOPT\s*=|GOFLAGS\s*=|JAVA_TOOL_OPTIONS\s*=|RUSTFLAGS\s*=|PYTHON(?:PATH|STARTUP)\s*=|PYTEST_ADDOPTS\s*=).*"
)


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for new and changed files by their path, and for options in the files of tools."""
    for path, delta in context.change.deltas.items():
        if delta.new is None:
            continue
        if _INSTALLED.fullmatch(path):
            yield critical(RULE, path, 0, "a file where installed packages lie is added or changed", _WHY)
        elif _VENDORED.fullmatch(path):
            yield critical(RULE, path, 0, "a vendored testing tool is added or changed", _WHY)
        elif _SERVICES.fullmatch(path) or _SHADOWS.fullmatch(path):
            yield critical(RULE, path, 0, "the test runner loads this file by itself", _WHY)
        elif _MOCKS.fullmatch(path) and delta.old is None:
            yield warning(RULE, path, 0, "jest uses this file in the place of a package, everywhere", _WHY)
        name = path.rsplit("/", 1)[-1]
        if name in {".npmrc", ".yarnrc", ".env", ".env.test", ".envrc", ".rbenv-vars"} or name.startswith(
            ".env."
        ):
            before = set(_OPTIONS.findall(delta.old_text))
            for match in _OPTIONS.finditer(delta.new_text):
                if match[0] not in before:
                    line = delta.new_text.count("\n", 0, match.start()) + 1
                    yield critical(
                        RULE, path, line, f"`{match[0].strip()[:60]}` loads code into every run", _WHY
                    )
