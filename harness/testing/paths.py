"""What a path is by its name alone: a test, test support, test configuration, documentation, or source."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePosixPath
from posixpath import splitext

TEST_DIRECTORIES = frozenset(
    {"test", "tests", "testing", "spec", "specs", "__tests__", "e2e", "integration_tests", "unit_tests"}
)
_KEPT = 4096
"""Answers that are kept: each of the guard's rules asks the same of the same paths."""
_TEST_FILE = re.compile(
    r"""
      test_[^/]*\.py | [^/]*_tests?\.py | tests\.py | test\.py
    | [^/]+\.(?:test|spec)\.[cm]?[jt]sx? | (?:test|spec)\.[cm]?[jt]sx?
    | [^/]+_test\.(?:go|rs|cc|cpp|exs|dart|rb) | [^/]+_spec\.rb | test_[^/]+\.rb
    | (?:tests?|test_[^/]+|[^/]+_tests)\.rs
    | (?:[A-Z]\w*Tests?|Test[A-Z]\w*|\w+IT)\.(?:java|kt|scala|groovy|cs)
    | \w+Test\.php | [^/]+\.(?:t|bats)
    """,
    re.VERBOSE,
)
_SOURCE_SUFFIXES = frozenset(
    {
        *(".py", ".pyi", ".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".go", ".rs", ".rb"),
        *(
            ".java",
            ".kt",
            ".scala",
            ".cs",
            ".php",
            ".c",
            ".h",
            ".cc",
            ".cpp",
            ".hpp",
            ".swift",
            ".dart",
            ".ex",
        ),
        *(".exs", ".sh", ".pl", ".t", ".lua"),
    }
)
_DOC_SUFFIXES = frozenset({".md", ".rst", ".txt", ".adoc", ".mdx", ".markdown"})
_DOC_DIRECTORIES = frozenset({"doc", "docs", "documentation"})
_DOC_ASSETS = frozenset({".png", ".svg", ".jpg", ".jpeg", ".gif", ".css"})
_DOC_NAMES = frozenset({"README", "CHANGELOG", "CHANGES", "NEWS", "AUTHORS", "CONTRIBUTORS", "HISTORY"})
_NOT_DOCUMENTATION = re.compile(
    r"(?:requirements[^/]*|constraints[^/]*|CMakeLists|robots)\.txt", re.IGNORECASE
)
_CONFIGURATION = frozenset(
    {
        *(
            "conftest.py",
            "pytest.ini",
            ".pytest.ini",
            "pytest.toml",
            "tox.ini",
            "setup.cfg",
            "pyproject.toml",
        ),
        *("noxfile.py", "package.json", ".mocharc.json", ".mocharc.js", ".mocharc.cjs", ".mocharc.yml"),
        *("Makefile", "makefile", "GNUmakefile", ".rspec", "phpunit.xml", "phpunit.xml.dist", ".coveragerc"),
    }
)
_CONFIGURATION_PATTERN = re.compile(
    r"(?:jest|vitest|vite|karma|cypress|playwright|ava|wdio|nightwatch)(?:\.\w+)?\.config\.[cm]?[jt]s"
    r"|jest\.config\.json|babel\.config\.js|\.babelrc|\.nycrc(?:\.json)?"
)


@lru_cache(maxsize=_KEPT)
def is_test_file(path: str) -> bool:
    """Tell whether a path holds tests that a runner collects, by the conventions of its language."""
    name = path.rsplit("/", 1)[-1]  # not by PurePosixPath: this is asked of every file of a tree
    if name == "conftest.py":
        return False
    if _TEST_FILE.fullmatch(name):
        return True
    is_code = splitext(name)[1] in {".rs", ".js", ".mjs", ".cjs", ".ts", ".rb", ".php", ".t"}
    return is_code and in_test_directory(path) and not is_support_name(name)


@lru_cache(maxsize=_KEPT)
def in_test_directory(path: str) -> bool:
    """Tell whether some directory above a path is one that conventionally holds tests."""
    return any(part.lower() in TEST_DIRECTORIES for part in path.split("/")[:-1])


def is_support_name(name: str) -> bool:
    """Tell whether a file in a test directory is known to be a helper rather than a test."""
    return bool(re.match(r"(?:helpers?|support|setup|fixtures?|utils?|mod|conftest)\b", name, re.IGNORECASE))


@lru_cache(maxsize=_KEPT)
def is_test_support(path: str) -> bool:
    """Tell whether tests lean on a path without its being a test: conftest, helpers, fixtures, snapshots."""
    name = PurePosixPath(path).name
    if name == "conftest.py" or name.endswith(".snap"):
        return True
    return in_test_directory(path) and not is_test_file(path)


def is_test_side(path: str) -> bool:
    """Tell whether a path belongs to the tests in either way."""
    return is_test_file(path) or is_test_support(path)


@lru_cache(maxsize=_KEPT)
def is_test_configuration(path: str) -> bool:
    """Tell whether a path can change which tests run, or how."""
    name = PurePosixPath(path).name
    return name in _CONFIGURATION or bool(_CONFIGURATION_PATTERN.fullmatch(name))


@lru_cache(maxsize=_KEPT)
def is_source(path: str) -> bool:
    """Tell whether a path is program text, tests included."""
    return splitext(path)[1] in _SOURCE_SUFFIXES


@lru_cache(maxsize=_KEPT)
def is_documentation(path: str) -> bool:
    """Tell whether a path is documentation: it cannot change what the program does."""
    pure = PurePosixPath(path)
    if in_test_directory(path) or _NOT_DOCUMENTATION.fullmatch(pure.name):
        return False
    if pure.suffix in _DOC_SUFFIXES or pure.name in _DOC_NAMES:
        return True
    return pure.suffix in _DOC_ASSETS and any(part.lower() in _DOC_DIRECTORIES for part in pure.parts[:-1])
