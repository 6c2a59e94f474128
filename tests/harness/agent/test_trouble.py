"""What providers really say when they refuse, through real litellm and real HTTP: one request, one meaning.

The model stack is imported inside of the tests: it must not be loaded before its environment is set.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from harness.agent.settings import ModelSettings
from tests.harness.agent.misbehaving import Misbehaving

if TYPE_CHECKING:
    from harness.agent.trouble import Trouble

KEY = "sk-canary-7a0c55e1d9b34f21"
MESSAGES: list[dict[str, object]] = [{"role": "user", "content": "work"}]
OPENAI, ANTHROPIC, GEMINI = "openai/gpt-x", "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-pro"
VLLM, OLLAMA = "hosted_vllm/qwen", "ollama_chat/qwen"


def trouble_with(model: str, endpoint: Misbehaving) -> Trouble:
    from harness.agent.provider import Provider
    from harness.agent.trouble import Trouble

    settings = ModelSettings(name=model, api_key=KEY, api_base=endpoint.address, call_seconds=20.0)
    with pytest.raises(Trouble) as caught:
        Provider(settings).complete(MESSAGES, [], 100)
    return caught.value


def met(model: str, status: int, body: object, **headers: str) -> Trouble:
    """Return what a refusal is taken for, after checking that it was asked for once."""
    text = body if isinstance(body, str) else json.dumps(body)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    with Misbehaving(status, text, named) as endpoint:
        trouble = trouble_with(model, endpoint)
        assert len(endpoint.paths) == 1
    return trouble


def openai(message: str, code: str = "") -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": code, "param": None}}


def anthropic(message: str, kind: str = "invalid_request_error") -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def gemini(message: str, status: str, code: int) -> dict[str, object]:
    return {"error": {"code": code, "message": message, "status": status}}


TOO_LONG = {
    "openai": (OPENAI, 400, openai("Your input exceeds the context window of this model.")),
    "openai-code": (OPENAI, 400, openai("Invalid request.", "context_length_exceeded")),
    "openai-tpm": (OPENAI, 429, openai("Request too large for gpt-x on tokens per min (TPM): Limit 30000")),
    "anthropic": (ANTHROPIC, 400, anthropic("prompt is too long: 210000 tokens > 200000 maximum")),
    "anthropic-output": (
        ANTHROPIC,
        400,
        anthropic("input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000"),
    ),
    "anthropic-size": (
        ANTHROPIC,
        413,
        anthropic("Request exceeds the maximum allowed number of bytes.", "request_too_large"),
    ),
    "gemini": (
        GEMINI,
        400,
        gemini(
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "INVALID_ARGUMENT",
            400,
        ),
    ),
    "vllm": (
        VLLM,
        400,
        openai("This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."),
    ),
    "vllm-prompt": (
        VLLM,
        400,
        openai("The decoder prompt (length 9000) is longer than the maximum model length of 4096."),
    ),
    "llama.cpp": (
        OPENAI,
        400,
        openai(
            "the request exceeds the available context size, try increasing it", "exceed_context_size_error"
        ),
    ),
    "llama.cpp-500": (OPENAI, 500, openai("Context size has been exceeded.")),
    "ollama": (OLLAMA, 400, {"error": "the input length exceeds the context length"}),
    "ollama-500": (OLLAMA, 500, {"error": "input exceeds maximum context length"}),
    "xai": (OPENAI, 400, openai("This model's maximum prompt length is 131072 but the request has 537812.")),
    "tgi": (OPENAI, 422, {"error": "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000"}),
    "openrouter": (OPENAI, 400, openai("This endpoint's maximum context length is 32768 tokens.")),
}


@pytest.mark.parametrize("case", TOO_LONG)
def test_a_context_that_is_too_long_is_known_in_every_wording(case: str) -> None:
    trouble = met(*TOO_LONG[case])
    assert trouble.kind.value == "overflow"
    assert not trouble.may_be_billed


LASTING = {
    "openai-key": (OPENAI, 401, openai("Incorrect API key provided.", "invalid_api_key"), "refuses the key"),
    "anthropic-key": (
        ANTHROPIC,
        401,
        anthropic("invalid x-api-key", "authentication_error"),
        "refuses the key",
    ),
    "gemini-key": (
        GEMINI,
        400,
        gemini("API key not valid. Please pass a valid API key.", "INVALID_ARGUMENT", 400),
        "refuses the key",
    ),
    "openai-model": (OPENAI, 404, openai("The model `gpt-x` does not exist"), "does not know the model"),
    "ollama-model": (OLLAMA, 404, {"error": "model 'qwen' not found"}, "does not know the model"),
    "anthropic-credit": (ANTHROPIC, 400, anthropic("Your credit balance is too low"), "no credit left"),
    "openai-credit": (OPENAI, 429, openai("You exceeded your quota", "insufficient_quota"), "no credit left"),
    "anthropic-shape": (ANTHROPIC, 400, anthropic("tools.0: schema is invalid"), "rejects the request"),
    "vllm-parameter": (VLLM, 422, openai("unknown parameter: tools"), "rejects the request"),
}


@pytest.mark.parametrize("case", LASTING)
def test_what_somebody_must_put_right_is_not_tried_again_and_names_the_setting(case: str) -> None:
    model, status, body, said = LASTING[case]
    trouble = met(model, status, body)
    is_the_operators = case.endswith(("-key", "-credit"))
    assert trouble.kind.value == ("refused" if is_the_operators else "permanent")
    assert said in str(trouble)
    if said == "refuses the key":
        assert "FIXWRIGHT_API_KEY" in str(trouble)
    if said == "does not know the model":
        assert "FIXWRIGHT_MODEL" in str(trouble)


PASSING = {
    "openai-rate": (OPENAI, 429, openai("Rate limit reached, slow down")),
    "anthropic-busy": (ANTHROPIC, 529, anthropic("Overloaded", "overloaded_error")),
    "anthropic-rate": (ANTHROPIC, 429, anthropic("rate limited", "rate_limit_error")),
    "gemini-down": (GEMINI, 503, gemini("The model is overloaded.", "UNAVAILABLE", 503)),
    "vllm-500": (VLLM, 500, "<html>oops</html>"),
    "ollama-502": (OLLAMA, 502, "bad gateway"),
    "openai-504": (OPENAI, 504, "upstream timed out"),
}


@pytest.mark.parametrize("case", PASSING)
def test_what_passes_is_left_to_our_own_retries_with_the_wait_that_was_asked_for(case: str) -> None:
    model, status, body = PASSING[case]
    trouble = met(model, status, body, Retry_After="17")
    assert (trouble.kind.value, trouble.retry_after) == ("transient", 17.0)


@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC, GEMINI, OLLAMA])
def test_a_reset_connection_may_have_been_paid_for(model: str) -> None:
    trouble = met(model, 0, "")
    assert (trouble.kind.value, trouble.may_be_billed) == ("transient", True)


@pytest.mark.parametrize(
    "body",
    ["", "<html>proxy</html>", '{"error": {"message": "upstream died", "code": 502}}', '{"choices": []}'],
)
def test_a_good_status_with_a_bad_body_may_have_been_paid_for(body: str) -> None:
    trouble = met(OPENAI, 200, body)
    assert (trouble.kind.value, trouble.may_be_billed) == ("transient", True)


def test_a_name_that_does_not_resolve_costs_nothing_and_names_the_setting() -> None:
    from harness.agent.provider import Provider
    from harness.agent.trouble import Trouble

    settings = ModelSettings(name=OPENAI, api_key=KEY, api_base="http://nowhere.invalid/v1")
    with pytest.raises(Trouble, match=r"cannot be reached .*FIXWRIGHT_API_BASE") as caught:
        Provider(settings).complete(MESSAGES, [], 100)
    assert (caught.value.kind.value, caught.value.may_be_billed) == ("transient", False)


@pytest.mark.long
def test_a_key_is_taken_out_before_the_words_are_cut() -> None:
    """At each place where the cut may fall; a key cut in half is not recognised any more."""
    for padding in range(330, 400, 5):
        trouble = met(OPENAI, 400, openai("x" * padding + f" {KEY} is no good"))
        assert KEY[:12] not in str(trouble)
