"""`fixwright eval ablation` and `baseline` with a scripted endpoint: bounded, judged, resumable."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli import cli
from app.demo.scripted_model import Script, ScriptedModel, Turn, bash, restate, submit
from app.evaluation import lines
from app.evaluation.build import build
from app.evaluation.contest import patch_in
from app.evaluation.ledger import FileLedger
from app.evaluation.models import AGENT, ways_of
from domain.budget import Spent
from domain.errors import ConfigurationError
from domain.model import Money, Price, Usage
from tests.app.evaluation.history import SOURCE, TOOLS, make_history, order
from tests.harness.agent.world import a_task, an_attempt

PATCH = (
    "--- a/calc.py\n+++ b/calc.py\n@@ -5,2 +5,2 @@\n def half(n):\n-    return n // 2\n+    return n / 2\n"
)
WRONG = PATCH.replace("+    return n / 2", "+    return n * 2")
RESTATEMENT = restate(expected="1.5", actual="1", suspected_area="calc.py", confidence=0.9)
WORK = Script(
    restatement=(RESTATEMENT,),
    turns=(
        bash("grep -n half calc.py"),
        bash("sed -i 's,n // 2,n / 2,' calc.py"),
        submit(root_cause="floor division", changes="true division", test_commands=["python3 -m pytest"]),
    ),
)


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[ScriptedModel]:
    scripts = {
        "worker": WORK,
        "patcher": Script(turns=(Turn(text=f"Here it is.\n\n```diff\n{PATCH}```\n"),)),
        "bungler": Script(turns=(Turn(text=f"```diff\n{WRONG}```"),)),
        "talker": Script(turns=(Turn(text="I would look at calc.py."),)),
    }
    price = Price(input=Money("0.000001"), output=Money("0.000004"), source="tests")
    with ScriptedModel(scripts, price=price, api_key="sk-scripted") as endpoint:
        names = {f"openai/{name}": {"input": 1, "output": 4} for name in scripts}
        for name, value in {
            "DATA_DIR": str(tmp_path / "data"),
            "API_BASE": endpoint.base_url,
            "API_KEY": "sk-scripted",
            "MODEL_PRICES": json.dumps(names),
            "SANDBOX_TOOLS": str(TOOLS),
            "MAX_COST_PER_TASK_USD": "0.50",
        }.items():
            monkeypatch.setenv(f"FIXWRIGHT_{name}", value)
        yield endpoint


@pytest.fixture
def cases(tmp_path: Path, model: ScriptedModel) -> Path:
    build(order(make_history(tmp_path / "calc", steps=2)), as_json=True)
    return tmp_path / "cases"


def ask(command: str, cases: Path, *options: str) -> dict[str, object]:
    """Run a command that spends money, and return its one line of JSON."""
    out = cases.parent / command
    done = CliRunner().invoke(
        cli, ["eval", command, str(cases), "--out", str(out), "--json", "--yes", *options]
    )
    assert done.exit_code == 0, done.output + repr(done.exception)
    return dict(json.loads(done.stdout.strip().splitlines()[-1]))


@pytest.mark.long
def test_the_same_agent_with_each_stage_of_localization(
    cases: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIXWRIGHT_MODEL", "openai/worker")

    found = ask("ablation", cases, "--strategies", "null,full")

    null, full = found["rows"]  # type: ignore[misc] - JSON
    assert (null["strategy"], null["resolved"], null["acc1"]) == ("null", 1, 0.0)
    assert (full["strategy"], full["resolved"], full["acc1"]) == ("full", 1, 1.0)
    assert Decimal(null["dollars"]) + Decimal(full["dollars"]) == model.total > 0
    briefs = [str(entry.request["messages"]) for entry in model.bill if entry.turn == 0]
    assert any("Source code of those places" in brief for brief in briefs)
    assert not all("Source code of those places" in brief for brief in briefs)
    assert not any("test_half" in brief for brief in briefs), "the fix's tests are not shown"

    paid = model.total
    assert ask("ablation", cases, "--strategies", "null,full") == found and model.total == paid

    profile = CliRunner().invoke(
        cli, ["eval", "profile", str(cases.parent / "ablation" / "transcripts"), "--json"]
    )
    rows = {(r["category"], r["role"], r["activity"]): r for r in json.loads(profile.output)["rows"]}
    assert rows["agent, full", "working", "searching"]["steps"] == 1
    assert rows["agent, full", "working", "editing"]["steps"] == 1
    assert rows["agent, full", "restating", "all"]["steps"] == 1


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "resolved", "why"),
    [("patcher", 1, "resolved"), ("bungler", 0, "1 still red"), ("talker", 0, "the answer has no patch")],
)
def test_a_single_call(
    cases: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, name: str, resolved: int, why: str
) -> None:
    monkeypatch.setenv("FIXWRIGHT_MODEL", f"openai/{name}")

    (row,) = ask("baseline", cases)["rows"]  # type: ignore[misc] - JSON

    assert row["resolved"] == resolved and row["steps"] == 1 == len(model.bill)
    (result,) = lines.read(cases.parent / "baseline" / "results.jsonl")
    assert str(result["why"]).startswith(why)
    assert "tools" not in model.bill[0].request and SOURCE.splitlines()[5] in str(model.bill[0].request)


@pytest.mark.long
def test_nothing_is_spent_without_a_yes_a_key_and_a_price(
    cases: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal() -> str:
        done = CliRunner().invoke(cli, ["eval", "baseline", str(cases), "--out", str(cases.parent / "out")])
        assert isinstance(done.exception, ConfigurationError), done.output
        return f"{done.stderr}{done.exception}"

    assert "FIXWRIGHT_MODEL: is not set" in refusal()
    monkeypatch.setenv("FIXWRIGHT_MODEL", "openai/patcher")
    said = refusal()
    assert "1 runs of openai/patcher are due. They cost at most $" in said
    assert "nothing was spent: say --yes to spend up to $" in said
    monkeypatch.setenv("FIXWRIGHT_MODEL", "openai/unheard-of")
    assert "No price is known" in refusal()
    for name in ("FIXWRIGHT_API_BASE", "FIXWRIGHT_API_KEY"):
        monkeypatch.delenv(name)
    assert "no key is set for openai/unheard-of" in refusal()
    assert model.bill == ()


@pytest.mark.long
def test_a_run_that_was_cut_off_is_made_again_and_its_money_stays_spent(
    cases: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIXWRIGHT_MODEL", "openai/patcher")
    ask("baseline", cases)
    (cases.parent / "baseline" / "results.jsonl").write_bytes(b'{"how": "one sh')

    (row,) = ask("baseline", cases)["rows"]  # type: ignore[misc] - JSON

    (result,) = lines.read(cases.parent / "baseline" / "results.jsonl")
    assert (result["attempt"], row["runs"], row["steps"]) == (2, 1, 1)
    assert (
        FileLedger(cases.parent / "baseline" / "spent.jsonl").spent
        == model.total
        == 2 * Decimal(row["dollars"])
    )
    kept = {path.name for path in (cases.parent / "baseline" / "transcripts").glob("*.jsonl")}
    assert kept == {"attempt-1.jsonl", "attempt-2.jsonl"}


def test_the_account_holds_over_restarts(tmp_path: Path) -> None:
    seen: list[Spent] = []

    def decide(spent: Spent) -> tuple[int, Money]:
        seen.append(spent)
        return 100, Money("0.25")

    first = FileLedger(tmp_path / "spent.jsonl")
    settled = first.reserve(a_task(), an_attempt(), model="m", decide=decide)
    first.settle(settled, usage=Usage(), cost=Money("0.10"), billed=None)
    first.reserve(a_task(), an_attempt(), model="m", decide=decide)
    with (tmp_path / "spent.jsonl").open("ab") as file:
        file.write(b'{"call": 3, "att')

    again = FileLedger(tmp_path / "spent.jsonl")
    assert again.spent == Money("0.35") and again.calls_on_attempt(5) == 2 and again.last_attempt == 5
    third = again.reserve(a_task(), an_attempt(), model="m", decide=decide)
    assert third.id == 3 and seen[-1].service_day == Money("0.35")
    assert FileLedger(tmp_path / "spent.jsonl").spent == Money("0.60")


def test_ways_are_known_strategies() -> None:
    assert ways_of(AGENT, "null, full,null") == [(AGENT, "null"), (AGENT, "full")]
    with pytest.raises(ConfigurationError, match="no strategy 'best'; there are null, grep"):
        ways_of(AGENT, "full,best")
    with pytest.raises(ConfigurationError, match="names none"):
        ways_of(AGENT, " , ")


@pytest.mark.parametrize(
    ("answer", "patch"),
    [
        (f"```diff\n{PATCH}```", PATCH),
        (f"Sure.\n```\n{PATCH}```\nDone.", PATCH),
        (f"````diff\n{PATCH}````", PATCH),
        (f"Here:\n{PATCH}", PATCH),
        (f"```python\nx = 1\n```\n```diff\n{PATCH}```", PATCH),
        (f"```diff\n{PATCH}```\nand\n```diff\n{WRONG}```", PATCH + WRONG),
        ("nothing", ""),
        ("```diff\nnothing\n```", ""),
    ],
)
def test_the_patch_in_an_answer(answer: str, patch: str) -> None:
    assert patch_in(answer) == patch


def test_a_directory_without_cases_is_named(
    tmp_path: Path, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIXWRIGHT_MODEL", "openai/patcher")

    done = CliRunner().invoke(cli, ["eval", "ablation", str(tmp_path)])

    assert isinstance(done.exception, ConfigurationError) and "fixwright eval build" in str(done.exception)
