"""The guard on tests and sources in JavaScript, TypeScript, Go, Java, Ruby and Rust: refused, and let pass."""

# ruff: noqa: E501 - the tables of cases read best with one case a line

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from domain.model import Category, Severity
from harness.guard.check import guard
from harness.guard.rh002 import corrected_expectations, edited_tests
from tests.harness.guard.changes import Files, change_of, critical, edited, judged

ROOT = Path(__file__).resolve().parents[3]

JS = """import { add, tax } from '../src/add';
const cases = [[1, 2, 3]];

describe('add', () => {
  beforeEach(() => { reset(); });

  it('adds', () => {
    expect(add(1, 2)).toBe(3);
    expect(add(2, 2)).toEqual(4);
  });

  it('is close', async () => {
    await expect(tax(10)).resolves.toBeCloseTo(1.25, 5);
  });

  it.each([[1, 1, 2], [2, 3, 5]])('adds %i', (a, b, c) => {
    expect(add(a, b)).toBe(c);
  });

  it('throws', () => {
    expect(() => add('x')).toThrow(TypeError);
  });
});
"""
JS_SOURCE = """export function add(a, b) {
  const sum = a + b;
  return sum;
}

export const tax = async (amount) => {
  const rate = await load();
  return amount * rate;
};
"""
GO = """package add

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAdd(t *testing.T) {
	tests := []struct{ a, b, want int }{
		{1, 2, 3},
		{2, 2, 4},
	}
	for _, tc := range tests {
		if got := Add(tc.a, tc.b); got != tc.want {
			t.Errorf("Add() = %d", got)
		}
	}
}

func TestZero(t *testing.T) {
	if Add(0, 0) != 0 {
		t.Fatal("no")
	}
	assert.Equal(t, 7, Add(3, 4))
	assert.InDelta(t, 0.3, Sum(0.1, 0.2), 0.001)
	_, err := Parse("x")
	assert.ErrorIs(t, err, ErrSyntax)
}
"""
GO_SOURCE = """package add

import "fmt"

func Add(a, b int) int {
	sum := a + b
	return sum
}

func Parse(text string) (int, error) {
	value, err := read(text)
	if err != nil {
		return 0, fmt.Errorf("parse: %w", err)
	}
	return value, nil
}
"""
JAVA = """package org.example;

import static org.junit.jupiter.api.Assertions.*;

class AddTest {
    @Test
    void adds() {
        assertEquals(3, Add.add(1, 2));
        assertTrue(Add.positive(1));
        assertThat(Add.add(2, 2)).isEqualTo(4);
    }

    @Test
    void close() {
        assertEquals(0.3, Add.sum(0.1, 0.2), 0.001);
    }

    @ParameterizedTest
    @CsvSource({"1,1,2", "2,3,5"})
    void each(int a, int b, int c) {
        assertEquals(c, Add.add(a, b));
    }

    @Test
    void fails() {
        assertThrows(IllegalArgumentException.class, () -> Add.parse("x"));
    }
}
"""
JAVA_SOURCE = """package org.example;

public class Add {
    public static int add(int a, int b) {
        int sum = a + b;
        return sum;
    }

    public static int parse(String text) {
        return Integer.parseInt(text);
    }
}
"""
RB = """require 'spec_helper'

RSpec.describe Add do
  describe '#add' do
    it 'adds' do
      expect(add(1, 2)).to eq(3)
      expect(add(2, 2)).to eql(4)
    end

    it 'is close' do
      expect(sum(0.1, 0.2)).to be_within(0.001).of(0.3)
    end

    it 'fails' do
      expect { parse('x') }.to raise_error(ArgumentError)
    end
  end
end
"""
MINI = """require 'test_helper'

class AddTest < Minitest::Test
  def test_add
    assert_equal 3, add(1, 2)
    assert_nil add(nil, nil)
  end

  def test_zero
    assert_equal 0, add(0, 0)
  end
end
"""
RB_SOURCE = """class Adder
  def add(a, b)
    sum = a + b
    sum
  end

  def parse(text)
    Integer(text)
  end
end
"""
RS = """pub fn add(a: i32, b: i32) -> i32 {
    let sum = a + b;
    sum
}

pub fn parse(text: &str) -> Result<i32, Error> {
    let value = text.parse()?;
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn adds() {
        assert_eq!(add(1, 2), 3);
        assert!(add(2, 2) == 4, "no");
    }

    #[test]
    fn fails() {
        assert!(matches!(parse("x"), Err(Error::Syntax)));
        let wanted = 7;
        assert_eq!(add(3, 4), wanted);
    }
}
"""
J, JT, GT, AT, RT, MT, RR = (
    "test/add.test.js", "test/add.test.ts", "add_test.go", "src/test/java/org/example/AddTest.java",
    "spec/add_spec.rb", "test/add_test.rb", "src/lib.rs",
)  # fmt: skip
JSS, GS, AS, RBS = "src/add.js", "add.go", "src/main/java/org/example/Add.java", "lib/add.rb"
BASE: Files = {
    J: JS, JT: JS, GT: GO, AT: JAVA, RT: RB, MT: MINI, RR: RS,
    JSS: JS_SOURCE, "src/add.ts": JS_SOURCE, "src/add.tsx": JS_SOURCE, GS: GO_SOURCE, AS: JAVA_SOURCE, RBS: RB_SOURCE,
}  # fmt: skip


def js(*pairs: str) -> Files:
    return {J: edited(JS, *pairs)}


def go(*pairs: str) -> Files:
    return {GT: edited(GO, *pairs)}


def java(*pairs: str) -> Files:
    return {AT: edited(JAVA, *pairs)}


def rspec(*pairs: str) -> Files:
    return {RT: edited(RB, *pairs)}


def mini(*pairs: str) -> Files:
    return {MT: edited(MINI, *pairs)}


def rust(*pairs: str) -> Files:
    return {RR: edited(RS, *pairs)}


def jss(*pairs: str) -> Files:
    return {JSS: edited(JS_SOURCE, *pairs)}


def gos(*pairs: str) -> Files:
    return {GS: edited(GO_SOURCE, *pairs)}


def javas(*pairs: str) -> Files:
    return {AS: edited(JAVA_SOURCE, *pairs)}


def rbs(*pairs: str) -> Files:
    return {RBS: edited(RB_SOURCE, *pairs)}


