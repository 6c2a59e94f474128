"""What a Java test asserts: JUnit, Hamcrest, and what reads as one chain."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from harness.guard.syntax.dialect import truth
from harness.guard.syntax.model import EXACT, NOTHING, PARTIAL, TRUTH, Assertion, Call
from harness.guard.syntax.nodes import STRINGS, is_literal, line_of, names, normal, placed, text_of

_EXACT = re.compile(
    r"assert(?:Equals|Same|Null|ArrayEquals|IterableEquals|LinesMatch|Throws\w*|False|IsEqual\w*|Throw|NotEqualsNot)"
    r"|isEqualTo\w*|isSameAs|isNull|hasSize|isEmpty|containsExactly\w*|isTrue|isFalse|hasMessage|isZero|isEqualByComparingTo"
    r"|isExactlyInstanceOf|hasValue|isInstanceOf|isThrownBy|is|verify|expectNext|andExpect"
)


_TRUTH = re.compile(
    r"assert(?:True|NotNull)|isNotNull|isNotEmpty|isPresent|isDefined|isNotZero|doesNotThrowAnyException|assertDoesNotThrow"
)


_NEGATIVE = re.compile(r"(?:assertNot|isNot|doesNot|assertFalse|isFalse|assertDoesNot).*")


def bare(call: Call, subject: Node | None, strictness: int, values: list[tuple[str, int]]) -> Assertion:
    """Return an assertion of which only its subject, strictness and literals are known."""
    return Assertion(
        dump=normal(call.node),
        subject=normal(subject),
        strictness=strictness,
        line=line_of(call.node),
        literals=tuple(dict.fromkeys(values)),
        names=frozenset(names(call.node)),
    )


def plain(call: Call, given: list[Node], name: str) -> Assertion:
    """Read `assertEquals(expected, actual)`; a message may be first or last."""
    wanted = 1 if re.fullmatch(r"assert(?:True|False|Null|NotNull|Empty)|fail\w*", name) else 2
    if len(given) > wanted and given[0].type in STRINGS and (len(given) > 2 or wanted == 1):
        given = given[1:]
    elif len(given) > wanted and given[-1].type in STRINGS:
        given = given[:-1]
    shown = given if name.startswith("assertEquals") else given[: max(wanted, 1)]
    subject = (
        given[1]
        if wanted == 2 and len(given) > 1 and not name.startswith("assertThrows")
        else given[0]
        if given
        else None
    )
    strictness = (
        EXACT
        if _EXACT.fullmatch(name) or name.startswith("fail")
        else TRUTH
        if _TRUTH.fullmatch(name)
        else PARTIAL
    )
    empty, value = False, truth(given[0]) if given else None
    if wanted == 1 and value is not None:
        empty = (
            (name == "assertTrue" and value)
            or (name == "assertFalse" and not value)
            or (name == "assertNotNull" and is_literal(given[0]))
        )
    if name in {"assertTrue", "assertFalse"} and given:
        strictness = _of_condition(given[0])
    if wanted == 2 and len(given) > 1 and name in {"assertEquals", "assertSame", "assertArrayEquals"}:
        empty = normal(given[0]) == normal(given[1])
    values = [item for node in shown for item in placed(node)]
    if "Throws" in name:
        values += [(text_of(node), node.start_byte) for node in given[:1]]
    made = bare(call, subject, strictness, values)
    tolerance = _number(given[2]) if name == "assertEquals" and len(given) == 3 else None
    return Assertion(
        made.dump,
        made.subject,
        made.strictness,
        made.line,
        made.literals,
        made.names,
        bool(_NEGATIVE.fullmatch(name)),
        empty,
        tolerance,
    )


def _of_condition(node: Node) -> int:
    while node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    if node.type == "binary_expression":
        operator = node.children[1].type
        if operator == "||":
            return TRUTH
        if operator == "!=" and text_of(node.children[2]) == "null":
            return TRUTH
        return EXACT if operator == "==" else PARTIAL
    return (
        EXACT
        if node.type == "method_invocation" and text_of(node.child_by_field_name("name")) == "equals"
        else PARTIAL
    )


def _number(node: Node) -> float | None:
    try:
        return float(text_of(node).rstrip("fFdD"))
    except ValueError:
        return None


def hamcrest(call: Call, given: list[Node]) -> Assertion:
    """Read `assertThat(actual, is(expected))`."""
    if len(given) < 2:
        return bare(call, given[0] if given else None, NOTHING, [])
    matcher = given[-1]
    name = text_of(matcher.child_by_field_name("name")) if matcher.type == "method_invocation" else ""
    strict = (
        EXACT
        if name in {"is", "equalTo", "nullValue", "hasSize", "sameInstance", "empty", "contains"}
        else PARTIAL
    )
    if name in {"notNullValue", "anything", "not"}:
        strict = TRUTH
    made = bare(call, given[-2], strict, [item for node in given[-2:] for item in placed(node)])
    return Assertion(
        made.dump,
        made.subject,
        made.strictness,
        made.line,
        made.literals,
        made.names,
        name == "not",
        name == "anything",
    )


def fluent(call: Call, given: list[Node], matchers: str) -> Assertion:
    """Read `assertThat(actual).isEqualTo(expected)` at the end of its chain."""
    inner: Node | None = call.node
    while inner is not None and inner.type == "method_invocation":
        below = inner.child_by_field_name("object")
        if below is None or below.type != "method_invocation":
            break
        inner = below
    arguments = inner.child_by_field_name("arguments") if inner is not None else None
    subject = arguments.named_children[0] if arguments is not None and arguments.named_children else None
    parts = [part.removesuffix("()") for part in matchers.split(".") if part not in {"", "()"}]
    strictness = max(
        (EXACT if _EXACT.fullmatch(part) else TRUTH if _TRUTH.fullmatch(part) else PARTIAL for part in parts),
        default=NOTHING,
    )
    last = parts[-1] if parts else ""
    empty = last == "isEqualTo" and bool(given) and normal(given[0]) == normal(subject)
    if last in {"isTrue", "isFalse"} and subject is not None:
        empty, strictness = truth(subject) is (last == "isTrue"), _of_condition(subject)
    values = placed(call.node)
    if re.search(r"(?:nstanceOf|isThrownBy|ThrownBy|ExceptionOfType)", call.chain):
        values += [(text_of(item), item.start_byte) for item in _class_literals(call.node)]
    made = bare(call, subject, strictness, values)
    return Assertion(
        made.dump,
        made.subject,
        made.strictness,
        made.line,
        made.literals,
        made.names,
        any(_NEGATIVE.fullmatch(part) for part in parts),
        empty,
    )


def _class_literals(node: Node) -> Iterator[Node]:
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type == "class_literal":
            yield current
        waiting += current.named_children
