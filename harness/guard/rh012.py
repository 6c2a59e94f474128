"""RH012: source that hides what it looks for, or takes hold of the interpreter that the tests run in."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from domain.model import Finding, Severity
from harness.guard.context import Context, critical, warning
from harness.guard.python_code import aliases, full_name
from harness.guard.python_walk import nodes_of, of_kinds

RULE = "RH012"
_WHY_HIDDEN = "A name that is put together from pieces is meant not to be found by whoever reads the change."
_WHY_REACH = "Code with its hands on other modules or frames can make any test pass."
_TELLING = re.compile(r"pytest|unittest|_called_from_test|fixwright-|junitxml|runtest", re.IGNORECASE)
_HOLDS = frozenset(
    {
        *("gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys._current_frames"),
        *("sys.settrace", "sys.setprofile", "threading.settrace", "threading.setprofile"),
        *("sys.addaudithook", "sys.monitoring.register_callback"),
    }
)
_TURNERS = frozenset({"decode", "lower", "upper", "strip"})
_MAKERS = _TURNERS | {"join", "replace"}
"""Methods of texts that turn one into another, and those that make one of several."""
_TOLD_OF: tuple[type[ast.expr], ...] = (ast.Call, ast.BinOp, ast.JoinedStr, ast.Subscript)
_MOST_NODES = 200
"""Longer expressions are not worked out: names are short."""


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for what sources have more of than before; tests may do as they like here."""
    for path, pair in context.python_sources():
        signs = list(_signs(pair.new))
        before = Counter(what for what, _, _ in _signs(pair.old)) if signs else Counter[str]()
        for what, line, severity in signs:
            if before[what] > 0:
                before[what] -= 1
            elif severity is Severity.CRITICAL:
                yield critical(RULE, path, line, what, _WHY_HIDDEN if "pieces" in what else _WHY_REACH)
            else:
                yield warning(RULE, path, line, what, _WHY_REACH)


def _signs(tree: ast.Module | None) -> Iterator[tuple[str, int, Severity]]:
    if tree is None:
        return
    names = aliases(tree)
    for node in of_kinds(tree, *_TOLD_OF):
        text = _put_together(node)
        if text and _TELLING.search(text) and not any(map(_TELLING.search, _pieces(node))):
            yield f"`{text[:60]}` is put together from pieces", node.lineno, Severity.CRITICAL
        elif isinstance(node, ast.Call) and (name := full_name(node.func, names)) in _HOLDS:
            yield f"`{name}` is called", node.lineno, Severity.CRITICAL
        elif (key := _module_key(node, names)) is not None and not _is_known(key):
            what = "a module is looked up in `sys.modules` by a name that is worked out at run time"
            yield what, node.lineno, Severity.WARNING


def _put_together(node: ast.expr) -> str | None:
    """Return the text that an expression over constants makes, or None for any other expression."""
    makes = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MAKERS
    if not makes and not isinstance(node, ast.BinOp | ast.JoinedStr | ast.Subscript):
        return None
    is_long = next(islice(ast.walk(node), _MOST_NODES, None), None) is not None
    return None if is_long else _text(node)


def _text(node: ast.expr) -> str | None:
    if isinstance(node, ast.Constant):
        value = node.value
        return (
            value.decode("latin-1") if isinstance(value, bytes) else value if isinstance(value, str) else None
        )
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _joined("", [node.left, node.right])
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.FormattedValue) else part for part in node.values]
        return _joined("", parts)
    if isinstance(node, ast.Subscript) and ast.unparse(node.slice) in {"::-1", "None:None:-1"}:
        text = _text(node.value)
        return None if text is None else text[::-1]
    return _called(node) if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None


def _called(node: ast.Call) -> str | None:
    """Read the string methods that put names together or turn them round."""
    if not isinstance(node.func, ast.Attribute):
        return None
    inner = _text(node.func.value)
    if inner is None:
        return None
    if node.func.attr == "join" and node.args and isinstance(node.args[0], ast.List | ast.Tuple):
        return _joined(inner, node.args[0].elts)
    if node.func.attr == "replace" and len(node.args) == 2:
        old, new = map(_text, node.args)
        return None if old is None or new is None else inner.replace(old, new)
    if node.func.attr in _TURNERS and not node.args:
        return inner
    return None


def _joined(between: str, parts: list[ast.expr]) -> str | None:
    texts = [_text(part) for part in parts]
    known = [text for text in texts if text is not None]
    return between.join(known) if len(known) == len(texts) else None


def _pieces(node: ast.expr) -> list[str]:
    return [text for part in nodes_of(node) if isinstance(part, ast.Constant) and (text := _text(part))]


def _module_key(node: ast.expr, names: dict[str, str]) -> ast.expr | None:
    """Return the key by which an expression looks into `sys.modules`, if it does."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return node.slice if full_name(node.value, names) == "sys.modules" else None
    if isinstance(node, ast.Call) and node.args and full_name(node.func, names) == "sys.modules.get":
        return node.args[0]
    return None


def _is_known(key: ast.expr) -> bool:
    """Tell whether a key is written out, or is the module that something itself is from."""
    if isinstance(key, ast.Constant):
        return True
    return ast.unparse(key).rsplit(".", 1)[-1] in {"__name__", "__module__", "__package__"}
