"""How a Python tree is tested: pytest or unittest, from configuration files and the tests themselves."""

from __future__ import annotations

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.testing.files import read_at, read_file, read_text, walk
from harness.testing.plan import Reach, Runner, TestPlan

MAX_FILES = 20_000
MAX_READ = 300
WORK = "/work"
"""Where a checkout is mounted in the sandbox."""


@dataclass(frozen=True, slots=True)
class _Survey:
    """What a walk over a tree has shown of its Python tests."""

    test_files: tuple[str, ...]
    pytest_style: str
    conftest: str


def python_environment(tree: Path) -> dict[str, str]:
    """Return variables that make the checkout importable and the run repeatable."""
    roots = [WORK]
    if _is_src_layout(tree):
        roots.insert(0, f"{WORK}/src")
    return {"PYTHONPATH": ":".join(roots), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}


def python_plan(tree: Path) -> TestPlan | None:
    """Return the plan for a tree with Python tests, or None."""
    survey = _survey(tree)
    if not survey.test_files:
        return None
    environment = python_environment(tree)
    unittest = _unittest_plan(tree, survey, environment)
    why = _pytest_configuration(tree) or survey.conftest or survey.pytest_style
    if not why:
        return unittest
    return TestPlan(
        command="python3 -m pytest",
        runner=Runner.PYTEST,
        why=why,
        env=environment,
        reach=Reach.CALL,
        fallback=None if survey.pytest_style else unittest,
    )


def has_python_root(tree: Path) -> bool:
    """Tell whether the root of a tree is a Python project's, and not only some directory below it."""
    names = ("setup.py", "setup.cfg", "pyproject.toml", "tox.ini", "noxfile.py", "conftest.py", "pytest.ini")
    if any(read_file(tree, name, 1) is not None for name in (*names, ".pytest.ini", "requirements.txt")):
        return True
    survey = _survey(tree)
    tops = {PurePosixPath(path).parts[0] for path in survey.test_files}
    return bool(tops & {"test", "tests"}) or any("/" not in path for path in survey.test_files)


def _is_src_layout(tree: Path) -> bool:
    source = tree / "src"
    if source.is_symlink() or not source.is_dir():
        return False
    return any(
        (entry.suffix == ".py" or (entry / "__init__.py").is_file()) and not entry.is_symlink()
        for entry in source.iterdir()
    )


def _pytest_configuration(tree: Path) -> str:
    """Name the file that configures pytest, or return ""."""
    for name in ("pytest.ini", ".pytest.ini"):
        if read_file(tree, name, 1) is not None:
            return name
    try:
        tool = tomllib.loads(read_text(tree, "pyproject.toml")).get("tool", {})
    except (tomllib.TOMLDecodeError, RecursionError):
        tool = {}
    if isinstance(tool, dict) and "pytest" in tool:
        return "pyproject.toml configures pytest"
    if re.search(r"^\[pytest\]", read_text(tree, "tox.ini"), re.MULTILINE):
        return "tox.ini configures pytest"
    if re.search(r"^\[tool:pytest\]", read_text(tree, "setup.cfg"), re.MULTILINE):
        return "setup.cfg configures pytest"
    return ""


def _survey(tree: Path) -> _Survey:
    test_files: list[str] = []
    conftest = pytest_style = ""
    for path, directory, name in walk(tree, max_files=MAX_FILES):
        if name == "conftest.py":
            conftest = conftest or f"{path} is pytest's"
        if not re.fullmatch(r"test_.*\.py|.*_tests?\.py|tests?\.py", name):
            continue
        source = (read_at(directory, name, 256 * 1024) or b"") if len(test_files) < MAX_READ else b""
        if not _holds_tests(source):
            continue
        test_files.append(path)
        if not pytest_style and (how := _pytest_style(source)):
            pytest_style = f"{path} {how}"
    return _Survey(tuple(test_files), pytest_style, conftest)


def _holds_tests(source: bytes) -> bool:
    return bool(re.search(rb"^[ \t]*(?:async\s+)?def\s+test|^class\s+\w*Test|TestCase", source, re.MULTILINE))


def _pytest_style(source: bytes) -> str:
    """Say what in a test file only pytest understands, or return ""."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
            )
            if any(name.split(".")[0] in {"pytest", "_pytest"} for name in names):
                return "imports pytest"
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            return "has plain test functions"
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test") and not node.bases:
            return "has plain test classes"
    return ""


def _unittest_plan(tree: Path, survey: _Survey, environment: dict[str, str]) -> TestPlan:
    """Choose the start directory that `unittest discover` needs to find the surveyed files."""
    tops = {PurePosixPath(path).parts[0] for path in survey.test_files if "/" in path}
    at_root = any("/" not in path for path in survey.test_files)
    options = ""
    if not at_root and len(tops) == 1:
        (top,) = tops
        is_package = read_file(tree, f"{top}/__init__.py", 1) is not None
        options = f" -s {top} -t ." if is_package else f" -s {top}"
    names = [PurePosixPath(path).name for path in survey.test_files]
    if not any(name.startswith("test") for name in names):
        options += " -p '*_test*.py'"
    return TestPlan(
        command=f"python3 -m unittest discover{options}",
        runner=Runner.UNITTEST,
        why=f"{survey.test_files[0]} uses unittest only",
        env=environment,
        reach=Reach.CALL,
    )