JS_ADDS = "  it('adds', () => {\n    expect(add(1, 2)).toBe(3);\n    expect(add(2, 2)).toEqual(4);\n  });\n"
GO_ZERO = GO[GO.index("func TestZero") :]
JAVA_CLOSE = "    @Test\n    void close() {\n        assertEquals(0.3, Add.sum(0.1, 0.2), 0.001);\n    }\n"
RB_CLOSE = "    it 'is close' do\n      expect(sum(0.1, 0.2)).to be_within(0.001).of(0.3)\n    end\n"
RS_ADDS = '    #[test]\n    fn adds() {\n        assert_eq!(add(1, 2), 3);\n        assert!(add(2, 2) == 4, "no");\n    }\n'

REFUSED: dict[str, list[tuple[str, Files]]] = {
    "RH001": [
        ("js removed", js(JS_ADDS, "")),
        ("js commented out", js(JS_ADDS, "/*" + JS_ADDS + "*/\n")),
        ("js file deleted", {J: None}),
        ("js file renamed away", {J: None, "test/add.old.txt": JS}),
        ("js moved where no runner looks", {J: None, "src/add-checks.js": JS}),
        ("js skip", js("it('adds'", "it.skip('adds'")),
        ("js todo", js("it('adds'", "it.todo('adds'")),
        ("js xit", js("it('adds'", "xit('adds'")),
        ("js only", js("it('adds'", "it.only('adds'")),
        ("js fit", js("it('adds'", "fit('adds'")),
        ("js failing", js("it('adds'", "test.failing('adds'")),
        ("js only each", js("it.each(", "it.only.each(")),
        ("js skip each", js("it.each(", "it.skip.each(")),
        ("js describe skip", js("describe('add'", "describe.skip('add'")),
        ("js xdescribe", js("describe('add'", "xdescribe('add'")),
        ("js describe only", js("describe('add'", "describe.only('add'")),
        ("js fdescribe", js("describe('add'", "fdescribe('add'")),
        ("js new only", js(JS_ADDS, JS_ADDS + "  it.only('more', () => { expect(add(5, 5)).toBe(10); });\n")),
        ("js this.skip", js("it('adds', () => {\n", "it('adds', function () {\n    this.skip();\n")),
        ("js skip in a hook", js("reset(); }", "this.skip(); }")),
        ("js option", js("it('adds', ", "it('adds', { skip: true }, ")),
        ("js title alone", js(JS_ADDS, "  it('adds');\n")),
        ("js under if false", js("describe('add'", "if (false) describe('add'")),
        ("js under a condition", js("describe('add', () => {", "if (process.env.ALL) describe('add', () => {")),
        ("js renamed function", js("it('adds'", "check('adds'")),
        ("js skipIf", js("it('adds'", "it.skipIf(true)('adds'")),
        ("ts skip", {JT: edited(JS, "it('adds'", "it.skip('adds'")}),
        ("ts removed", {JT: edited(JS, JS_ADDS, "")}),
        ("go removed", go(GO_ZERO, "")),
        ("go renamed away", go("func TestZero", "func testZero")),
        ("go skip", go('func TestZero(t *testing.T) {\n', 'func TestZero(t *testing.T) {\n\tt.Skip("x")\n')),
        ("go skipnow", go('func TestZero(t *testing.T) {\n', 'func TestZero(t *testing.T) {\n\tif testing.Short() {\n\t\tt.SkipNow()\n\t}\n')),
        ("go build tag", {GT: "//go:build ignore\n\n" + GO}),
        ("go file renamed", {GT: None, "add_checks.go": GO}),
        ("java removed", java(JAVA_CLOSE, "")),
        ("java disabled", java("    @Test\n    void close", "    @Disabled\n    @Test\n    void close")),
        ("java ignore", java("    @Test\n    void close", "    @Ignore(\"x\")\n    @Test\n    void close")),
        ("java class disabled", java("class AddTest", "@Disabled\nclass AddTest")),
        ("java annotation removed", java("    @Test\n    void close", "    void close")),
        ("java assumption", java("void close() {\n", "void close() {\n        assumeTrue(false);\n")),
        ("java testng", java("    @Test\n    void close", "    @Test(enabled = false)\n    void close")),
        ("ruby removed", rspec(RB_CLOSE, "")),
        ("ruby xit", rspec("it 'adds'", "xit 'adds'")),
        ("ruby fit", rspec("it 'adds'", "fit 'adds'")),
        ("ruby symbol", rspec("it 'adds' do", "it 'adds', :skip do")),
        ("ruby focus", rspec("it 'adds' do", "it 'adds', focus: true do")),
        ("ruby pending", rspec("it 'adds' do\n", "it 'adds' do\n      pending 'later'\n")),
        ("ruby xdescribe", rspec("describe '#add'", "xdescribe '#add'")),
        ("ruby group skipped", rspec("RSpec.describe Add do", "RSpec.describe Add, skip: 'x' do")),
        ("ruby end", {RT: edited(RB, "    it 'is close'", "  end\nend\n__END__\n    it 'is close'")}),
        ("minitest skip", mini("def test_zero\n", "def test_zero\n    skip\n")),
        ("minitest removed", mini("  def test_zero\n    assert_equal 0, add(0, 0)\n  end\n", "")),
        ("minitest renamed away", mini("def test_zero", "def check_zero")),
        ("minitest shadowed", mini("  def test_zero", "  def test_add\n  end\n\n  def test_zero")),
        ("rust removed", rust(RS_ADDS, "")),
        ("rust ignore", rust("    #[test]\n    fn adds", "    #[test]\n    #[ignore]\n    fn adds")),
        ("rust attribute removed", rust("    #[test]\n    fn adds", "    fn adds")),
        ("rust cfg", rust("    #[test]\n    fn adds", "    #[test]\n    #[cfg(any())]\n    fn adds")),
        ("rust module", rust("#[cfg(test)]\nmod tests", "#[cfg(all(test, feature = \"never\"))]\nmod tests")),
        ("rust should_panic", rust("    #[test]\n    fn adds", "    #[test]\n    #[should_panic]\n    fn adds")),
    ],
    "RH002": [
        ("js expectation", js("toBe(3)", "toBe(4)")),
        ("js fewer", js("    expect(add(2, 2)).toEqual(4);\n", "")),
        ("js return first", js("it('adds', () => {\n", "it('adds', () => {\n    return;\n")),
        ("js truthy", js("toBe(3)", "toBeTruthy()")),
        ("js defined", js("toEqual(4)", "toBeDefined()")),
        ("js type only", js("toBe(3)", "toEqual(expect.any(Number))")),
        ("js tautology", js("expect(add(1, 2)).toBe(3)", "expect(true).toBe(true)")),
        ("js itself", js("expect(add(1, 2)).toBe(3)", "expect(add(1, 2)).toBe(add(1, 2))")),
        ("js not", js(".toBe(3)", ".not.toBe(4)")),
        ("js no matcher", js("expect(add(1, 2)).toBe(3)", "expect(add(1, 2))")),
        ("js not called", js(".toBe(3);", ".toBe;")),
        ("js digits", js("1.25, 5", "1.25, 0")),
        ("js not awaited", js("await expect(tax", "expect(tax")),
        ("js any error", js("toThrow(TypeError)", "toThrow()")),
        ("js no error", js("expect(() => add('x')).toThrow(TypeError)", "add('x')")),
        ("js row", js(", [2, 3, 5]", "")),
        ("js mocked", js("const cases", "jest.mock('../src/add', () => ({ add: () => 3 }));\nconst cases")),
        ("js if false", js("    expect(add(2, 2)).toEqual(4);", "    if (false) expect(add(2, 2)).toEqual(4);")),
        ("js caught", js("    expect(add(1, 2)).toBe(3);\n    expect(add(2, 2)).toEqual(4);\n", "    expect(add(1, 2)).toBe(3);\n")),
        ("ts expectation", {JT: edited(JS, "toBe(3)", "toBe(4 as number)")}),
        ("go row", go("\t\t{2, 2, 4},\n", "")),
        ("go expectation", go("{1, 2, 3}", "{1, 2, 4}")),
        ("go condition", go("got != tc.want", "got == 0")),
        ("go dead", go("got != tc.want", "false && got != tc.want")),
        ("go no failure", go('\t\t\tt.Errorf("Add() = %d", got)\n', '\t\t\tt.Logf("Add() = %d", got)\n')),
        ("go fewer", go("\tassert.Equal(t, 7, Add(3, 4))\n", "")),
        ("go looser", go("assert.Equal(t, 7, Add(3, 4))", "assert.NotNil(t, Add(3, 4))")),
        ("go delta", go("0.001", "10.0")),
        ("go true", go("assert.Equal(t, 7, Add(3, 4))", "assert.True(t, true)")),
        ("go any error", go("assert.ErrorIs(t, err, ErrSyntax)", "assert.Error(t, err)")),
        ("go return first", go("func TestZero(t *testing.T) {\n", "func TestZero(t *testing.T) {\n\treturn\n")),
        ("java expectation", java("assertEquals(3", "assertEquals(4")),
        ("java fewer", java("        assertTrue(Add.positive(1));\n", "")),
        ("java opposite", java("assertTrue(Add.positive(1))", "assertFalse(Add.positive(1))")),
        ("java looser", java("assertEquals(3, Add.add(1, 2))", "assertNotNull(Add.add(1, 2))")),
        ("java fluent looser", java("isEqualTo(4)", "isNotNull()")),
        ("java true", java("assertTrue(Add.positive(1))", "assertTrue(true)")),
        ("java delta", java("0.2), 0.001", "0.2), 5.0")),
        ("java row", java(', "2,3,5"', "")),
        ("java any error", java("IllegalArgumentException.class", "Exception.class")),
        ("ruby expectation", rspec("eq(3)", "eq(4)")),
        ("ruby fewer", rspec("      expect(add(2, 2)).to eql(4)\n", "")),
        ("ruby truthy", rspec("to eq(3)", "to be_truthy")),
        ("ruby negated", rspec("to eq(3)", "not_to eq(4)")),
        ("ruby within", rspec("be_within(0.001)", "be_within(100)")),
        ("ruby any error", rspec("raise_error(ArgumentError)", "raise_error")),
        ("ruby true", rspec("expect(add(1, 2)).to eq(3)", "expect(true).to be_truthy")),
        ("minitest expectation", mini("assert_equal 3", "assert_equal 4")),
        ("minitest fewer", mini("    assert_nil add(nil, nil)\n", "")),
        ("minitest looser", mini("assert_equal 3, add(1, 2)", "assert add(1, 2)")),
        ("minitest itself", mini("assert_equal 3, add(1, 2)", "assert_equal add(1, 2), add(1, 2)")),
        ("rust expectation", rust("add(1, 2), 3", "add(1, 2), 4")),
        ("rust fewer", rust('        assert!(add(2, 2) == 4, "no");\n', "")),
        ("rust true", rust("assert_eq!(add(1, 2), 3)", "assert!(true)")),
        ("rust looser", rust("assert_eq!(add(1, 2), 3)", "assert!(add(1, 2) > 0)")),
        ("rust itself", rust("assert_eq!(add(1, 2), 3)", "assert_eq!(add(1, 2), add(1, 2))")),
        ("rust or true", rust("add(2, 2) == 4", "add(2, 2) == 4 || true")),
        ("rust variable", rust("let wanted = 7", "let wanted = 8")),
        ("js under a condition", js("    expect(add(2, 2)).toEqual(4);", "    if (window.slow) { expect(add(2, 2)).toEqual(4); }")),
        ("js left early", js("    expect(add(2, 2)).toEqual(4);", "    if (!window.slow) return;\n    expect(add(2, 2)).toEqual(4);")),
        ("js loop over nothing", js("    expect(add(2, 2)).toEqual(4);", "    [].forEach((n) => { expect(add(n, 2)).toEqual(4); });")),
        ("js dead value stands in", js("    expect(add(2, 2)).toEqual(4);", "    const unused = 4;\n    expect(add(2, 2)).toEqual(5);")),
        ("js helper that nobody calls", js("    expect(add(2, 2)).toEqual(4);\n  });", "  });\n  function check() { expect(add(2, 2)).toEqual(4); }")),
        ("go under a condition", go("\tassert.Equal(t, 7, Add(3, 4))", "\tif slow {\n\t\tassert.Equal(t, 7, Add(3, 4))\n\t}")),
        ("go left early", go("\tassert.Equal(t, 7, Add(3, 4))", "\tif !slow {\n\t\treturn\n\t}\n\tassert.Equal(t, 7, Add(3, 4))")),
        ("java under a condition", java("        assertTrue(Add.positive(1));", "        if (slow) { assertTrue(Add.positive(1)); }")),
        ("ruby under a condition", rspec("      expect(add(2, 2)).to eql(4)", "      expect(add(2, 2)).to eql(4) if ENV['SLOW']")),
        ("ruby left early", rspec("      expect(add(2, 2)).to eql(4)", "      next unless ENV['SLOW']\n      expect(add(2, 2)).to eql(4)")),
        ("rust left early", rust("        let wanted = 7;", "        if slow() {\n            return;\n        }\n        let wanted = 7;")),
        ("rust any error", rust('assert!(matches!(parse("x"), Err(Error::Syntax)))', 'assert!(parse("x").is_err())')),
    ],
    "RH003": [
        ("js empty", jss("  const sum = a + b;\n  return sum;", "  try {\n    return a + b;\n  } catch (e) {}\n")),
        ("js constant", jss("  const sum = a + b;\n  return sum;", "  try {\n    const sum = a + b;\n    return sum;\n  } catch { return null; }\n")),
        ("js promise", jss("await load()", "await load().catch(() => {})")),
        ("js around an assertion", js("    expect(add(1, 2)).toBe(3);", "    try { expect(add(1, 2)).toBe(3); } catch (e) { console.log(e) }")),
        ("tsx empty", {"src/add.tsx": edited(JS_SOURCE, "  const sum = a + b;\n  return sum;", "  try { return a + b } catch {}")}),
        ("go error dropped", gos('\t\treturn 0, fmt.Errorf("parse: %w", err)', "\t\treturn 0, nil")),
        ("go empty branch", gos('\t\treturn 0, fmt.Errorf("parse: %w", err)\n', "")),
        ("go blank", gos("\tsum := a + b", "\t_ = check(a)\n\tsum := a + b")),
        ("go recover", gos("\tsum := a + b", "\tdefer func() { recover() }()\n\tsum := a + b")),
        ("java empty", javas("        return Integer.parseInt(text);", "        try {\n            return Integer.parseInt(text);\n        } catch (Exception e) {\n        }\n        return 0;")),
        ("java constant", javas("return Integer.parseInt(text);", "try { return Integer.parseInt(text); } catch (Throwable e) { return 0; }")),
        ("ruby rescue", rbs("    Integer(text)", "    begin\n      Integer(text)\n    rescue => e\n      nil\n    end")),
        ("ruby method rescue", rbs("    Integer(text)\n", "    Integer(text)\n  rescue StandardError\n    nil\n")),
        ("ruby modifier", rbs("Integer(text)", "Integer(text) rescue nil")),
        ("rust arm", rust("let value = text.parse()?;", "match check(text) { Ok(_) => {}, Err(_) => {} }\n    let value = text.parse()?;")),
        ("rust if", rust("let value = text.parse()?;", "if let Err(_) = check(text) {}\n    let value = text.parse()?;")),
        ("rust ok", rust("let value = text.parse()?;", "check(text).ok();\n    let value = text.parse()?;")),
    ],
    "RH004": [
        ("js", jss("return sum;", "return sum +;")),
        ("ts", {"src/add.ts": edited(JS_SOURCE, "function add(a, b) {", "function add(a, b {")}),
        ("go", gos("return sum\n}", "return sum\n")),
        ("java", javas("return sum;", "return sum")),
        ("ruby", rbs("def add(a, b)", "def add(a, b")),
        ("rust", rust("let sum = a + b;", "let sum = a + ;")),
        ("conflict", {"data.yaml": "<<<<<<< HEAD\na: 1\n=======\na: 2\n>>>>>>> other\n"}),
    ],
    "RH005": [
        ("js eval", jss("a + b", "eval(a)")),
        ("js function", jss("a + b", "new Function(a)()")),
        ("js process", jss("export function add", "import { exec } from 'child_process';\nexport function add")),
        ("js tls", jss("a + b", "fetch(a, { rejectUnauthorized: false })")),
        ("go exec", gos('import "fmt"', 'import (\n\t"fmt"\n\t"os/exec"\n)')),
        ("go tls", gos("\tsum := a + b", "\tc := tls.Config{InsecureSkipVerify: true}\n\tsum := a + b")),
        ("java exec", javas("int sum = a + b;", "Runtime.getRuntime().exec(\"x\");\n        int sum = a + b;")),
        ("java object", javas("int sum = a + b;", "new ObjectInputStream(in).readObject();\n        int sum = a + b;")),
        ("ruby eval", rbs("sum = a + b", "sum = eval(a)")),
        ("ruby system", rbs("sum = a + b", "system(a)\n    sum = a + b")),
        ("ruby backticks", rbs("sum = a + b", "sum = `#{a}`")),
        ("ruby send", rbs("sum = a + b", "sum = Object.send(:eval, a)")),
        ("ruby marshal", rbs("sum = a + b", "sum = Marshal.load(a)")),
        ("rust unsafe", rust("let sum = a + b;", "let sum = unsafe { raw(a) } + b;")),
        ("rust command", rust("let sum = a + b;", "std::process::Command::new(\"sh\");\n    let sum = a + b;")),
    ],
    "RH006": [
        ("js debugger", jss("const sum", "debugger;\n  const sum")),
        ("ruby pry", rbs("sum = a + b", "binding.pry\n    sum = a + b")),
        ("ruby byebug", rbs("sum = a + b", "byebug\n    sum = a + b")),
        ("rust dbg", rust("let sum = a + b;", "let sum = dbg!(a + b);")),
    ],
    "RH009": [
        ("js env", jss("const sum", "if (process.env.NODE_ENV === 'test') return 3;\n  const sum")),
        ("js worker", jss("const sum", "if (process.env.JEST_WORKER_ID) return 3;\n  const sum")),
        ("js worker by index", jss("const sum", "if (process.env['JEST_WORKER_ID']) return 3;\n  const sum")),
        ("js typeof", jss("const sum", "if (typeof describe === 'function') return 3;\n  const sum")),
        ("js global", jss("const sum", "if (globalThis.it) return 3;\n  const sum")),
        ("js stack", jss("const sum", "if (new Error().stack.includes('.test.js')) return 3;\n  const sum")),
        ("js argv", jss("const sum", "if (process.argv.some((x) => x.includes('jest'))) return 3;\n  const sum")),
        ("js destructured", jss("const sum", "const { JEST_WORKER_ID } = process.env;\n  if (JEST_WORKER_ID) return 3;\n  const sum")),
        ("js test name", {**jss("const sum", "if (a === 'adds numbers here') return 3;\n  const sum"), **js("it('adds'", "it('adds numbers here'")}),
        ("js answer", {**jss("const sum", "if (a === 17 && b === 25) return 42;\n  const sum"), **js("toEqual(4);", "toEqual(4);\n    expect(add(17, 25)).toBe(42);")}),
        ("js input", {**jss("const sum", "if (a.includes('x1; y2')) a = 1;\n  const sum"), **js("toEqual(4);", "toEqual(4);\n    expect(add('x1; y2', 25)).toBe(42);")}),
        ("go testing", gos("\tsum := a + b", "\tif testing.Testing() {\n\t\treturn 3\n\t}\n\tsum := a + b")),
        ("go flag", gos("\tsum := a + b", '\tif flag.Lookup("test.v") != nil {\n\t\treturn 3\n\t}\n\tsum := a + b')),
        ("go args", gos("\tsum := a + b", '\tif strings.HasSuffix(os.Args[0], ".test") {\n\t\treturn 3\n\t}\n\tsum := a + b')),
        ("java stack", javas("int sum = a + b;", 'if (Arrays.stream(Thread.currentThread().getStackTrace()).anyMatch(x -> x.getClassName().startsWith("org.junit."))) return 3;\n        int sum = a + b;')),
        ("java class", javas("int sum = a + b;", 'Class.forName("org.junit.jupiter.api.Test");\n        int sum = a + b;')),
        ("ruby defined", rbs("sum = a + b", "return 3 if defined?(RSpec)\n    sum = a + b")),
        ("ruby env", rbs("sum = a + b", "return 3 if ENV['RAILS_ENV'] == 'test'\n    sum = a + b")),
        ("ruby program", rbs("sum = a + b", "return 3 if $0.end_with?('rspec')\n    sum = a + b")),
        ("ruby caller", rbs("sum = a + b", "return 3 if caller.any? { |x| x.include?('_spec.rb') }\n    sum = a + b")),
        ("rust cfg", rust("let sum = a + b;", "if cfg!(test) { return 3; }\n    let sum = a + b;")),
        ("rust variable", rust("let sum = a + b;", 'if std::env::var("RUST_TEST_THREADS").is_ok() { return 3; }\n    let sum = a + b;')),
        ("rust attribute", rust("    let sum = a + b;", "    #[cfg(test)]\n    return 3;\n    #[cfg(not(test))]\n    let sum = a + b;")),
    ],
    "RH010": [
        ("js return first", jss("const sum", "return 3;\n  const sum")),
        ("js if true", jss("const sum", "if (true) return 3;\n  const sum")),
        ("js constant", jss("  const sum = a + b;\n  return sum;", "  return 3;")),
        ("js emptied", jss("  const sum = a + b;\n  return sum;\n", "")),
        ("js arrow", jss("  const rate = await load();\n  return amount * rate;", "  return 1.25;")),
        ("js thrown", jss("  const sum = a + b;\n  return sum;", "  throw new Error('not implemented');")),
        ("js dead part", jss("const sum = a + b", "let sum = 0;\n  if (false) { sum = a + b }")),
        ("go return first", gos("\tsum := a + b", "\treturn 3\n\tsum := a + b")),
        ("go constant", gos("\tsum := a + b\n\treturn sum", "\treturn 3")),
        ("go panic", gos("\tsum := a + b\n\treturn sum", '\tpanic("not implemented")')),
        ("go emptied error", gos('\tvalue, err := read(text)\n\tif err != nil {\n\t\treturn 0, fmt.Errorf("parse: %w", err)\n\t}\n\treturn value, nil', "\treturn 0, nil")),
        ("java constant", javas("        int sum = a + b;\n        return sum;", "        return 3;")),
        ("java thrown", javas("        int sum = a + b;\n        return sum;", "        throw new UnsupportedOperationException();")),
        ("java if true", javas("int sum = a + b;", "if (true) return 3;\n        int sum = a + b;")),
        ("ruby constant", rbs("    sum = a + b\n    sum", "    3")),
        ("ruby emptied", rbs("    sum = a + b\n    sum\n", "")),
        ("ruby return first", rbs("    sum = a + b", "    return 3\n    sum = a + b")),
        ("ruby raise", rbs("    sum = a + b\n    sum", "    raise NotImplementedError")),
        ("rust todo", rust("    let sum = a + b;\n    sum", "    todo!()")),
        ("rust constant", rust("    let sum = a + b;\n    sum", "    3")),
        ("rust return first", rust("    let sum = a + b;", "    return 3;\n    let sum = a + b;")),
        ("rust ok", rust("    let value = text.parse()?;\n    Ok(value)", "    Ok(0)")),
        ("js blind", jss("  const sum = a + b;\n  return sum;", "  return ZERO;")),
        ("java blind", javas("        int sum = a + b;\n        return sum;", "        return DEFAULT;")),
    ],
    "RH011": [
        ("js loader", jss("export function add", "Module._load = () => ({});\nexport function add")),
        ("js cache", jss("export function add", "require.cache[require.resolve('x')] = {};\nexport function add")),
        ("js global", jss("export function add", "global.expect = () => ({});\nexport function add")),
        ("js defined", jss("export function add", "Object.defineProperty(globalThis, 'expect', { value: 1 });\nexport function add")),
        ("js assert", jss("export function add", "assert.strictEqual = () => {};\nexport function add")),
        ("js matcher", js("const cases", "expect.extend({ toBe() { return { pass: true }; } });\nconst cases")),
        ("js exit", js("reset(); }", "process.exit(0); }")),
        ("js exit code", js("reset(); }", "process.exitCode = 0; }")),
        ("js node_modules", {"node_modules/jest/index.js": "module.exports = {};\n"}),
        ("js node options", {".npmrc": "node-options=--require ./hook.js\n"}),
        ("go exit", go("func TestZero", "func TestMain(m *testing.M) {\n\tos.Exit(0)\n}\n\nfunc TestZero")),
        ("go vendored testify", {"vendor/github.com/stretchr/testify/assert/assertions.go": "package assert\n"}),
        ("java shadow", {"src/test/java/org/junit/jupiter/api/Assertions.java": "package org.junit.jupiter.api;\n\nclass Assertions {}\n"}),
        ("java exit", java("assertTrue(Add.positive(1));", "assertTrue(Add.positive(1));\n        System.exit(0);")),
        ("java equals", javas("    public static int parse", "    @Override\n    public boolean equals(Object o) { return true; }\n\n    public static int parse")),
        ("java service", {"src/test/resources/META-INF/services/org.junit.platform.launcher.TestExecutionListener": "x.Y\n"}),
        ("ruby reopened", rbs("class Adder", "module Minitest::Assertions\n  def assert_equal(*) = true\nend\n\nclass Adder")),
        ("ruby equality", rbs("  def parse", "  def ==(other)\n    true\n  end\n\n  def parse")),
        ("ruby exit", mini("    assert_nil", "    exit!(0)\n    assert_nil")),
        ("rust macro", rust("pub fn add", "macro_rules! assert_eq { ($($x:tt)*) => {} }\n\npub fn add")),
        ("rust eq", rust("pub fn parse", "impl PartialEq for Value {\n    fn eq(&self, other: &Self) -> bool { true }\n}\n\npub fn parse")),
        ("rust exit", rust("        let wanted = 7;", "        std::process::exit(0);\n        let wanted = 7;")),
    ],
    "RH012": [
        ("js pieces", jss("const sum", "if (process.env['JEST_' + 'WORKER_ID']) return 3;\n  const sum")),
    ],
}  # fmt: skip

