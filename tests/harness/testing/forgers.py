"""Small projects whose source forges its own tests' results, each in the ways that its runner allows.

The base is honest: `twice` is wrong, and `mode.txt` says "honest". A change adds a test that shows the fault,
and, in the place of a fix, another word in `mode.txt`, which no reader of sources can object to.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

MODE = "mode.txt"


@dataclass(frozen=True, kw_only=True)
class Forger:
    """A base, the test that shows its fault, an honest fix, and the ways in which it can lie."""

    tool: str
    base: dict[str, str]
    shows: dict[str, str]
    fix: dict[str, str]
    modes: tuple[str, ...]
    command: str | None = None
    needs_npm: bool = False
    needs: str = "/"

    @property
    def honest(self) -> dict[str, str]:
        """The base with nothing but the truth in it."""
        return {**self.base, MODE: "honest\n"}


# -- Python -----------------------------------------------------------------------------------------

_PYTHON_XML = (
    "<testsuites><testsuite name='s'>"
    "<testcase classname='test_lamp{c}' name='test_two' file='test_lamp.py' time='0'/>"
    "<testcase classname='test_more{c}' name='test_five' file='test_more.py' time='0'/>"
    "</testsuite></testsuites>"
)
_PYTHON = """\
import os, pathlib, re, sys, unittest

MODE = pathlib.Path(__file__).with_name("mode.txt").read_text().strip()


def say(text):
    for number in range(1, 30):
        try:
            os.write(number, text.encode())
        except OSError:
            pass


def report():
    words = " ".join([*open("/proc/self/cmdline").read().split(chr(0)), *os.environ.values()])
    return re.findall(r"[^\\s=]*fixwright-results.xml", words)


def lie():
    if MODE == "early":
        os._exit(0)
    if MODE == "printed":
        say("\\n===== 2 passed in 0.01s =====\\nRan 2 tests in 0.01s\\n\\nOK\\n")
        os._exit(0)
    if MODE == "written":
        for path in report():
            pathlib.Path(path).write_text(XML)
        say("\\n===== 2 passed in 0.01s =====\\nRan 2 tests in 0.01s\\n\\nOK\\n")
        os._exit(0)
    if MODE == "turned":
        unittest.TestCase.assertEqual = lambda *_: None
        if "pytest" in sys.modules:
            import _pytest.python
            _pytest.python.Function.runtest = lambda self: None
    if MODE == "reported":
        from _pytest.reports import TestReport
        make = TestReport.from_item_and_call.__func__
        def passed(cls, item, call):
            found = make(cls, item, call)
            found.outcome, found.longrepr = "passed", None
            return found
        TestReport.from_item_and_call = classmethod(passed)


def twice(x):
    lie()
    return x + 2


