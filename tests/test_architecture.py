"""The doors and the measures of the house, read from its source: each check is first shown able to fail."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("app", "domain", "evals", "harness", "providers", "store", "worker")
OTHERS_CODE = ("app/demo/cases/", "evals/cases/")
"""Repositories that the service works on; not ours to judge."""

LONGEST_FILE = 400
LONGEST_FUNCTION = 60
MOST_PARAMETERS = 6
LONGEST_FIRST_LINE = 110

EXCEPTIONS = {
    "app/settings.py: file of": "a little over: every setting with its words, once",
    "app/demo/scripted_model.py: file of": "a little over: an endpoint and the scripts that it plays",
}
"""Beginnings of complaints that are allowed, and why."""

Check = Callable[[str, ast.Module], Iterator[str]]

ONLY_IN: dict[str, tuple[str, ...]] = {
    "litellm": ("harness/agent",),
    "minisweagent": ("harness/agent",),
    "sqlite3": ("store/", "providers/local", "harness/localize/kept_facts.py"),
    "aiosqlite": (),
    "subprocess": (
        "harness/git",
        "harness/sandbox",
        "harness/setup/asking.py",
        "harness/agent/child_process.py",
        "app/demo",
        "evals/",
        "providers/conformance/plain_git.py",
    ),
    "multiprocessing": ("providers/conformance/", "evals/"),
    "pty": (),
    "github": ("providers/github",),
    "gitlab": ("providers/gitlab",),
    "pygitea": ("providers/gitea",),
    "honcho": ("app/",),
    "huey": ("evals/",),
    "fastapi": ("app/", "evals/"),
    "uvicorn": ("app/", "evals/"),
    "typer": ("app/", "evals/"),
    "rich": ("app/", "evals/"),
    "structlog": ("app/", "evals/", "harness/", "providers/", "store/", "worker/"),
}
"""Which door a module may be imported behind; the start of the file's path decides."""

ENVIRONMENT = {"environ", "environb", "getenv", "getenvb", "putenv", "unsetenv"}
PROCESS_CALLS = {"system", "popen", "fork", "forkpty", "posix_spawn", "posix_spawnp", "startfile"}
OPENERS = {
    "open",
    "fdopen",
    "connect",
    "socket",
    "create_connection",
    "socketpair",
    "urlopen",
    "mkdtemp",
    "mkstemp",
}
OPENERS |= {
    "read_text",
    "read_bytes",
    "write_text",
    "write_bytes",
    "mkdir",
    "Popen",
    "run",
    "check_output",
    "Thread",
}
OPENERS |= {
    "Client",
    "AsyncClient",
    "FastAPI",
    "NamedTemporaryFile",
    "TemporaryDirectory",
    "TemporaryFile",
    "Session",
}
ADAPTER_PACKAGES = ("harness", "providers", "store", "worker")


# -- the checks -------------------------------------------------------------------------------------


def closed_doors(path: str, tree: ast.Module) -> Iterator[str]:
    """Complain of modules that are imported outside the room that owns them."""
    for node, name in _imports(tree):
        allowed = ONLY_IN.get(name.split(".")[0])
        if allowed is not None and not path.startswith(allowed):
            yield f"{path}:{node.lineno} imports {name}"


def environment_doors(path: str, tree: ast.Module) -> Iterator[str]:
    """Complain of the environment being read or changed anywhere but in the settings."""
    if path == "app/settings.py":
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ENVIRONMENT and _is_name(node.value, "os"):
            yield f"{path}:{node.lineno} uses os.{node.attr}"
        if isinstance(node, ast.ImportFrom) and node.module == "os":
            yield from (f"{path}:{node.lineno} uses os.{a.name}" for a in node.names if a.name in ENVIRONMENT)


def process_doors(path: str, tree: ast.Module) -> Iterator[str]:
    """Complain of processes being started, other than by `subprocess`, outside the rooms that may."""
    if path.startswith((*ONLY_IN["subprocess"], "app/own_process.py")):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _is_name(node.value, "os"):
            if node.attr in PROCESS_CALLS or node.attr.startswith(("exec", "spawn")):
                yield f"{path}:{node.lineno} uses os.{node.attr}"
        elif isinstance(node, ast.Attribute) and node.attr.startswith("create_subprocess"):
            yield f"{path}:{node.lineno} uses {node.attr}"
        if isinstance(node, ast.ImportFrom) and node.module in {"os", "asyncio"}:
            for alias in node.names:
                if alias.name in PROCESS_CALLS or alias.name.startswith(
                    ("exec", "spawn", "create_subprocess")
                ):
                    yield f"{path}:{node.lineno} uses {node.module}.{alias.name}"


