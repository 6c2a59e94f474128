"""Ruby: RSpec, minitest in both styles, test-unit, and Rails' `test "…" do`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tree_sitter import Node

from harness.guard.syntax.dialect import Dialect, string_of, truth
from harness.guard.syntax.hidden import hidden_in
from harness.guard.syntax.model import Assertion, Call, Link, Sign, What
from harness.guard.syntax.nodes import (
    STRINGS,
    is_literal,
    line_of,
    normal,
    statements,
    text_of,
)
from harness.guard.syntax.ruby_asserts import arguments, block, chain, expected, plain

_TESTS = re.compile(r"[fx]?(?:it|specify|example|scenario|test|should|its|they)|pending|skip")
_SUITES = re.compile(
    r"(?:RSpec\.)?[fx]?(?:describe|context|feature|shared_examples(?:_for)?|shared_context|example_group)"
)
_OFF = re.compile(r"(?:RSpec\.)?x(?:it|describe|context|specify|example|scenario|feature)|pending|skip")
_ALONE = re.compile(r"(?:RSpec\.)?f(?:it|describe|context|specify|example|scenario|feature)|focus")
_HELD = re.compile(rb"\b(?:it|test|specify|describe|def test_\w+)\b")
_HOOKS = re.compile(r"(?:before|after|around|let!?|subject!?|setup|teardown|define_method|included)")
_ASSERT = re.compile(r"(?:assert|refute|flunk|must|wont)\w*")
_RUNNER = re.compile(r"(?:Minitest|MiniTest|RSpec|Test|ActiveSupport)(?:::\w+)*")


class Ruby(Dialect):
    """How tests and sources look in Ruby."""

    opened = frozenset(
        {
            *(
                "program",
                "module",
                "class",
                "singleton_class",
                "body_statement",
                "do_block",
                "block",
                "block_body",
            ),
            *("then", "else", "elsif"),
        }
    )
    blocks = frozenset({"body_statement", "block_body", "then", "program", "else"})
    ends = frozenset({"return", "next", "break"})
    loops = frozenset({"for", "while", "until"})
    branches = frozenset({"if", "elsif", "if_modifier", "conditional", "unless", "unless_modifier"})
    functions = frozenset({"method", "singleton_method", "lambda", "do_block", "block"})
    later_hides = True
    repeats = re.compile(r".*\.(?:each\w*|map|times)")
    skips = re.compile(r"skip(?:_\w+)?|pending|omit(?:_\w+)?|pend")
    dangers = re.compile(
        r"(?:Kernel\.)?(?:eval|system|exec|spawn|`)|.*\.(?:instance_eval|class_eval|module_eval|constantize)|binding\.eval"
        r"|Marshal\.(?:load|restore)|(?:YAML|Psych)\.(?:load|unsafe_load|load_stream|unsafe_load_file)|IO\.popen|Open3\.\w+"
        r"|Oj\.load|Process\.spawn|PTY\.spawn"
    )
    stops = re.compile(
        r"binding\.(?:pry|irb|b|break|remote_pry|console)|byebug|debugger|Pry\.start|remote_byebug"
    )
    prints = re.compile(r"puts|p|pp|ap|print|\$stdout\.puts|warn")
    probes = re.compile(r"Rails\.env\.test\?|.*\.running_tests\?")
    exits = re.compile(r"exit!?|abort|Process\.exit!?|Kernel\.exit!?|at_exit|Minitest\.after_run")
    telling = re.compile(
        r"rspec|minitest|RSPEC\w*|MINITEST\w*|TEST_ENV_NUMBER|SPEC_OPTS|TESTOPTS|_spec\.rb|_test\.rb"
    )
    matching = re.compile(
        r".*\.(?:include\?|start_with\?|end_with\?|match\??|eql\?|equal\?|casecmp\??|sub!?|gsub!?|key\?|fetch|index|=~)"
    )

    def opens(self, node: Node, in_tests: bool) -> bool:
        """Containers; in tests also conditions and calls around tests."""
        if node.type == "call":
            if block(node) is None:
                return False
            name = chain(node)
            if _SUITES.fullmatch(name) or name in {"Class.new", "Struct.new", "Module.new"}:
                return True
            return in_tests and not _HOOKS.fullmatch(name) and _HELD.search(node.text or b"") is not None
        if node.type in {"if", "unless", "if_modifier", "unless_modifier", "begin"}:
            return in_tests and _HELD.search(node.text or b"") is not None
        return node.type in self.opened

    def owner(self, node: Node) -> str:
        """A group's description, a class's or module's name."""
        if node.type == "call" and _SUITES.fullmatch(chain(node)):
            given = arguments(node)
            return string_of(given[0]) if given else ""
        return text_of(node.child_by_field_name("name")) if node.type in {"class", "module"} else ""

    def around(self, node: Node, extra: tuple[Node, ...]) -> tuple[Sign, ...]:
        """Groups that are skipped or run alone, tests that are there only under a condition."""
        del extra
        if node.type == "call":
            return _marks(node)
        if node.type in {"if", "unless", "if_modifier", "unless_modifier"}:
            condition = node.child_by_field_name("condition")
            if truth(condition) is not (node.type in {"if", "if_modifier"}):
                return (
                    Sign(What.SKIP, f"{node.type.split('_')[0]} {normal(condition)[:60]}", line_of(node)),
                )
        return ()

    def of_file(self, root: Node) -> tuple[Sign, ...]:
        """`__END__`, after which nothing is read."""
        return tuple(
            Sign(What.SKIP, "__END__", line_of(child))
            for child in root.children
            if child.type == "uninterpreted"
        )

    def test_name(self, node: Node, extra: tuple[Node, ...], path: str) -> str:
        """`it "…" do`, `test "…" do`, `def test_…`."""
        del extra
        if node.type == "method":
            name = text_of(node.child_by_field_name("name"))
            return (
                name
                if name.startswith("test_")
                and re.search(r"(?:_test|test_\w+|-test|_spec)\.rb$|(?:^|/)(?:tests?|spec|__tests__)/", path)
                else ""
            )
        if node.type != "call" or not _TESTS.fullmatch(chain(node)):
            return ""
        given, has_block = arguments(node), block(node) is not None
        if not re.search(r"(?:^|/)(?:tests?|spec|specs|features)/|_(?:spec|test)\.rb$", path):
            return ""
        if given and given[0].type in STRINGS and (has_block or not _is_called_in_test(node)):
            return string_of(given[0])
        return normal(block(node))[:120] if has_block else ""

    def test_marks(self, node: Node, extra: tuple[Node, ...]) -> tuple[Sign, ...]:
        """`xit`, `fit`, `:skip`, `focus: true`, and a description without a block."""
        del extra
        if node.type != "call":
            return ()
        marks = _marks(node)
        if not marks and block(node) is None:
            return (Sign(What.SKIP, "a description without an example", line_of(node)),)
        return marks

    def function_name(self, node: Node) -> str:
        """Methods; those of the class itself with `self.`."""
        if node.type == "singleton_method":
            return f"self.{text_of(node.child_by_field_name('name'))}"
        return text_of(node.child_by_field_name("name")) if node.type == "method" else ""

    def body(self, node: Node) -> list[Node] | None:
        """The statements, or the expression of an endless method."""
        block = node.child_by_field_name("body")
        if block is None:
            return []
        return statements(block) if block.type == "body_statement" else [block]

    def call(self, node: Node) -> Call | None:
        """Calls with arguments or a receiver, and bare names that may be calls."""
        if node.type == "call":
            return Call(chain(node), tuple((item,) for item in arguments(node)), node)
        if node.type == "subshell":
            return Call("`", (), node)
        if node.type == "identifier":
            return Call(text_of(node), (), node)
        return None

    def assertion(self, call: Call, link: Link) -> Assertion | None:
        """`assert…`, `expect(…).to …`, `must_…`, `should`."""
        up = link.up
        if up is not None and up.node.type == "call" and up.node.child_by_field_name("receiver") == link.node:
            return None
        given = [item for group in call.arguments for item in group]
        if re.fullmatch(
            r"(?:expect|is_expected|expect_\w+)(?:\(\))?\.(?:to|not_to|to_not|to_eventually)", call.chain
        ) or call.chain.endswith((".should", ".should_not")):
            return expected(call, given)
        if call.node.type == "identifier" and not (up and up.node.type in self.blocks):
            return None
        if _ASSERT.fullmatch(call.last) and (
            call.chain == call.last or call.last.startswith(("must_", "wont_"))
        ):
            return plain(call, given)
        return None

    def signs(self, call: Call) -> Iterator[Sign]:
        """Words by chain; safe loading and evaluating of blocks are no danger."""
        node, given = call.node, call.arguments
        if node.type == "identifier":
            if self.stops.fullmatch(call.chain):
                yield Sign(What.STOP, call.chain, line_of(node))
            elif call.chain in {"skip", "pending", "omit"}:
                yield Sign(What.SKIP, call.chain, line_of(node))
            return
        if (
            (call.chain.endswith("_eval") and block(node) is not None)
            or (call.chain in {"p", "puts", "print", "pp", "warn"} and not given)
            or (call.chain == "system" and not given)
        ):
            pass
        else:
            yield from super().signs(call)
        first = given[0][0] if given else None
        if call.last in {"send", "public_send", "__send__", "method"} and first is not None:
            sent = string_of(first).lstrip(":")
            if sent in {"eval", "system", "exec", "instance_eval", "class_eval", "spawn", "`"}:
                yield Sign(What.DANGER, f"{call.last} :{sent}", line_of(node))
        if (
            re.fullmatch(r"(?:allow|expect)(?:_any_instance_of)?\(\)\.to", call.chain)
            and first is not None
            and text_of(first).startswith("receive(")
        ):
            inner = node.child_by_field_name("receiver")
            if inner is not None and "and_return" in text_of(first) and call.chain.startswith("allow"):
                yield Sign(
                    What.FAKE, (text_of(first).split("(", 1)[1].split(")")[0]).lstrip(":"), line_of(node)
                )
        elif call.last in {"stub", "stubs", "any_instance"} and first is not None:
            yield Sign(What.FAKE, string_of(first).lstrip(":"), line_of(node))
        elif call.last in {
            "class_eval",
            "prepend",
            "include",
            "send",
            "define_method",
            "remove_method",
            "undef_method",
        }:
            receiver = text_of(node.child_by_field_name("receiver"))
            if _RUNNER.match(receiver) and re.search(
                r"(?:Assertions|Test|Matchers|Core|Expectations|Runnable|Example)", receiver
            ):
                yield Sign(What.TAMPER, f"`{receiver}` is changed", line_of(node))
        elif (
            call.chain == "require"
            and first is not None
            and re.match(r"rspec|minitest|test/unit|mocha", string_of(first))
        ):
            yield Sign(What.PROBE, f"`{string_of(first)}` is required", line_of(node))

    def more(self, node: Node, link: Link) -> Iterator[Sign]:
        """Broad rescues, probes for the runner, the runner's own classes opened anew."""
        kind, line = node.type, line_of(node)
        if kind == "rescue":
            yield from _rescued(node, link)
        elif kind == "ensure" and any(item.type == "return" for item in node.named_children):
            yield Sign(What.SWALLOW, f"ensure {normal(node)[:100]}", line)
        elif kind == "rescue_modifier":
            handler = node.child_by_field_name("handler")
            if handler is not None and is_literal(handler):
                yield Sign(What.SWALLOW, normal(node)[:160], line)
        elif kind in {"class", "module"}:
            name = text_of(node.child_by_field_name("name"))
            if re.fullmatch(r"(?:Minitest|MiniTest|RSpec|Test::Unit)(?:::\w+)*", name):
                yield Sign(What.TAMPER, f"`{name}` is opened anew", line)
        elif (
            kind == "unary"
            and text_of(node).startswith("defined?")
            and re.search(r"RSpec|Minitest|MiniTest|Test::Unit|Cucumber", text_of(node))
        ):
            yield Sign(What.PROBE, f"`{text_of(node)[:60]}`", line)
        elif kind == "binary":
            yield from hidden_in(node)
            yield from _compared(node)
        elif kind == "call":
            text = text_of(node) if len(node.text or b"") < 600 else ""
            if re.match(r"caller(?:_locations)?\b|Thread\.current\.backtrace", text) and re.search(
                r"spec|test", text
            ):
                yield Sign(What.PROBE, "tests in the call stack", line)
            elif re.match(r"Object\.const_defined\?\W+(?:RSpec|Minitest)", text):
                yield Sign(What.PROBE, f"`{text[:60]}`", line)
            elif re.search(r"\$(?:0|PROGRAM_NAME)\b", text) and re.search(r"rspec|minitest|test", text):
                yield Sign(What.PROBE, "tests in the command line", line)
        elif kind == "method":
            yield from _methods(node)

    def compared(self, node: Node) -> Iterator[Node]:
        """Comparisons, patterns, and the values of a `when`."""
        if (
            node.type == "binary"
            and any(child.type in {"==", "!=", "===", "=~", "eql?"} for child in node.children)
        ) or node.type in {"pattern", "in_clause"}:
            yield from node.named_children
        elif node.type == "pair" and node.children and node.children[0].type in STRINGS:
            yield node.children[0]

    def is_program(self, path: str) -> bool:
        """Commands and tasks print."""
        return bool(re.search(r"(?:^|/)(?:bin|exe|scripts?|tasks)/|\.rake$|Rakefile$", path))


