"""Java: JUnit 3 to 5, TestNG, AssertJ, Hamcrest, Truth, Mockito."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from harness.guard.syntax.dialect import Dialect
from harness.guard.syntax.hidden import hidden_in
from harness.guard.syntax.java_asserts import bare, fluent, hamcrest, plain
from harness.guard.syntax.javascript_errors import leaves_finally
from harness.guard.syntax.model import EXACT, PARTIAL, Assertion, Call, Link, Sign, What
from harness.guard.syntax.nodes import (
    is_literal,
    line_of,
    normal,
    placed,
    statements,
    text_of,
)

_TESTS = frozenset(
    {"Test", "ParameterizedTest", "RepeatedTest", "TestFactory", "TestTemplate", "Property", "Theory"}
)
_OFF = re.compile(r"Disabled\w*|Ignore|EnabledIf\w*|EnabledOn\w*|EnabledForJreRange|Tag|Category|Tags")
_SOURCES = re.compile(
    r"(?:Csv|Value|Enum)\w*Source|CsvFileSource|MethodSource|Test|Parameters|NullSource|EmptySource"
)
_ASSERT = re.compile(
    r"(?:(?:[\w.]*\.)?(?:Assert|Assertions|Truth|AssertJUnit|MatcherAssert|TestCase|this|super)\.)?(assert\w+|fail\w*)"
)
_FLUENT = re.compile(
    r"(?:[\w.]*\.)?(?:assertThat\w*|assertWithMessage|assertThatCode|then|expectThat|verify)\(\)((?:\.\w+|\(\))*)"
)
_WEB = re.compile(r".*\.(?:andExpect|expectStatus|expectBody|jsonPath|expectNext|verifyComplete)")
_BROAD = frozenset(
    {
        "Exception",
        "Throwable",
        "RuntimeException",
        "Error",
        "AssertionError",
        "java.lang.Exception",
        "java.lang.Throwable",
    }
)
_STACK = re.compile(r"getStackTrace|StackWalker|sun\.java\.command|getClassName|walk")
_RUNNERS = re.compile(
    r"(?:org\.)?(?:junit|testng|mockito|assertj)\b.*|surefire\.\w+|.*(?:junit|surefire|testng|gradle-worker).*",
    re.IGNORECASE,
)


class Java(Dialect):
    """How tests and sources look in Java."""

    opened = frozenset(
        {
            *("program", "class_declaration", "class_body", "interface_declaration", "interface_body"),
            *("enum_declaration", "enum_body", "enum_body_declarations", "record_declaration"),
        }
    )
    blocks = frozenset({"block", "switch_block_statement_group", "constructor_body"})
    ends = frozenset(
        {"return_statement", "throw_statement", "break_statement", "continue_statement", "yield_statement"}
    )
    loops = frozenset({"for_statement", "enhanced_for_statement", "while_statement", "do_statement"})
    branches = frozenset({"if_statement", "ternary_expression"})
    functions = frozenset({"method_declaration", "constructor_declaration", "lambda_expression"})
    later_hides = False
    repeats = re.compile(r".*\.(?:forEach|map)|assertAll")
    skips = re.compile(
        r"(?:\w+\.)*(?:assume\w+|abort)|new SkipException|(?:Assumptions|Assume)\.\w+"
        r"|new (?:TestAbortedException|AssumptionViolatedException)"
    )
    dangers = re.compile(
        r"(?:Runtime\.getRuntime\(\)|rt|runtime)\.exec|new ProcessBuilder|new ObjectInputStream"
        r"|.*\.readObject"
        r"|new ScriptEngineManager|new XMLDecoder"
        r"|(?:\w+\.)?(?:loadLibrary|defineClass)|new URLClassLoader"
        r"|new InitialContext|new SpelExpressionParser|(?:\w*[eE]ngine)\.eval|new GroovyShell"
    )
    stops = NEVER_STOPS = re.compile(r"(?!)")
    prints = re.compile(r"System\.(?:out|err)\.print\w*|\w+\.printStackTrace|Thread\.dumpStack")
    exits = re.compile(r"System\.exit|Runtime\.getRuntime\(\)\.(?:halt|exit)")
    telling = re.compile(
        r"org\.junit\b.*|org\.testng\b.*|surefire\..*|sun\.java\.command|junit\..*|org\.gradle\.test\..*"
    )
    matching = re.compile(
        r".*\.(?:equals|equalsIgnoreCase|contentEquals|contains|startsWith|endsWith|matches|indexOf|compareTo)|Objects\.equals|(?:Set|List|Map|Arrays)\.(?:of|asList)"
    )

    def owner(self, node: Node) -> str:
        """A class's name."""
        return text_of(node.child_by_field_name("name")) if node.type.endswith("_declaration") else ""

    def around(self, node: Node, extra: tuple[Node, ...]) -> tuple[Sign, ...]:
        """What a class's annotations say about running it."""
        return self.test_marks(node, extra) if node.type == "class_declaration" else ()

    def test_name(self, node: Node, extra: tuple[Node, ...], path: str) -> str:
        """Methods with a test annotation, and those of JUnit 3 by their name."""
        del extra
        if node.type != "method_declaration":
            return ""
        name = text_of(node.child_by_field_name("name"))
        found = {text_of(item.child_by_field_name("name")).rsplit(".", 1)[-1] for item in _annotations(node)}
        if found & _TESTS:
            return name
        in_test = re.search(r"(?:Test\w*|Tests|IT)\.java$", path) is not None
        modifiers = next((text_of(child) for child in node.children if child.type == "modifiers"), "")
        old_style = (
            name.startswith("test")
            and "public" in modifiers
            and normal(node.child_by_field_name("parameters")) == "( )"
        )
        return name if old_style and in_test and "Override" not in found and _has_old_base(node) else ""

    def test_marks(self, node: Node, extra: tuple[Node, ...]) -> tuple[Sign, ...]:
        """`@Disabled` and its kin, `@Test(enabled = false)`."""
        del extra
        marks = []
        for item in _annotations(node):
            name = text_of(item.child_by_field_name("name")).rsplit(".", 1)[-1]
            if _OFF.fullmatch(name):
                marks.append(Sign(What.SKIP, f"@{name}", line_of(item)))
            elif name == "Test" and re.search(
                r"enabled\s*=\s*false|expected\s*=\s*(?:Throwable|Exception)\.class", text_of(item)
            ):
                marks.append(Sign(What.SKIP, normal(item)[:60], line_of(item)))
        return tuple(marks)

    def function_name(self, node: Node) -> str:
        """Methods and constructors; overloads by how many parameters they take."""
        if node.type not in {"method_declaration", "constructor_declaration"}:
            return ""
        parameters = node.child_by_field_name("parameters")
        types = (
            [normal(item.child_by_field_name("type")) for item in parameters.named_children]
            if parameters
            else []
        )
        return (
            f"{text_of(node.child_by_field_name('name'))}({', '.join(types)})"
            if types
            else text_of(node.child_by_field_name("name"))
        )

    def body(self, node: Node) -> list[Node] | None:
        """The statements; None for what is abstract."""
        block = node.child_by_field_name("body")
        return None if block is None else statements(block)

    def call(self, node: Node) -> Call | None:
        """Calls, and `new`."""
        if node.type == "method_invocation":
            arguments = node.child_by_field_name("arguments")
            return Call(
                chain(node), tuple((item,) for item in (arguments.named_children if arguments else [])), node
            )
        if node.type == "object_creation_expression":
            name = re.sub(r"<.*>", "", text_of(node.child_by_field_name("type"))).rsplit(".", 1)[-1]
            arguments = node.child_by_field_name("arguments")
            return Call(
                f"new {name}",
                tuple((item,) for item in (arguments.named_children if arguments else [])),
                node,
            )
        return None

    def assertion(self, call: Call, link: Link) -> Assertion | None:
        """Plain assertions by name, fluent ones at the end of their chain."""
        up = link.up
        if (
            up is not None
            and up.node.type == "method_invocation"
            and up.node.child_by_field_name("object") == link.node
        ):
            return None
        given = [item for group in call.arguments for item in group]
        if match := _FLUENT.fullmatch(call.chain):
            return fluent(call, given, match[1])
        if match := _ASSERT.fullmatch(call.chain):
            if match[1] == "assertThat":
                return hamcrest(call, given)
            return plain(call, given, match[1])
        if _WEB.fullmatch(call.chain):
            return bare(call, call.node, PARTIAL if call.last != "andExpect" else EXACT, placed(call.node))
        return None

    def table(self, unit: Node, extra: tuple[Node, ...]) -> list[Node]:
        """Annotations that give cases, and the exception that a `@Test` expects."""
        del extra
        return [
            item
            for item in _annotations(unit)
            if _SOURCES.fullmatch(text_of(item.child_by_field_name("name")).rsplit(".", 1)[-1])
        ]

    def more(self, node: Node, link: Link) -> Iterator[Sign]:
        """Broad handlers that drop errors, test detection, what takes hold of the runner."""
        kind, line = node.type, line_of(node)
        if kind == "catch_clause":
            yield from _caught(node, link)
        elif kind == "import_declaration":
            name = text_of(node)
            if re.search(r"\b(?:org\.junit|org\.testng|org\.mockito|junit\.framework|org\.assertj)\b", name):
                yield Sign(What.PROBE, f"`{name.strip(';')}`", line)
            elif re.search(r"java\.io\.ObjectInputStream|javax\.script\.|java\.beans\.XMLDecoder", name):
                yield Sign(What.DANGER, name.strip(";"), line)
        elif kind == "package_declaration" and re.search(
            r"package\s+(?:org\.junit|junit\.framework|org\.assertj|org\.hamcrest|org\.testng|org\.mockito)\b",
            text_of(node),
        ):
            yield Sign(
                What.TAMPER, f"`{text_of(node).strip(';')}` takes the place of the runner's own classes", line
            )
        elif kind == "method_invocation":
            text = text_of(node) if len(node.text or b"") < 2000 else ""
            if (
                re.search(
                    r"(?:contains|startsWith|endsWith|equals|matches|anyMatch)\($|(?:contains|startsWith|endsWith|equals|matches|anyMatch)$",
                    text_of(node.child_by_field_name("name")),
                )
                and _STACK.search(text)
                and re.search(r"(?i)\"[^\"]*(?:test|junit|surefire)[^\"]*\"", text)
            ):
                yield Sign(What.PROBE, "tests in the call stack or command line", line)
            elif re.match(r"System\.setProperty\(\s*\"(?:junit|surefire|java\.awt)", text):
                yield Sign(What.TAMPER, "a property of the runner is set", line)
        elif kind == "finally_clause":
            yield from leaves_finally(node, self.ends - {"throw_statement"})
        elif kind == "binary_expression":
            yield from hidden_in(node)
        elif kind in {"method_declaration"}:
            yield from _always_equal(node)


