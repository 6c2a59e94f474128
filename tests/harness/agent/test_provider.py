"""Requests in the shape that providers with marked caches want, and keys by their usual names.

The model stack is imported inside of the tests: it must not be loaded before its environment is set.
"""

from __future__ import annotations

from harness.agent.protocol import Message
from harness.agent.settings import ModelSettings

CALL = {"id": "c", "type": "function", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
CONVERSATION: list[Message] = [
    {"role": "system", "content": "rules"},
    {"role": "user", "content": "work"},
    {"role": "assistant", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "exit code 0"},
]
MARK = {"type": "ephemeral"}


def test_the_pinned_part_and_the_end_are_marked_for_the_cache() -> None:
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig

    from harness.agent.provider import cache_marked

    request = AnthropicConfig().transform_request(
        "claude-sonnet-4-5", cache_marked(CONVERSATION), {"max_tokens": 10}, {}, {}
    )
    first, answer, last = request["messages"]
    assert first["content"] == [{"type": "text", "text": "work", "cache_control": MARK}]
    assert "cache_control" not in str(answer)
    assert last["content"] == [
        {"type": "tool_result", "tool_use_id": "c", "content": "exit code 0", "cache_control": MARK}
    ]
    assert "cache_control" not in str(CONVERSATION)


def test_a_key_is_found_under_the_providers_usual_name() -> None:
    from harness.agent.provider import key_of

    keys = {"OPENAI_API_KEY": "o", "ANTHROPIC_API_KEY": "a", "GOOGLE_API_KEY": "g", "TOGETHERAI_API_KEY": "t"}

    def key(name: str, **more: str) -> str | None:
        return key_of(ModelSettings(name=name, keys=keys, **more))

    assert key("gpt-4o") == key("openai/anything") == "o"
    assert key("anthropic/claude-sonnet-4-5") == key("claude-sonnet-4-5") == "a"
    assert key("gemini/gemini-2.5-pro") == "g"
    assert key("together_ai/some/model") == "t"
    assert key("groq/llama") is None
    assert key("hosted_vllm/own", api_base="http://127.0.0.1:1") == "none"
    assert key("gpt-4o", api_key="mine") == "mine"


def test_settings_do_not_show_their_keys() -> None:
    settings = ModelSettings(name="x", api_key="sk-secret-1", keys={"A_API_KEY": "sk-secret-2"})
    assert "secret" not in repr(settings)
    assert settings.secrets == ["sk-secret-1", "sk-secret-2"]