def _is_called_in_test(node: Node) -> bool:
    """Tell `skip "reason"` inside an example from `it "description"` outside."""
    return text_of(node.child_by_field_name("method")) in {"skip", "pending"}


def _marks(node: Node) -> tuple[Sign, ...]:
    name, line, found = chain(node), line_of(node), []
    if _OFF.fullmatch(name):
        found.append(Sign(What.SKIP, name, line))
    if _ALONE.fullmatch(name):
        found.append(Sign(What.ONLY, name, line))
    for item in arguments(node):
        text = text_of(item)
        if item.type == "pair" and truth(item.child_by_field_name("value")) is False:
            continue
        key = re.match(r":?(skip|pending|focus|only|if|unless)\b", text)
        if item.type in {"simple_symbol", "pair"} and key is not None:
            what = What.ONLY if key[1] in {"focus", "only"} else What.SKIP
            found.append(Sign(what, text[:60], line))
    return tuple(found)


def _rescued(node: Node, link: Link) -> Iterator[Sign]:
    kinds = node.child_by_field_name("exceptions")
    found = {text_of(kind) for kind in kinds.named_children} if kinds is not None else {"StandardError"}
    if not found & {"StandardError", "Exception", "Object", "Minitest::Assertion", "ScriptError"}:
        return
    body = statements(node.child_by_field_name("body"))
    logs = [
        item
        for item in body
        if re.match(r"(?:logger|Rails\.logger|log|warn|puts|p|@logger)\b", text_of(item))
    ]
    rest = [item for item in body if item not in logs]
    if all(_is_idle(item) for item in rest):
        around = link.up.node if link.up is not None else node
        before = [item for item in around.named_children if item.type not in {"rescue", "ensure", "else"}]
        text = " ".join(normal(item) for item in before)[:160]
        yield Sign(What.SOFT_SWALLOW if logs else What.SWALLOW, f"rescue around {text}", line_of(node))