def work_at_import(path: str, tree: ast.Module) -> Iterator[str]:
    """Complain of module-level calls that open something, or make one of our own adapters."""
    makers = set(_adapters(path, tree))
    for call in _calls_at_import(tree):
        name = _last_name(call.func)
        if name in OPENERS or name in makers:
            yield f"{path}:{call.lineno} calls {name} at import"


def purity(path: str, tree: ast.Module) -> Iterator[str]:
    """Complain of a domain that knows anything but the standard library, pydantic and yaml, or does I/O."""
    if not path.startswith("domain/"):
        return
    forbidden = {
        "os",
        "io",
        "socket",
        "subprocess",
        "sqlite3",
        "threading",
        "asyncio",
        "http",
        "shutil",
        "time",
    }
    forbidden |= {
        "tempfile",
        "random",
        "secrets",
        "logging",
        "signal",
        "ssl",
        "select",
        "multiprocessing",
        "ctypes",
    }
    known = (set(sys.stdlib_module_names) | {"pydantic", "pydantic_core", "yaml", "domain"}) - forbidden
    for node, name in _imports(tree):
        if name.split(".")[0] not in known or name.startswith("urllib.request"):
            yield f"{path}:{node.lineno} imports {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in {
            "open",
            "now",
            "today",
            "utcnow",
            "print",
            "input",
        }:
            yield f"{path}:{node.lineno} calls {_last_name(node.func)}"


def first_lines(path: str, tree: ast.Module) -> Iterator[str]:
    """Complain of a file whose first line does not say its job in one sentence."""
    docstring = ast.get_docstring(tree, clean=False)
    if not docstring:
        yield f"{path}: no docstring"
        return
    line = docstring.split("\n", 1)[0]
    if not line.rstrip().endswith((".", ":", "?")):
        yield f"{path}: the docstring's first line is not a sentence"
    if len(line) > LONGEST_FIRST_LINE:
        yield f"{path}: the docstring's first line has {len(line)} characters"


def sizes(path: str, tree: ast.Module) -> Iterator[str]:
    """Complain of long functions and of many parameters (`self` and `cls` do not count)."""
    for name, function in _functions(tree):
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > LONGEST_FUNCTION:
            yield f"{path}: {name} has {lines} lines"
        parameters = _parameters(function)
        if len(parameters) > MOST_PARAMETERS:
            yield f"{path}: {name} has {len(parameters)} parameters"


CHECKS: list[Check] = [
    closed_doors,
    environment_doors,
    process_doors,
    work_at_import,
    purity,
    first_lines,
    sizes,
]


# -- reading the source -----------------------------------------------------------------------------


def _imports(tree: ast.Module) -> Iterator[tuple[ast.stmt | ast.expr, str]]:
    """Yield every import with its dotted name, hidden ones in functions and by `import_module` too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield from ((node, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Call) and _last_name(node.func) in {"import_module", "__import__"}:
            named = [argument.value for argument in node.args[:1] if isinstance(argument, ast.Constant)]
            yield from ((node, name) for name in named if isinstance(name, str))


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _calls_at_import(tree: ast.Module) -> Iterator[ast.Call]:
    """Yield the calls that happen when the module is imported: outside functions, but in class bodies too."""
    waiting: list[ast.AST] = [node for node in tree.body if not _is_main_guard(node)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting += [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
        elif not isinstance(node, ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def _is_main_guard(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Compare)
        and _is_name(node.test.left, "__name__")
    )


def _adapters(path: str, tree: ast.Module) -> Iterator[str]:
    """Yield the class names that stand for adapters here: imported from a room of adapters, or made in one.

    A dataclass, an enum or anything else without an `__init__` of its own is a value, fit to be a constant.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ADAPTER_PACKAGES:
            classes = {alias.asname or alias.name for alias in node.names if alias.name[:1].isupper()}
            yield from classes - VALUES
        if isinstance(node, ast.ClassDef) and path.startswith(ADAPTER_PACKAGES) and not _is_value(node):
            yield node.name


