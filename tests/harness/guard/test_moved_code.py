"""What stood there before is not blamed on a change that moves, renames, or edits the code around it."""

# ruff: noqa: E501 - small sources read best on one line

from __future__ import annotations

import pytest

from tests.harness.guard.changes import critical, judged

SOURCES = {
    "src/a.js": """export function load(name, extra) {
  console.log('loading', name);
  if (process.env.NODE_ENV === 'test') {
    return eval(name);
  }
  client.post(extra).catch(() => {});
  try {
    open(name + extra);
    return read(name);
  } catch (e) {
  }
  return null;
}
""",
    "src/a.ts": """export class Store {
  load(name: string, extra: string): unknown {
    try {
      return new Function(name + extra)();
    } catch {
    }
    return undefined;
  }
}
""",
    "a/a.go": """package a

func Load(name string, extra string) []byte {
	defer func() {
		recover()
	}()
	_ = Check(name + extra)
	out, _ := exec.Command("sh", "-c", name+extra).Output()
	return out
}
""",
    "src/main/java/A.java": """class A {
    Object load(String name, String extra) {
        try {
            return Runtime.getRuntime().exec(name + extra);
        } catch (Exception e) {
        }
        return null;
    }
}
""",
    "lib/a.rb": """class A
  def load(name, extra)
    eval(name + extra)
    Marshal.load(extra) rescue nil
    system(name)
  rescue StandardError
    nil
  end
end
""",
    "src/a.rs": """pub fn load(name: &str, extra: &str) -> Option<String> {
    dbg!(name);
    let _ = check(name, extra);
    send(name, extra).ok();
    if let Err(_) = ask(name, extra) {}
    unsafe { transmute(extra) }
}
""",
}
EDITS = {
    "another name for an argument": ("extra", "more"),
    "another name for a function": ("load", "fetch"),
    "an expression the other way round": ("name + extra", "extra + name"),
}
EVERY = pytest.mark.parametrize("path", SOURCES)


@EVERY
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_code_around_old_sins_may_be_edited(path: str, edit: tuple[str, str]) -> None:
    old = SOURCES[path]

    assert not critical(
        judged({path: old}, {path: old.replace(*edit).replace(edit[0].title(), edit[1].title())})
    )


@EVERY
def test_a_file_may_move_and_be_edited(path: str) -> None:
    place, _, name = path.rpartition("/")
    text = SOURCES[path].replace("extra", "more")

    assert not critical(judged({path: SOURCES[path]}, {path: None, f"{place}/other{name[1:]}": text}))


@EVERY
def test_a_second_one_is_blamed(path: str) -> None:
    place, _, name = path.rpartition("/")

    assert critical(judged({path: SOURCES[path]}, {f"{place}/other{name[1:]}": SOURCES[path]}))


def test_a_handler_around_something_else_in_another_function_is_new() -> None:
    old = "function a(x) {\n  try {\n    one(x);\n  } catch {\n  }\n}\n\nfunction b(y) {\n  return two(y) + y * 3;\n}\n"
    new = "function a(x) {\n  one(x);\n}\n\nfunction b(y) {\n  try {\n    return two(y) + y * 3;\n  } catch {\n  }\n}\n"

    assert critical(judged({"src/a.js": old}, {"src/a.js": new})) == {"RH003"}


def test_a_handler_that_said_something_may_not_fall_silent() -> None:
    old = "function a(x) {\n  try {\n    one(x);\n  } catch (e) {\n    console.error(e);\n  }\n}\n"
    new = "function a(x) {\n  try {\n    one(x, 2);\n  } catch (e) {\n  }\n}\n"

    assert critical(judged({"src/a.js": old}, {"src/a.js": new})) == {"RH003"}


@pytest.mark.parametrize(
    ("suffix", "text", "test"),
    [
        (
            "js",
            "function kind(x) {\n  if (x === 'to: all') {\n    return 'a!b!c!d';\n  }\n  return x;\n}\n",
            "it('is', () => {\n  expect(kind('to: all')).toBe('a!b!c!d');\n});\n",
        ),
        (
            "py",
            "def kind(x):\n    if x == 'to: all':\n        return 'a!b!c!d'\n    return x\n",
            "def test_is():\n    assert kind('to: all') == 'a!b!c!d'\n",
        ),
    ],
)
def test_a_literal_that_moved_is_not_known_by_heart(suffix: str, text: str, test: str) -> None:
    path, other, tests = (
        f"src/a.{suffix}",
        f"src/b.{suffix}",
        f"tests/{'test_a' if suffix == 'py' else 'a.test'}.{suffix}",
    )

    assert not critical(judged({path: text}, {path: None, other: text, tests: test}))
    assert critical(judged({}, {other: text, tests: test})) == {"RH009"}
