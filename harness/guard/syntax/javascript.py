"""JavaScript and TypeScript: jest, vitest, mocha, jasmine, node:test, tape, ava, chai, should, playwright."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from harness.guard.syntax.dialect import Dialect, string_of, truth
from harness.guard.syntax.hidden import hidden_in
from harness.guard.syntax.javascript_asserts import assertion_of
from harness.guard.syntax.javascript_errors import (
    FUNCTIONS,
    caught,
    caught_promise,
    function_in,
    leaves_finally,
)
from harness.guard.syntax.javascript_probes import PROBING, probed
from harness.guard.syntax.javascript_signs import overridden, paired, shadows
from harness.guard.syntax.model import ALWAYS, Assertion, Call, Link, Sign, What
from harness.guard.syntax.nodes import (
    STRINGS,
    line_of,
    names,
    normal,
    statements,
    text_of,
    walk,
)
from harness.in_source.javascript import is_own_tests

_TESTS = re.compile(r"(?:[fx])?(?:it|test|specify)(?:\..*)?|Deno\.test|QUnit\.(?:test|only|skip|todo)")
_SUBTEST = re.compile(r"(?:t|st|tt|sst|assert|ctx)\.test(?:\.(?:skip|only|todo))?")
_SUBTESTS = re.compile(rb"\b(?:t|st|tt|sst|ctx)\.test(?:\.\w+)?\(")
_ENDS = re.compile(rb"\w+\.(?:end|plan)\(|(?:var|let|const|function)\b|\w+\.(?:before|after)")
_SUITES = re.compile(
    r"(?:[fx])?(?:describe|context|suite)(?:\..*)?|test\.describe(?:\..*)?|QUnit\.module(?:\..*)?"
)
_HOOKS = re.compile(
    r".*\b(?:before|after|beforeEach|afterEach|beforeAll|afterAll|setup|teardown|step|use|extend)"
)
_HELD = re.compile(rb"\b(?:it|test|specify|describe|suite)\s*[.(]")
_OFF = re.compile(
    r"x(?:it|test|specify|describe|context|suite)(?:\..*)?|.*\.(?:skip|todo|failing|fails|fixme|skipIf|runIf)(?:\..*|\(\).*)?"
)
_ALONE = re.compile(r"f(?:it|test|describe|context)(?:\..*)?|.*\.only(?:\..*|\(\).*)?")
_GLOBALS = re.compile(
    r"(?:global|globalThis|window|self)\.(?:it|test|describe|expect|assert|jest|vi|beforeEach)"
)
_RUNNER = re.compile(
    r"(?:module|Module|require\(\))\._(?:load|resolveFilename|extensions|compile)|Module\.prototype\.\w+"
    r"|require\.(?:cache|extensions)|(?:assert|expect|jest|vi|chai|sinon|describe|it|test|QUnit)\.[\w.]+"
    r"|require\(\)\.(?:equal|strictEqual|deepEqual|deepStrictEqual|ok|prototype\.\w+)"
    r"|(?:chai|Assertion)\.\w+\.prototype\.\w+|process\.(?:exit|exitCode|reallyExit|emit)"
)
_HARMLESS = re.compile(
    r"(?:module\.)?exports\..*|(?:assert|expect|test|it|describe)\.(?:timeout|config|name)"
)
_MOCKS = re.compile(
    r"(?:jest|vi|vitest)\.(?:mock|doMock|unstable_mockModule|setMock|replaceProperty)|mock\.module|proxyquire|td\.replace|mockery\.registerMock"
)
_SPIES = re.compile(
    r"(?:(?:jest|vi|vitest|sandbox|sinon)\.)(?:spyOn|stub|replace|fake)\(\)?.*|(?:jest|vi|sandbox|sinon)\.(?:spyOn|stub|replace)|mock\.method"
)
_PACKAGE_OF_TESTS = re.compile(r"@?(?:jest|vitest|mocha|chai|sinon|ava|tape|jasmine|node:test)(?:/.*)?")


class JavaScript(Dialect):
    """How tests and sources look in JavaScript, TypeScript and their dialects with markup."""

    opened = frozenset(
        {
            *("program", "export_statement", "lexical_declaration", "variable_declaration", "class_body"),
            *("class_declaration", "abstract_class_declaration", "class", "expression_statement"),
            *("internal_module", "module", "statement_block", "arguments", "parenthesized_expression"),
            *("else_clause", "await_expression", *FUNCTIONS),
        }
    )
    blocks = frozenset({"statement_block", "program", "switch_case", "switch_default"})
    ends = frozenset({"return_statement", "throw_statement", "break_statement", "continue_statement"})
    loops = frozenset({"for_statement", "for_in_statement", "while_statement", "do_statement"})
    branches = frozenset({"if_statement", "ternary_expression"})
    functions = FUNCTIONS | {"method_definition"}
    repeats = re.compile(r".*\.(?:each|forEach|map|for)(?:\(\))?|.*\.each\(\)")
    skips = re.compile(
        r"(?:this|\w*[tT]est|t|ctx|context|tt|st|info)\.(?:skip|todo|runOnly)"
        r"|test\.(?:skip|fixme|fail|slow)|pending|skip"
    )
    dangers = re.compile(
        r"eval|(?:window|globalThis|global)\.eval|(?:new )?Function|vm\.(?:run\w+|compileFunction|Script)"
        r"|new vm\.Script"
        r"|(?:child_process|cp|childProcess)\.(?:exec|execSync|spawn|spawnSync|fork|execFile|execFileSync)"
        r"|require\(\)\.(?:exec|execSync)|execSync|document\.write(?:ln)?|process\.(?:binding|dlopen)"
        r"|(?:v8|serialize|serializer)\.(?:deserialize|unserialize)|unserialize"
    )
    stops = re.compile(r"(?:browser|page|cy)\.(?:debug|pause)")
    prints = re.compile(r"console\.(?:log|debug|trace|dir|table)")
    exits = re.compile(r"process\.(?:exit|reallyExit|abort|kill)")
    telling = re.compile(
        r"JEST_WORKER_ID|VITEST(?:_\w+)?|MOCHA_\w+|NODE_TEST_CONTEXT|AVA_PATH|KARMA_\w+|CYPRESS\w*|PLAYWRIGHT_\w+|__coverage__"
    )
    matching = re.compile(
        r".*\.(?:includes|startsWith|endsWith|indexOf|match|test|get|has|replace|equals|is|localeCompare)"
    )

    def opens(self, node: Node, in_tests: bool) -> bool:
        """Containers, and in tests also what generates tests: conditions, loops, `forEach`, wrappers."""
        if node.type == "call_expression":
            chain = self.chain(node)
            if _SUITES.fullmatch(chain) or (_TESTS.fullmatch(chain) and _has_subtests(node)):
                return True
            held = in_tests and not _TESTS.fullmatch(chain) and not _HOOKS.fullmatch(chain)
            return held and function_in(node) is not None and _HELD.search(node.text or b"") is not None
        if is_own_tests(node):
            return True
        if node.type in {"if_statement", "for_in_statement", "for_statement"}:
            return in_tests and _HELD.search(node.text or b"") is not None
        return node.type in self.opened

    def owner(self, node: Node) -> str:
        """A suite's title, a class's or namespace's name."""
        if node.type == "call_expression" and (_SUITES.fullmatch(self.chain(node)) or _has_subtests(node)):
            first = _first_argument(node)
            return string_of(first) if first is not None else ""
        if node.type in {"class_declaration", "abstract_class_declaration", "internal_module", "module"}:
            return text_of(node.child_by_field_name("name"))
        return ""

    def begins_tests(self, node: Node, extra: tuple[Node, ...]) -> bool:
        """`if (import.meta.vitest) { … }`."""
        del extra
        return is_own_tests(node)

    def around(self, node: Node, extra: tuple[Node, ...]) -> tuple[Sign, ...]:
        """Suites that are skipped or run alone, and tests that are made only under a condition."""
        del extra
        if node.type == "call_expression":
            return self._marks(node)
        if node.type == "if_statement" and not is_own_tests(node):
            condition = node.child_by_field_name("condition")
            if truth(condition) is not True:
                return (Sign(What.SKIP, f"only if {normal(condition)[:60]}", line_of(node)),)
        return ()

    def test_name(self, node: Node, extra: tuple[Node, ...], path: str) -> str:
        """The title of `it(…)`, `test(…)` and their kin."""
        del extra, path
        if node.type != "call_expression":
            return ""
        chain = self.chain(node)
        first = _first_argument(node)
        if _has_subtests(node):
            return ""
        if (
            not (_TESTS.fullmatch(chain) or _SUBTEST.fullmatch(chain))
            or _HOOKS.fullmatch(chain)
            or _SUITES.fullmatch(chain)
            or first is None
        ):
            return ""
        has_body = function_in(node) is not None
        if first.type in STRINGS or first.type == "binary_expression":
            is_pending = _count(node) == 1 or _OFF.fullmatch(chain) is not None
            return string_of(first) if has_body or is_pending or first.next_named_sibling is not None else ""
        return text_of(first)[:80] if has_body else ""

    def test_marks(self, node: Node, extra: tuple[Node, ...]) -> tuple[Sign, ...]:
        """`.skip`, `.only`, `xit`, `fit`, `{skip: true}`, and a title without a test."""
        del extra
        if _count(node) == 1 and not _OFF.fullmatch(self.chain(node)) and function_in(node) is None:
            return (Sign(What.SKIP, "a title without a test", line_of(node)),)
        return self._marks(node)

    def _marks(self, node: Node) -> tuple[Sign, ...]:
        chain, line = self.chain(node), line_of(node)
        found = []
        if _OFF.fullmatch(chain):
            found.append(Sign(What.SKIP, chain, line))
        if _ALONE.fullmatch(chain):
            found.append(Sign(What.ONLY, chain, line))
        arguments = node.child_by_field_name("arguments")
        for argument in arguments.named_children if arguments is not None else ():
            if argument.type == "object":
                found += [_option(pair) for pair in argument.named_children if _is_option(pair)]
        return tuple(found)

    def function_name(self, node: Node) -> str:
        """Declarations, methods, and functions that are given to a name."""
        if node.type in {"function_declaration", "generator_function_declaration", "method_definition"}:
            return text_of(node.child_by_field_name("name"))
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if value is None or value.type not in FUNCTIONS:
            return ""
        if node.type in {"variable_declarator", "field_definition", "public_field_definition", "pair"}:
            return text_of(
                node.child_by_field_name("name")
                or node.child_by_field_name("property")
                or node.child_by_field_name("key")
            )
        return text_of(node.child_by_field_name("left")) if node.type == "assignment_expression" else ""

    def body(self, node: Node) -> list[Node] | None:
        """The statements, or the one expression of an arrow function."""
        value = node.child_by_field_name("value") or node.child_by_field_name("right") or node
        body = value.child_by_field_name("body")
        if body is None:
            return None
        return statements(body) if body.type == "statement_block" else [body]

    def chain(self, node: Node | None) -> str:
        """Return what is called, or read, as `a.b().c`."""
        parts: list[str] = []
        while node is not None:
            kind = node.type
            if kind == "call_expression":
                node = node.child_by_field_name("function")
                parts.append("()")
            elif kind == "member_expression":
                parts.append("." + text_of(node.child_by_field_name("property")))
                node = node.child_by_field_name("object")
            elif kind == "subscript_expression":
                index = node.child_by_field_name("index")
                parts.append("." + string_of(index) if index is not None and index.type == "string" else "[]")
                node = node.child_by_field_name("object")
            elif kind in {"await_expression", "parenthesized_expression", "non_null_expression"}:
                node = node.named_children[0] if node.named_children else None
            else:
                simple = kind in {"identifier", "this", "super", "import"}
                parts.append(text_of(node) if simple else "…")
                break
        text = "".join(reversed(parts))
        return text[:-2] if text.endswith("()") else text

    def call(self, node: Node) -> Call | None:
        """Calls, and `new`."""
        if node.type == "call_expression":
            arguments = node.child_by_field_name("arguments")
            given = (
                arguments.named_children if arguments is not None and arguments.type == "arguments" else []
            )
            return Call(self.chain(node), tuple((item,) for item in given), node)
        if node.type == "new_expression":
            name = self.chain(node.child_by_field_name("constructor"))
            arguments = node.child_by_field_name("arguments")
            return Call(
                f"new {name}",
                tuple((item,) for item in (arguments.named_children if arguments else [])),
                node,
            )
        if node.type == "member_expression":
            return Call(self.chain(node), (), node)
        return None

    def compared(self, node: Node) -> Iterator[Node]:
        """Comparisons, cases, and the keys of objects and maps."""
        if node.type == "pair" and node.children[0].type == "string":
            yield node.children[0]
        elif node.type == "new_expression" and re.fullmatch(
            r"Map|Set", text_of(node.child_by_field_name("constructor"))
        ):
            yield from (item for item in walk(node) if item.type == "string")
        else:
            yield from super().compared(node)

    def table(self, unit: Node, extra: tuple[Node, ...]) -> list[Node]:
        """The rows of `it.each(…)`."""
        del extra
        function = unit.child_by_field_name("function")
        is_table = function is not None and function.type == "call_expression"
        return [function] if function is not None and is_table else []

    def assertion(self, call: Call, link: Link) -> Assertion | None:
        """`expect(…)`, `assert…`, `t.…` and `should`."""
        return assertion_of(call, link, self)

    def imports(self, root: Node) -> dict[str, frozenset[str]]:
        """Names by the module that they come from, by `import` and by `require`."""
        found: dict[str, frozenset[str]] = {}
        for child in root.named_children:
            if child.type == "import_statement":
                clause = next((item for item in child.named_children if item.type == "import_clause"), None)
                source = child.child_by_field_name("source")
                if clause is not None and source is not None:
                    found[string_of(source)] = frozenset(names(clause))
            elif child.type in {"lexical_declaration", "variable_declaration"}:
                for item in child.named_children:
                    value = item.child_by_field_name("value")
                    call = self.call(value) if value is not None else None
                    if call is not None and call.chain == "require" and call.arguments:
                        bound = item.child_by_field_name("name")
                        found[string_of(call.arguments[0][0])] = frozenset(names(bound) if bound else ())
        return found

    def is_program(self, path: str) -> bool:
        """Commands and build scripts print."""
        return bool(re.search(r"(?:^|/)(?:bin|scripts?|cli|tools?|examples?|benchmarks?)(?:/|\.)", path))

    def signs(self, call: Call) -> Iterator[Sign]:
        """What a call's chain says; reading a member is no call of it."""
        if call.node.type == "member_expression":
            return
        yield from super().signs(call)
        if _SUBTEST.fullmatch(call.chain):
            yield from self._marks(call.node)
        line, first = line_of(call.node), call.arguments[0][0] if call.arguments else None
        if first is not None and _MOCKS.fullmatch(call.chain):
            yield Sign(What.FAKE, string_of(first), line)
        elif first is not None and _SPIES.match(call.chain) and len(call.arguments) > 1:
            yield Sign(What.FAKE, string_of(call.arguments[1][0]), line)
        elif call.chain in {"require", "import"} and first is not None:
            name = string_of(first).removeprefix("node:")
            if name in {"child_process", "vm"}:
                yield Sign(What.DANGER, name, line)
            elif _PACKAGE_OF_TESTS.fullmatch(string_of(first)):
                yield Sign(What.PROBE, f"`{string_of(first)}` is loaded", line)
        elif call.chain == "Object.defineProperty" and len(call.arguments) > 1:
            target = f"{normal(first)}.{string_of(call.arguments[1][0])}"
            if _GLOBALS.fullmatch(target) or _RUNNER.fullmatch(target):
                yield Sign(What.TAMPER, f"`{target}` is replaced", line)
        elif call.chain == "expect.extend" and first is not None:
            yield from overridden(first)

    def more(self, node: Node, link: Link) -> Iterator[Sign]:
        """Handlers that drop errors, assignments into the runner, probes of the environment."""
        kind, line = node.type, line_of(node)
        if kind == "catch_clause":
            yield from caught(node, link)
        elif kind == "call_expression" and self.chain(node).endswith(".catch"):
            yield from caught_promise(node)
        elif kind == "debugger_statement":
            yield Sign(What.STOP, "debugger", line)
        elif kind in {"assignment_expression", "augmented_assignment_expression"}:
            target = self.chain(node.child_by_field_name("left"))
            hit = _GLOBALS.fullmatch(target) or (
                _RUNNER.fullmatch(target.removesuffix("[]")) and not _HARMLESS.fullmatch(target)
            )
            if hit:
                yield Sign(What.TAMPER, f"`{target}` is replaced", line)
            elif target.endswith(("NODE_TLS_REJECT_UNAUTHORIZED", "dangerouslySetInnerHTML")):
                yield Sign(What.DANGER, target, line)
        elif kind == "import_statement":
            name = string_of(node.child_by_field_name("source") or node).removeprefix("node:")
            if name in {"child_process", "vm"}:
                yield Sign(What.DANGER, name, line)
            elif _PACKAGE_OF_TESTS.fullmatch(name):
                yield Sign(What.PROBE, f"`{name}` is loaded", line)
        elif kind == "pair":
            yield from paired(node)
        elif kind in {"variable_declarator", "function_declaration"}:
            yield from shadows(node)
        elif kind == "finally_clause":
            yield from leaves_finally(node, self.ends)
        elif kind == "shorthand_property_identifier_pattern" and self.telling.fullmatch(text_of(node)):
            yield Sign(What.PROBE, f"`{text_of(node)}`", line)
        elif kind == "jsx_attribute" and text_of(node).startswith("dangerouslySetInnerHTML"):
            yield Sign(What.DANGER, "dangerouslySetInnerHTML", line)
        elif kind == "template_string":
            yield from hidden_in(node)
        elif kind in PROBING:
            yield from probed(node, self)


