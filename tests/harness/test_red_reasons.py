"""Why tests are red on the base, in the words of several languages' tools."""

from __future__ import annotations

import pytest

from harness.guard.change import Change, Delta
from harness.red_reasons import beside_the_point
from harness.testing.cases import Case, CaseOutcome


def change(**sources: tuple[str | None, str]) -> Change:
    deltas = {
        path: Delta(path=path, old=None if old is None else old.encode(), new=new.encode())
        for path, (old, new) in sources.items()
    }
    return Change(base_commit="c" * 40, base_tree="b" * 40, tree="t" * 40, deltas=deltas)


def red(*messages: str) -> list[Case]:
    return [
        Case(id=str(n), file="t", name="t", outcome=CaseOutcome.FAILED, message=message)
        for n, message in enumerate(messages)
    ]


HALF = change(**{"src/lamp.x": ("twice\n", "twice\nhalf\n"), "src/dimmer.x": (None, "dim\n")})


@pytest.mark.parametrize(
    "message",
    [
        "TypeError: lamp.half is not a function",
        "TypeError: (0 , _lamp.half) is not a function",
        "ReferenceError: half is not defined",
        "SyntaxError: The requested module '../lamp.js' does not provide an export named 'half'",
        "Cannot find module '../src/dimmer' from 'test/dimmer.test.js'",
        'Failed to resolve import "../src/dimmer.js" from "test/dimmer.test.js". Does the file exist?',
        "lamp_test.go:5:28: undefined: half",
        "lamp_test.go:5:28: undefined: lamp.half",
        "lamp_test.go:9:4: x.half undefined (type Lamp has no field or method half)",
        "error[E0425]: cannot find function `half` in crate `lamp`",
        "error[E0599]: no method named `half` found for struct `Lamp` in the current scope",
        "error[E0432]: unresolved import `lamp::half`",
        "lamp_test.go:9:4: unknown field half in struct literal of type Lamp",
        "ArgumentError: unknown keyword: :half",
        "error TS2339: Property 'half' does not exist on type 'Lamp'.",
        "error TS2304: Cannot find name 'half'.",
        "error[E0599]: no associated function or constant named `half` found for struct `Lamp`",
        "NoMethodError: undefined method `half' for #<Lamp>",
        "NameError: uninitialized constant Lamp::half",
        "LoadError: cannot load such file -- lamp/dimmer",
        "Error: Call to undefined method Lamp::half()",
        "cannot find symbol\n  symbol:   method half(int)\n  location: class Lamp",
        "fixture 'half' not found",
        "FileNotFoundError: [Errno 2] No such file or directory: 'src/dimmer.x'",
        "Error: ENOENT: no such file or directory, open '/work/src/dimmer.x'",
    ],
)
def test_what_only_waits_for_the_change_is_beside_the_point(message: str) -> None:
    assert beside_the_point(red(message), HALF, "twice is wrong")
    assert not beside_the_point(red(message), HALF, "I want half, and dimmer: src/dimmer.x")
    assert not beside_the_point(red(message, "AssertionError: 7 != 10"), HALF, "twice is wrong")


@pytest.mark.parametrize(
    "message",
    [
        "AssertionError: expected 7 to be 10",
        "TypeError: lamp.twice is not a function",
        "undefined: twice",
        "panicked at src/lib.rs: attempt to divide by zero",
        "NoMethodError: undefined method `upcase' for nil",
        "Cannot find module 'left-pad'",
        "FileNotFoundError: [Errno 2] No such file or directory: '/etc/lamp.conf'",
        "fixture 'tmp_pathh' not found",
        "",
    ],
)
def test_what_the_base_itself_does_wrong_counts(message: str) -> None:
    assert not beside_the_point(red(message), HALF, "twice is wrong")


def test_words_of_tests_and_documents_are_no_new_names() -> None:
    only = change(**{"tests/test_a.py": (None, "half"), "README.md": (None, "half")})

    assert not beside_the_point(red("ReferenceError: half is not defined"), only, "")


@pytest.mark.parametrize("piece", ["a.", "cannot find ", "`", "undefined: ", "a, ", "x is not ", "'", "\n"])
def test_a_hostile_message_is_read_at_once(piece: str) -> None:
    beside_the_point(red(piece * (200_000 // len(piece))), HALF, "")
