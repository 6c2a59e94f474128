"""Go: the testing package, testify, check, quicktest and gomega."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from harness.guard.syntax.dialect import Dialect, string_of, truth
from harness.guard.syntax.hidden import hidden_in
from harness.guard.syntax.model import EXACT, NOTHING, PARTIAL, TRUTH, Assertion, Call, Link, Sign, What
from harness.guard.syntax.nodes import line_of, names, normal, placed, statements, text_of

_TEST = re.compile(r"(?:Test|Example|Fuzz|Benchmark)(?:[^a-z].*)?")
_FAILS = re.compile(r"(?:t|tb|b|f|T\(\)|s\.T\(\)|suite\.T\(\)|c)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)")
_CALLS = re.compile(
    r"(?:assert|require|is|r|a|must|should|s|suite|ts|check|qt|c|g|Ω|req|td)(?:\.(?:Require|Assert)\(\))?\.([A-Z]\w*)"
)
_HELPER = re.compile(r"(?i)(?:\w+\.)?\w*(?:assert|expect|check|must|require|verify|equal|compare)\w*")
_GOMEGA = re.compile(r"(?:\w+\.)?(?:Expect|Ω|Eventually|Consistently)\(\)\.(To|NotTo|ToNot|Should|ShouldNot)")
_EXACT = re.compile(
    r"Equal\w*|Exactly|JSONEq|YAMLEq|ElementsMatch|Len|Nil|NoError\w*|ErrorIs|ErrorAs|EqualError\w*|Zero|Empty|Same"
    r"|DeepEquals|Equals|PanicsWithValue\w*|PanicsWithError\w*|False|CmpDeeply|CmpEquals|Cmp|Is\w*"
)
_TRUTH = re.compile(r"NotNil\w*|True|NotEmpty|NotZero|Error|Errorf|Panics|Truef?|Condition")
_NOT = re.compile(r"Not\w+|No[A-Z]\w+|ShouldNot|ToNot|False|Nil|Empty|Zero")


class Go(Dialect):
    """How tests and sources look in Go."""

    opened = frozenset({"source_file", "import_declaration", "import_spec_list"})
    blocks = frozenset({"statement_list", "block", "expression_case", "default_case"})
    ends = frozenset({"return_statement", "break_statement", "continue_statement", "goto_statement"})
    loops = frozenset({"for_statement"})
    branches = frozenset({"if_statement"})
    functions = frozenset({"function_declaration", "method_declaration", "func_literal"})
    skips = re.compile(
        r"(?:t|b|tb|f|c|s\.T\(\)|suite\.T\(\)|T\(\)|GinkgoT\(\))\.(?:Skip|Skipf|SkipNow)|Skip|(?:s|suite)\.(?:Skip|SkipNow)|P(?:It|Describe|Context|Entry)|X(?:It|Describe|Context)"
    )
    dangers = re.compile(
        r"exec\.Command(?:Context)?|syscall\.(?:Exec|ForkExec|StartProcess)|plugin\.Open|unsafe\.Pointer|os\.StartProcess"
        r"|template\.(?:HTML|JS|URL|HTMLAttr)"
    )
    stops = re.compile(r"runtime\.Breakpoint")
    prints = re.compile(
        r"fmt\.Print(?:ln|f)?|println|print|spew\.Dump|(?:repr|litter|pp)\.Print(?:ln)?|debug\.PrintStack"
    )
    probes = re.compile(r"testing\.(?:Testing|Short|Verbose|CoverMode|Init)|flag\.Lookup")
    exits = re.compile(r"os\.Exit|syscall\.Exit|runtime\.Goexit|log\.Fatal\w*")
    telling = re.compile(
        r"-?test\.\w*|_test\.go|\.test(?:\.exe)?|GO_TEST\w*|/_test/|testing\.tRunner|GOTEST\w*"
    )
    matching = re.compile(
        r"strings\.(?:Contains|HasPrefix|HasSuffix|EqualFold|Index|Replace|ReplaceAll|Count|Trim\w*)|bytes\.(?:Equal|Contains)|regexp\.\w+"
    )

    def test_name(self, node: Node, extra: tuple[Node, ...], path: str) -> str:
        """`func TestX`, also as a method of a suite."""
        del extra
        if node.type not in {"function_declaration", "method_declaration"} or not path.endswith("_test.go"):
            return ""
        name = text_of(node.child_by_field_name("name"))
        parameters = node.child_by_field_name("parameters")
        if not _TEST.fullmatch(name) or name == "TestMain":
            return ""
        if (
            name.startswith(("Test", "Fuzz", "Benchmark"))
            and node.type == "function_declaration"
            and (parameters is None or not parameters.named_children)
        ):
            return ""
        return name

    def function_name(self, node: Node) -> str:
        """Functions and methods, the latter with their receiver's type."""
        name = text_of(node.child_by_field_name("name"))
        if node.type == "function_declaration":
            return name
        if node.type != "method_declaration":
            return ""
        receiver = text_of(node.child_by_field_name("receiver")).strip("()").split(" ")[-1].lstrip("*")
        return f"{receiver}.{name}"

    def of_file(self, root: Node) -> tuple[Sign, ...]:
        """Build constraints: comments with a meaning before the package clause."""
        found = []
        for child in root.children:
            if child.type == "package_clause":
                break
            text = text_of(child).strip()
            if child.type == "comment" and re.match(r"//go:build\s|//\s*\+build\s", text):
                found.append(Sign(What.SKIP, text[:80], line_of(child)))
        return tuple(found)

    def body(self, node: Node) -> list[Node] | None:
        """The statements; None for what is written in assembly."""
        block = node.child_by_field_name("body")
        return None if block is None else statements(block)

    def call(self, node: Node) -> Call | None:
        """Calls and conversions."""
        if node.type != "call_expression":
            return None
        arguments = node.child_by_field_name("arguments")
        given = arguments.named_children if arguments is not None else []
        return Call(chain(node.child_by_field_name("function")), tuple((item,) for item in given), node)

    def assertion(self, call: Call, link: Link) -> Assertion | None:
        """`t.Error…` by the conditions above it, testify and its kin by their arguments."""
        if _FAILS.fullmatch(call.chain):
            return _guarded(call, link)
        given = [item for group in call.arguments for item in group]
        if match := _GOMEGA.fullmatch(call.chain):
            return _gomega(call, given, match[1])
        if re.fullmatch(r"\w+\.Run", call.chain) and len(given) == 2 and given[1].type == "func_literal":
            title = normal(given[0])
            return Assertion(f"Run {title}", title, EXACT, line_of(call.node), tuple(placed(given[0])))
        match = _CALLS.fullmatch(call.chain)
        if match is None or match[1] in {"New", "Run", "T", "Helper", "Cleanup", "Log", "Logf", "Parallel"}:
            is_helper = (
                _HELPER.fullmatch(call.chain)
                and given
                and text_of(given[0]) in {"t", "tb", "c", "assert", "require"}
            )
            return _called(call, given[1:], "Equal") if is_helper else None
        if given and text_of(given[0]) in {"t", "tb", "b", "s.T()", "suite.T()", "c"}:
            given = given[1:]
        return _called(call, given, match[1])

    def guards(self, assertion: Assertion, link: Link) -> tuple[str, ...]:
        """The innermost condition around `t.Error` is what is asserted."""
        return link.guards[:-1] if assertion.dump.startswith("fail if") else link.guards

    def signs(self, call: Call) -> Iterator[Sign]:
        """Words by chain; a string that `flag.Lookup` is given decides what that means."""
        given = [item for group in call.arguments for item in group]
        if call.chain == "flag.Lookup":
            if given and string_of(given[0]).startswith("test."):
                yield Sign(What.PROBE, "`flag.Lookup` of the test flags", line_of(call.node))
            return
        if call.chain in {"print", "println"} and not given:
            return
        yield from super().signs(call)
        if call.chain == "flag.Set" and given and string_of(given[0]).startswith("test."):
            yield Sign(What.TAMPER, f"the test flag {text_of(given[0])} is set", line_of(call.node))
        if call.chain in {"os.Setenv"} and given and string_of(given[0]) in {"GOFLAGS", "GO111MODULE"}:
            yield Sign(What.TAMPER, f"{text_of(given[0])} is set", line_of(call.node))

    def more(self, node: Node, link: Link) -> Iterator[Sign]:
        """Errors that are thrown away, panics that are swallowed, imports, `InsecureSkipVerify`."""
        kind, line = node.type, line_of(node)
        if kind == "import_spec":
            name = string_of(node.child_by_field_name("path") or node)
            if name in {"os/exec", "unsafe", "plugin"}:
                yield Sign(What.DANGER, f"import {name}", line)
            elif name in {"testing", "testing/quick"} or name.startswith("github.com/stretchr/testify"):
                yield Sign(What.PROBE, f"`{name}` is imported", line)
        elif kind == "defer_statement" and _recovers(node):
            yield Sign(What.SWALLOW, "recover() and nothing else", line)
        elif kind == "if_statement":
            yield from _dropped(node)
        elif kind == "assignment_statement":
            yield from _assigned(node, link)
        elif kind == "short_var_declaration" and text_of(node.child_by_field_name("left")) in {
            "t",
            "tb",
            "assert",
        }:
            if not names(node.child_by_field_name("right") or node) & {"t", "tb", "assert"}:
                yield Sign(What.SHADOW, f"`{text_of(node)[:40]}` takes the runner's place", line)
        elif kind == "keyed_element" and re.fullmatch(r"InsecureSkipVerify:\s*true", text_of(node)):
            yield Sign(What.DANGER, "InsecureSkipVerify: true", line)
        elif kind == "binary_expression":
            yield from hidden_in(node)
        elif kind == "method_declaration":
            yield from _always_equal(node)

    def table(self, unit: Node, extra: tuple[Node, ...]) -> list[Node]:
        """Rows stand in the body, and are found there by the loop over them; `// Output:` counts as well."""
        del extra
        return [unit] if text_of(unit.child_by_field_name("name")).startswith("Example") else []

    def imports(self, root: Node) -> dict[str, frozenset[str]]:
        """Nothing is replaced by its import path in Go."""
        del root
        return {}

    def compared(self, node: Node) -> Iterator[Node]:
        """Comparisons, cases, and the keys of maps."""
        if node.type == "keyed_element" and node.named_children:
            yield from node.named_children[0].named_children
        else:
            yield from super().compared(node)

    def is_program(self, path: str) -> bool:
        """Commands print."""
        return path.endswith("main.go") or "/cmd/" in f"/{path}"


