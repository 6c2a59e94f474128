"""The endpoint behaves like a provider: protocol, complaints, bill, faults."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

from app.demo.scripted_model import (
    Fault,
    Json,
    Script,
    ScriptedModel,
    Turn,
    bash,
    count_tokens,
    restate,
    submit,
)
from domain.model import Money, Price

PRICE = Price(input=Money("0.000001"), output=Money("0.000004"))
SCRIPTS = {
    "plain": Script(
        restatement=(restate(expected="a", actual="b", confidence=1),),
        turns=(bash("ls", "Look."), submit(root_cause="x", changes="y")),
    ),
    "failing": Script(
        turns=(
            bash("ls", fault=Fault(status=429, headers={"Retry-After": "7"}, times=1)),
            bash("pwd", fault=Fault(kind="drop")),
        )
    ),
    "obedient": Script(turns=(lambda request: bash(str(request["messages"])[:40]),)),
}
SYSTEM = {"role": "system", "content": "rules"}
USER = {"role": "user", "content": "work"}


@pytest.fixture
def endpoint() -> Iterator[ScriptedModel]:
    with ScriptedModel(SCRIPTS, price=PRICE, api_key="key") as model:
        yield model


def post(endpoint: ScriptedModel, model: str, messages: list[Json], **more: object) -> httpx.Response:
    return httpx.post(
        f"{endpoint.base_url}/chat/completions",
        json={"model": model, "messages": messages, "max_tokens": 100, **more},
        headers={"Authorization": "Bearer key"},
        trust_env=False,
    )


def offering(name: str) -> Json:
    return {"type": "function", "function": {"name": name, "parameters": {}}}


def test_the_turn_follows_from_the_conversation_alone(endpoint: ScriptedModel) -> None:
    for _ in range(2):
        first = post(endpoint, "plain", [SYSTEM, USER]).json()["choices"][0]
        assert first["finish_reason"] == "tool_calls"
        assert first["message"]["content"] == "Look."
        assert first["message"]["tool_calls"][0]["function"]["arguments"] == '{"command": "ls"}'
    call = first["message"]["tool_calls"][0]["id"]
    answered = [SYSTEM, USER, first["message"], {"role": "tool", "tool_call_id": call, "content": "x"}]
    second = post(endpoint, "plain", answered).json()["choices"][0]["message"]
    assert second["tool_calls"][0]["function"]["name"] == "submit"
    ended = post(endpoint, "plain", [*answered, {"role": "assistant", "content": "?"}, USER]).json()
    assert ended["choices"][0] == {
        "index": 0,
        "message": {"role": "assistant", "content": "I have nothing more to do."},
        "finish_reason": "stop",
    }


def test_the_restatement_is_played_when_its_tool_is_offered(endpoint: ScriptedModel) -> None:
    answer = post(endpoint, "plain", [SYSTEM, USER], tools=[offering("restate")]).json()
    assert answer["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "restate"


def test_a_turn_may_depend_on_the_request(endpoint: ScriptedModel) -> None:
    answer = post(endpoint, "obedient", [SYSTEM]).json()
    assert "rules" in answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]


def test_the_bill_is_what_the_answers_say(endpoint: ScriptedModel) -> None:
    usage = post(endpoint, "plain", [SYSTEM, USER]).json()["usage"]
    post(endpoint, "failing", [USER])
    entry, failed = endpoint.bill
    assert usage["prompt_tokens"] == entry.usage.input_tokens == count_tokens([[SYSTEM, USER], None])
    assert usage["completion_tokens"] == entry.usage.output_tokens > 0
    expected = usage["prompt_tokens"] * PRICE.input + usage["completion_tokens"] * PRICE.output
    assert endpoint.total == entry.cost == expected
    assert (failed.status, failed.cost, failed.number) == (429, 0, 2)
    shown = httpx.get(endpoint.base_url.removesuffix("/v1") + "/bill", trust_env=False).json()
    assert Decimal(shown["total"]) == expected
    assert [request["max_tokens"] for request in shown["requests"]] == [100, 100]


def test_usage_can_be_set_and_left_out(endpoint: ScriptedModel) -> None:
    usage = {"prompt_tokens": 100, "cached_tokens": 60, "completion_tokens": 5, "cost": 0.5}
    endpoint.set_script("plain", Script(turns=(Turn(text="a", usage=usage), Turn(text="b", usage=None))))
    answer = post(endpoint, "plain", [USER]).json()["usage"]
    assert answer["prompt_tokens_details"] == {"cached_tokens": 60}
    assert (answer["prompt_tokens"], answer["total_tokens"], answer["cost"]) == (100, 105, 0.5)
    assert "usage" not in post(endpoint, "plain", [USER, {"role": "assistant", "content": "a"}]).json()


def test_faults_pass_after_their_times(endpoint: ScriptedModel) -> None:
    refused = post(endpoint, "failing", [USER])
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "7")
    assert post(endpoint, "failing", [USER]).status_code == 200
    with pytest.raises(httpx.RemoteProtocolError):
        post(endpoint, "failing", [USER, {"role": "assistant", "content": "a"}])


def test_withheld_answers_end_with_the_endpoint() -> None:
    script = Script(turns=(Turn(fault=Fault(kind="headers")),))
    with (
        ScriptedModel({"silent": script}) as model,
        httpx.stream(
            "POST",
            f"{model.base_url}/chat/completions",
            json={"model": "silent", "messages": []},
            trust_env=False,
        ) as answer,
        pytest.raises(httpx.TransportError),
    ):
        assert answer.status_code == 200
        model.closing.set()
        answer.read()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"messages": "text"}, "must be a list"),
        ({"stream": True}, "does not stream"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}]}, "without an answer: a"),
        ({"messages": [{"role": "assistant", "tool_calls": [{"id": "a"}]}, USER]}, "without an answer: a"),
        ({"messages": [{"role": "tool", "tool_call_id": "b"}]}, "must follow the tool call"),
    ],
)
def test_it_complains_as_a_strict_provider_would(endpoint: ScriptedModel, change: Json, said: str) -> None:
    answer = post(endpoint, "plain", **({"messages": [USER]} | change))  # type: ignore[arg-type]
    assert answer.status_code == 400
    assert said in answer.json()["error"]["message"]


@pytest.mark.long
def test_unknown_models_pages_bodies_and_keys_are_refused(endpoint: ScriptedModel) -> None:
    assert post(endpoint, "other", [USER]).json()["error"]["code"] == "model_not_found"
    root = endpoint.base_url
    assert httpx.get(f"{root}/nothing", trust_env=False).status_code == 404
    assert httpx.post(f"{root}/nothing", trust_env=False).status_code == 404
    assert httpx.post(f"{root}/chat/completions", content=b"{", trust_env=False).status_code == 401
    bearer = {"Authorization": "Bearer key"}
    broken = httpx.post(f"{root}/chat/completions", content=b"{", headers=bearer, trust_env=False)
    assert broken.status_code == 400
    listed = httpx.get(f"{root}/models", trust_env=False).json()["data"]
    assert [model["id"] for model in listed] == sorted(SCRIPTS)


@pytest.mark.long
def test_it_runs_as_a_program() -> None:
    program = subprocess.Popen(
        [sys.executable, "-m", "app.demo.scripted_model", "tests.app.demo.test_scripted_model:SCRIPTS"],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert program.stdout is not None
        address = program.stdout.readline().strip()
        assert httpx.get(f"{address}/models", trust_env=False).status_code == 200
    finally:
        program.kill()
        program.communicate()
