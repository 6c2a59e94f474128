"""What a JavaScript test asserts: how much each matcher asks for, and when one asks for nothing."""

from __future__ import annotations

import re
from typing import Protocol

from tree_sitter import Node

from harness.guard.syntax.dialect import truth
from harness.guard.syntax.model import EXACT, NOTHING, PARTIAL, TRUTH, Assertion, Call, Link
from harness.guard.syntax.nodes import is_literal, line_of, names, normal, placed, text_of

_EXPECT = re.compile(r"(?:chai\.)?expect(?:\.soft|\.poll)?\(\)((?:\.\w+|\(\))*)")
_ASSERT = re.compile(r"(?:\w+\.)?assert((?:\.\w+)*)|(?:t|st|tt|test|assert|ctx)\.(\w+)")
_TAPE = re.compile(
    r"(?:is|not|equals?|equal|deepEqual|deepEquals|same|notSame|strictEqual|deepStrictEqual|looseEqual|deepLooseEqual"
    r"|notEqual|notOk|ok|true|false|truthy|falsy|throws|rejects|throwsAsync|notThrows|doesNotThrow|error|ifError|match"
    r"|regex|like|snapshot|pass|fail|notDeepEqual|strictSame|iferror|doesNotMatch|strictNotSame|has|hasStrict)"
)
_EXACT = re.compile(
    r"toBe|toEqual|toStrictEqual|toHaveLength|toBeNull|toBeUndefined|toBeNaN|toThrow\w*|toHaveBeenCalled(?:With|Times"
    r"|OnceWith)|toHaveBeen(?:Last|Nth)CalledWith|toMatch(?:Inline)?Snapshot|toHaveProperty|toThrowErrorMatching\w*"
    r"|is|equals?|eq|eql|eqls|deepEquals?|same|strictSame|strictEqual|deepStrictEqual|looseEqual|deepLooseEqual"
    r"|true|false|null|undefined|NaN|empty|lengthOf|length|throws?|rejects|throwsAsync|rejectedWith|calledWith"
    r"|calledOnce|calledOnceWithExactly|toBeTrue|toBeFalse|toHaveText|toHaveValue|members|property|isTrue|isFalse"
    r"|isNull|isUndefined|hasStrict|isEmpty|snapshot|ifError|error"
)
_TRUTH = re.compile(
    r"toBeTruthy|toBeDefined|ok|notOk|truthy|falsy|toBeFalsy|exist|exists|isOk|isDefined|assert|pass|toBeInstanceOf|notNull"
)
_NEGATION = re.compile(
    r"\.not(?:\.|\(|$)|\.(?:not[A-Z]\w*|doesNot\w+|isNot\w*|falsy|toBeFalsy|false|isFalse|toBeFalse|dontThrow)\b"
)
_THROWS = re.compile(r"toThrow\w*|throws?|throwsAsync|rejects|rejectedWith|instanceOf|toBeInstanceOf|an?")
_LOOSER_WITH_MORE = re.compile(r"closeTo|approximately|approx|toBeWithin")


class _Chains(Protocol):
    def chain(self, node: Node | None) -> str:
        """Return what is called."""


def assertion_of(call: Call, link: Link, chains: _Chains) -> Assertion | None:
    """Read one assertion at its outermost call; inner calls of the same chain give none."""
    if _is_inner(link):
        return None
    if match := _EXPECT.fullmatch(call.chain):
        return _expected(call, link, match[1])
    if ".should" in call.chain or call.chain.startswith("should()"):
        return _made(call, _inner(call.node, "should"), call.arguments, call.last)
    if call.node.type == "member_expression":
        return None
    match = _ASSERT.fullmatch(call.chain)
    if match is None:
        return None
    if match[2] and not _TAPE.fullmatch(match[2]) and not call.chain.startswith("assert."):
        return None
    return _plain(call, (match[1] or "").rsplit(".", 1)[-1] or match[2] or "assert")


def _is_inner(link: Link) -> bool:
    """Tell whether a chain goes on above this node."""
    up = link.up
    if up is None:
        return False
    if up.node.type == "member_expression":
        return up.node.child_by_field_name("object") == link.node
    return up.node.type == "call_expression" and up.node.child_by_field_name("function") == link.node


def _expected(call: Call, link: Link, matchers: str) -> Assertion:
    inner: Node | None = call.node
    subject: list[Node] = []
    while inner is not None:
        if inner.type == "call_expression":
            function = inner.child_by_field_name("function")
            if function is not None and text_of(function) in {
                "expect",
                "chai.expect",
                "expect.soft",
                "expect.poll",
            }:
                arguments = inner.child_by_field_name("arguments")
                subject = arguments.named_children[:1] if arguments is not None else []
                break
            inner = function
        else:
            inner = inner.child_by_field_name("object")
    last = matchers.rsplit(".", 1)[-1].removesuffix("()") or "nothing"
    bare = call.node.type == "member_expression" and re.fullmatch(r"to[A-Z]\w+|equals?|eql?|throws?", last)
    unheard = re.search(r"\.(?:resolves|rejects|eventually)\b", matchers) and not _is_heard(link)
    made = _made(call, subject[0] if subject else None, call.arguments if matchers else (), last, matchers)
    if not matchers or bare or unheard:
        return _weakened(made)
    return made


