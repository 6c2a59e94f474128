"""Attempts that change nothing: what the harness runs itself on the code as it is, and how they end by it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from domain.claim import Claim, Conclusion
from domain.model import Outcome, Reason, RunStatus
from harness.agent.scripted import ScriptedAgent
from harness.attempt import AttemptResult
from harness.reproduction import NEW_TESTS, REPRODUCTION, is_nothing_to_change, package_version
from tests.harness.attempt_world import Workshop
from tests.worker.town import CALC, FIX, SHOW

FIXED = {**CALC, "calc.py": "def double(x):\n    return x * 2\n"}


def a_claim(conclusion: Conclusion = "not_reproducible", **changes: object) -> Claim:
    values: dict[str, object] = {"root_cause": "None found.", "changes": "Nothing.", "conclusion": conclusion}
    return Claim.model_validate(values | changes)


def attempted(
    root: Path, claim: Claim, *commands: str, files: Mapping[str, str] = FIXED
) -> tuple[AttemptResult, Workshop]:
    shop = Workshop(root, files)
    return shop.attempt(ScriptedAgent(commands or ("true",), claim)), shop


def test_a_reproduction_that_passes_is_an_answer_with_evidence(tmp_path: Path) -> None:
    says = a_claim(reproduction="python3 -c 'import calc; assert calc.double(5) == 10; print(\"ten\")'")
    result, shop = attempted(tmp_path, says)
    assert (result.outcome, result.reason) == (Outcome.NO_CHANGE, Reason.NOT_REPRODUCIBLE), result.detail
    verdict = result.verdict
    assert verdict is not None and not verdict.verified and result.wip is None
    (run,) = [each for each in verdict.runs if each.name == REPRODUCTION]
    assert (run.status, run.exit_code, run.tail) == (RunStatus.PASSED, 0, "ten")
    assert run.tree == verdict.tree and verdict.base_sha == shop.base
    assert verdict.checks[0].name == "runtime" and "Python 3" in verdict.checks[0].what
    assert "reproduce" in [name for name, _ in shop.journal.phases]


def test_a_reproduction_that_fails_on_the_base_contradicts_the_agent(tmp_path: Path) -> None:
    says = a_claim(reproduction="python3 -c 'import calc; assert calc.double(5) == 10'")
    result, _ = attempted(tmp_path, says, files=CALC)
    assert (result.outcome, result.reason) == (Outcome.UNVERIFIED, None)
    assert "did not pass on the unchanged code" in result.detail and result.wip is None


@pytest.mark.long
def test_a_test_that_it_leaves_is_run_on_the_code_as_it_is(tmp_path: Path) -> None:
    result, _ = attempted(tmp_path, a_claim("already_fixed"), SHOW)
    assert (result.outcome, result.reason) == (Outcome.NO_CHANGE, Reason.NO_CHANGE), result.detail
    assert result.verdict is not None
    assert [run.name for run in result.verdict.runs if run.status is RunStatus.PASSED][-1] == NEW_TESTS


@pytest.mark.long
def test_a_red_test_that_it_leaves_contradicts_it(tmp_path: Path) -> None:
    result, _ = attempted(tmp_path, a_claim(), SHOW, files=CALC)
    assert (result.outcome, result.reason) == (Outcome.UNVERIFIED, None)


def test_without_anything_to_run_it_is_called_its_word_alone(tmp_path: Path) -> None:
    result, _ = attempted(tmp_path, a_claim("as_documented"))
    assert (result.outcome, result.reason) == (Outcome.NO_CHANGE, Reason.NO_CHANGE)
    assert "its word alone" in result.detail


@pytest.mark.long
def test_a_changed_code_is_judged_as_ever_whatever_it_is_called(tmp_path: Path) -> None:
    result, shop = attempted(tmp_path, a_claim(), SHOW, FIX, files=CALC)
    assert result.outcome is Outcome.VERIFIED, result.detail
    assert "reproduce" not in [name for name, _ in shop.journal.phases]


def test_a_command_cannot_touch_what_is_judged(tmp_path: Path) -> None:
    says = a_claim(test_commands=["echo broken > calc.py", "python3 -c 'import calc; calc.double(5)'"])
    result, _ = attempted(tmp_path, says)
    assert (result.outcome, result.reason) == (Outcome.NO_CHANGE, Reason.NOT_REPRODUCIBLE), result.detail


def test_under_a_command_policy_its_commands_are_not_run(tmp_path: Path) -> None:
    shop = Workshop(tmp_path, FIXED)
    says = a_claim(reproduction="touch never")
    result = shop.attempt(ScriptedAgent(("true",), says), wrap=lambda session, workspace: session)
    assert result.outcome is Outcome.NO_CHANGE and "its word alone" in result.detail
    assert not any("touch never" in command for command in shop.stage.commands)


def test_tests_alone_are_nothing_to_change_only_where_the_agent_says_so() -> None:
    assert is_nothing_to_change(a_claim("changed"), [])
    assert is_nothing_to_change(a_claim(), ["tests/test_a.py"])
    assert not is_nothing_to_change(a_claim("changed"), ["tests/test_a.py"])
    assert not is_nothing_to_change(a_claim(), ["tests/test_a.py", "a.py"])


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"pyproject.toml": '[project]\nname = "shop"\nversion = "1.4"\n'}, "shop 1.4 (pyproject.toml)"),
        ({"pyproject.toml": '[tool.poetry]\nname = "shop"\nversion = "2"\n'}, "shop 2 (pyproject.toml)"),
        ({"package.json": '{"name": "lamp", "version": "0.1.0"}'}, "lamp 0.1.0 (package.json)"),
        ({"Cargo.toml": '[package]\nname = "c"\nversion = "3.0.0"\n'}, "c 3.0.0 (Cargo.toml)"),
        ({"Cargo.toml": '[package]\nname = "c"\nversion.workspace = true\n'}, ""),
        ({"package.json": "[1]"}, ""),
        ({"package.json": "{" * 5000}, ""),
        ({"pyproject.toml": "\ufffd = ["}, ""),
        ({"pyproject.toml": '[project]\ndynamic = ["version"]\n'}, ""),
        ({"pyproject.toml": 'project = "x"\n'}, ""),
        ({}, ""),
    ],
)
def test_a_package_s_version_is_read_from_the_tree(files: Mapping[str, str], said: str) -> None:
    assert package_version(lambda path: files[path].encode() if path in files else None) == said


def test_in_a_monorepo_the_directory_s_own_version_counts() -> None:
    files = {"api/package.json": '{"name": "api", "version": "9"}', "package.json": '{"version": "1"}'}
    assert package_version(lambda path: files[path].encode() if path in files else None, "api") == (
        "api 9 (api/package.json)"
    )