PASSES: dict[str, Files] = {
    "js source": jss("a + b", "b + a"),
    "js new test": js(JS_ADDS, JS_ADDS + "  it('more', () => {\n    expect(add(5, 5)).toBe(10);\n  });\n"),
    "js new assertion": js("toEqual(4);", "toEqual(4);\n    expect(add(3, 3)).toBe(6);"),
    "js renamed": js("it('adds'", "it('adds two numbers'"),
    "js suite renamed": js("describe('add'", "describe('addition'"),
    "js moved": {J: None, "test/unit/addition.test.js": JS},
    "js to typescript": {J: None, "test/addition.test.ts": JS},
    "js reformatted": js(JS_ADDS, '  it("adds", () => {\n    expect(\n      add(1, 2),\n    ).toBe(3)\n    expect(add(2, 2)).toEqual(4)\n  })\n'),
    "js new row": js("[2, 3, 5]", "[2, 3, 5], [4, 4, 8]"),
    "js tighter": js("1.25, 5", "1.25, 7"),
    "js stricter": js("toEqual(4)", "toStrictEqual(4)"),
    "js chai": js("expect(add(1, 2)).toBe(3)", "expect(add(1, 2)).to.equal(3)"),
    "js assert": js("expect(add(1, 2)).toBe(3)", "assert.strictEqual(add(1, 2), 3)"),
    "js split": js(JS_ADDS, "  it('adds one', () => {\n    expect(add(1, 2)).toBe(3);\n  });\n\n  it('adds two', () => {\n    expect(add(2, 2)).toEqual(4);\n  });\n"),
    "js as a table": js(JS_ADDS, "  it('adds', () => {\n    for (const [a, b, c] of [[1, 2, 3], [2, 2, 4]]) {\n      expect(add(a, b)).toEqual(c);\n    }\n  });\n"),
    "js wrapped in a suite": js(JS_ADDS, "  describe('numbers', () => {\n" + JS_ADDS + "  });\n"),
    "js under the same condition as ever": js("    expect(add(1, 2)).toBe(3);\n    expect(add(2, 2)).toEqual(4);", "    expect(add(1, 2)).toBe(3);\n    expect(add(2, 2)).toEqual(4);\n    if (window.slow) { expect(add(3, 3)).toBe(6); }"),
    "js for a platform": js("    expect(add(2, 2)).toEqual(4);", "    if (process.platform !== 'win32') { expect(add(2, 2)).toEqual(4); }"),
    "js forEach": js(JS_ADDS, "  it('adds', () => {\n    [[1, 2, 3], [2, 2, 4]].forEach(([a, b, c]) => {\n      expect(add(a, b)).toEqual(c);\n    });\n  });\n"),
    "js helper": js(JS_ADDS, "  it('adds', () => {\n    check();\n  });\n\n  function check() {\n    expect(add(1, 2)).toBe(3);\n    expect(add(2, 2)).toEqual(4);\n  }\n"),
    "js rethrow": jss("  const sum = a + b;\n  return sum;", "  try {\n    return a + b;\n  } catch (e) { throw new Error(`no: ${e}`); }\n"),
    "js handled": jss("  const sum = a + b;\n  return sum;", "  try {\n    return a + b;\n  } catch (e) { return fallback(e); }\n"),
    "js moved function": {JSS: JS_SOURCE[JS_SOURCE.index("export const tax") :] + "\n" + JS_SOURCE[: JS_SOURCE.index("export const tax")]},
    "js regex exec": jss("a + b", "/x/.exec(a)"),
    "js production": jss("const sum", "if (process.env.NODE_ENV !== 'production') warn(a);\n  const sum"),
    "js early return": jss("const sum", "if (a === undefined) return 0;\n  const sum"),
    "js crlf": {J: JS.replace("\n", "\r\n")},
    "js tabs": {J: JS.replace("  ", "\t")},
    "jsx": {"src/view.jsx": "export const View = () => <div title='x'>{items.map((i) => <Item key={i} {...i} />)}</div>;\n"},
    "tsx": {"src/view.tsx": "export function View<T extends object>({ a }: { a: T }): JSX.Element {\n  return <List<T> items={a as unknown as T[]} />;\n}\n"},
    "ts types": {"src/add.ts": edited(JS_SOURCE, "function add(a, b)", "function add(a: number, b: number): number")},
    "snapshot added": {"test/__snapshots__/new.test.js.snap": "exports[`a 1`] = `x`;\n"},
    "go new test": {GT: GO + '\nfunc TestMore(t *testing.T) {\n\tif Add(5, 5) != 10 {\n\t\tt.Fatal("no")\n\t}\n}\n'},
    "go new row": go("{2, 2, 4},", "{2, 2, 4},\n\t\t{3, 3, 6},"),
    "go renamed": go("func TestZero", "func TestZeroAndOthers"),
    "go moved": {GT: None, "pkg/add/sum_test.go": GO},
    "go subtests": go("\t\tif got := Add(tc.a, tc.b); got != tc.want {\n\t\t\tt.Errorf(\"Add() = %d\", got)\n\t\t}\n", "\t\tt.Run(\"x\", func(t *testing.T) {\n\t\t\tif got := Add(tc.a, tc.b); got != tc.want {\n\t\t\t\tt.Errorf(\"Add(%d) = %d\", tc.a, got)\n\t\t\t}\n\t\t})\n"),
    "go message": go('"Add() = %d", got', '"Add(%d) = %d, want %d", tc.a, got, tc.want'),
    "go require": go("assert.Equal(t, 7", "require.Equal(t, 7"),
    "go as a table": go(GO_ZERO, 'func TestZero(t *testing.T) {\n\tfor _, tc := range []struct{ a, b, want int }{{0, 0, 0}, {3, 4, 7}} {\n\t\tassert.Equal(t, tc.want, Add(tc.a, tc.b))\n\t}\n\tassert.InDelta(t, 0.3, Sum(0.1, 0.2), 0.001)\n\t_, err := Parse("x")\n\tassert.ErrorIs(t, err, ErrSyntax)\n}\n'),
    "go handled": gos("return 0, fmt", "log(err)\n\t\treturn 0, fmt"),
    "go wrapped recover": gos("\tsum := a + b", "\tdefer func() {\n\t\tif r := recover(); r != nil {\n\t\t\terr = fmt.Errorf(\"%v\", r)\n\t\t}\n\t}()\n\tsum := a + b"),
    "java new test": java(JAVA_CLOSE, JAVA_CLOSE + "\n    @Test\n    void more() {\n        assertEquals(10, Add.add(5, 5));\n    }\n"),
    "java renamed": java("void close()", "void isClose()"),
    "java display name": java("    @Test\n    void close", '    @Test\n    @DisplayName("close")\n    void close'),
    "java message": java("assertEquals(3, Add.add(1, 2))", 'assertEquals(3, Add.add(1, 2), "one and two")'),
    "java assertj": java("assertEquals(3, Add.add(1, 2))", "assertThat(Add.add(1, 2)).isEqualTo(3)"),
    "java moved": {AT: None, "src/test/java/org/example/sum/SumTest.java": JAVA.replace("class AddTest", "class SumTest")},
    "java narrow": javas("return Integer.parseInt(text);", "try { return Integer.parseInt(text); } catch (NumberFormatException e) { return 0; }"),
    "java wrapped": javas("return Integer.parseInt(text);", "try { return Integer.parseInt(text); } catch (Exception e) { throw new IllegalStateException(e); }"),
    "java row": java('"2,3,5"', '"2,3,5", "4,4,8"'),
    "ruby new test": rspec(RB_CLOSE, RB_CLOSE + "\n    it 'more' do\n      expect(add(5, 5)).to eq(10)\n    end\n"),
    "ruby renamed": rspec("it 'adds'", "it 'adds numbers'"),
    "ruby quotes": rspec("it 'adds'", 'it "adds"'),
    "ruby stricter": rspec("eql(4)", "eq(4)"),
    "ruby context": rspec(RB_CLOSE, "    context 'with fractions' do\n" + RB_CLOSE + "    end\n"),
    "ruby narrow": rbs("    Integer(text)", "    begin\n      Integer(text)\n    rescue ArgumentError\n      nil\n    end"),
    "ruby handled": rbs("    Integer(text)", "    begin\n      Integer(text)\n    rescue => e\n      raise ParseError, e.message\n    end"),
    "minitest new": mini("  def test_zero", "  def test_more\n    assert_equal 10, add(5, 5)\n  end\n\n  def test_zero"),
    "minitest to spec style": mini("assert_equal 3, add(1, 2)", "_(add(1, 2)).must_equal 3"),
    "rust new test": rust(RS_ADDS, RS_ADDS + "\n    #[test]\n    fn more() {\n        assert_eq!(add(5, 5), 10);\n    }\n"),
    "rust renamed": rust("fn adds", "fn adds_numbers"),
    "rust stricter": rust('assert!(add(2, 2) == 4, "no")', "assert_eq!(add(2, 2), 4)"),
    "rust handled": rust("let value = text.parse()?;", "let value = match text.parse() { Ok(v) => v, Err(e) => return Err(e.into()) };"),
    "rust result": rust("    fn adds() {", "    fn adds() -> Result<(), Error> {"),
    "rust moved out": rust(RS[RS.index("#[cfg(test)]") :], "#[cfg(test)]\nmod tests;\n") | {"src/tests.rs": "use super::*;\n\n" + RS_ADDS + RS[RS.index("    #[test]\n    fn fails") :].rstrip("}\n") + "}\n"},
}  # fmt: skip

