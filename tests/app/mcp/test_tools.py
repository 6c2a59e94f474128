"""The tools of `fixwright mcp` by themselves: answers, refusals in words, and nothing outside of the root."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcp_types import CallToolResult, TextContent

from app.mcp.server import answer, described
from app.mcp.tools import TOOLS, Desk
from tests.harness.git_world import person

PARSER = '''class Base:
    pass


class Parser(Base):
    """Reads headers."""

    def parse_header(self, line):
        return line.split(":")


def read(text):
    return Parser().parse_header(text)
'''
FIX = '--- a/mail/parser.py\n+++ b/mail/parser.py\n@@ -9 +9 @@\n-        return line.split(":")\n'
FIX += '+        return line.split(":", 1)\n'
CHEAT = "--- a/mail/parser.py\n+++ b/mail/parser.py\n@@ -8,2 +8,3 @@\n     def parse_header(self, line):\n"
CHEAT += '+        breakpoint()\n         return line.split(":")\n'


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    (root / "mail").mkdir(parents=True)
    (root / "mail" / "parser.py").write_text(PARSER)
    (root / "mail" / "writer.py").write_text("def write_rows(rows):\n    return list(rows)\n")
    (tmp_path / "secret.py").write_text("def secret():\n    return 1\n")
    (root / "way_out").symlink_to(tmp_path)
    (root / "secret_link.py").symlink_to(tmp_path / "secret.py")
    return root


@pytest.fixture
def desk(root: Path, tmp_path: Path) -> Desk:
    return Desk(root, tmp_path / "index.sqlite")


def ask(desk: Desk, tool: str, /, **arguments: object) -> dict[str, object]:
    """Call a tool that must answer, and return the answer, the same in both of its forms."""
    result = answer(desk, tool, arguments)
    said = _text(result)
    assert not result.is_error, said
    assert result.structured_content == json.loads(said)
    return dict(result.structured_content)


def refusal(desk: Desk, tool: str, /, **arguments: object) -> str:
    """Call a tool that must refuse, and return its words."""
    result = answer(desk, tool, arguments)
    assert result.is_error, _text(result)
    return _text(result)


def _text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def test_every_argument_of_every_tool_is_described() -> None:
    tools = {tool.name: tool for tool in described()}

    assert set(tools) == {
        "localize_fault",
        "verify_patch_integrity",
        "apply_transactional_patch",
        "inspect_ast_symbols",
    }
    for tool in tools.values():
        assert tool.description and tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        for name, about in tool.input_schema["properties"].items():
            assert len(str(about.get("description", ""))) > 20, f"{tool.name}: {name}"
    changing = [
        name for name, tool in tools.items() if tool.annotations and not tool.annotations.read_only_hint
    ]
    assert changing == ["apply_transactional_patch"]


def test_where_a_fault_is(desk: Desk) -> None:
    found = ask(desk, "localize_fault", issue="parse_header cuts the value at the second colon", budget=500)

    (first, *_) = found["suspects"]  # type: ignore[misc] - JSON
    assert (first["path"], first["symbol"], first["relative"]) == (
        "mail/parser.py",
        "Parser.parse_header",
        1.0,
    )
    assert 'return line.split(":")' in str(found["slices"])


def test_symbols_by_name_with_base_callers_and_source(desk: Desk) -> None:
    (method,) = ask(desk, "inspect_ast_symbols", name="Parser.parse_header")["symbols"]  # type: ignore[misc]
    assert method["head"] == "def parse_header(self, line):"
    assert method["callers"] == ["mail/parser.py:12 read"]
    assert method["source"] == '8      def parse_header(self, line):\n9          return line.split(":")'

    (header,) = ask(desk, "inspect_ast_symbols", name="Parser", source=False)["symbols"]  # type: ignore[misc]
    assert header["bases"] == ["Base"] and header["kind"] == "class" and "source" not in header
    assert "nothing is called 'zebra'" in str(ask(desk, "inspect_ast_symbols", name="zebra")["around"])


def test_symbols_by_file_and_line(desk: Desk, root: Path) -> None:
    listed = ask(desk, "inspect_ast_symbols", file="mail/parser.py", source=False)["symbols"]
    assert [one["qualified"] for one in listed] == ["Base", "Parser", "Parser.parse_header", "read"]  # type: ignore[attr-defined]

    around = ask(desk, "inspect_ast_symbols", file=str(root / "mail" / "parser.py"), line=9)["symbols"]
    assert [one["qualified"] for one in around] == ["Parser.parse_header", "Parser"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "file",
    [
        "../secret.py",
        "/etc/passwd",
        "way_out/secret.py",
        "secret_link.py",
        "mail/../../secret.py",
        ".git/config",
        "mail",
        "a\0b",
    ],
)
def test_nothing_outside_of_the_repository_is_read(desk: Desk, root: Path, file: str) -> None:
    person("init", "-q", ".", at=root)

    said = refusal(desk, "inspect_ast_symbols", file=file)

    assert said.startswith("inspect_ast_symbols: file: ") and "give a path from its root" in said
    assert "secret()" not in said


@pytest.mark.long
def test_a_patch_is_judged_and_nothing_is_changed(desk: Desk, root: Path) -> None:
    assert ask(desk, "verify_patch_integrity", patch=FIX)["ok"] is True
    found = ask(desk, "verify_patch_integrity", patch=CHEAT)
    assert found["ok"] is False and found["files"] == ["mail/parser.py"]
    (finding,) = found["findings"]  # type: ignore[misc]
    assert (finding["rule"], finding["line"], finding["severity"]) == ("RH006", 9, "critical")
    assert "is no git repository" in refusal(desk, "verify_patch_integrity", commits="main..topic")
    assert (root / "mail" / "parser.py").read_text() == PARSER


def test_a_patch_is_applied_as_a_whole_or_not_at_all(desk: Desk, root: Path) -> None:
    file = root / "mail" / "parser.py"
    refused = ask(desk, "apply_transactional_patch", patch=CHEAT)
    assert refused["applied"] is False and "RH006" in str(refused["reason"]) and file.read_text() == PARSER

    dry = ask(desk, "apply_transactional_patch", patch=FIX, dry_run=True)
    assert dry["ok"] is True and dry["applied"] is False and file.read_text() == PARSER

    done = ask(desk, "apply_transactional_patch", patch=FIX)
    assert done["applied"] is True and done["files"] == ["mail/parser.py"]
    assert 'split(":", 1)' in file.read_text()


ESCAPES = {
    "above": "--- /dev/null\n+++ b/../escaped\n@@ -0,0 +1 @@\n+x\n",
    "through a link": "--- /dev/null\n+++ b/way_out/escaped\n@@ -0,0 +1 @@\n+x\n",
    "a linked file": "--- a/secret_link.py\n+++ b/secret_link.py\n@@ -1 +1 @@\n-def secret():\n+x = 1\n",
    "git's own": "--- /dev/null\n+++ b/.git/hooks/pre-commit\n@@ -0,0 +1 @@\n+x\n",
}


@pytest.mark.parametrize("patch", ESCAPES.values(), ids=ESCAPES)
@pytest.mark.long
def test_no_patch_leads_out_of_the_repository(desk: Desk, tmp_path: Path, patch: str) -> None:
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.py")}

    refusal(desk, "apply_transactional_patch", patch=patch)

    assert {path: path.read_bytes() for path in tmp_path.rglob("*.py")} == before
    assert not list(tmp_path.rglob("escaped")) and not list(tmp_path.rglob("pre-commit"))


WRONG = {
    "no tool": ("guess", {}, "there is no tool 'guess'; there are localize_fault"),
    "missing": (
        "localize_fault",
        {},
        "`issue` is missing. The arguments are: issue, failing_output, top, budget",
    ),
    "unknown": ("localize_fault", {"issue": "x", "k": 1}, "`k` is no argument of this tool"),
    "too many": (
        "localize_fault",
        {"issue": "x", "top": 1000},
        "`top` input should be less than or equal to 50",
    ),
    "both": ("inspect_ast_symbols", {"name": "x", "file": "y"}, "give either `name` or `file`"),
    "neither": ("verify_patch_integrity", {}, "give either `patch` or `commits`"),
    "no diff": ("verify_patch_integrity", {"patch": "hello"}, "no unified diff"),
    "unfit": ("apply_transactional_patch", {"patch": FIX.replace("line.split", "row.split")}, "does not fit"),
}


@pytest.mark.parametrize(("name", "arguments", "words"), WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_said_with_the_way_out(
    desk: Desk, name: str, arguments: dict[str, object], words: str
) -> None:
    assert words in refusal(desk, name, **arguments)


@pytest.mark.long
def test_answers_are_bounded(desk: Desk, root: Path) -> None:
    (root / "long.py").write_text("".join(f"def f{n}():\n" + "    pass  # filler\n" * 60 for n in range(120)))

    result = answer(desk, "inspect_ast_symbols", {"file": "long.py"})

    assert not result.is_error and len(_text(result)) < 120_000
    assert result.structured_content["left_out"] == 70
    assert set(TOOLS) == {tool.name for tool in described()}


@pytest.mark.long
def test_a_fault_of_a_tool_is_told_and_the_session_goes_on(desk: Desk, tmp_path: Path) -> None:
    broken = Desk(tmp_path / "gone", tmp_path / "index.sqlite")

    assert "inspect_ast_symbols" in refusal(broken, "inspect_ast_symbols", file="x.py")
    assert "apply_transactional_patch: " in refusal(broken, "apply_transactional_patch", patch=FIX)
