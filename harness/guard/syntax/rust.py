"""Rust: the built-in test attributes and macros, tokio, rstest, proptest, pretty_assertions, insta."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from tree_sitter import Node

from harness.guard.syntax.dialect import Dialect, string_of, truth
from harness.guard.syntax.model import EXACT, PARTIAL, TRUTH, Assertion, Call, Link, Sign, What
from harness.guard.syntax.nodes import (
    COMMENTS,
    is_literal,
    line_of,
    literal,
    names,
    normal,
    placed,
    statements,
    text_of,
)
from harness.guard.syntax.rust_tokens import sign_of, values
from harness.in_source.rust import ONLY_IN_TESTS

_TEST = re.compile(
    r"#\[\s*(?:\w+::)*(?:test|rstest|test_case|quickcheck|proptest|bench|wasm_bindgen_test|traced_test)\b.*",
    re.DOTALL,
)
_MACRO = re.compile(r"(?:\w+::)*(?:debug_|prop_|test_)?(assert\w*|panic|unreachable|ensure|verify|check)!")
_LOOKS = re.compile(r'(?:current_exe|env::args|args_os)\b.*"[^"]*(?:deps|test)', re.DOTALL)
_BUILT_FOR = re.compile(r"cfg!\s*\(.*\b(test|debug_assertions)\b", re.DOTALL)
"""Tests are built for debugging: what is right there alone is right in tests alone."""
_EXACT = re.compile(
    r"assert_eq|assert_matches|assert_snapshot|assert_debug_snapshot|assert_json\w*|assert_str_eq|assert_err|assert_ok_eq"
)


class Rust(Dialect):
    """How tests and sources look in Rust."""

    opened = frozenset(
        {"source_file", "mod_item", "declaration_list", "impl_item", "trait_item", "foreign_mod_item"}
    )
    blocks = frozenset({"block"})
    ends = frozenset({"return_expression", "break_expression", "continue_expression"})
    loops = frozenset({"for_expression", "while_expression", "loop_expression"})
    branches = frozenset({"if_expression"})
    functions = frozenset({"function_item", "closure_expression"})
    repeats = re.compile(r".*\.(?:for_each|map)")
    skips = re.compile(r"(?!)")
    dangers = re.compile(
        r"(?:std::process::|process::)?Command::new|(?:std::)?mem::transmute|transmute|Library::new|libloading::\w+::\w+"
        r"|.*::from_raw\w*|.*\.(?:danger_accept_invalid_certs|get_unchecked\w*)|bincode::deserialize\w*"
    )
    stops = re.compile(r"dbg!")
    prints = re.compile(r"e?print(?:ln)?!")
    exits = re.compile(r"(?:std::)?process::(?:exit|abort)|exit|abort")
    telling = re.compile(r"RUST_TEST_\w+|NEXTEST\w*|CARGO_(?:TARGET_TMPDIR|TEST\w*)|/deps/|target/debug/deps")
    matching = re.compile(
        r".*\.(?:contains|starts_with|ends_with|eq|eq_ignore_ascii_case|find|replace|get|matches|strip_prefix)|matches!"
    )

    def begins_tests(self, node: Node, extra: tuple[Node, ...]) -> bool:
        """`#[cfg(test)] mod tests`."""
        return node.type == "mod_item" and any(ONLY_IN_TESTS.match(item.text or b"") for item in extra)

    def owner(self, node: Node) -> str:
        """A module's name, or the type that methods belong to."""
        if node.type == "impl_item":
            of = text_of(node.child_by_field_name("type"))
            trait = text_of(node.child_by_field_name("trait"))
            return f"{trait} for {of}" if trait else of
        return text_of(node.child_by_field_name("name")) if node.type in {"mod_item", "trait_item"} else ""

    def around(self, node: Node, extra: tuple[Node, ...]) -> tuple[Sign, ...]:
        """Conditions on a module of tests."""
        return _conditions(extra) if node.type == "mod_item" else ()

    def of_file(self, root: Node) -> tuple[Sign, ...]:
        """`#![cfg(…)]` at the head of a file."""
        found = [child for child in root.children if child.type == "inner_attribute_item"]
        return tuple(
            Sign(What.SKIP, normal(item)[:80], line_of(item))
            for item in found
            if re.match(r"#!\[\s*cfg\(", text_of(item))
        )

    def test_name(self, node: Node, extra: tuple[Node, ...], path: str) -> str:
        """Functions under a test attribute."""
        del path
        if node.type != "function_item" or not any(_TEST.match(text_of(item)) for item in extra):
            return ""
        return text_of(node.child_by_field_name("name"))

    def test_marks(self, node: Node, extra: tuple[Node, ...]) -> tuple[Sign, ...]:
        """`#[ignore]`, `#[should_panic]` and conditions."""
        del node
        marks = list(_conditions(extra))
        for item in extra:
            if re.match(r"#\[\s*(?:ignore|should_panic)\b", text_of(item)):
                marks.append(
                    Sign(
                        What.SKIP,
                        re.sub(r"\W*(\w+).*", r"#[\1]", text_of(item), flags=re.DOTALL),
                        line_of(item),
                    )
                )
        return tuple(marks)

    def of_attributes(self, extra: tuple[Node, ...]) -> Iterator[Sign]:
        """Code that is there only where it is not tested."""
        for item in extra:
            if re.search(r"cfg(?:_attr)?\(.*\bnot\(\s*test\b", text_of(item)):
                yield Sign(What.PROBE, normal(item)[:80], line_of(item))

    def function_name(self, node: Node) -> str:
        """Functions and methods."""
        return text_of(node.child_by_field_name("name")) if node.type == "function_item" else ""

    def body(self, node: Node) -> list[Node] | None:
        """The statements and the value at the end."""
        block = node.child_by_field_name("body")
        return None if block is None else [_inner(item) for item in statements(block)]

    def call(self, node: Node) -> Call | None:
        """Calls and macros; a macro's arguments are the tokens between its commas."""
        if node.type == "call_expression":
            arguments = node.child_by_field_name("arguments")
            given = arguments.named_children if arguments is not None else []
            return Call(chain(node.child_by_field_name("function")), tuple((item,) for item in given), node)
        if node.type == "macro_invocation":
            tree = next((child for child in node.children if child.type == "token_tree"), None)
            return Call(text_of(node.child_by_field_name("macro")) + "!", _split(tree), node)
        return None

    def assertion(self, call: Call, link: Link) -> Assertion | None:
        """The assertion macros, and `panic!` under its conditions."""
        match = _MACRO.fullmatch(call.chain)
        if match is None:
            return _unwrapped(call, link)
        if match[1] in {"panic", "unreachable"}:
            return _guarded(call, link)
        made = _macro(call, match[1])
        is_debug = call.chain.rsplit("::", 1)[-1].startswith("debug_")
        return replace(made, strictness=min(made.strictness, PARTIAL)) if is_debug else made

    def guards(self, assertion: Assertion, link: Link) -> tuple[str, ...]:
        """The innermost condition around `panic!` is what is asserted."""
        return link.guards[:-1] if assertion.dump.startswith("fail if") else link.guards

    def placed_literal(self, node: Node) -> tuple[str, int]:
        """In a macro a minus sign is a token by itself."""
        sign = sign_of(node)
        return (literal(node), node.start_byte) if sign is None else (f"-{text_of(node)}", sign.start_byte)

    def table(self, unit: Node, extra: tuple[Node, ...]) -> list[Node]:
        """Attributes that give cases, or the message of a panic; those of parameters, too."""
        found = [
            item
            for item in extra
            if re.match(r"#\[\s*(?:test_case|case|rstest|should_panic|values)", text_of(item))
        ]
        parameters = unit.child_by_field_name("parameters")
        return found + [
            item
            for item in (parameters.named_children if parameters else [])
            if item.type == "attribute_item"
        ]

    def more(self, node: Node, link: Link) -> Iterator[Sign]:
        """Errors thrown away, `unsafe`, test detection, macros of the runner defined anew."""
        kind, line = node.type, line_of(node)
        if kind == "unsafe_block" or (kind == "function_modifiers" and "unsafe" in text_of(node)):
            yield Sign(What.DANGER, "unsafe", line)
        elif kind == "let_declaration" and text_of(node.child_by_field_name("pattern")) == "_":
            value = node.child_by_field_name("value")
            if value is not None and value.type in {"call_expression", "await_expression", "try_expression"}:
                yield Sign(What.SOFT_SWALLOW, f"let _ = {normal(value)[:120]}", line)
        elif kind == "call_expression":
            name = chain(node.child_by_field_name("function"))
            if name.endswith("catch_unwind"):
                yield Sign(What.SWALLOW, name, line)
            elif name.endswith("panic::set_hook"):
                yield Sign(What.TAMPER, "the hook for panics is replaced", line)
            elif (
                name.endswith((".ok", ".unwrap_or_default"))
                and link.up is not None
                and link.up.node.type == "expression_statement"
            ):
                yield Sign(What.SWALLOW, f"{normal(node)[:120]};", line)
            elif len(node.text or b"") < 400 and _LOOKS.search(text_of(node)):
                yield Sign(What.PROBE, "tests in the command line", line)
            elif name.endswith("thread::current().name") or name == "thread::current":
                yield Sign(What.PROBE, "the thread's name", line)
        elif kind == "attribute_item" and re.search(r"\bcfg(?:_attr)?\(.*\btest\b", text_of(node)):
            yield Sign(What.PROBE, normal(node)[:80], line)
        elif kind == "match_arm":
            yield from _swallowing_arm(node)
        elif kind == "if_expression":
            yield from _swallowing_if(node)
        elif kind == "macro_invocation" and (built := _BUILT_FOR.match(text_of(node))):
            yield Sign(What.PROBE, f"cfg!({built[1]})", line)
        elif kind == "macro_definition" and re.match(
            r"(?:debug_)?assert\w*|panic|matches", text_of(node.child_by_field_name("name"))
        ):
            yield Sign(
                What.TAMPER, f"the macro `{text_of(node.child_by_field_name('name'))}!` is defined anew", line
            )
        elif kind == "function_item":
            yield from _always_equal(node)

    def compared(self, node: Node) -> Iterator[Node]:
        """Comparisons, and the patterns of a `match`."""
        if node.type == "match_pattern":
            waiting = [node]
            while waiting:
                current = waiting.pop()
                yield current
                waiting += current.named_children
        else:
            yield from super().compared(node)

    def is_program(self, path: str) -> bool:
        """Commands, examples and build scripts print."""
        return bool(re.search(r"(?:^|/)(?:main\.rs|build\.rs|bin/|examples/|benches/)", path))


