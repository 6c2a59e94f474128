"""RH009 for Rust: what is built for tests only stands in for what is built for everybody."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tree_sitter import Node, Tree

from domain.model import Finding
from harness.guard.context import Context, critical
from harness.guard.syntax.files import SyntaxFile
from harness.guard.syntax.grammar import Language
from harness.guard.syntax.nodes import line_of, text_of, walk
from harness.in_source.rust import Item, items_of, layout_of

RULE = "RH009"
_WHY = "Tests then run other code than users do, and can pass while users still see the fault."
_IMPORTED, _METHOD, _MODULE = "imported", "method", "module"
_IMPLEMENTS = re.compile(rb"\bimpl\b")
_PRELUDE = re.compile(
    r"std|core|alloc|Vec|String|Option|Some|None|Result|Ok|Err|Box|drop|Iterator|Clone|Default|From|Into|ToString"
    r"|vec|format|println|print|eprintln|panic|assert\w*|matches|write|writeln|todo|unreachable|debug_assert\w*"
)
"""Names that are there without being brought in: an item of the same name goes before them."""
_FILE_FOR_TESTS = re.compile(
    r"#\[\s*cfg_attr\(\s*(?:test|all\(\s*test\b.*?\))\s*,\s*(?:path\b|double\b|\w+::double\b)"
)


def check(context: Context) -> Iterator[Finding]:
    """Yield findings for items that are new under `#[cfg(test)]`, and that the sources would find."""
    files = [file for file in context.files if file.language is Language.RUST and file.new is not None]
    for file in files:
        if not file.in_tests and b"test" in (file.delta.new or b""):
            yield from _of_file(file)


def _of_file(file: SyntaxFile) -> Iterator[Finding]:
    if file.new is None:
        return
    yield from _other_files(file, file.new.root_node)
    items = list(items_of(file.new.root_node))
    former = list(items_of(file.old.root_node)) if file.old is not None else []
    known = {item.node.text for item in former}
    offered = [(item, *each) for item in items if item.node.text not in known for each in _offered(item)]
    offered = [each for each in offered if _may_be_spoken_of(file, items, *each[1:])]
    spoken = _words(file) if offered else frozenset()
    offered = [each for each in offered if each[1] in spoken]
    if not offered:
        return
    proper, before = (_proper(file.whole(old=side)) for side in (False, True))
    if proper is None:
        return
    for item, name, what in offered:
        if _stands_in(name, what, proper, before):
            text = f"source looks for tests: the {what} `{name}` is another one when it is tested"
            yield critical(RULE, file.path, line_of(item.node), text, _WHY)


def _may_be_spoken_of(file: SyntaxFile, items: list[Item], name: str, what: str) -> bool:
    """Tell whether the letters of a name stand anywhere but in what is there for tests: quick to say."""
    wanted = f"{name}::".encode() if what == _MODULE else name.encode()
    return (file.delta.new or b"").count(wanted) > sum(
        (item.node.text or b"").count(wanted) for item in items
    )


def _words(file: SyntaxFile) -> frozenset[str]:
    """Return the words of a source outside of what is there for tests."""
    layout = layout_of(file.delta.new or b"")
    text = (file.delta.new or b"") if layout is None else layout.without_tests
    return frozenset(word.decode() for word in re.findall(rb"[A-Za-z_]\w*", text))


def _proper(tree: Tree | None) -> _Proper | None:
    return None if tree is None else _Proper(tree.root_node, list(items_of(tree.root_node)))


def _offered(item: Item) -> Iterator[tuple[str, str]]:
    """Yield the names that an item gives to the module that it stands in, or to types, and what each is."""
    node, kind = item.node, item.node.type
    name = text_of(node.child_by_field_name("name"))
    if kind == "use_declaration":
        yield from ((each, _IMPORTED) for each in _imported(node))
    elif kind == "function_item" and item.home.rpartition("::")[2].startswith("impl "):
        yield name, _METHOD
    elif kind == "mod_item":
        yield name, _MODULE
    elif kind != "impl_item" and name:
        yield name, kind.removesuffix("_item").removesuffix("_definition")
    if kind in {"mod_item", "impl_item"} and _IMPLEMENTS.search(node.text or b""):
        yield from ((each, _METHOD) for each in _methods(node))


def _stands_in(name: str, what: str, proper: _Proper, before: _Proper | None) -> bool:
    """Tell whether the sources would find what is there for tests in the place of something of their own."""
    if what == _METHOD:
        calls = before.called[name] if before else 0
        return name in proper.defined and proper.called[name] > calls
    if what == _MODULE:
        return name in proper.paths
    is_hidden = proper.globs or _PRELUDE.fullmatch(name) is not None
    if name in proper.bare and is_hidden:
        return True
    return what != _IMPORTED and proper.globs and name in proper.free


class _Proper:
    """What a file's sources proper say, without what is there for tests: names used bare, called, defined."""

    def __init__(self, root: Node, items: list[Item]) -> None:
        left_out = {(item.node.start_byte, item.node.end_byte) for item in items}
        self.bare: set[str] = set()
        self.paths: set[str] = set()
        self.called: Counter[str] = Counter()
        self.defined: set[str] = set()
        self.free: set[str] = set()
        self.globs = False
        waiting = [root]
        while waiting:
            node = waiting.pop()
            if (node.start_byte, node.end_byte) in left_out and node.type != "source_file":
                continue
            self._look_at(node)
            waiting.extend(node.children)

    def _look_at(self, node: Node) -> None:
        kind = node.type
        if kind == "use_wildcard":
            self.globs = True
        elif kind in {"call_expression", "macro_invocation"}:
            called = node.child_by_field_name("function") or node.child_by_field_name("macro")
            if called is not None and called.type == "identifier":
                self.bare.add(text_of(called))
            elif called is not None and called.type in {"field_expression", "scoped_identifier"}:
                last = called.child_by_field_name("field") or called.child_by_field_name("name")
                self.called[text_of(last)] += 1
        elif kind == "scoped_identifier" or kind == "scoped_type_identifier":
            first = node.child_by_field_name("path")
            if first is not None and first.type == "identifier":
                self.paths.add(text_of(first))
                self.bare.add(text_of(first))
        elif kind == "type_identifier" or (kind == "identifier" and text_of(node).isupper()):
            self.bare.add(text_of(node))
        if kind.endswith("_item") or kind in {"macro_definition", "function_signature_item"}:
            name = text_of(node.child_by_field_name("name"))
            self.defined.add(name)
            around = node.parent.parent if node.parent is not None else None
            if around is None or around.type not in {"impl_item", "trait_item"}:
                self.free.add(name)