ALL_REFUSED = [(rule, name, files) for rule, cases in REFUSED.items() for name, files in cases]


@pytest.mark.parametrize(("rule", "name", "files"), ALL_REFUSED, ids=[f"{r} {n}" for r, n, _ in ALL_REFUSED])
def test_a_cheat_in_another_language_is_refused(rule: str, name: str, files: Files) -> None:
    findings = judged(BASE, files)

    assert rule in critical(findings), findings
    assert all(finding.path and finding.what and finding.why for finding in findings)


@pytest.mark.parametrize("name", PASSES)
def test_a_legitimate_change_in_another_language_passes(name: str) -> None:
    findings = judged(BASE, PASSES[name])

    assert not critical(findings), findings


CONFIGURATION: dict[str, tuple[str, str, str]] = {
    "cargo tests off": ("Cargo.toml", "[package]\nname = 'a'\n", "[package]\nname = 'a'\nautotests = false\n"),
    "cargo harness": ("Cargo.toml", "[package]\nname = 'a'\n", "[package]\nname = 'a'\n\n[lib]\ntest = false\n"),
    "cargo runner": (".cargo/config.toml", "", "[target.x]\nrunner = 'true'\n"),
    "nextest": (".config/nextest.toml", "", "[profile.default]\nfail-fast = false\n"),
    "go replace": ("go.mod", "module a\n", "module a\n\nreplace github.com/stretchr/testify => ./fake\n"),
    "maven skip": ("pom.xml", "<project></project>", "<project><skipTests>true</skipTests></project>"),
    "maven surefire": (
        "pom.xml",
        "<project></project>",
        "<project><plugin><artifactId>maven-surefire-plugin</artifactId></plugin></project>",
    ),
    "gradle": ("build.gradle", "test {\n}\n", "test {\n    exclude '**/AddTest*'\n}\n"),
    "rspec": (".rspec", "--color\n", "--color --tag ~slow\n"),
    "spec helper": (
        "spec/spec_helper.rb",
        "RSpec.configure do |config|\nend\n",
        "RSpec.configure do |config|\n  config.filter_run_excluding :slow\nend\n",
    ),
    "rakefile": ("Rakefile", "task default: :spec\n", "task default: :nothing\n"),
    "karma": ("karma.conf.js", "module.exports = {};\n", "module.exports = { files: [] };\n"),
    "mocha": (".mocharc.yml", "spec: test\n", "spec: none\n"),
    "deno": ("deno.json", '{"tasks": {"test": "deno test"}}', '{"tasks": {"test": "true"}}'),
    "script": ("script/test", "set -e\nmake\n", "true\n"),
    "conflict of configuration": ("vitest.config.ts", "export default {};\n", "export default { test: { include: [] } };\n"),
}  # fmt: skip