def _has_subtests(node: Node) -> bool:
    """Tell whether a call of `test` has tests of its own in it, and nothing else that counts."""
    arguments = node.child_by_field_name("arguments")
    if arguments is None or _SUBTESTS.search(arguments.text or b"") is None:
        return False
    function = function_in(node)
    inside = statements(function.child_by_field_name("body")) if function is not None else []
    return bool(inside) and all(
        _SUBTESTS.match(item.text or b"") or _ENDS.match(item.text or b"") for item in inside
    )


def _first_argument(node: Node) -> Node | None:
    arguments = node.child_by_field_name("arguments")
    return arguments.named_children[0] if arguments is not None and arguments.named_children else None


def _count(node: Node) -> int:
    arguments = node.child_by_field_name("arguments")
    return len(arguments.named_children) if arguments is not None else 0


def _is_option(pair: Node) -> bool:
    key = string_of(pair.child_by_field_name("key") or pair)
    value = pair.child_by_field_name("value")
    return key in {"skip", "todo", "only", "fails"} and truth(value) is not False


def _option(pair: Node) -> Sign:
    key, value = string_of(pair.child_by_field_name("key") or pair), pair.child_by_field_name("value")
    when = ALWAYS if truth(value) is True else "on a condition"
    return Sign(What.ONLY if key == "only" else What.SKIP, f"{{{key}: …}} {when}", line_of(pair))
