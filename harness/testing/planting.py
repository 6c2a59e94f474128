"""Writes a test that must fail beside those of a test file, in the file's own language. Pure.

It looks like any other test: its name is told by the caller and new each time, its message is a comparison.
Each function returns the file's new text, or "" where it cannot be seen how a test is written there.
"""

from __future__ import annotations

import re

_LEFT, _RIGHT = 4711, 4712
_JUNIT = (
    ("org.junit.jupiter", "@org.junit.jupiter.api.Test", ""),
    ("kotlin.test", "@kotlin.test.Test", ""),
    ("org.testng", "@org.testng.annotations.Test", "public "),
    ("org.junit.", "@org.junit.Test", "public "),
    ("junit.framework", "", "public "),
)
"""What a test class imports → how its tests are marked, and what they need in front of them."""


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
        f"  if ({name}) {name}('{name}', () => {{ throw new Error('{_LEFT} is not {_RIGHT}'); }});\n}}\n"
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
    return f"{text}\n;{taken}\n{name}('{name}', () => {{ throw new Error('{_LEFT} is not {_RIGHT}'); }});\n"


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
    for sign, mark, access in _JUNIT:
        if sign not in text:
            continue
        title = name if mark else f"test{name.capitalize()}"
        error = f'AssertionError("expected {_LEFT} but was {_RIGHT}")'
        method = (
            f"fun {title}() {{ throw {error} }}"
            if is_kotlin
            else f"{access}void {title}() {{\n        throw new {error};\n    }}"
        )
        return _before_last_brace(text, f"\n    {mark}\n    {method}\n")
    return ""


def _before_last_brace(text: str, piece: str) -> str:
    place = text.rfind("}")
    return "" if place < 0 else text[:place] + piece + text[place:]
