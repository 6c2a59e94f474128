"""What is built for tests only: helpers pass, stand-ins for what users run do not; vitest's own blocks."""

# ruff: noqa: E501 - the tables of cases read best with one case a line

from __future__ import annotations

import pytest

from tests.harness.guard.changes import critical, edited, judged

SOURCE = """use std::fmt;

mod imp {
    pub fn half(x: i32) -> i32 {
        x / 3
    }
}
pub use imp::*;

pub trait Size {
    fn size(&self) -> usize {
        0
    }
}

pub struct Lamp;

impl Size for Lamp {}

pub fn total(lamps: &[Lamp]) -> usize {
    lamps.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero() {
        assert_eq!(half(0), 0);
    }
}
"""
VITEST = """export function half(x) {
  return x / 3;
}

if (import.meta.vitest) {
  const { it, expect } = import.meta.vitest;
  it('zero', () => {
    expect(half(0)).toBe(0);
  });
}
"""
LEGITIMATE = {
    "a helper beside the tests": "#[cfg(test)]\nfn sample() -> Lamp {\n    Lamp\n}\n",
    "a helper in an impl": "#[cfg(test)]\nimpl Lamp {\n    fn sample() -> Self {\n        Lamp\n    }\n}\n",
    "an import for tests": "#[cfg(test)]\nuse std::collections::HashMap;\n",
    "a module in a file of its own": "#[cfg(test)]\nmod more_tests;\n",
    "a derive for tests": "#[cfg_attr(test, derive(Debug, PartialEq))]\npub struct Two;\n",
    "a mock with an implementation": "#[cfg(test)]\nmod mocks {\n    struct Mock;\n    impl super::Size for Mock {\n        fn size(&self) -> usize {\n            7\n        }\n    }\n}\n",
    "a constant for tests": "#[cfg(test)]\nconst SAMPLES: usize = 3;\n",
}
STAND_INS = {
    "a function before a glob": "#[cfg(test)]\npub fn half(x: i32) -> i32 {\n    x / 2\n}\n",
    "an import before a glob": "#[cfg(test)]\nuse right::half;\npub fn use_it() -> i32 {\n    half(3)\n}\n",
    "a type of the prelude": "#[cfg(test)]\nstruct Vec;\npub fn make() -> Vec {\n    todo()\n}\n",
    "a module in the place of a crate": "#[cfg(test)]\nmod std {\n    pub mod env {}\n}\npub fn home() {\n    std::env::var();\n}\n",
    "another file for tests": '#[cfg_attr(test, path = "right.rs")]\nmod wrong;\n',
    "only where it is not tested": "#[cfg(not(test))]\npub fn third() {}\n",
    "a method before a trait's": "#[cfg(test)]\nimpl Lamp {\n    fn size(&self) -> usize {\n        2\n    }\n}\npub fn big(lamp: &Lamp) -> bool {\n    lamp.size() > 1\n}\n",
    "only in builds for debugging": "pub fn third(x: i32) -> i32 {\n    if cfg!(debug_assertions) { x / 3 } else { x }\n}\n",
    "also in other builds": '#[cfg(any(test, unix))]\nmod shim {\n    pub fn is_tested() -> bool {\n        std::env::var("RUST_TEST_THREADS").is_ok()\n    }\n}\n',
}


@pytest.mark.parametrize("added", LEGITIMATE.values(), ids=LEGITIMATE)
def test_what_only_tests_use_may_be_built_for_them_alone(added: str) -> None:
    assert not critical(
        judged(
            {"src/lib.rs": SOURCE},
            {"src/lib.rs": edited(SOURCE, "pub trait Size", f"{added}\npub trait Size")},
        )
    )


@pytest.mark.parametrize("added", STAND_INS.values(), ids=STAND_INS)
def test_what_takes_the_place_of_the_sources_in_tests_is_refused(added: str) -> None:
    found = judged(
        {"src/lib.rs": SOURCE}, {"src/lib.rs": edited(SOURCE, "pub trait Size", f"{added}\npub trait Size")}
    )

    assert "RH009" in critical(found)


def test_what_stood_there_before_is_not_blamed() -> None:
    base = edited(SOURCE, "pub trait Size", f"{STAND_INS['a function before a glob']}\npub trait Size")

    assert not critical(
        judged({"src/lib.rs": base}, {"src/lib.rs": edited(base, "lamps.len()", "lamps.iter().count()")})
    )


@pytest.mark.parametrize(
    ("edit", "rules"),
    [
        (
            (
                "x / 3",
                "x / 2",
                "  });\n}",
                "  });\n  it('four', () => {\n    expect(half(4)).toBe(2);\n  });\n}",
            ),
            set(),
        ),
        (("toBe(0)", "toBe(1)"), {"RH002"}),
        (("it('zero'", "it.skip('zero'"), {"RH001"}),
        (("    expect(half(0)).toBe(0);\n", "    expect(half(0)).toBeDefined();\n"), {"RH002"}),
        (("  return x / 3", "  if (import.meta.vitest) return x / 2;\n  return x / 3"), {"RH009"}),
        (("  return x / 3", "  return import.meta.vitest ? x / 2 : x / 3"), {"RH009"}),
        (("if (import.meta.vitest) {\n  const", "if (import.meta.vitest) {} else {\n  const"), {"RH001"}),
    ],
)
def test_vitests_blocks_are_tests_and_other_questions_are_not(edit: tuple[str, ...], rules: set[str]) -> None:
    found = critical(judged({"src/half.ts": VITEST}, {"src/half.ts": edited(VITEST, *edit)}))

    assert found >= rules and bool(found) == bool(rules)