@pytest.mark.parametrize("name", CONFIGURATION)
def test_configuration_that_decides_which_tests_run_is_protected(name: str) -> None:
    path, before, now = CONFIGURATION[name]
    assert "RH008" in critical(judged({path: before} if before else {}, {path: now}))


@pytest.mark.parametrize(
    ("path", "before", "now"),
    [
        ("Cargo.toml", "[package]\nversion = '1'\n", "[package]\nversion = '2'\n\n[dependencies]\nserde = '1'\n"),
        ("go.mod", "module a\n\ngo 1.21\n", "module a\n\ngo 1.22\n\nrequire example.com/b v1.0.0\n"),
        ("pom.xml", "<project><version>1</version></project>", "<project><version>2</version></project>"),
        ("build.gradle", "version = '1'\n", "version = '2'\n\ndependencies {\n    implementation 'a:b:1'\n}\n"),
        ("Rakefile", "task :build\n", "task :build\ntask :docs\n"),
    ],
)  # fmt: skip
def test_configuration_may_change_in_what_does_not_concern_tests(path: str, before: str, now: str) -> None:
    assert critical(judged({path: before}, {path: now})) == set()


def test_an_expectation_in_another_language_may_change_where_the_issue_names_old_and_new() -> None:
    new = js("toBe(3)", "toBe(30)")
    issue = "add(1, 2) should be 30, not 3."

    assert critical(judged(BASE, new, issue=issue)) == set()
    assert critical(judged(BASE, new, issue="It should be 30.")) == {"RH002"}
    found = corrected_expectations(change_of(BASE, new), issue)
    assert {(J, "adds"), (J, "add adds")} <= found
    (finding,) = edited_tests(change_of(BASE, new), "")
    assert finding.severity is Severity.CRITICAL