def chain(node: Node | None) -> str:
    """Return what is called as `a.b().c`."""
    parts: list[str] = []
    while node is not None:
        if node.type == "selector_expression":
            parts.append("." + text_of(node.child_by_field_name("field")))
            node = node.child_by_field_name("operand")
        elif node.type == "call_expression":
            parts.append("()")
            node = node.child_by_field_name("function")
        elif node.type == "parenthesized_expression" and node.named_children:
            node = node.named_children[0]
        else:
            parts.append(text_of(node) if node.type in {"identifier", "package_identifier"} else "…")
            break
    return "".join(reversed(parts))


def _guarded(call: Call, link: Link) -> Assertion:
    """Read `if got != want { t.Errorf(…) }`: what it asks is in the conditions."""
    conditions: list[Node] = []
    up = link.up
    while up is not None and up.node.type not in {
        "func_literal",
        "function_declaration",
        "method_declaration",
    }:
        if up.node.type == "if_statement":
            found = up.node.child_by_field_name("condition")
            first = up.node.child_by_field_name("initializer")
            conditions += [item for item in (first, found) if item is not None]
        elif up.node.type in {"expression_case", "type_case"}:
            conditions += up.node.children_by_field_name("value")
        up = up.up
    innermost = next((item for item in conditions if item.type not in {"short_var_declaration"}), None)
    values = [item for node in conditions for item in placed(node)]
    used = {name for node in conditions for name in names(node)}
    text = " ; ".join(normal(node) for node in conditions)
    return Assertion(
        dump=f"fail if {text}",
        subject=normal(innermost.children[0]) if innermost is not None and innermost.children else text,
        strictness=_of_condition(innermost),
        line=line_of(call.node),
        literals=tuple(values),
        names=frozenset(used),
        empty=truth(innermost) is False,
        negated=innermost is not None
        and any(child.type == "==" for child in innermost.children)
        and text_of(innermost.children[-1]) != "nil",
    )


