"""The three runs in several languages, with the real runners as far as they are on this machine."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from domain.model import Category, Verdict
from domain.repo_config import RepoConfig, TestSection
from harness.verify import VerifiedChange, Verifier
from tests.harness.testing import samples
from tests.harness.testing.doubles import PATH, GitTrees, PlainSandbox

pytestmark = pytest.mark.long
SEARCH = f"{PATH}:{Path.home()}/.cargo/bin"


@dataclass(frozen=True)
class Language:
    """A base with a wrong `twice`, its fix, a test that shows it, and one that only wants a new name."""

    tool: str
    base: dict[str, str]
    fix: dict[str, str]
    shows: dict[str, str]
    green: str
    novelty: dict[str, str]
    breaks: dict[str, str]


NODE = Language(
    tool="node",
    base={
        **samples.NODE,
        "test/lamp.test.js": 'const assert = require("assert");\nconst { it } = require("node:test");\n'
        'const { twice } = require("../lamp");\nit("two", () => assert.strictEqual(twice(2), 4));\n',
    },
    fix={"lamp.js": "module.exports.twice = (x) => x * 2;\n"},
    shows={
        "test/more.test.js": 'const assert = require("assert");\nconst { it } = require("node:test");\n'
        'const { twice } = require("../lamp");\nit("five", () => assert.strictEqual(twice(5), 10));\n'
    },
    green="test/more.test.js::five",
    novelty={
        "lamp.js": "module.exports.twice = (x) => x * 2;\nmodule.exports.half = (x) => x / 2;\n",
        "test/more.test.js": 'const assert = require("assert");\nconst { it } = require("node:test");\n'
        'const { half } = require("../lamp");\nit("half", () => assert.strictEqual(half(4), 2));\n',
    },
    breaks={"lamp.js": "module.exports.twice = (x) => (x === 2 ? 5 : x * 2);\n"},
)
GO_TEST = (
    'package lamp\n\nimport "testing"\n\nfunc {name}(t *testing.T) {{\n'
    '\tif got := {call}; got != {want} {{\n\t\tt.Fatalf("got %d", got)\n\t}}\n}}\n'
)
GO = Language(
    tool="go",
    base={
        "go.mod": samples.GO["go.mod"],
        "lamp.go": samples.GO["lamp.go"],
        "lamp_test.go": GO_TEST.format(name="TestTwo", call="Twice(2)", want=4),
    },
    fix={"lamp.go": samples.GO["lamp.go"].replace("x + 2", "x * 2")},
    shows={"more_test.go": GO_TEST.format(name="TestFive", call="Twice(5)", want=10)},
    green="example.org/lamp::TestFive",
    novelty={
        "lamp.go": samples.GO["lamp.go"].replace("x + 2", "x * 2")
        + "\nfunc Half(x int) int { return x / 2 }\n",
        "more_test.go": GO_TEST.format(name="TestHalf", call="Half(4)", want=2),
    },
    breaks={},
)
LIB = samples.CARGO["src/lib.rs"].replace("pub mod inner;\n", "")
CARGO = Language(
    tool="cargo",
    base={"Cargo.toml": samples.CARGO["Cargo.toml"], "src/lib.rs": LIB},
    fix={"src/lib.rs": LIB.replace("x + 2", "x * 2")},
    shows={"tests/more.rs": samples.CARGO["tests/outside.rs"]},
    green="tests/more.rs::five_is_ten",
    novelty={
        "src/lib.rs": LIB.replace("x + 2", "x * 2") + "pub fn half(x: i32) -> i32 { x / 2 }\n",
        "tests/more.rs": "#[test]\nfn half_of_four() { assert_eq!(lamp::half(4), 2); }\n",
    },
    breaks={"src/lib.rs": LIB.replace("x + 2", "if x == 2 { 5 } else { x * 2 }")},
)


def judge(tmp_path: Path, language: Language, *changes: dict[str, str]) -> VerifiedChange | Verdict:
    if shutil.which(language.tool, path=SEARCH) is None:
        pytest.skip(f"{language.tool} is not installed")
    trees = GitTrees(tmp_path)
    verifier = Verifier(PlainSandbox(SEARCH), trees, trees)
    commit = trees.commit(language.base)
    env = {"RUSTUP_HOME": str(Path.home() / ".rustup"), "CARGO_HOME": str(Path.home() / ".cargo")}
    baseline = verifier.baseline(commit, RepoConfig(test=TestSection(env=env)))
    assert baseline.problem is None, baseline
    files = dict(language.base)
    for change in changes:
        files.update(change)
    return verifier.verify(verifier.read_change(commit, trees.tree(files)), baseline, Category.BUG)


FAST = pytest.mark.parametrize("language", [NODE, CARGO], ids=lambda language: language.tool)
LANGUAGES = pytest.mark.parametrize("language", [NODE, GO, CARGO], ids=lambda language: language.tool)


@LANGUAGES
def test_a_fix_that_a_test_has_seen_is_verified(tmp_path: Path, language: Language) -> None:
    result = judge(tmp_path, language, language.fix, language.shows)

    assert isinstance(result, VerifiedChange), result
    assert result.verdict.turned_green == (language.green,)
    assert [run.name for run in result.verdict.runs].count("base + new tests, again") == 2


@FAST
def test_a_test_without_the_fix_is_refused(tmp_path: Path, language: Language) -> None:
    result = judge(tmp_path, language, language.shows)

    assert isinstance(result, Verdict) and result.broken == (language.green,)


@LANGUAGES
def test_a_test_that_only_wants_what_is_new_shows_nothing(tmp_path: Path, language: Language) -> None:
    result = judge(tmp_path, language, language.novelty)

    assert isinstance(result, Verdict)
    assert "half" in result.summary.lower() and "do not show the fault" in result.summary


@FAST
def test_what_passed_before_may_not_break(tmp_path: Path, language: Language) -> None:
    result = judge(tmp_path, language, language.breaks, language.shows)

    assert isinstance(result, Verdict) and len(result.broken) == 1, result
