"""`fixwright mcp` as a real client meets it: a process, spoken to over standard input and output."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult

from app.mcp.start import start
from domain.errors import ConfigurationError

ROOT = Path(__file__).resolve().parents[3]
COMMAND = ["-c", "from app.cli import main; main()", "mcp", "--repo"]
SOURCE = "def twice(n):\n    return n * n\n"
TEST = "from calc import twice\n\n\ndef test_twice():\n    assert twice(2) == 4\n"
GOOD = "--- a/calc.py\n+++ b/calc.py\n@@ -2 +2 @@\n-    return n * n\n+    return n + n\n"
BAD = GOOD.replace("n + n", "n * 3")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "calc.py").write_text(SOURCE)
    (tmp_path / "test_calc.py").write_text(TEST)
    return tmp_path


def talk(repository: Path, *calls: tuple[str, dict[str, Any]], mode: str = "auto") -> list[CallToolResult]:
    """Start the server, list its tools, make the calls, and leave."""

    async def conversation() -> list[CallToolResult]:
        server = StdioServerParameters(
            command=sys.executable,
            args=[*COMMAND, str(repository)],
            cwd=ROOT,
            env={"FIXWRIGHT_SANDBOX_TOOLS": str(ROOT / ".tools"), "PYTHONPATH": str(ROOT)},
        )
        with anyio.fail_after(120):
            async with Client(stdio_client(server), mode=mode) as client:
                listed = await client.list_tools()
                assert len(listed.tools) == 4
                return [await client.call_tool(name, arguments) for name, arguments in calls]

    return anyio.run(conversation)


@pytest.mark.long
def test_a_client_asks_every_tool(repository: Path) -> None:
    where, judged, symbols, applied, refused = talk(
        repository,
        ("localize_fault", {"issue": "twice(3) gives 9, it should be 6"}),
        ("verify_patch_integrity", {"patch": GOOD}),
        ("inspect_ast_symbols", {"name": "twice"}),
        ("apply_transactional_patch", {"patch": GOOD}),
        ("inspect_ast_symbols", {"file": "../x"}),
    )

    assert where.structured_content["suspects"][0]["path"] == "calc.py"
    assert judged.structured_content["ok"] is True
    assert symbols.structured_content["symbols"][0]["head"] == "def twice(n):"
    assert applied.structured_content["applied"] is True
    assert (repository / "calc.py").read_text() == SOURCE.replace("n * n", "n + n")
    assert refused.is_error


@pytest.mark.long
def test_an_older_client_is_served_too(repository: Path) -> None:
    (found,) = talk(repository, ("inspect_ast_symbols", {"file": "calc.py"}), mode="legacy")

    assert found.structured_content["symbols"][0]["name"] == "twice"


@pytest.mark.long
def test_a_patch_that_breaks_a_test_is_taken_back(repository: Path) -> None:
    broken, kept = talk(
        repository,
        ("apply_transactional_patch", {"patch": BAD, "run_tests": True}),
        ("apply_transactional_patch", {"patch": GOOD, "run_tests": True}),
    )

    assert broken.structured_content["applied"] is False
    assert "test_calc.py::test_twice" in broken.structured_content["reason"]
    assert kept.structured_content["applied"] is True and "1 passed" in kept.structured_content["tests"]


@pytest.mark.long
def test_tests_that_cannot_be_run_are_no_reason_to_keep_a_patch(repository: Path) -> None:
    (repository / "test_calc.py").unlink()

    (result,) = talk(repository, ("apply_transactional_patch", {"patch": GOOD, "run_tests": True}))

    assert result.is_error and (repository / "calc.py").read_text() == SOURCE


@pytest.mark.long
def test_nothing_but_the_protocol_is_on_standard_output(repository: Path) -> None:
    done = subprocess.run(
        [sys.executable, *COMMAND, str(repository)],
        cwd=ROOT,
        input=b"no json\n\n{}\n",
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert all(line.startswith(b'{"') and b'"jsonrpc":"2.0"' in line for line in done.stdout.splitlines())


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"--repo: .* is no directory"):
        start(tmp_path / "absent")


def test_without_the_package_the_way_to_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)

    with pytest.raises(ConfigurationError, match=r"pip install 'fixwright\[mcp\]'"):
        start(tmp_path)