def chain(node: Node | None) -> str:
    """Return what is called as `a::b.c().d`."""
    parts: list[str] = []
    while node is not None:
        if node.type == "field_expression":
            parts.append("." + text_of(node.child_by_field_name("field")))
            node = node.child_by_field_name("value")
        elif node.type == "call_expression":
            parts.append("()")
            node = node.child_by_field_name("function")
        elif node.type in {"try_expression", "await_expression", "generic_function"} and node.named_children:
            node = node.named_children[0]
        else:
            parts.append(text_of(node) if node.type in {"identifier", "scoped_identifier", "self"} else "…")
            break
    return "".join(reversed(parts))


def _inner(node: Node) -> Node:
    inside = node.named_children
    return inside[0] if node.type == "expression_statement" and len(inside) == 1 else node


def _conditions(extra: tuple[Node, ...]) -> tuple[Sign, ...]:
    found = [item for item in extra if re.match(r"#\[\s*cfg(?:_attr)?\(", text_of(item))]
    return tuple(
        Sign(What.SKIP, normal(item)[:80], line_of(item))
        for item in found
        if not re.match(r"#\[\s*cfg\(test\)\s*\]", text_of(item))
    )


def _split(tree: Node | None) -> tuple[tuple[Node, ...], ...]:
    groups: list[list[Node]] = [[]]
    for child in tree.children[1:-1] if tree is not None else ():
        if child.type == ",":
            groups.append([])
        elif child.type not in COMMENTS:
            groups[-1].append(child)
    return tuple(tuple(group) for group in groups if group)


