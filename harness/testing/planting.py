"""Writes a test that must fail beside those of a test file, in the file's own language. Pure.

It looks like any other test: its name is told by the caller and new each time, its message is a comparison.
Each function returns the file's new text, or "" where it cannot be seen how a test is written there.
"""

from __future__ import annotations

import re

_LEFT, _RIGHT = 4711, 4712
_ASSERT = re.compile(
    r"""(?<!\w)(\w{1,100})\s{0,20}=\s{0,20}require\(['"](?:node:)?assert(?:/strict)?['"]\)\s*[;\n]"""
    r"""|^import\s+(?:\*\s+as\s+)?(\w+)\s+from\s+['"](?:node:)?assert(?:/strict)?['"]""",
    re.MULTILINE,
)
_JUNIT = (
    ("org.junit.jupiter", "@org.junit.jupiter.api.Test", "", "org.junit.jupiter.api.Assertions."),
    ("kotlin.test", "@kotlin.test.Test", "", "kotlin.test."),
    ("org.testng", "@org.testng.annotations.Test", "public ", "org.testng.Assert."),
    ("org.junit.", "@org.junit.Test", "public ", "org.junit.Assert."),
    ("junit.framework", "", "public ", ""),
)
"""What a test class imports → the mark of its tests, what is in front of them, and where comparisons are."""


def python_test(text: str, name: str, *, functions: bool) -> str:
    """Plant a plain function, where the runner takes such, and a method where the file has test cases."""
    planted = ""
    if functions:
        planted += f"\n\ndef test_{name}():\n    assert {_LEFT} == {_RIGHT}\n"
    if "TestCase" in text or not functions:
        planted += (
            f"\n\nimport unittest as {name}\n\n\nclass Test{name.capitalize()}({name}.TestCase):\n"
            f"    def test_{name}(self):\n        self.assertEqual({_LEFT}, {_RIGHT})\n"
        )
    return text + planted


def global_javascript_test(text: str, name: str) -> str:
    """Plant a test for runners whose `it` or `test` are everywhere: jest and mocha."""
    return text + (
        f"\n;{{\n  const {name} = typeof it === 'function' ? it : typeof test === 'function' ? test : null;\n"
        f"  if ({name}) {name}('{name}', () => {{ {_unequal(text)} }});\n}}\n"
    )


def imported_javascript_test(text: str, name: str, module: str, *, is_module: bool | None = None) -> str:
    """Plant a test for runners whose `test` is imported. `is_module` is what the file's name says of it."""
    if is_module is None:
        is_module = bool(re.search(r"^(?:import|export)\b", text, re.MULTILINE))
        if not is_module and not re.search(r"\brequire\(", text):
            return ""
    taken = (
        f'import {{ test as {name} }} from "{module}";'
        if is_module
        else f'const {name} = require("{module}").test;'
    )
    return f"{text}\n;{taken}\n{name}('{name}', () => {{ {_unequal(text)} }});\n"


def _unequal(text: str) -> str:
    """Return a comparison that fails, made in the way in which the file makes its own."""
    if "expect(" in text:
        is_chai = re.search(r"\)\.(?:not\.)?to\.", text)
        return f"expect({_LEFT}).{'to.equal' if is_chai else 'toBe'}({_RIGHT});"
    if match := _ASSERT.search(text):
        return f"{match[1] or match[2]}.strictEqual({_LEFT}, {_RIGHT});"
    return f"throw new Error('{_LEFT} is not {_RIGHT}');"


def go_test_file(text: str, name: str) -> str:
    """Return a whole new file for the package, and the build constraints, of a test file."""
    package = re.search(r"^package[ \t]+(\w+)", text, re.MULTILINE)
    if package is None:
        return ""
    constraints = re.findall(r"^//(?:go:build| \+build) .*$", text[: package.start()], re.MULTILINE)
    head = "".join(f"{line}\n" for line in constraints) + ("\n" if constraints else "")
    return (
        f'{head}package {package[1]}\n\nimport "testing"\n\nfunc Test{name.capitalize()}(t *testing.T) {{\n'
        f'\tt.Fatalf("got %d, want %d", {_LEFT}, {_RIGHT})\n}}\n'
    )


def rust_test(text: str, name: str) -> str:
    """Plant a test function at the end of a file that holds tests."""
    if not re.search(r"#\[(?:\w+::)*test\b", text):
        return ""
    return f"{text}\n#[cfg(test)]\n#[test]\nfn {name}() {{\n    assert_eq!({_LEFT}, {_RIGHT});\n}}\n"


def ruby_example(text: str, name: str) -> str:
    """Plant an example group."""
    if re.search(r"^__END__$", text, re.MULTILINE):
        return ""
    return (
        f'{text}\nRSpec.describe("{name}") do\n  it("{name}") do\n'
        f"    expect({_LEFT}).to eq({_RIGHT})\n  end\nend\n"
    )


def php_test(text: str, name: str) -> str:
    """Plant a method in a test class, or a closure in a file of Pest's."""
    if re.search(r"^[ \t]*(?:final[ \t]+)?class\s+\w+\s+extends\b", text, re.MULTILINE):
        method = f"public function test{name.capitalize()}(): void"
        return _before_last_brace(
            text, f"\n    {method}\n    {{\n        self::assertSame({_LEFT}, {_RIGHT});\n    }}\n"
        )
    if "?>" in text or not re.search(r"^\s*(?:it|test|describe)\(", text, re.MULTILINE):
        return ""
    return f"{text}\ntest('{name}', function () {{\n    expect({_LEFT})->toBe({_RIGHT});\n}});\n"


def jvm_test(text: str, name: str, *, is_kotlin: bool) -> str:
    """Plant a method in the last class of a file, marked as the file's framework wants it."""
    for sign, mark, access, place in _JUNIT:
        if sign not in text:
            continue
        title = name if mark else f"test{name.capitalize()}"
        unequal = f"{place}assertEquals({_LEFT}, {_RIGHT})"
        method = f"fun {title}() {{ {unequal} }}" if is_kotlin else f"{access}void {title}() {{ {unequal}; }}"
        return _before_last_brace(text, f"\n    {mark}\n    {method}\n")
    return ""


def _before_last_brace(text: str, piece: str) -> str:
    place = text.rfind("}")
    return "" if place < 0 else text[:place] + piece + text[place:]