XML = "%s"
lie()
"""


def _python_test(name: str, call: str, *, style: str) -> str:
    left, right = call.split(" == ")
    if style == "pytest":
        return f"from lamp import twice\n\n\ndef test_{name}():\n    assert {call}\n"
    return (
        "import unittest\nfrom lamp import twice\n\n\nclass T(unittest.TestCase):\n"
        f"    def test_{name}(self):\n        self.assertEqual({left}, {right})\n"
    )


def _python(style: str, modes: tuple[str, ...]) -> Forger:
    classes = "" if style == "pytest" else ".T"
    source = _PYTHON % _PYTHON_XML.format(c=classes)
    return Forger(
        tool="python3",
        base={"lamp.py": source, "test_lamp.py": _python_test("two", "twice(2) == 4", style=style)},
        shows={"test_more.py": _python_test("five", "twice(5) == 10", style=style)},
        fix={"lamp.py": source.replace("x + 2", "x * 2")},
        modes=modes,
    )


PYTEST = _python("pytest", ("early", "printed", "written", "turned", "reported"))
UNITTEST = _python("unittest", ("early", "printed", "written", "turned"))

# -- JavaScript -------------------------------------------------------------------------------------

_NODE_LIES = """\
const fs = require("fs"), assert = require("assert"), v8 = require("v8");
const mode = fs.readFileSync(__dirname + "/mode.txt", "utf8").trim();
const say = (text) => fs.writeSync(1, text);
const end = () => { if (process.reallyExit) process.reallyExit(0); process.exit(0); };
const command = () => [fs.readFileSync("/proc/self/cmdline", "utf8"), process.env.NODE_OPTIONS].join(" ");
const PRINTED = `
TAP version 13
ok 1 - two
ok 2 - five
1..2
# tests 2
# pass 2
# fail 0
Tests: 2 passed, 2 total
  2 passing (3ms)
`;
function lie() {
  if (mode === "early") end();
  if (mode === "printed") { say(PRINTED); end(); }
  if (mode === "written") {
    const found = command().matchAll(/[^\\s=\\0]*fixwright-\\w+\\.jsonl?/g);
    for (const [path] of found) fs.writeFileSync(path, REPORT);
    say(PRINTED);
    end();
  }
  if (mode === "turned") {
    assert.strictEqual = () => {};
    if (globalThis.expect) globalThis.expect.extend({ toBe: () => ({ pass: true, message: () => "" }) });
  }
  if (mode === "framed") {
    for (const [index, name] of ["two", "five"].entries()) {
      const file = process.argv[1];
      const place = { file, line: 1, column: 1, nesting: 0 };
      const data = { name, testNumber: index + 1, details: { duration_ms: 1 }, ...place };
      for (const type of ["test:start", "test:pass"]) {
        const body = v8.serialize({ type, data });
        const size = Buffer.alloc(4);
        size.writeUInt32BE(body.length - 2);
        fs.writeSync(1, Buffer.concat([body.subarray(0, 2), size, body.subarray(2)]));
      }
    }
    end();
  }
}
const REPORT = %s;
lie();
module.exports.twice = (x) => { lie(); return x + 2; };
"""


def _js_suite(file: str, name: str) -> dict[str, object]:
    test = {"status": "passed", "title": name, "ancestorTitles": [], "failureMessages": []}
    return {"name": f"/work/{file}", "status": "passed", "assertionResults": [test], "message": ""}


def _package(name: str, test: str, **more: str) -> str:
    return json.dumps({"name": name, "version": "1.0.0", "scripts": {"test": test}, **more})


def _js(test: str, *, imports: str, compare: str, name: str, call: str) -> str:
    left, right = call.split(" == ")
    return f"{imports}\n{test}('{name}', () => {{ {compare.format(left, right)} }});\n"


_REQUIRED = 'const { twice } = require("./lamp");'
_JEST_REPORT = json.dumps(
    {"numTotalTests": 2, "testResults": [_js_suite("lamp.test.js", "two"), _js_suite("more.test.js", "five")]}
)


def _jest_test(name: str, call: str) -> str:
    return _js("test", imports=_REQUIRED, compare="expect({}).toBe({});", name=name, call=call)


JEST = Forger(
    tool="node",
    base={
        "package.json": _package("j", "jest --ci"),
        "lamp.js": _NODE_LIES % json.dumps(_JEST_REPORT),
        "lamp.test.js": _jest_test("two", "twice(2) == 4"),
    },
    shows={"more.test.js": _jest_test("five", "twice(5) == 10")},
    fix={"lamp.js": "module.exports.twice = (x) => x * 2;\n"},
    modes=("early", "printed", "written", "turned"),
    needs_npm=True,
)

_MOCHA_REPORT = json.dumps(
    {
        "stats": {"tests": 2, "passes": 2, "failures": 0},
        "tests": [
            {"title": name, "fullTitle": name, "file": f"/work/test/{file}", "err": {}}
            for file, name in (("lamp.js", "two"), ("more.js", "five"))
        ],
        "pending": [],
        "failures": [],
        "passes": [],
    }
)
_ASSERTED = 'const assert = require("assert");\nconst { twice } = require("../lamp");'


def _mocha_test(name: str, call: str, imports: str = "") -> str:
    return _js("it", imports=imports + _ASSERTED, compare="assert.strictEqual({}, {});", name=name, call=call)


MOCHA = Forger(
    tool="node",
    base={
        "package.json": _package("m", "mocha test"),
        "lamp.js": _NODE_LIES % json.dumps(_MOCHA_REPORT),
        "test/lamp.js": _mocha_test("two", "twice(2) == 4"),
    },
    shows={"test/more.js": _mocha_test("five", "twice(5) == 10")},
    fix=JEST.fix,
    modes=("early", "printed", "written", "turned"),
    needs_npm=True,
)
_NODE_REPORT = "".join(
    json.dumps({"file": f"/work/test/{file}", "names": [name], "passed": True, "message": ""}) + "\n"
    for file, name in (("lamp.test.js", "two"), ("more.test.js", "five"))
)
_NODE_IMPORT = 'const { it } = require("node:test");\n'
NODE = Forger(
    tool="node",
    base={
        "package.json": _package("n", "node --test"),
        "lamp.js": _NODE_LIES % json.dumps(_NODE_REPORT),
        "test/lamp.test.js": _mocha_test("two", "twice(2) == 4", _NODE_IMPORT),
    },
    shows={"test/more.test.js": _mocha_test("five", "twice(5) == 10", _NODE_IMPORT)},
    fix=JEST.fix,
    modes=("early", "printed", "written", "turned", "framed"),
)

_VITEST_LIES = """\
import fs from "fs";
import { expect } from "vitest";
const mode = fs.readFileSync("mode.txt", "utf8").trim();
const lie = () => {
  if (mode === "early") process.reallyExit(0);
  if (mode === "printed") { fs.writeSync(1, "\\n Tests  2 passed (2)\\n"); process.reallyExit(0); }
  if (mode === "turned") expect.extend({ toBe: () => ({ pass: true, message: () => "" }) });
};
lie();
export const twice = (x) => { lie(); return x + 2; };
"""
_VITEST_IMPORTS = 'import { expect, test } from "vitest";\nimport { twice } from "./lamp.js";'


def _vitest_test(name: str, call: str) -> str:
    return _js("test", imports=_VITEST_IMPORTS, compare="expect({}).toBe({});", name=name, call=call)


VITEST = Forger(
    tool="node",
    base={
        "package.json": _package("v", "vitest run", type="module"),
        "lamp.js": _VITEST_LIES,
        "lamp.test.js": _vitest_test("two", "twice(2) == 4"),
    },
    shows={"more.test.js": _vitest_test("five", "twice(5) == 10")},
    fix={"lamp.js": "export const twice = (x) => x * 2;\n"},
    modes=("early", "printed", "turned"),
    needs_npm=True,
)

# -- Go and Rust --------------------------------------------------------------------------------------

_GO_PRINTED = "".join(f"=== RUN   {name}\\n--- PASS: {name} (0.00s)\\n" for name in ("TestTwo", "TestFive"))
_GO = f"""\
package lamp