def _other_files(file: SyntaxFile, root: Node) -> Iterator[Finding]:
    """Object to modules that are read from another file when they are tested."""
    if b"cfg_attr" not in (file.delta.new or b""):
        return
    old = file.delta.old_text
    for node in walk(root):
        if (
            node.type == "attribute_item"
            and _FILE_FOR_TESTS.match(text_of(node))
            and text_of(node) not in old
        ):
            what = f"source looks for tests: {text_of(node)[:80]}"
            yield critical(RULE, file.path, line_of(node), what, _WHY)


def _methods(node: Node) -> Iterator[str]:
    """Yield the methods that an item gives to types which it does not define itself."""
    inside = list(_listed(node))
    own = {text_of(each.child_by_field_name("name")) for each in inside}
    for block in inside:
        if block.type == "impl_item" and text_of(block.child_by_field_name("type")) not in own:
            body = block.child_by_field_name("body")
            for child in body.children if body is not None else ():
                if child.type == "function_item":
                    yield text_of(child.child_by_field_name("name"))


def _listed(node: Node) -> Iterator[Node]:
    """Yield an item and those in it, if it is a module, without what is inside of functions."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        body = current.child_by_field_name("body") if current.type == "mod_item" else None
        waiting += body.named_children if body is not None else []


def _imported(node: Node) -> Iterator[str]:
    """Yield the names that a `use` brings in, by the name that they have here."""
    for child in walk(node):
        if child.type == "use_as_clause":
            yield text_of(child.child_by_field_name("alias"))
        elif child.type in {"identifier", "type_identifier"} and (
            child.parent is not None
            and (child.parent.type in {"use_list", "use_declaration"} or _is_last(child))
        ):
            yield text_of(child)


def _is_last(node: Node) -> bool:
    parent = node.parent
    return (
        parent is not None
        and parent.type == "scoped_identifier"
        and parent.child_by_field_name("name") == node
        and parent.parent is not None
        and parent.parent.type in {"use_declaration", "use_list"}
    )
