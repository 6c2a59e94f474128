"""Whether fixes rarely go to a path: tests, documentation, examples, benchmarks."""

from __future__ import annotations

from harness.testing.paths import in_test_directory, is_test_file

_ANYWHERE = frozenset(
    {"doc", "docs", "documentation", "example", "examples", "benchmark", "benchmarks", "asv_bench"}
)
_AT_THE_TOP = frozenset(
    {
        *("sample", "samples", "demo", "demos", "scripts", "tools", "ci", ".github", "tutorial", "tutorials"),
        *("fixtures", "release", "extras", "contrib"),
    }
)
"""Names that packages use for parts of a product as well, once they are deeper down."""


def is_test(path: str) -> bool:
    """Tell whether a path holds tests or what they lean on."""
    folders = path.split("/")[:-1]
    if is_test_file(path):
        return True
    # A package called `testing` is often a product of its own, with tests elsewhere.
    return in_test_directory(path) and not (folders and folders[-1] == "testing" and len(folders) > 1)


def is_aside(path: str) -> bool:
    """Tell whether fixes rarely go to a path."""
    *above, name = path.split("/")
    folders = [part.lower() for part in above]
    if is_test(path) or name in {"conftest.py", "setup.py"}:
        return True
    return any(part in _ANYWHERE for part in folders) or bool(folders and folders[0] in _AT_THE_TOP)
