"""The tools that the model is offered, and the reading of its answers into actions."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

from pydantic import BaseModel, ValidationError

from domain.claim import Claim, Restatement
from harness.agent.protocol import Message

LONGEST_COMMAND = 200_000
"""Characters. No sensible command is longer, and the kernel takes no argument of more than 128 KiB anyway."""

_BASH_BLOCK = re.compile(r"^```(?:bash|sh)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)

_THOUGHT_TAG = re.compile(r"</?think>")
_THOUGHTS = re.compile(r"<think>(.*?)(?:</think>|\Z)", re.DOTALL)

CUT_OFF = {"length", "max_tokens", "model_context_window_exceeded"}
"""Reasons to finish that mean that the answer has no end."""

_WITHHELD = {
    "content_filter": "withheld by the provider's content filter",
    "refusal": "a refusal by the model",
}
"""Reasons to finish after which nothing of an answer is executed either."""


def tool(name: str, description: str, parameters: Mapping[str, object]) -> Message:
    """Return a tool as the chat-completions interface wants it."""
    function = {"name": name, "description": description, "parameters": dict(parameters)}
    return {"type": "function", "function": function}


def work_tools() -> list[Message]:
    """Return the tools that are offered while the agent works."""
    command = {"type": "string", "description": "The shell command to run in /work."}
    bash = {"type": "object", "properties": {"command": command}, "required": ["command"]}
    return [
        tool("bash", "Run a shell command and read its output.", bash),
        tool("submit", "Hand in the report and finish.", _schema(Claim)),
    ]


def restate_tools() -> list[Message]:
    """Return the one tool that is offered before the work."""
    return [tool("restate", "Say how the issue is understood.", _schema(Restatement))]


def _schema(model: type[BaseModel]) -> Message:
    schema = model.model_json_schema()
    return {key: schema[key] for key in ("type", "properties", "required")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A model's answer, read: the message to keep, and what to do or what is wrong with all of it."""

    message: Message
    actions: list[Message] = field(default_factory=list)
    fault: str = ""
    thoughts: str = ""


def cut_off(message: Message) -> Answer:
    """Return an answer that hit its length limit: none of it may be executed, however whole it looks."""
    kept = {"role": "assistant", "content": message.get("content") or "(the answer was cut off)"}
    return Answer(message=kept, fault="cut off")


def read_answer(message: Message, finish_reason: str, nonce: str) -> Answer:
    """Read an assistant message into actions: tool calls, or one ```bash block where a model has no tools.

    What a model thinks aloud between `<think>` tags is neither executed nor sent again.
    """
    content, thoughts = _without_thoughts(str(message.get("content") or ""))
    answer = message | {"content": content}
    if finish_reason in CUT_OFF:
        return replace(cut_off(answer), thoughts=thoughts)
    if finish_reason in _WITHHELD:
        kept: Message = {"role": "assistant", "content": content or "(the answer was withheld)"}
        return Answer(message=kept, fault=_WITHHELD[finish_reason], thoughts=thoughts)
    calls = _told_apart(cast("Sequence[Mapping[str, object]]", message.get("tool_calls") or ()))
    if calls:
        actions = [_action_of(call, nonce) for call in calls]
        kept = answer if content else {key: value for key, value in answer.items() if key != "content"}
        kept |= {"tool_calls": [_kept(call) for call in calls]}
        return Answer(message=kept, actions=actions, thoughts=thoughts)
    kept = answer | {"content": content or "(empty answer)"}
    blocks = _BASH_BLOCK.findall(content)
    if len(blocks) == 1:
        action = command_action(blocks[0].strip(), None, nonce)
        return Answer(message=kept, actions=[action], thoughts=thoughts)
    fault = "without a tool call" if content.strip() else "empty"
    return Answer(message=kept, fault=fault, thoughts=thoughts)


