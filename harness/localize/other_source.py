"""The facts of a file in another language: by its grammar, or by patterns where there is none."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from tree_sitter import Node

from harness.localize.definitions import outline
from harness.localize.facts import FileFacts, Import, Kind
from harness.localize.patterns import OTHER_IMPORTS
from harness.localize.words import WORD
from harness.syntax.parsing import parser_of

_GRAMMARS = {
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), ("tree_sitter_javascript", "language")),
    **dict.fromkeys((".ts", ".mts", ".cts"), ("tree_sitter_typescript", "language_typescript")),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
    ".go": ("tree_sitter_go", "language"),
    ".java": ("tree_sitter_java", "language"),
    ".rb": ("tree_sitter_ruby", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    **dict.fromkeys((".c", ".h"), ("tree_sitter_c", "language")),
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".hpp", ".hh"), ("tree_sitter_cpp", "language")),
    ".cs": ("tree_sitter_c_sharp", "language"),
    ".php": ("tree_sitter_php", "language_php"),
}
_FUNCTIONS = frozenset(
    {
        *("function_declaration", "generator_function_declaration", "method_definition", "function_item"),
        *("method_declaration", "constructor_declaration", "function_definition", "method"),
        *("singleton_method", "function_signature_item", "abstract_method_signature", "macro_definition"),
        *("property_declaration", "operator_declaration", "local_function_statement"),
    }
)
_CLASSES = frozenset(
    {
        *("class_declaration", "abstract_class_declaration", "interface_declaration", "enum_declaration"),
        *("record_declaration", "struct_item", "enum_item", "trait_item", "impl_item", "mod_item", "class"),
        *("module", "class_specifier", "struct_specifier", "namespace_definition", "type_spec"),
        *("namespace_declaration", "struct_declaration", "trait_declaration", "annotation_type_declaration"),
        *("type_alias_declaration", "internal_module", "union_item", "enum_specifier"),
    }
)
_FUNCTION_VALUES = frozenset({"arrow_function", "function_expression", "generator_function", "class"})
_NAME_FIELDS = ("name", "declarator", "type", "left")
_BASES = ("superclass", "superclasses", "interfaces", "trait", "class_heritage", "base_list", "base_clause")
MOST_NODES = 400_000
LONG_FUNCTION = 250
"""Lines from which on a function is a wrapper, and what it holds is looked at as well."""


def other_facts(path: str, text: str) -> FileFacts:
    """Return a file's facts; imports are paths, as far as they can be told."""
    grammar = _GRAMMARS.get(PurePosixPath(path).suffix.lower())
    facts = FileFacts()
    if grammar is None:
        _by_patterns(facts, path, text)
    else:
        source = text.encode("utf-8", "replace")
        _by_grammar(facts, parser_of(*grammar).parse(source).root_node, text)
    facts.imports = other_imports(text)
    return facts


def other_imports(text: str) -> list[Import]:
    """Return what a file imports, as paths without suffix."""
    found = []
    for match in OTHER_IMPORTS.finditer(text):
        written = next(group for group in match.groups() if group)
        path = written.replace("::", "/").replace("\\", "/")
        path = path if "/" in path else path.replace(".", "/") if match[3] else path
        found.append(Import(path.strip("/"), level=-1))
    return list(dict.fromkeys(found))


def _by_patterns(facts: FileFacts, path: str, text: str) -> None:
    for found in outline(path, text):
        kind = Kind.FUNCTION if found.name else Kind.MODULE
        part = (found.name, found.qualified, kind, found.first_line, found.last_line)
        facts.add(part, text[found.start : found.end])


# -- by grammar -------------------------------------------------------------------------------------


def _by_grammar(facts: FileFacts, root: Node, text: str) -> None:
    lines = text.split("\n")
    found = list(_definitions(root))
    inside: dict[int, list[tuple[int, int]]] = {}
    for number, (_, _, _, _, owner) in enumerate(found):
        inside.setdefault(owner, []).append(_extent(found[number][0]))
    for number, (node, name, qualified, kind, _) in enumerate(found):
        first, last = _extent(node)
        own = _own_text(lines, first, last, inside.get(number, []))
        if kind is Kind.CLASS and (bases := _bases(node)):
            facts.bases[qualified] = bases
        facts.add((name, qualified, kind, first, last), own)
    rest = _own_text(lines, 1, len(lines), inside.get(-1, []))
    facts.add(("", "", Kind.MODULE, 1, len(lines)), rest)


def _definitions(root: Node) -> Iterator[tuple[Node, str, str, Kind, int]]:
    """Yield (node, name, qualified name, kind, number of the definition around it or -1) in source order."""
    waiting: list[tuple[Node, str, int]] = [(root, "", -1)]
    count = number = 0
    while waiting and count < MOST_NODES:
        node, prefix, owner = waiting.pop()
        count += 1
        kind = _kind(node)
        name = _name(node) if kind is not None else ""
        if kind is not None and name:
            qualified = f"{prefix}{name}"
            yield node, name.rsplit(".", 1)[-1], qualified, kind, owner
            first, last = _extent(node)
            if kind is Kind.FUNCTION and last - first < LONG_FUNCTION:
                number += 1
                continue
            prefix, owner = (qualified + "." if kind is Kind.CLASS else prefix), number
            number += 1
        waiting.extend((child, prefix, owner) for child in reversed(node.named_children))


def _kind(node: Node) -> Kind | None:
    if node.type in _FUNCTIONS:
        return Kind.FUNCTION
    if node.type in _CLASSES:
        return Kind.CLASS
    if node.type in {"variable_declarator", "assignment_expression", "pair", "public_field_definition"}:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if value is not None and value.type in _FUNCTION_VALUES:
            return Kind.CLASS if value.type == "class" else Kind.FUNCTION
    return None


def _name(node: Node) -> str:
    """Return a definition's name, with its receiver's or its type's where the syntax gives one."""
    receiver = node.child_by_field_name("receiver")
    owner = WORD.findall(_text(receiver)) if receiver is not None else []
    for _ in range(8):
        found = next((n for f in (*_NAME_FIELDS, "key") if (n := node.child_by_field_name(f))), None)
        if found is None:
            break
        node = found
    words = WORD.findall(_text(node)[:200])
    if not words:
        return ""
    name = words[0] if node.type in {"generic_type", "type_identifier"} else words[-1]
    return f"{owner[-1]}.{name}" if owner else name


def _bases(node: Node) -> tuple[str, ...]:
    found: list[str] = []
    for child in node.named_children:
        if child.type in _BASES or node.field_name_for_child(0) in _BASES:
            found += WORD.findall(_text(child)[:300])
    for name in _BASES[:4]:
        child_of = node.child_by_field_name(name)
        if child_of is not None:
            found += WORD.findall(_text(child_of)[:300])
    return tuple(dict.fromkeys(word for word in found if word not in {"extends", "implements"}))


def _extent(node: Node) -> tuple[int, int]:
    return node.start_point[0] + 1, node.end_point[0] + 1


def _own_text(lines: list[str], first: int, last: int, inner: list[tuple[int, int]]) -> str:
    kept: list[str] = []
    line = first
    for begin, end in sorted(inner):
        kept += lines[line - 1 : begin - 1]
        line = max(line, end + 1)
    return "\n".join([*kept, *lines[line - 1 : last]])


def _text(node: Node) -> str:
    return "" if node.text is None else node.text.decode("utf-8", "replace")