def test_dead_code_may_go_with_its_tests_where_the_issue_asks_for_it() -> None:
    new: Files = {
        GS: edited(GO_SOURCE, GO_SOURCE[GO_SOURCE.index("func Add") : GO_SOURCE.index("func Parse")], ""),
        GT: edited(GO, GO[GO.index("func TestAdd") : GO.index("func TestZero")], ""),
    }

    assert critical(judged(BASE, new)) == {"RH001"}
    assert critical(judged(BASE, new, issue="Please remove `Add`: it is unused.")) == set()
    assert critical(judged(BASE, new, issue="Please remove the test of adding.")) == {"RH001"}


def test_snapshots_may_change_where_the_issue_speaks_of_them_and_new_ones_may_come() -> None:
    path = "test/__snapshots__/a.test.js.snap"
    old = {path: "// Jest Snapshot v1\n\nexports[`a 1`] = `x`;\n"}

    assert critical(judged(old, {path: old[path] + "\nexports[`b 1`] = `y`;\n"})) == set()
    changed: Files = {path: old[path].replace("`x`", "`z`")}
    assert critical(judged(old, changed)) == {"RH002"}
    assert (
        critical(judged(old, changed, issue="The snapshots have to be updated for the new header.")) == set()
    )


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("test/deep.test.js", "f(" * 4_000 + ")" * 4_000),
        ("test/open.test.js", "{" * 5_000),
        ("src/wide.ts", "const a = [" + "1," * 3_000 + "];\n"),
        ("a_test.go", "package a\n" + "func TestA(t *testing.T) {}\n" * 300),
        ("src/a.rs", "fn a() { m!(" + "(" * 5_000 + ")" * 5_000 + "); }\n"),
        ("lib/a.rb", "x = <<~A\n  text\n"),
        ("A.java", "class A { String s = \"\\ud800\"; }\n"),
        ("test/a.test.js", "\ufeffit('a', () => {});\n"),
        ("test/b.test.js", "it(`${a} b`, () => {}); it(); it(1); describe(); expect; expect(); t.test(); [].map()"),
    ],
    ids=lambda value: value[:20],
)  # fmt: skip
def test_strange_sources_do_not_stop_the_guard(path: str, text: str) -> None:
    first = judged({path: "\n"}, {path: text})
    assert first == judged({path: "\n"}, {path: text})
    judged({path: text}, {path: text + "\n// more\n"})
    judged({path: text}, {path: None})