def _is_idle(node: Node) -> bool:
    if is_literal(node) or node.type in {"next", "retry", "break"}:
        return True
    if node.type in {"array", "hash"}:
        return not node.named_children
    if node.type == "return":
        return all(is_literal(item) for child in node.named_children for item in child.named_children)
    return node.type == "assignment" and is_literal(node.children[-1])


def _compared(node: Node) -> Iterator[Sign]:
    text = text_of(node) if len(node.text or b"") < 400 else ""
    if re.search(
        r"ENV\W.{0,30}(?:RAILS_ENV|RACK_ENV|APP_ENV)|Rails\.env|\$(?:0|PROGRAM_NAME)\b|caller", text
    ) and re.search(r"['\":/](?:test|.*rspec|.*minitest|.*_spec|.*_test)", text):
        yield Sign(What.PROBE, "the environment of tests", line_of(node))


def _methods(node: Node) -> Iterator[Sign]:
    name = text_of(node.child_by_field_name("name"))
    body = statements(node.child_by_field_name("body"))
    if name in {"==", "eql?", "equal?"} and len(body) == 1 and normal(body[0]) in {"true", "return true"}:
        yield Sign(What.TAMPER, f"`{name}` says that any two objects are equal", line_of(node))
    elif re.fullmatch(r"assert(?:_equal|_nil|_raises|_includes|_match)?|refute|expect", name):
        yield Sign(What.TAMPER, f"`{name}` is defined anew", line_of(node))