def _is_heard(link: Link) -> bool:
    """Tell whether a promise is awaited, returned, or given on."""
    up = link.up
    return up is not None and up.node.type != "expression_statement"


def _weakened(made: Assertion) -> Assertion:
    return Assertion(
        f"unheard {made.dump}", made.subject, NOTHING, made.line, made.literals, made.names, made.negated
    )


def _plain(call: Call, last: str) -> Assertion:
    """Read `assert.equal(a, 3, "message")`, `t.is(a, 3)`, `assert(a === 3)`."""
    arguments = call.arguments
    if _TRUTH.fullmatch(last) or last in {"true", "false", "isTrue", "isFalse"}:
        condition = arguments[0][0] if arguments else None
        value = truth(condition)
        strictness = _of_condition(condition)
        if value is None and strictness == TRUTH and last in {"true", "false", "isTrue", "isFalse"}:
            strictness = EXACT
        empty = last == "pass" or (
            value is not None and value is (_NEGATION.search("." + last) is None and last != "notOk")
        )
        made = _made(call, condition, arguments[:1], last)
        return Assertion(
            made.dump,
            made.subject,
            strictness,
            made.line,
            made.literals,
            made.names,
            made.negated or last == "notOk",
            empty,
        )
    return _made(
        call,
        arguments[0][0] if arguments else None,
        arguments[:3] if last in {"closeTo", "approximately"} else arguments[:2],
        last,
    )


def _of_condition(node: Node | None) -> int:
    while node is not None and node.type == "parenthesized_expression" and node.named_children:
        node = node.named_children[0]
    if node is None or node.type != "binary_expression":
        return TRUTH
    operator = node.children[1].type
    if operator in {"||", "??"}:
        return TRUTH
    if operator == "&&":
        return max(_of_condition(node.children[0]), _of_condition(node.children[2]))
    if operator in {"!==", "!="} and text_of(node.children[2]) in {"null", "undefined"}:
        return TRUTH
    return EXACT if operator in {"===", "=="} else PARTIAL


def _made(
    call: Call, subject: Node | None, arguments: tuple[tuple[Node, ...], ...], last: str, chain: str = ""
) -> Assertion:
    flat = [node for argument in arguments for node in argument]
    strictness = EXACT if _EXACT.fullmatch(last) else TRUTH if _TRUTH.fullmatch(last) else PARTIAL
    if re.fullmatch(r"toThrow\w*|throws?|rejects|throwsAsync", last) and len(arguments) < (1 if chain else 2):
        strictness = PARTIAL
    negated = bool(_NEGATION.search(chain or "." + call.chain))
    if ".not" in chain or last.startswith(("not", "doesNot")):
        strictness = min(
            strictness, TRUTH if last in {"toBeNull", "toBeUndefined", "null", "undefined"} else PARTIAL
        )
    values = [item for node in ([subject] if subject is not None else []) + flat for item in placed(node)]
    if _THROWS.fullmatch(last):
        values += [(text_of(node), node.start_byte) for node in flat if node.type == "identifier"]
    return Assertion(
        dump=normal(call.node),
        subject=normal(subject),
        strictness=strictness,
        line=line_of(call.node),
        literals=tuple(dict.fromkeys(values)),
        names=frozenset(names(call.node)),
        negated=negated,
        empty=_never_fails(subject, flat, last, negated),
        tolerance=_tolerance(last, flat),
    )


def _never_fails(subject: Node | None, arguments: list[Node], last: str, negated: bool) -> bool:
    if subject is None or negated:
        return False
    given = arguments[1:] if arguments and arguments[0] == subject else arguments
    if given and _EXACT.fullmatch(last) and not _THROWS.fullmatch(last):
        return normal(given[0]) == normal(subject)
    if not given and last in {"toBeTruthy", "toBeDefined", "true", "ok", "exist", "toBeTrue"}:
        return truth(subject) is True or is_literal(subject)
    return False


def _tolerance(last: str, arguments: list[Node]) -> float | None:
    try:
        if last == "toBeCloseTo":
            return -float(text_of(arguments[1])) if len(arguments) > 1 else -2.0
        if _LOOSER_WITH_MORE.fullmatch(last):
            return float(text_of(arguments[-1]))
    except (ValueError, IndexError):
        pass
    return None


def _inner(node: Node, name: str) -> Node | None:
    """Return what a `.should` stands behind."""
    current: Node | None = node
    while current is not None:
        if current.type == "call_expression":
            current = current.child_by_field_name("function")
        elif current.type == "member_expression":
            if text_of(current.child_by_field_name("property")) == name:
                return current.child_by_field_name("object")
            current = current.child_by_field_name("object")
        else:
            return None
    return None