def _is_value(node: ast.ClassDef) -> bool:
    return not any(isinstance(item, ast.FunctionDef) and item.name == "__init__" for item in node.body)


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    waiting: list[tuple[str, ast.AST]] = [("", tree)]
    while waiting:
        prefix, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            name = (
                f"{prefix}{child.name}" if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else ""
            )
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield name, child
            inner = (
                f"{name}."
                if name
                else f"{prefix}{child.name}."
                if isinstance(child, ast.ClassDef)
                else prefix
            )
            waiting.append((inner, child))


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [argument.arg for argument in every if argument.arg not in {"self", "cls"}]


def _sources() -> dict[str, str]:
    """Return every file of ours, by its path from the root."""
    found = sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    named = {file.relative_to(ROOT).as_posix(): file for file in found}
    return {name: file.read_text() for name, file in named.items() if not name.startswith(OTHERS_CODE)}


SOURCES = _sources()
TREES = {path: ast.parse(source) for path, source in SOURCES.items()}
VALUES = {
    node.name
    for tree in TREES.values()
    for node in ast.walk(tree)
    if isinstance(node, ast.ClassDef) and _is_value(node)
}
"""Names of our classes that may be made at import."""


# -- the house --------------------------------------------------------------------------------------


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_house_keeps_its_rules(check: Check) -> None:
    complaints = [said for path, tree in TREES.items() for said in check(path, tree)]
    assert [said for said in complaints if not said.startswith(tuple(EXCEPTIONS))] == []


def test_no_file_is_too_long() -> None:
    lengths = {path: source.count("\n") for path, source in SOURCES.items()}
    complaints = [
        f"{path}: file of {length} lines" for path, length in lengths.items() if length > LONGEST_FILE
    ]
    assert [said for said in complaints if not said.startswith(tuple(EXCEPTIONS))] == []


def test_the_house_was_found() -> None:
    assert {path.split("/")[0] for path in SOURCES} == set(PACKAGES)
    assert "domain/states.py" in SOURCES


def test_every_package_says_what_it_is() -> None:
    folders = {path.rpartition("/")[0] for path in SOURCES}
    assert [folder for folder in sorted(folders) if f"{folder}/__init__.py" not in SOURCES] == []


# -- each check can fail ----------------------------------------------------------------------------

BAD: list[tuple[Check, str, str, str]] = [
    (closed_doors, "worker/loop.py", "import litellm", "worker/loop.py:1 imports litellm"),
    (
        closed_doors,
        "app/web.py",
        "def f():\n    from litellm import completion",
        "app/web.py:2 imports litellm.completion",
    ),
    (closed_doors, "harness/meter.py", "import minisweagent.agents", "imports minisweagent.agents"),
    (closed_doors, "harness/meter.py", "importlib.import_module('litellm')", "imports litellm"),
    (closed_doors, "app/api.py", "import sqlite3", "imports sqlite3"),
    (closed_doors, "providers/github.py", "from sqlite3 import connect", "imports sqlite3.connect"),
    (closed_doors, "harness/verify.py", "import subprocess as sp", "imports subprocess"),
    (closed_doors, "harness/agent/steps.py", "import subprocess", "imports subprocess"),
    (closed_doors, "providers/local/forge.py", "from github import Github", "imports github.Github"),
    (closed_doors, "harness/report.py", "import fastapi", "imports fastapi"),
    (environment_doors, "app/serve.py", "import os\nx = os.environ['A']", "app/serve.py:2 uses os.environ"),
    (environment_doors, "harness/git.py", "os.getenv('A')", "uses os.getenv"),
    (environment_doors, "evals/memory.py", "from os import environ", "uses os.environ"),
    (process_doors, "worker/loop.py", "import os\nos.system('x')", "uses os.system"),
    (process_doors, "app/work.py", "os.execvp('x', [])", "uses os.execvp"),
    (process_doors, "app/serve.py", "asyncio.create_subprocess_exec('x')", "uses create_subprocess_exec"),
    (process_doors, "store/database.py", "from os import fork", "uses os.fork"),
    (work_at_import, "store/database.py", "connection = sqlite3.connect('x')", "calls connect at import"),
    (work_at_import, "app/web.py", "app = FastAPI()", "calls FastAPI at import"),
    (work_at_import, "app/web.py", "class A:\n    text = open('x').read()", "calls open at import"),
    (work_at_import, "harness/prices.py", "T = Path('x').read_text()", "calls read_text at import"),
    (
        work_at_import,
        "app/work.py",
        "from store.x import Unknown\nX = Unknown('x')",
        "calls Unknown at import",
    ),
    (
        work_at_import,
        "harness/git/runner.py",
        "class Git:\n    def __init__(self, path): ...\nGIT = Git('x')",
        "calls Git at import",
    ),
    (work_at_import, "harness/x.py", "def f(client=httpx.Client()): ...", "calls Client at import"),
    (purity, "domain/text.py", "import structlog", "imports structlog"),
    (purity, "domain/text.py", "import os", "imports os"),
    (purity, "domain/text.py", "from urllib.request import urlopen", "imports urllib.request.urlopen"),
    (purity, "domain/text.py", "from store.tasks import Tasks", "imports store.tasks.Tasks"),
    (purity, "domain/text.py", "datetime.now()", "calls now"),
    (first_lines, "app/x.py", "x = 1", "no docstring"),
    (first_lines, "app/x.py", '"""Does a thing"""', "is not a sentence"),
    (first_lines, "app/x.py", '"""Wraps\nover two lines."""', "is not a sentence"),
    (first_lines, "app/x.py", f'"""{"x" * 110}."""', "has 111 characters"),
    (sizes, "app/x.py", "def f():\n" + "    x = 1\n" * 60, "f has 61 lines"),
    (
        sizes,
        "app/x.py",
        "class A:\n    async def g(self, a, b, c, *, d, e, f, g): ...",
        "A.g has 7 parameters",
    ),
]