def _of_condition(node: Node | None) -> int:
    """A failure without a condition, as after a loop or in a `default`, is as strict as what led to it."""
    if node is None:
        return EXACT
    if node.type == "unary_expression":
        return PARTIAL
    if node.type != "binary_expression" or len(node.children) < 3:
        return PARTIAL
    operator = node.children[1].type
    if operator == "&&":
        return min(_of_condition(node.children[0]), _of_condition(node.children[2]))
    if operator == "||":
        return max(_of_condition(node.children[0]), _of_condition(node.children[2]))
    if operator == "!=":
        return EXACT
    is_nothing = text_of(node.children[2]) in {"nil", '""', "0"}
    return (TRUTH if is_nothing else PARTIAL) if operator == "==" else PARTIAL


def _called(call: Call, given: list[Node], name: str) -> Assertion:
    strictness = EXACT if _EXACT.fullmatch(name) else TRUTH if _TRUTH.fullmatch(name) else PARTIAL
    wanted = 1 if re.match(r"(?:Not)?(?:Nil|True|False|Empty|Zero|Error$|NoError|Panics$)", name) else 2
    shown = given[:3] if name in {"InDelta", "InEpsilon", "WithinDuration"} else given[:wanted]
    subject = given[-1] if len(given) == 2 and name.startswith("Equal") else given[0] if given else None
    empty = False
    if wanted == 1 and given:
        value = truth(given[0])
        empty = value is not None and value is (name not in {"False", "Nil", "Empty", "Zero"})
        if name in {"True", "False"} and given[0].type == "binary_expression":
            strictness = EXACT if given[0].children[1].type == "==" else PARTIAL
    elif len(given) >= 2 and name.startswith(("Equal", "Exactly", "Same")):
        empty = normal(given[0]) == normal(given[1])
    values = [item for node in shown for item in placed(node)]
    if name in {"ErrorIs", "ErrorAs", "IsType"}:
        values += [(text_of(node), node.start_byte) for node in shown[1:]]
    tolerance = None
    if name in {"InDelta", "InEpsilon"} and len(given) > 2:
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
        negated=bool(_NOT.fullmatch(name)),
        empty=empty,
        tolerance=tolerance,
    )


