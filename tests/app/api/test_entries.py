"""A record as people see it: who said what, redacted and bounded, whatever the record holds."""

from __future__ import annotations

import json
from typing import Any

import pytest

from app.api.entries import LONGEST_TEXT, MOST_ENTRIES, kind_of, shown
from domain.text import Redactor

SECRET = "sk-live-0123456789"
REDACT = Redactor([SECRET])


def step(*messages: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"kind": "step", "step": 3, "messages": list(messages), **fields}


def entries(*messages: dict[str, Any]) -> list[dict[str, Any]]:
    return shown(step(*messages), REDACT)["entries"]  # type: ignore[return-value]


def test_a_step_tells_prompt_answer_command_and_output() -> None:
    call = {"function": {"name": "bash", "arguments": json.dumps({"command": "pytest -q"})}}
    assert entries(
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "the issue"},
        {"role": "assistant", "content": "Tests first.", "tool_calls": [call], "extra": {"thoughts": "hm"}},
        {
            "role": "tool",
            "content": "exit code 1",
            "extra": {"exit_code": 1, "seconds": 2},
        },
        {"role": "exit", "content": "submitted", "extra": {"exit_status": "submitted"}},
    ) == [
        {"role": "prompt", "text": "rules", "from": "rules"},
        {"role": "prompt", "text": "the issue", "from": "harness"},
        {"role": "answer", "text": "hm", "is_thought": True},
        {"role": "answer", "text": "Tests first.", "is_thought": False},
        {"role": "command", "text": "pytest -q", "tool": "bash"},
        {"role": "output", "text": "exit code 1", "exit_code": 1, "seconds": 2, "timed_out": False},
        {"role": "end", "text": "submitted", "status": "submitted"},
    ]


def test_a_command_of_a_model_without_tools_is_told_too() -> None:
    message = {"role": "assistant", "content": "```bash\nls\n```", "extra": {"actions": [{"command": "ls"}]}}
    assert entries(message)[-1] == {"role": "command", "text": "ls", "tool": "bash"}


def test_what_is_handed_in_is_told_by_its_tool() -> None:
    call = {"function": {"name": "submit", "arguments": '{"root_cause": "ä"}'}}
    (told,) = entries({"role": "assistant", "tool_calls": [call]})
    assert told == {"role": "command", "text": '{"root_cause": "ä"}', "tool": "submit"}


def test_cost_tokens_and_seconds_are_the_records() -> None:
    told = shown(
        step(cost="0.012", seconds=1.5, usage={"input_tokens": 9, "output_tokens": 1, "x": 2}), REDACT
    )
    assert (told["cost"], told["seconds"]) == ("0.012", 1.5)
    assert told["tokens"] == {"input_tokens": 9, "output_tokens": 1}


@pytest.mark.parametrize("record", [{"restatement": {"actual": f"a {SECRET}"}}, {"summary": SECRET}])
def test_a_secret_of_this_process_is_taken_out_everywhere(record: dict[str, Any]) -> None:
    assert SECRET not in json.dumps(shown(record, REDACT))
    message = {"role": "tool", "content": SECRET, "extra": {"observation": True}}
    assert SECRET not in json.dumps(entries(message))


def test_texts_and_entries_are_bounded() -> None:
    told = entries(*({"role": "user", "content": "x" * 30_000} for _ in range(300)))
    assert len(told) == MOST_ENTRIES
    assert max(len(each["text"]) for each in told) <= LONGEST_TEXT


@pytest.mark.parametrize(
    "record",
    [
        step({"role": None, "content": {"a": [1]}, "extra": 7}),
        step({"role": "assistant", "tool_calls": [None, 3, {"function": {"arguments": "{not json"}}]}),
        step({"role": "assistant", "tool_calls": "no list", "extra": {"actions": [[], {"command": 3}]}}),
        {"messages": "no list", "step": True, "seconds": float("nan"), "usage": [1]},
        {"messages": [None], "seconds": float("inf"), "usage": {"input_tokens": float("nan")}},
        {"claim": {"deep": [[[[[[[["x"]]]]]]]], "nan": float("nan")}},
    ],
)
def test_any_record_can_be_shown_as_json(record: dict[str, Any]) -> None:
    assert json.loads(json.dumps(shown(record, REDACT), allow_nan=False)) is not None


def test_kinds_are_known_by_what_they_hold() -> None:
    assert kind_of(step()) == "step"
    assert kind_of({"claim": {}}) == "claim"
    assert kind_of({"something": "new"}) == "other"
