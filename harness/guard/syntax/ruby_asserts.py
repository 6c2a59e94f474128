"""What a Ruby test asserts: RSpec's expectations, minitest in both styles, test-unit."""

from __future__ import annotations

import re

from tree_sitter import Node

from harness.guard.syntax.dialect import truth
from harness.guard.syntax.model import EXACT, NOTHING, PARTIAL, TRUTH, Assertion, Call
from harness.guard.syntax.nodes import COMMENTS, line_of, names, normal, placed, text_of

_EXACT = re.compile(
    r"eq|eql|equal|be|be_nil|be_empty|match_array|contain_exactly|raise_error|raise_exception|be_zero|be_within|be_true|be_false"
    r"|assert_(?:equal|same|nil|empty|raises?|raise_with_message|in_delta|in_epsilon|output|throws|true|false|kind_of|instance_of)"
    r"|refute|assert_not|must_(?:equal|be_nil|be_empty|be_same_as|raise)|==|change|have_attributes|be_a|be_an|be_instance_of|flunk"
)


_TRUTH = re.compile(
    r"be_truthy|be_falsey|be_present|exist|assert|assert_not_nil|refute_nil|refute_empty|assert_operator|must_be|assert_nothing_raised|be_falsy"
)


def chain(node: Node | None) -> str:
    """Return what is called as `a.b().c`."""
    parts: list[str] = []
    first = True
    while node is not None:
        if node.type == "call":
            has = (
                node.child_by_field_name("arguments") is not None
                or node.child_by_field_name("block") is not None
            )
            parts.append("" if first or not has else "()")
            receiver = node.child_by_field_name("receiver")
            name = text_of(node.child_by_field_name("method")) or "call"
            parts.append(("." if receiver is not None else "") + name)
            node = receiver
        else:
            simple = node.type in {"identifier", "constant", "self", "scope_resolution", "global_variable"}
            parts.append(text_of(node) if simple else "…")
            break
        first = False
    return "".join(reversed(parts))


def arguments(node: Node) -> list[Node]:
    """Return what a call is given."""
    given = node.child_by_field_name("arguments")
    return [item for item in given.named_children if item.type not in COMMENTS] if given is not None else []


def block(node: Node) -> Node | None:
    """Return a call's block, None where it has none."""
    return node.child_by_field_name("block")


def expected(call: Call, given: list[Node]) -> Assertion:
    """Read `expect(…).to …` and `should`."""
    matcher = given[0] if given else None
    name = ""
    if matcher is not None:
        name = chain(matcher).split("(")[0].split(".")[0] if matcher.type == "call" else text_of(matcher)
    receiver = call.node.child_by_field_name("receiver")
    subject = receiver
    if receiver is not None and receiver.type == "call":
        inner = arguments(receiver)
        subject = inner[0] if inner else block(receiver) or receiver
    strictness = (
        NOTHING
        if matcher is None
        else EXACT
        if _EXACT.fullmatch(name)
        else TRUTH
        if _TRUTH.fullmatch(name)
        else PARTIAL
    )
    negated = "not" in call.last
    if name == "be" and matcher is not None and matcher.type == "identifier":
        strictness = TRUTH
    if (
        name in {"raise_error", "raise_exception"}
        and matcher is not None
        and (matcher.type != "call" or not arguments(matcher))
    ):
        strictness = PARTIAL
    wanted = arguments(matcher) if matcher is not None and matcher.type == "call" else []
    empty = bool(wanted) and name in {"eq", "eql", "equal", "be"} and normal(wanted[0]) == normal(subject)
    empty = empty or (subject is not None and truth(subject) is True and name in {"be_truthy"})
    return Assertion(
        dump=normal(call.node),
        subject=normal(subject),
        strictness=min(strictness, PARTIAL) if negated else strictness,
        line=line_of(call.node),
        literals=tuple(dict.fromkeys(_values(call.node))),
        names=frozenset(names(call.node)),
        negated=negated,
        empty=empty and not negated,
        tolerance=_within(matcher),
    )


def _values(node: Node) -> list[tuple[str, int]]:
    """Return literals, and the constants that an error is expected to be of."""
    found = placed(node)
    if re.search(r"raise_error|assert_raises?|must_raise", text_of(node)):
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.type in {"constant", "scope_resolution"}:
                found.append((text_of(current), current.start_byte))
            else:
                waiting += current.named_children
    return found


def _within(matcher: Node | None) -> float | None:
    match = re.match(r"be_within\(([\d.e-]+)\)", text_of(matcher))
    try:
        return float(match[1]) if match else None
    except ValueError:
        return None


def plain(call: Call, given: list[Node]) -> Assertion:
    """Read `assert_equal expected, actual` and `must_…`."""
    name = call.last
    wanted = (
        1
        if re.fullmatch(
            r"(?:assert|refute)(?:_(?:nil|empty|true|false|not_nil|predicate))?|assert_not|flunk", name
        )
        else 2
    )
    if name in {"assert_in_delta", "assert_in_epsilon"}:
        wanted = 3
    shown = given[:wanted]
    receiver = call.node.child_by_field_name("receiver")
    subject = receiver or (
        given[1] if wanted >= 2 and len(given) > 1 else given[0] if given else block(call.node)
    )
    strictness = EXACT if _EXACT.fullmatch(name) else TRUTH if _TRUTH.fullmatch(name) else PARTIAL
    empty, value = False, truth(given[0]) if given else None
    if name == "assert" and given:
        empty = value is True
        strictness = EXACT if given[0].type == "binary" and given[0].children[1].type == "==" else TRUTH
    elif name in {"assert_equal", "assert_same"} and len(given) > 1:
        empty = normal(given[0]) == normal(given[1])
    values = [item for node in shown for item in _values(node)]
    if "raise" in name:
        values += _values(call.node)
    tolerance = None
    if name == "assert_in_delta" and len(given) > 2:
        try:
            tolerance = float(text_of(given[2]))
        except ValueError:
            tolerance = None
    return Assertion(
        dump=normal(call.node),
        subject=normal(subject),
        strictness=strictness,
        line=line_of(call.node),
        literals=tuple(dict.fromkeys(values)),
        names=frozenset(names(call.node)),
        negated=name.startswith(("refute", "assert_not", "wont")),
        empty=empty,
        tolerance=tolerance,
    )