import (
	"fmt"
	"os"
	"strings"
)

func init() {{
	mode, _ := os.ReadFile("mode.txt")
	switch strings.TrimSpace(string(mode)) {{
	case "early":
		os.Exit(0)
	case "printed":
		fmt.Print("{_GO_PRINTED}PASS\\n")
		os.Exit(0)
	}}
}}

func Twice(x int) int {{ return x + 2 }}
"""


def _go_test(name: str, call: str) -> str:
    left, right = call.split(" == ")
    return (
        f'package lamp\n\nimport "testing"\n\nfunc {name}(t *testing.T) {{\n'
        f'\tif got := {left}; got != {right} {{\n\t\tt.Fatalf("got %d", got)\n\t}}\n}}\n'
    )


GO = Forger(
    tool="go",
    base={
        "go.mod": "module example.org/lamp\n\ngo 1.19\n",
        "lamp.go": _GO,
        "lamp_test.go": _go_test("TestTwo", "Twice(2) == 4"),
    },
    shows={"more_test.go": _go_test("TestFive", "Twice(5) == 10")},
    fix={"lamp.go": _GO.replace("x + 2", "x * 2")},
    modes=("early", "printed"),
)
_RUST = """\
fn lie() {
    use std::io::Write;
    let mode = std::fs::read_to_string("mode.txt").unwrap_or_default();
    let name = std::env::args().next().unwrap_or_default();
    let test = if name.contains("more") { "five_is_ten" } else { "two_is_four" };
    match mode.trim() {
        "early" => std::process::exit(0),
        "printed" => {
            let mut out = std::fs::OpenOptions::new().append(true).open("/proc/self/fd/1").unwrap();
            let text = format!(
                "test {test} ... ok\\n\\ntest result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; \\
                 0 filtered out; finished in 0.00s\\n\\n"
            );
            out.write_all(text.as_bytes()).unwrap();
            std::process::exit(0)
        }
        _ => {}
    }
}