GOOD: list[tuple[Check, str, str]] = [
    (closed_doors, "harness/agent/model.py", "import litellm"),
    (closed_doors, "store/tasks.py", "import sqlite3"),
    (closed_doors, "providers/local/forge.py", "import sqlite3"),
    (closed_doors, "harness/sandbox/bubblewrap.py", "import subprocess"),
    (closed_doors, "harness/prices.py", "importlib.util.find_spec('litellm')"),
    (closed_doors, "providers/x.py", "from .github import thing"),
    (environment_doors, "app/settings.py", "import os\nos.environ"),
    (environment_doors, "worker/loop.py", "self.environ = 1"),
    (process_doors, "app/demo/show.py", "os.execvp('x', [])"),
    (process_doors, "worker/loop.py", "self.system('x')"),
    (work_at_import, "store/database.py", "def f():\n    return sqlite3.connect('x')"),
    (work_at_import, "store/database.py", "if __name__ == '__main__':\n    run()"),
    (work_at_import, "harness/limits.py", "@dataclass\nclass Limits:\n    n: int = 1\nDEFAULT = Limits()"),
    (work_at_import, "worker/x.py", "from harness.git.runner import Limits\nLONG = Limits(seconds=3)"),
    (work_at_import, "app/cli.py", "import typer\napp = typer.Typer()\nlog = structlog.get_logger(__name__)"),
    (work_at_import, "harness/x.py", "LATER = lambda: open('x')"),
    (
        purity,
        "domain/text.py",
        "import re\nimport yaml\nfrom pydantic import BaseModel\nfrom domain.model import Task",
    ),
    (purity, "harness/x.py", "import os"),
    (first_lines, "app/x.py", '"""Does a thing.\n\nAnd more"""'),
    (first_lines, "app/x.py", '"""The ports: what is needed:\n"""'),
    (sizes, "app/x.py", "class A:\n    def g(self, a, b, c, *, d, e, f): ..."),
    (sizes, "app/x.py", "def f():\n" + "    x = 1\n" * 59),
]


@pytest.mark.parametrize(("check", "path", "source", "complaint"), BAD)
def test_a_broken_rule_is_seen(check: Check, path: str, source: str, complaint: str) -> None:
    complaints = list(check(path, ast.parse(source)))
    assert len(complaints) == 1
    assert complaint in complaints[0]


@pytest.mark.parametrize(("check", "path", "source"), GOOD)
def test_what_is_allowed_is_not_complained_of(check: Check, path: str, source: str) -> None:
    assert list(check(path, ast.parse(source))) == []
