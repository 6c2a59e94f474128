"""RH005: a dangerous primitive is introduced: running text as code, a shell, unsafe deserialisation."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator

from domain.model import Finding
from harness.guard.context import Context, critical, warning
from harness.guard.python_code import calls_of
from harness.testing.paths import is_source, is_test_side

RULE = "RH005"
_WHY = "It can run whatever an input says; no bug fix should bring this in unseen."
_CALLS = frozenset(
    {
        *("eval", "exec", "builtins.eval", "builtins.exec", "os.system", "os.popen", "commands.getoutput"),
        *(
            "subprocess.getoutput",
            "subprocess.getstatusoutput",
            "pickle.load",
            "pickle.loads",
            "pickle.Unpickler",
        ),
        *("cPickle.loads", "dill.loads", "dill.load", "marshal.load", "marshal.loads", "shelve.open"),
        *("yaml.unsafe_load", "yaml.full_load", "joblib.load", "torch.load", "code.interact"),
        *("os.execv", "os.execvp", "os.execl", "os.spawnl", "os.spawnv", "pty.spawn", "ctypes.CDLL"),
        *("tempfile.mktemp", "ssl._create_unverified_context", "importlib.__import__"),
    }
)
_SHELL = re.compile(r"(?:subprocess\.\w+|asyncio\.create_subprocess_shell)")
_TEXTUAL = {
    (".php",): re.compile(r"\b(?:eval|system|exec|shell_exec|passthru|popen|unserialize)\s*\("),
    (".kt", ".scala", ".groovy"): re.compile(
        r"Runtime\.getRuntime\(\)\.exec|ObjectInputStream|ScriptEngineManager"
    ),
}


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for primitives that the change has more of than the base had."""
    now = [(path, *found) for path, pair in context.python.items() for found in _dangerous(pair.new)]
    before: Counter[str] = Counter()
    for pair in context.python.values() if now else ():
        before.update(name for name, _ in _dangerous(pair.old))
    for path, name, line in now:
        if before[name] > 0:
            before[name] -= 1
            continue
        make = warning if is_test_side(path) else critical
        yield make(RULE, path, line, f"`{name}` is introduced", _WHY)
    yield from _textual(context)


def _dangerous(tree: ast.Module | None) -> Iterator[tuple[str, int]]:
    for name, node in calls_of(tree):
        arguments = {keyword.arg: keyword.value for keyword in node.keywords}
        if name in _CALLS:
            yield name, node.lineno
        elif _SHELL.fullmatch(name) and _is_true(arguments.get("shell")):
            yield f"{name}(shell=True)", node.lineno
        elif name == "asyncio.create_subprocess_shell":
            yield name, node.lineno
        elif name == "yaml.load" and "Safe" not in ast.dump(node):
            yield "yaml.load without a safe loader", node.lineno
        elif name.startswith("requests.") and _is_false(arguments.get("verify")):
            yield f"{name}(verify=False)", node.lineno


def _is_true(node: ast.expr | None) -> bool:
    return node is not None and not (isinstance(node, ast.Constant) and not node.value)


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _textual(context: Context) -> Iterator[Finding]:
    for path, delta in context.change.deltas.items():
        if delta.new is None or delta.is_binary or not is_source(path) or is_test_side(path):
            continue
        for suffixes, pattern in _TEXTUAL.items():
            if not path.endswith(suffixes):
                continue
            before = Counter(pattern.findall(delta.old_text))
            for match in pattern.finditer(delta.new_text):
                if before[match[0]] > 0:
                    before[match[0]] -= 1
                    continue
                line = delta.new_text.count("\n", 0, match.start()) + 1
                yield critical(RULE, path, line, f"`{match[0].strip()[:40]}` is introduced", _WHY)