def _without_thoughts(content: str) -> tuple[str, str]:
    """Return the text without what was thought aloud, and the thoughts.

    Some servers leave out the opening tag, which stands in the prompt; a cut answer has no closing one.
    """
    if not _THOUGHT_TAG.search(content):
        return content, ""
    head, closed, tail = content.partition("</think>")
    if closed and "<think>" not in head:
        content = f"<think>{head}</think>{tail}"
    thoughts = "\n".join(match.strip() for match in _THOUGHTS.findall(content))
    return _THOUGHTS.sub("", content).strip(), thoughts


def _told_apart(calls: Sequence[Mapping[str, object]]) -> list[Mapping[str, object]]:
    """Give each call of an answer an id of its own: a server may leave it empty, or repeat it."""
    seen: set[object] = set()
    apart: list[Mapping[str, object]] = []
    for call in calls:
        call_id = call.get("id")
        if not call_id or call_id in seen:
            call = dict(call) | {"id": f"call_{secrets.token_hex(8)}"}
        seen.add(call["id"])
        apart.append(call)
    return apart


def arguments_of(call: Mapping[str, object]) -> Message | str:
    """Return a call's arguments, or what is wrong with them."""
    function = cast("Mapping[str, object]", call["function"])
    try:
        arguments = json.loads(str(function.get("arguments") or "{}"))
    except ValueError as error:
        return f"the arguments are not JSON ({error})"
    return arguments if isinstance(arguments, dict) else "the arguments are not a JSON object"


def _kept(call: Mapping[str, object]) -> Message:
    """Return a call fit to be sent again: providers reject a history with malformed arguments."""
    if not isinstance(arguments_of(call), str):
        return dict(call)
    function = dict(cast("Mapping[str, object]", call["function"]))
    function["arguments"] = json.dumps({"malformed": str(function.get("arguments"))[:500]})
    return dict(call) | {"function": function}


def _action_of(call: Mapping[str, object], nonce: str) -> Message:
    call_id = str(call["id"])
    name = cast("Mapping[str, object]", call["function"]).get("name")
    arguments = arguments_of(call)
    if isinstance(arguments, str):
        return _refused(call_id, f"{name}: {arguments}")
    if name == "bash":
        return command_action(arguments.get("command"), call_id, nonce)
    if name == "submit":
        return _submission(arguments, call_id)
    return _refused(call_id, f"there is no tool {name!r}; the tools are bash and submit")


def command_action(command: object, call_id: str | None, nonce: str) -> Message:
    """Return the action for a command, which may be the textual form of `submit`."""
    if not isinstance(command, str) or not command.strip():
        return _refused(call_id, "bash needs a `command`, a text that is not empty")
    if "\0" in command or len(command) > LONGEST_COMMAND:
        return _refused(call_id, f"a command has no NUL byte and at most {LONGEST_COMMAND} characters")
    marker = f"fixwright-submit-{nonce}"
    if marker not in command:
        return {"kind": "run", "call_id": call_id, "command": command}
    match = re.fullmatch(rf"\s*{marker}\s*<<\s*(['\"]?)(\w+)\1[ \t]*\n(.*)\n\2\s*", command, re.DOTALL)
    if match is None:
        return _refused(
            call_id,
            f"{marker} must be the only thing in its command: `{marker} <<'EOF'`, the report as JSON, `EOF`."
            " Nothing was run",
        )
    try:
        report = json.loads(match[3])
    except ValueError as error:
        return _refused(call_id, f"the report is not JSON ({error})")
    return _submission(report, call_id)


def _submission(report: object, call_id: str | None) -> Message:
    try:
        claim = Claim.model_validate(report)
    except ValidationError as error:
        return _refused(call_id, "the report was not accepted:\n" + problems_of(error))
    return {"kind": "submit", "call_id": call_id, "claim": claim.model_dump()}


def problems_of(error: ValidationError) -> str:
    """List what is wrong, one line per field, without repeating the values."""
    return "\n".join(
        f"- {'.'.join(map(str, entry['loc'])) or 'report'}: {entry['msg']}" for entry in error.errors()
    )


def _refused(call_id: str | None, why: str) -> Message:
    return {"kind": "refuse", "call_id": call_id, "error": why}