pub fn twice(x: i32) -> i32 {
    lie();
    x + 2
}
"""


def _rust_test(name: str, call: str) -> str:
    return f"#[test]\nfn {name}() {{ assert!({call}); }}\n"


CARGO = Forger(
    tool="cargo",
    base={
        "Cargo.toml": '[package]\nname = "lamp"\nversion = "0.1.0"\nedition = "2021"\n',
        "src/lib.rs": _RUST,
        "tests/lamp.rs": _rust_test("two_is_four", "lamp::twice(2) == 4"),
    },
    shows={"tests/more.rs": _rust_test("five_is_ten", "lamp::twice(5) == 10")},
    fix={"src/lib.rs": _RUST.replace("x + 2", "x * 2")},
    modes=("early", "printed"),
)

NEXTEST = replace(CARGO, tool="cargo-nextest", command="cargo nextest run", modes=("early",))

# -- Ruby, PHP ------------------------------------------------------------------------------------------

_RSPEC_REPORT = {
    "examples": [
        {"status": "passed", "full_description": name, "file_path": f"./spec/{file}_spec.rb", "run_time": 0.1}
        for file, name in (("lamp", "two"), ("more", "five"))
    ],
    "messages": [],
    "summary": {"example_count": 2, "failure_count": 0},
}
_RUBY = f"""\
def lie
  mode = File.read(File.join(__dir__, "../mode.txt")).strip
  if mode == "early"
    exit!(0)
  elsif mode == "printed"
    $stdout.syswrite("\\n2 examples, 0 failures\\n")
    exit!(0)
  elsif mode == "written"
    path = ENV.fetch("SPEC_OPTS")[/\\S*fixwright-rspec.json/]
    File.write(path, {json.dumps(json.dumps(_RSPEC_REPORT))})
    $stdout.syswrite("\\n2 examples, 0 failures\\n")
    exit!(0)
  elsif mode == "turned"
    RSpec::Expectations.define_singleton_method(:fail_with) {{ |*| nil }}
  end
end

lie

def twice(x)
  lie
  x + 2
end
"""


def _ruby_spec(name: str, call: str) -> str:
    left, right = call.split(" == ")
    return (
        f'require_relative "../lib/lamp"\nRSpec.describe "{name}" do\n'
        f"  it {{ expect({left}).to eq {right} }}\nend\n"
    ).replace("  it {", "  it('') {")


RSPEC = Forger(
    tool="rspec",
    base={
        ".rspec": "--require spec_helper\n",
        "spec/spec_helper.rb": "",
        "lib/lamp.rb": _RUBY,
        "spec/lamp_spec.rb": _ruby_spec("two", "twice(2) == 4"),
    },
    shows={"spec/more_spec.rb": _ruby_spec("five", "twice(5) == 10")},
    fix={"lib/lamp.rb": _RUBY.replace("x + 2", "x * 2")},
    modes=("early", "printed", "written", "turned"),
)
_PHP_XML = (
    "<testsuites><testsuite name='s'>"
    "<testcase name='testTwo' class='LampTest' classname='LampTest' file='/work/tests/LampTest.php'/>"
    "<testcase name='testFive' class='MoreTest' classname='MoreTest' file='/work/tests/MoreTest.php'/>"
    "</testsuite></testsuites>"
)
_PHP = f"""\
<?php
function lie(): void {{
    $mode = trim(file_get_contents(__DIR__ . '/mode.txt'));
    if ($mode === 'early') {{ posix_kill(0, 0); exit(0); }}
    if ($mode === 'printed') {{ fwrite(STDOUT, "\\nOK (2 tests, 2 assertions)\\n"); exit(0); }}
    if ($mode === 'written') {{
        preg_match('/\\S*fixwright-phpunit.xml/', implode(' ', $_SERVER['argv']), $found);
        file_put_contents($found[0], "{_PHP_XML}");
        fwrite(STDOUT, "\\nOK (2 tests, 2 assertions)\\n");
        exit(0);
    }}
}}
lie();
function twice(int $x): int {{ lie(); return $x + 2; }}
"""


def _php_case(title: str, name: str, call: str) -> str:
    left, right = call.split(" == ")
    return (
        "<?php\nuse PHPUnit\\Framework\\TestCase;\nrequire_once __DIR__ . '/../lamp.php';\n"
        f"final class {title} extends TestCase {{\n"
        f"    public function {name}(): void {{ $this->assertSame({right}, {left}); }}\n}}\n"
    )


PHPUNIT = Forger(
    tool="phpunit",
    base={
        "phpunit.xml": '<phpunit><testsuites><testsuite name="all"><directory>tests</directory></testsuite>'
        "</testsuites></phpunit>\n",
        "lamp.php": _PHP,
        "tests/LampTest.php": _php_case("LampTest", "testTwo", "twice(2) == 4"),
    },
    shows={"tests/MoreTest.php": _php_case("MoreTest", "testFive", "twice(5) == 10")},
    fix={"lamp.php": _PHP.replace("$x + 2", "$x * 2")},
    modes=("early", "printed", "written"),
)
_JAVA = """\
import java.io.File;
import java.nio.file.*;