def chain(node: Node | None) -> str:
    """Return what is called as `a.b().c`."""
    parts: list[str] = []
    first = True
    while node is not None:
        if node.type == "method_invocation":
            parts.append("" if first else "()")
            parts.append("." + text_of(node.child_by_field_name("name")))
            node = node.child_by_field_name("object")
        elif node.type == "field_access":
            parts.append("." + text_of(node.child_by_field_name("field")))
            node = node.child_by_field_name("object")
        else:
            parts.append(
                text_of(node) if node.type in {"identifier", "this", "super", "scoped_identifier"} else "…"
            )
            break
        first = False
    return "".join(reversed(parts)).lstrip(".")


def _annotations(node: Node) -> list[Node]:
    modifiers = next((child for child in node.children if child.type == "modifiers"), None)
    found = modifiers.named_children if modifiers is not None else []
    return [item for item in found if item.type in {"annotation", "marker_annotation"}]


def _has_old_base(node: Node) -> bool:
    """Tell whether the class around a method may be a TestCase of JUnit 3."""
    up = node.parent
    while up is not None and up.type != "class_declaration":
        up = up.parent
    return up is not None and up.child_by_field_name("superclass") is not None


def _caught(node: Node, link: Link) -> Iterator[Sign]:
    parameter = next((child for child in node.named_children if child.type == "catch_formal_parameter"), None)
    kinds = (
        next((child for child in parameter.named_children if child.type == "catch_type"), None)
        if parameter
        else None
    )
    if kinds is None or not any(text_of(kind) in _BROAD for kind in kinds.named_children):
        return
    body = statements(node.child_by_field_name("body"))
    if not all(map(_is_idle, body)):
        return
    wrapped = link.up.node.child_by_field_name("body") if link.up is not None else None
    soft = any(map(_is_log, body))
    yield Sign(
        What.SOFT_SWALLOW if soft else What.SWALLOW,
        f"catch {text_of(kinds)} around {normal(wrapped)[:160]}",
        line_of(node),
    )


def _is_idle(node: Node) -> bool:
    if node.type in {"continue_statement", "break_statement"} or _is_log(node):
        return True
    inner = node.named_children[0] if node.named_children else None
    if node.type == "return_statement":
        return (
            inner is None
            or is_literal(inner)
            or re.fullmatch(
                r"(?:Optional\.empty|Collections\.empty\w+|List\.of|Map\.of|Set\.of)\(\)", text_of(inner)
            )
            is not None
        )
    if node.type == "expression_statement" and inner is not None and inner.type == "assignment_expression":
        value = inner.child_by_field_name("right")
        return value is not None and is_literal(value)
    return False


def _is_log(node: Node) -> bool:
    return (
        node.type == "expression_statement"
        and re.match(
            r"(?i)(?:this\.)?(?:log|logger|LOG|LOGGER|System\.(?:out|err))\.|\w+\.printStackTrace",
            text_of(node),
        )
        is not None
    )


def _always_equal(node: Node) -> Iterator[Sign]:
    body = statements(node.child_by_field_name("body"))
    name = text_of(node.child_by_field_name("name"))
    if name == "equals" and len(body) == 1 and normal(body[0]) == "return true":
        yield Sign(What.TAMPER, "`equals` says that any two objects are equal", line_of(node))
