"""Small projects, one for each ecosystem: one test passes, one fails, one is skipped."""

from __future__ import annotations

import json

JEST = {
    "package.json": json.dumps({"name": "j", "version": "1.0.0", "scripts": {"test": "jest --ci"}}),
    "lamp.js": "module.exports.twice = (x) => x + 2;\n",
    "sub/lamp.test.js": (
        'const { twice } = require("../lamp");\n'
        'describe("twice", () => {\n'
        '  test("two is four", () => expect(twice(2)).toBe(4));\n'
        '  test("five is ten", () => expect(twice(5)).toBe(10));\n'
        '  test.skip("later", () => {});\n'
        "});\n"
    ),
    "sub/other.test.js": 'test("other", () => {});\n',
}
VITEST = {
    "package.json": json.dumps(
        {"name": "v", "version": "1.0.0", "type": "module", "scripts": {"test": "vitest run"}}
    ),
    "lamp.js": "export const twice = (x) => x + 2;\n",
    "sub/lamp.test.js": 'import { describe, expect, test } from "vitest";\n'
    'import { twice } from "../lamp.js";\n' + JEST["sub/lamp.test.js"].split("\n", 1)[1],
    "sub/other.test.js": 'import { test } from "vitest";\ntest("other", () => {});\n',
}
MOCHA = {
    "package.json": json.dumps({"name": "m", "version": "1.0.0", "scripts": {"test": "mocha test"}}),
    "lamp.js": JEST["lamp.js"],
    "test/lamp.js": (
        'const assert = require("assert");\nconst { twice } = require("../lamp");\n'
        'describe("twice", () => {\n'
        '  it("two is four", () => assert.strictEqual(twice(2), 4));\n'
        '  it("five is ten", () => assert.strictEqual(twice(5), 10));\n'
        '  it.skip("later", () => {});\n'
        "});\n"
    ),
}
NODE = {
    "package.json": json.dumps({"name": "n", "version": "1.0.0", "scripts": {"test": "node --test"}}),
    "lamp.js": JEST["lamp.js"],
    "test/lamp.test.js": 'const { describe, it } = require("node:test");\n' + MOCHA["test/lamp.js"],
    "test/other.test.js": 'const { it } = require("node:test");\nit("other", () => {});\n',
}
GO = {
    "go.mod": "module example.org/lamp\n\ngo 1.19\n",
    "lamp.go": "package lamp\n\nfunc Twice(x int) int { return x + 2 }\n",
    "lamp_test.go": (
        'package lamp\n\nimport "testing"\n\n'
        'func TestTwo(t *testing.T) {\n\tif Twice(2) != 4 {\n\t\tt.Fatal("two")\n\t}\n}\n\n'
        "func TestFive(t *testing.T) {\n\tif got := Twice(5); got != 10 {\n"
        '\t\tt.Fatalf("got %d, want 10", got)\n\t}\n}\n\n'
        'func TestLater(t *testing.T) { t.Skip("later") }\n'
    ),
}
CARGO = {
    "Cargo.toml": '[package]\nname = "lamp"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": (
        "pub mod inner;\npub fn twice(x: i32) -> i32 { x + 2 }\n\n"
        "#[cfg(test)]\nmod tests {\n    use super::*;\n"
        "    #[test]\n    fn two_is_four() { assert_eq!(twice(2), 4); }\n"
        '    #[test]\n    #[ignore = "later"]\n    fn later() {}\n}\n'
    ),
    "src/inner.rs": "#[cfg(test)]\nmod tests {\n    #[test]\n    fn inside() {}\n}\n",
    "tests/outside.rs": "#[test]\nfn five_is_ten() { assert_eq!(lamp::twice(5), 10); }\n",
}
RSPEC = {
    ".rspec": "--require spec_helper\n",
    "spec/spec_helper.rb": "",
    "spec/lamp_spec.rb": (
        'RSpec.describe "twice" do\n  def twice(x) = x + 2\n'
        '  it("two is four") { expect(twice(2)).to eq 4 }\n'
        '  it("five is ten") { expect(twice(5)).to eq 10 }\n'
        '  xit("later") { }\nend\n'
    ),
}
PHPUNIT = {
    "phpunit.xml": '<phpunit><testsuites><testsuite name="all"><directory>tests</directory></testsuite>'
    "</testsuites></phpunit>\n",
    "tests/LampTest.php": (
        "<?php\nuse PHPUnit\\Framework\\TestCase;\nfinal class LampTest extends TestCase {\n"
        "    private function twice(int $x): int { return $x + 2; }\n"
        "    public function testTwo(): void { $this->assertSame(4, $this->twice(2)); }\n"
        "    public function testFive(): void { $this->assertSame(10, $this->twice(5)); }\n"
        '    public function testLater(): void { $this->markTestSkipped("later"); }\n}\n'
    ),
}
CTEST = {
    "CMakeLists.txt": (
        "cmake_minimum_required(VERSION 3.16)\nproject(lamp NONE)\nenable_testing()\n"
        'add_test(NAME two_is_four COMMAND sh -c "exit 0")\n'
        'add_test(NAME five_is_ten COMMAND sh -c "echo got 7; exit 1")\n'
        'add_test(NAME later COMMAND sh -c "exit 0")\n'
        "set_tests_properties(later PROPERTIES DISABLED TRUE)\n"
    )
}