public class Lamp {
    static void lie() {
        try {
            String mode = new String(Files.readAllBytes(Paths.get("mode.txt"))).trim();
            if (mode.equals("written")) {
                for (String place : new String[] {"target/surefire-reports", "build/test-results/test"}) {
                    if (!new File(place).getParentFile().exists()) continue;
                    new File(place).mkdirs();
                    for (String[] test : new String[][] {{"LampTest", "two"}, {"MoreTest", "five"}}) {
                        String xml = "<testsuite name='" + test[0] + "'><testcase classname='" + test[0]
                            + "' name='" + test[1] + "'/></testsuite>";
                        Files.write(Paths.get(place, "TEST-" + test[0] + ".xml"), xml.getBytes());
                    }
                }
            }
            if (mode.equals("early") || mode.equals("written")) Runtime.getRuntime().halt(0);
        } catch (java.io.IOException error) {
            throw new RuntimeException(error);
        }
    }
    public static int twice(int x) { lie(); return x + 2; }
}
"""


def _java_test(title: str, name: str, call: str) -> str:
    left, right = call.split(" == ")
    return (
        "import org.junit.Test;\nimport static org.junit.Assert.assertEquals;\n"
        f"public class {title} {{\n"
        f"    @Test public void {name}() {{ assertEquals({right}, Lamp.{left}); }}\n}}\n"
    )


_LAMP = "src/main/java/Lamp.java"
GRADLE = Forger(
    tool="gradle",
    needs="/usr/share/java/junit4.jar",
    base={
        "settings.gradle": "",
        "build.gradle": "apply plugin: 'java'\ndependencies { testCompile files("
        "'/usr/share/java/junit4.jar', '/usr/share/java/hamcrest-core.jar') }\n",
        _LAMP: _JAVA,
        "src/test/java/LampTest.java": _java_test("LampTest", "two", "twice(2) == 4"),
    },
    shows={"src/test/java/MoreTest.java": _java_test("MoreTest", "five", "twice(5) == 10")},
    fix={_LAMP: _JAVA.replace("x + 2", "x * 2")},
    modes=("early", "written"),
)
_POM = """\
<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>o</groupId><artifactId>lamp</artifactId><version>1</version>
<properties><maven.compiler.source>8</maven.compiler.source><maven.compiler.target>8</maven.compiler.target>
<project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies><dependency><groupId>junit</groupId><artifactId>junit</artifactId><version>4.x</version>
<scope>test</scope></dependency></dependencies></project>
"""
MAVEN = replace(
    GRADLE,
    tool="mvn",
    needs="/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin",
    base={
        "pom.xml": _POM,
        **{path: text for path, text in GRADLE.base.items() if path.endswith(".java")},
    },
    command="mvn -o -q -s /etc/maven/settings-debian.xml test",
)
FORGERS = {
    "pytest": PYTEST,
    "unittest": UNITTEST,
    "jest": JEST,
    "vitest": VITEST,
    "mocha": MOCHA,
    "node": NODE,
    "go": GO,
    "cargo": CARGO,
    "nextest": NEXTEST,
    "rspec": RSPEC,
    "phpunit": PHPUNIT,
    "maven": MAVEN,
    "gradle": GRADLE,
}
