"""What a Python test asserts: its assertions, how strict each is, which literals they expect."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.guard.python_code import TestFunction, dotted
from harness.guard.python_flow import guarded_nodes
from harness.guard.python_walk import children_of, nodes_of

_EXACT, _LOOSE, _TRUTH = 3, 2, 1
_EXACT_CALLS = re.compile(
    r"assert(?:Equals?|Is|IsNone|DictEqual|ListEqual|TupleEqual|SetEqual|CountEqual|MultiLineEqual|SequenceEqual"
    r"|Raises|RaisesRegex|Warns|WarnsRegex)|raises|assert_(?:array_equal|equal|frame_equal|series_equal"
    r"|called_once_with|called_with|called_once|has_calls|not_called|string_equal|identical)"
)
_TRUTH_CALLS = re.compile(r"assert(?:True|False|IsNotNone|_)|assert_called|assert_any_call")
_ASSERTING = re.compile(r"assert[A-Z_]\w*|assert_|raises|warns|deprecated_call|fail")
TOLERANCES = {
    **dict.fromkeys(("rel", "abs", "delta", "rtol", "atol", "rel_tol", "abs_tol", "tolerance"), 1),
    **dict.fromkeys(("places", "decimal", "significant"), -1),
}
"""Keyword → +1 if a larger number is looser, -1 if a smaller one is."""
_RAISES = re.compile(r"raises|warns|assertRaises(?:Regex)?|assertWarns(?:Regex)?")
_FIELD = re.compile(r"\{[^{}]{0,100}\}")
_PLACE = re.compile(r"%(?:\(\w{1,100}\))?[-#0 +]{0,5}[\d*.]{0,8}[diouxXeEfFgGcrsa]")
_APPROXIMATE = re.compile(
    r"approx|isclose|allclose|assert_allclose|assert(?:Not)?AlmostEqual|assert_almost_equal"
)


@dataclass(frozen=True, slots=True)
class Assertion:
    """One assertion: its dump for comparing, its strictness (3 exact, 2 partial, 1 truth only), its line.

    `guards` are the conditions that it is made under and that may not hold.
    """

    dump: str
    strictness: int
    line: int
    node: ast.AST
    guards: tuple[str, ...] = ()


def assertions_of(test: TestFunction) -> list[Assertion]:
    """Return the assertions of a test that can run, in order; a test's node keeps what was found."""
    kept: list[Assertion] | None = test.node.__dict__.get("assertions")
    if kept is None:
        kept = _assertions_of(test)
        test.node.__dict__["assertions"] = kept
    return kept