def _text(group: tuple[Node, ...]) -> str:
    return " ".join(normal(node) for node in group)


def _macro(call: Call, name: str) -> Assertion:
    given = call.arguments
    wanted = 1 if name in {"assert", "ensure", "assert_ok", "assert_err"} else 2
    if "abs_diff" in name or "relative" in name or "approx" in name or "float" in name or "ulps" in name:
        wanted = 4
    shown = given[:wanted]
    subject = given[0] if given else ()
    tokens = {node.type for node in subject}
    if name == "assert":
        strictness = (
            TRUTH
            if "||" in tokens
            else EXACT
            if "==" in tokens or any(text_of(node) == "matches" for node in subject)
            else PARTIAL
        )
    else:
        strictness = EXACT if _EXACT.fullmatch(name) else PARTIAL
    empty = len(given) > 1 and name == "assert_eq" and _text(given[0]) == _text(given[1])
    if name == "assert" and len(subject) == 1:
        empty = truth(subject[0]) is True
    if name == "assert" and "||" in tokens:
        empty = empty or any(text_of(node) == "true" for node in subject)
    if name == "assert" and "==" in tokens and not tokens & {"&&", "||"}:
        place = next(index for index, node in enumerate(subject) if node.type == "==")
        empty = _text(subject[:place]) == _text(subject[place + 1 :])
    found = [item for group in shown for item in values(group)]
    return Assertion(
        dump=normal(call.node),
        subject=_text(
            subject[: next((i for i, node in enumerate(subject) if node.type in {"==", "!="}), len(subject))]
        ),
        strictness=strictness,
        line=line_of(call.node),
        literals=tuple(dict.fromkeys(found)),
        names=frozenset(names(call.node)),
        negated=name.startswith("assert_ne") or (bool(subject) and subject[0].type == "!") or "!=" in tokens,
        empty=empty,
    )