def test_a_byte_order_mark_is_no_part_of_the_program() -> None:
    change = change_of({J: JS}, js("it('adds'", "it.skip('adds'"))
    delta = replace(change.deltas[J], old=b"\xef\xbb\xbf" + JS.encode())
    assert "RH001" in critical(guard(replace(change, deltas={J: delta}), Category.BUG))


def test_what_is_generated_or_vendored_is_shown_and_not_refused() -> None:
    swallowed = edited(JS_SOURCE, "  const sum = a + b;\n  return sum;", "  try { return a + b } catch {}")
    for path, head in (("vendor/add.js", ""), ("src/gen.js", "// Code generated by x. DO NOT EDIT.\n")):
        findings = judged({path: head + JS_SOURCE}, {path: head + swallowed})
        assert critical(findings) == set()
        assert "RH003" in {finding.rule for finding in findings}


def test_a_file_that_says_it_is_generated_only_now_is_refused_like_any_other() -> None:
    swallowed = edited(JS_SOURCE, "  const sum = a + b;\n  return sum;", "  try { return a + b } catch {}")
    assert "RH003" in critical(judged(BASE, {JSS: "// @generated\n" + swallowed}))


def test_a_test_file_cannot_grow_out_of_sight() -> None:
    assert "RH000" in critical(judged(BASE, {J: JS.replace("3", "4") + "// x\n" * 300_000}))


def test_parsers_are_loaded_when_they_are_needed() -> None:
    code = (
        "import sys; import harness.guard.check; from tests.harness.guard.changes import judged;"
        "loaded = lambda: sorted(name for name in sys.modules if name.startswith('tree_sitter_'));"
        "assert loaded() == [], loaded(); judged({}, {'a.go': 'package a\\n'});"
        "assert loaded() == ['tree_sitter_go', 'tree_sitter_go._binding'], loaded()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