def _gomega(call: Call, given: list[Node], word: str) -> Assertion:
    matcher = given[0] if given else None
    name = (
        chain(matcher.child_by_field_name("function")).rsplit(".", 1)[-1]
        if matcher is not None and matcher.type == "call_expression"
        else ""
    )
    inner = call.node.child_by_field_name("function")
    inner = inner.child_by_field_name("operand") if inner is not None else None
    strict = re.fullmatch(
        r"Equal|BeEquivalentTo|BeTrue|BeFalse|BeNil|BeEmpty|HaveLen|ConsistOf|MatchError|Succeed|BeZero|Panic\w*|HaveOccurred",
        name,
    )
    negated = word in {"NotTo", "ToNot", "ShouldNot"}
    return Assertion(
        dump=normal(call.node),
        subject=normal(inner),
        strictness=NOTHING if matcher is None else EXACT if strict else PARTIAL,
        line=line_of(call.node),
        literals=tuple(placed(call.node)),
        names=frozenset(names(call.node)),
        negated=negated,
    )


def _recovers(node: Node) -> bool:
    """Tell whether a deferred function recovers, and does nothing with what it got."""
    literal = next((child for child in node.named_children if child.type == "call_expression"), None)
    function = literal.child_by_field_name("function") if literal is not None else None
    if function is None or function.type != "func_literal":
        return text_of(literal) == "recover()" if literal is not None else False
    inside = statements(function.child_by_field_name("body"))
    text = " ".join(normal(item) for item in inside)
    if "recover" not in text or len(inside) > 1:
        return False
    if inside and inside[0].type == "if_statement":
        return not statements(inside[0].child_by_field_name("consequence"))
    return True


def _dropped(node: Node) -> Iterator[Sign]:
    """Object to `if err != nil {}` and to answering an error with nothing at all."""
    condition = node.child_by_field_name("condition")
    match = re.fullmatch(r"(\w*[eE]rr\w*) != nil", normal(condition))
    if match is None:
        return
    inside = statements(node.child_by_field_name("consequence"))
    if any(match[1] in names(item) for item in inside):
        return
    if not inside:
        yield Sign(What.SWALLOW, f"if {match[1]} != nil {{}}", line_of(node))
    elif len(inside) == 1 and inside[0].type == "return_statement":
        values = normal(inside[0]).split()[1:]
        if not values or values[-1] == "nil":
            yield Sign(What.SWALLOW, f"{normal(node)[:160]}", line_of(node))


def _assigned(node: Node, link: Link) -> Iterator[Sign]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    targets = [text_of(item) for item in left.named_children] if left is not None else []
    if targets and all(item == "_" for item in targets) and right is not None:
        if any(item.type == "call_expression" for item in right.named_children):
            yield Sign(What.SWALLOW, f"_ = {normal(right)[:120]}", line_of(node))
    elif targets in (["err"], ["e"]) and normal(right) == "nil":
        yield Sign(What.SWALLOW, "err = nil", line_of(node))
    target = text_of(left)
    if re.fullmatch(r"os\.(?:Exit|Args)|(?:testing|assert|require)\.\w+|flag\.CommandLine", target):
        yield Sign(What.TAMPER, f"`{target}` is replaced", line_of(node))


def _always_equal(node: Node) -> Iterator[Sign]:
    """Object to an `Equal` that says yes to anything."""
    name = text_of(node.child_by_field_name("name"))
    inside = statements(node.child_by_field_name("body"))
    if name in {"Equal", "Equals", "Is"} and len(inside) == 1 and normal(inside[0]) == "return true":
        yield Sign(What.TAMPER, f"`{name}` says that any two values are equal", line_of(node))
