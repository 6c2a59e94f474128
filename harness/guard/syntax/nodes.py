"""Reading nodes of a syntax tree: without recursion, and blind to layout, comments and quote style."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

STRINGS = frozenset(
    {
        *("string", "template_string", "interpreted_string_literal", "raw_string_literal", "rune_literal"),
        *("string_literal", "character_literal", "simple_symbol", "char_literal", "string_array"),
        *("symbol_array", "regex", "delimited_symbol", "heredoc_body", "text_block", "character"),
    }
)
NUMBERS = frozenset(
    {
        *("number", "int_literal", "float_literal", "imaginary_literal", "decimal_integer_literal"),
        *("hex_integer_literal", "octal_integer_literal", "binary_integer_literal"),
        *("decimal_floating_point_literal", "integer", "float", "integer_literal", "rational", "complex"),
    }
)
CONSTANTS = frozenset({"true", "false", "null", "nil", "undefined", "null_literal", "boolean_literal"})
COMMENTS = frozenset({"comment", "line_comment", "block_comment", "hash_bang_line"})
IDENTIFIERS = frozenset(
    {
        *("identifier", "property_identifier", "field_identifier", "constant", "type_identifier"),
        *("instance_variable", "global_variable", "class_variable", "shorthand_property_identifier"),
    }
)
_NEGLIGIBLE = frozenset({";", ",", "empty_statement"})


def text_of(node: Node | None) -> str:
    """Return a node's source, "" for none."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def line_of(node: Node) -> int:
    """Return the line, counted from 1, on which a node begins."""
    return node.start_point[0] + 1


def walk(node: Node) -> Iterator[Node]:
    """Yield a node and everything below it in the order of the source, comments left out."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        if current.type in COMMENTS:
            continue
        yield current
        if current.child_count:
            waiting.extend(reversed(current.children))


def normal(node: Node | None) -> str:
    """Return a node's tokens with single spaces: equal for sources that differ in layout only."""
    if node is None:
        return ""
    parts: list[str] = []
    waiting = [node]
    while waiting:
        current = waiting.pop()
        kind = current.type
        if kind in COMMENTS or kind in _NEGLIGIBLE:
            continue
        if kind in STRINGS:
            parts.append(literal(current))
        elif kind == "pair":
            parts.append(string_content(current.children[0]) if current.child_count else "")
            waiting.extend(reversed(current.children[1:]))
        elif current.child_count:
            waiting.extend(reversed(current.children))
        else:
            parts.append(text_of(current))
    return " ".join(parts)


def literal(node: Node) -> str:
    """Return a literal as Python would write it: strings by what is between their quotes."""
    text = text_of(node)
    if node.type not in STRINGS or node.type == "regex":
        return text
    if node.type == "simple_symbol":
        return repr(text.removeprefix(":"))
    for quotes in ('"""', "'''", "'", '"', "`"):
        if text.startswith(quotes) and text.endswith(quotes) and len(text) >= 2 * len(quotes):
            return repr(text[len(quotes) : len(text) - len(quotes)])
    return repr(text)


def string_content(node: Node) -> str:
    """Return a string literal's content, its source for any other node."""
    text = text_of(node)
    return text[1:-1] if len(text) >= 2 and text[0] in "'\"`" and text[-1] == text[0] else text


def is_literal(node: Node) -> bool:
    """Tell whether a node is a literal by itself: a string without parts that are worked out, a number, …"""
    kind = node.type
    if kind in NUMBERS or kind in CONSTANTS:
        return True
    if kind not in STRINGS:
        return False
    return not any(child.type in {"template_substitution", "interpolation"} for child in node.named_children)


def literals(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield (literal, node) for the literals below a node; a minus sign belongs to its number."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        kind = current.type
        if kind in COMMENTS:
            continue
        if kind in {"unary_expression", "unary"} and current.child_count == 2:
            operand = current.children[1]
            if current.children[0].type == "-" and operand.type in NUMBERS:
                yield f"-{text_of(operand)}", current
                continue
        if is_literal(current):
            yield literal(current), current
        else:
            waiting.extend(reversed(without_key(current)))


def without_key(node: Node) -> list[Node]:
    """Return a node's children without the key of a pair: `{'a': 1}` and `{a: 1}` are the same."""
    children = node.children
    is_named_value = node.type == "pair" and children and children[0].type in {"string", "simple_symbol"}
    return children[1:] if is_named_value else children


def placed(node: Node) -> list[tuple[str, int]]:
    """Return the literals below a node, each with the byte at which it begins."""
    return [(value, item.start_byte) for value, item in literals(node)]


def names(node: Node) -> set[str]:
    """Return every name that occurs below a node."""
    return {text_of(item).lstrip("@$") for item in walk(node) if item.type in IDENTIFIERS}


def statements(block: Node | None) -> list[Node]:
    """Return the statements of a block, comments and empty ones left out."""
    if block is None:
        return []
    found: list[Node] = []
    for child in block.named_children:
        if child.type in {"statement_list", "body_statement", "block_body", "then"}:
            found += statements(child)
        elif child.type not in COMMENTS and child.type != "empty_statement":
            found.append(child)
    return found