def _unwrapped(call: Call, link: Link) -> Assertion | None:
    """Read `x.unwrap();` as the assertion that there is no error; what the message says does not matter."""
    if call.last not in {"unwrap", "expect", "unwrap_err", "expect_err"} or link.up is None:
        return None
    function = call.node.child_by_field_name("function")
    value = function.child_by_field_name("value") if function is not None else None
    if link.up.node.type != "expression_statement" or value is None:
        return None
    kind = "error" if call.last.endswith("err") else "no error"
    text = normal(value)
    return Assertion(
        f"{kind} in {text}", text, TRUTH, line_of(call.node), tuple(placed(value)), frozenset(names(value))
    )


def _guarded(call: Call, link: Link) -> Assertion:
    conditions: list[Node] = []
    up = link.up
    while up is not None and up.node.type not in {"function_item", "closure_expression"}:
        found = up.node.child_by_field_name("condition") if up.node.type == "if_expression" else None
        if up.node.type == "match_arm":
            found = up.node.child_by_field_name("pattern")
        if found is not None:
            conditions.append(found)
        up = up.up
    text = " ; ".join(normal(node) for node in conditions)
    return Assertion(
        dump=f"fail if {text}",
        subject=text.split(" != ")[0],
        strictness=EXACT,
        line=line_of(call.node),
        literals=tuple(item for node in conditions for item in placed(node)),
        names=frozenset(name for node in conditions for name in names(node)),
        empty=bool(conditions) and truth(conditions[0]) is False,
    )


def _swallowing_arm(node: Node) -> Iterator[Sign]:
    pattern, value = normal(node.child_by_field_name("pattern")), node.child_by_field_name("value")
    if not re.fullmatch(r"Err \( _\w* \)", pattern) or value is None:
        return
    inside = statements(value) if value.type == "block" else [value]
    if not inside or (value.type == "unit_expression"):
        yield Sign(What.SWALLOW, "Err(_) => {}", line_of(node))
    elif len(inside) == 1 and (
        is_literal(_inner(inside[0]))
        or normal(inside[0]) in {"None", "Ok ( ( ) )", "Default :: default ( )", "return None"}
    ):
        yield Sign(
            What.SOFT_SWALLOW if normal(inside[0]) == "None" else What.SWALLOW,
            f"Err(_) => {normal(inside[0])}",
            line_of(node),
        )


def _swallowing_if(node: Node) -> Iterator[Sign]:
    condition = normal(node.child_by_field_name("condition"))
    inside = statements(node.child_by_field_name("consequence"))
    if re.match(r"let Err \( _\w* \) =", condition) and not inside:
        yield Sign(What.SWALLOW, f"if {condition[:100]} {{}}", line_of(node))


def _always_equal(node: Node) -> Iterator[Sign]:
    inside = statements(node.child_by_field_name("body"))
    if (
        text_of(node.child_by_field_name("name")) == "eq"
        and len(inside) == 1
        and normal(inside[0]) in {"true", "return true"}
    ):
        yield Sign(What.TAMPER, "`eq` says that any two values are equal", line_of(node))


__all__ = ["Rust", "chain", "string_of"]