def _assertions_of(test: TestFunction) -> list[Assertion]:
    found: list[Assertion] = []
    used = {
        node.id
        for node in nodes_of(test.node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    for statement, guards in guarded_nodes(test.node.body, used=used):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
            names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
            if names.isdisjoint(used):
                continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.BoolOp | ast.IfExp):
            guards = (*guards, ast.unparse(statement.value)[:80])
        if isinstance(statement, ast.Assert):
            strictness = _of_test(statement.test)
            found.append(Assertion(ast.dump(statement.test), strictness, statement.lineno, statement, guards))
            continue
        for call in _own_calls(statement):
            name = dotted(call.func).rsplit(".", 1)[-1]
            if _ASSERTING.fullmatch(name) or name.startswith("assert_"):
                found.append(Assertion(ast.dump(call), _of_call(name), call.lineno, call, guards))
    return found


def _own_calls(statement: ast.AST) -> Iterator[ast.Call]:
    """Yield calls in a statement's own expressions, not in the statements nested in it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop(0)
        for child in children_of(node):
            if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
                continue
            if isinstance(child, ast.Call):
                yield child
            waiting.append(child)


def _of_test(test: ast.expr) -> int:
    if isinstance(test, ast.Compare):
        if all(isinstance(operator, ast.Eq | ast.Is) for operator in test.ops):
            return _EXACT
        is_not_none = len(test.ops) == 1 and isinstance(test.ops[0], ast.IsNot | ast.NotEq)
        return _TRUTH if is_not_none else _LOOSE
    if isinstance(test, ast.BoolOp):
        strict = [_of_test(value) for value in test.values]
        return max(strict) if isinstance(test.op, ast.And) else min(*strict, _LOOSE)
    if isinstance(test, ast.UnaryOp):
        return _of_test(test.operand)
    return _LOOSE if isinstance(test, ast.Call) else _TRUTH


def _of_call(name: str) -> int:
    if _EXACT_CALLS.fullmatch(name):
        return _EXACT
    return _TRUTH if _TRUTH_CALLS.fullmatch(name) else _LOOSE


def subject_of(assertion: Assertion) -> str:
    """Return what an assertion is about: the left side of a comparison, the first argument of a call."""
    node = assertion.node.test if isinstance(assertion.node, ast.Assert) else assertion.node
    if isinstance(node, ast.Compare):
        return ast.dump(node.left)
    if isinstance(node, ast.Call) and node.args:
        return ast.dump(node.args[0])
    return ""


def swapped_literals(old: TestFunction, new: TestFunction) -> tuple[Counter[str], Counter[str]]:
    """Return literals that assertions about the same thing lost and gained, no new name standing in."""
    before, now = assertions_of(old), assertions_of(new)
    kept = {item.dump for item in before} & {item.dump for item in now}
    came: dict[str, list[Assertion]] = {}
    for item in now:
        if item.dump not in kept:
            came.setdefault(subject_of(item), []).append(item)
    lost: Counter[str] = Counter()
    gained: Counter[str] = Counter()
    for item in before:
        subject = subject_of(item)
        if item.dump in kept or not subject or not came.get(subject):
            continue
        after = came[subject].pop(0)
        if _names(after.node) <= _names(item.node):
            sides = Counter(_literals(item.node)), Counter(_literals(after.node))
            lost += sides[0] - sides[1]
            gained += sides[1] - sides[0]
    return lost, gained


def _names(node: ast.AST) -> set[str]:
    return {item.id for item in nodes_of(node) if isinstance(item, ast.Name)}


def is_tautology(assertion: Assertion) -> bool:
    """Tell whether an assertion holds whatever the code does."""
    node = assertion.node
    if isinstance(node, ast.Assert):
        return _always_true(node.test)
    if not isinstance(node, ast.Call):
        return False
    name, arguments = dotted(node.func).rsplit(".", 1)[-1], node.args
    if name == "assertTrue" and arguments:
        return _always_true(arguments[0])
    if name in {"assertEqual", "assertIs", "assert_equal", "assert_array_equal"} and len(arguments) >= 2:
        return ast.dump(arguments[0]) == ast.dump(arguments[1])
    if name == "assertFalse" and arguments:
        return isinstance(arguments[0], ast.Constant) and not arguments[0].value
    return False


def _always_true(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return bool(node.value)
    if isinstance(node, ast.Tuple):
        return bool(node.elts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return isinstance(node.operand, ast.Constant) and not node.operand.value
    if isinstance(node, ast.BoolOp):
        results = [_always_true(value) for value in node.values]
        return any(results) if isinstance(node.op, ast.Or) else all(results)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _comparison_always_true(node)
    if isinstance(node, ast.Call) and dotted(node.func) == "isinstance" and len(node.args) == 2:
        return dotted(node.args[1]) == "object"
    return False


def _comparison_always_true(node: ast.Compare) -> bool:
    left, operator, right = node.left, node.ops[0], node.comparators[0]
    if isinstance(operator, ast.Eq | ast.Is | ast.LtE | ast.GtE) and ast.dump(left) == ast.dump(right):
        return True
    is_length = isinstance(left, ast.Call) and dotted(left.func) == "len"
    return (
        is_length and isinstance(operator, ast.GtE) and isinstance(right, ast.Constant) and right.value == 0
    )


# -- literals ---------------------------------------------------------------------------------------


def expected_literals(test: TestFunction, module: ast.Module | None) -> Counter[str]:
    """Return the literals that a test's outcome rests on.

    Those in its assertions and its parameter lists, and those assigned to names which these use, or given to
    them as defaults.
    """
    roots: list[ast.AST] = [assertion.node for assertion in assertions_of(test)]
    roots += [item for owner in (test.node, *test.owners) for item in owner.decorator_list]
    names = {node.id for root in roots for node in nodes_of(root) if isinstance(node, ast.Name)}
    counted: Counter[str] = Counter()
    for root in roots:
        counted.update(_literals(root))
        counted.update(_errors(root))
    for name, value in _defaults(test.node.args):
        if name in names:
            counted.update(_literals(value))
    for targets, literals in (*_assigned(nodes_of(test.node)), *_of_module(module)):
        if not targets.isdisjoint(names):
            counted.update(literals)
    return counted


def all_literals(test: TestFunction, module: ast.Module | None) -> Counter[str]:
    """Return every literal of a test, its decorators and the module's own assignments."""
    counted: Counter[str] = Counter(_literals(test.node))
    counted.update(_errors(test.node))
    for owner in test.owners:
        for item in owner.decorator_list:
            counted.update(_literals(item))
    for _, literals in _of_module(module):
        counted.update(literals)
    return counted


def _of_module(module: ast.Module | None) -> list[tuple[set[str], list[str]]]:
    """Return what a file assigns outside of any function; the file keeps it, since every test asks."""
    if module is None:
        return []
    kept: list[tuple[set[str], list[str]]] | None = module.__dict__.get("assigned")
    if kept is None:
        kept = _assigned(module.body)
        module.__dict__["assigned"] = kept
    return kept


def _assigned(statements: Iterable[ast.AST]) -> list[tuple[set[str], list[str]]]:
    """Return for each assignment the names that it gives a value to, and the literals of that."""
    found = []
    for item in statements:
        if isinstance(item, ast.Assign | ast.AnnAssign) and item.value is not None:
            targets = item.targets if isinstance(item, ast.Assign) else [item.target]
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            found.append((names, list(_literals(item.value))))
    return found


def _defaults(arguments: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    """Yield the parameters that have a default, and this."""
    placed = [*arguments.posonlyargs, *arguments.args]
    if arguments.defaults:
        for parameter, value in zip(placed[-len(arguments.defaults) :], arguments.defaults, strict=True):
            yield parameter.arg, value
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        if default is not None:
            yield parameter.arg, default


def _errors(root: ast.AST) -> Iterator[str]:
    """Yield the kinds of error that are asked for, as `raises(ValueError)` does."""
    for node in nodes_of(root):
        if (
            isinstance(node, ast.Call)
            and _RAISES.fullmatch(dotted(node.func).rsplit(".", 1)[-1])
            and node.args
        ):
            first = node.args[0]
            kinds = first.elts if isinstance(first, ast.Tuple) else [first]
            yield from (dotted(kind) for kind in kinds if isinstance(kind, ast.Name | ast.Attribute))


def _literals(root: ast.AST) -> Iterator[str]:
    """Yield literals as written in source, without tolerances and messages."""
    waiting: list[ast.AST] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.keyword) and node.arg in {
            *TOLERANCES,
            "msg",
            "err_msg",
            "reason",
            "id",
            "ids",
        }:
            continue
        if (
            isinstance(node, ast.UnaryOp)
            and isinstance(node.op, ast.USub)
            and isinstance(node.operand, ast.Constant)
        ):
            yield f"-{node.operand.value!r}"
            continue
        template = _template(node)
        if template is not None:
            yield template[0]
            waiting += template[1]
            continue
        if isinstance(node, ast.Constant) and node.value is not Ellipsis:
            yield repr(node.value)
        children = children_of(node)
        if isinstance(node, ast.Assert):
            children = [] if _never_holds(node) else [node.test]
        elif isinstance(node, ast.Call):
            beside = _message(node) or _parameter_names(node) or _encoding(node)
            children = [child for child in children if child is not beside]
        waiting += children


def _template(node: ast.AST) -> tuple[str, list[ast.AST]] | None:
    """Return a text with places for values, and these: the same for an f-string, `format` and `%`."""
    if isinstance(node, ast.JoinedStr):
        parts = [part.value if isinstance(part, ast.Constant) else "{}" for part in node.values]
        values = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        return repr("".join(map(str, parts))), [*values]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        text = node.func.value
        if isinstance(text, ast.Constant) and isinstance(text.value, str):
            return repr(_FIELD.sub("{}", text.value)), [*node.args, *node.keywords]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        value = node.left.value
        return (repr(_PLACE.sub("{}", value)), [node.right]) if isinstance(value, str) else None
    return None


def _never_holds(node: ast.Assert) -> bool:
    """Tell whether this is `assert False`: it says that a line is not to be reached, and expects no value."""
    return isinstance(node.test, ast.Constant) and not node.test.value


def _encoding(node: ast.Call) -> ast.expr | None:
    """Return the encoding by which text is made of bytes, or bytes of text: nothing is expected of it."""
    is_one = isinstance(node.func, ast.Attribute) and node.func.attr in {"decode", "encode"}
    return node.args[0] if is_one and node.args else None


def _parameter_names(node: ast.Call) -> ast.expr | None:
    """Return what names the parameters of a table of cases, as one text or several: no value of any case."""
    is_table = dotted(node.func).rsplit(".", 1)[-1] == "parametrize"
    return node.args[0] if is_table and len(node.args) > 1 else None


def _message(node: ast.Call) -> ast.expr | None:
    """Return the message that a unittest assertion is given last, by its place."""
    name = dotted(node.func).rsplit(".", 1)[-1]
    if not re.fullmatch(r"assert[A-Z]\w*|fail", name) or not node.args:
        return None
    fewest = 1 if re.fullmatch(r"assert(?:True|False|IsNone|IsNotNone)", name) else 0 if name == "fail" else 2
    last = node.args[-1]
    is_text = isinstance(last, ast.JoinedStr) or (
        isinstance(last, ast.Constant) and isinstance(last.value, str)
    )
    is_made = isinstance(last, ast.BinOp) and isinstance(last.op, ast.Mod | ast.Add)
    is_made = is_made or (isinstance(last, ast.Call) and dotted(last.func).endswith("format"))
    return last if len(node.args) > fewest and (is_text or is_made) else None


def tolerances(test: TestFunction) -> list[tuple[str, float]]:
    """Return numeric tolerances in order of appearance."""
    found = []
    for node in nodes_of(test.node):
        if isinstance(node, ast.keyword) and node.arg in TOLERANCES and isinstance(node.value, ast.Constant):
            value = node.value.value
            if isinstance(value, int | float):
                found.append((node.arg, float(value)))
    return found


def approximations(test: TestFunction) -> int:
    """Return how many comparisons of a test are approximate."""
    return sum(
        isinstance(node, ast.Call) and bool(_APPROXIMATE.fullmatch(dotted(node.func).rsplit(".", 1)[-1]))
        for node in nodes_of(test.node)
    )
