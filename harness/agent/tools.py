"""The tools that the model is offered, and the reading of its answers into actions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import BaseModel, ValidationError

from domain.claim import Claim, Restatement
from harness.agent.protocol import Message

LONGEST_COMMAND = 200_000
"""Characters. No sensible command is longer, and the kernel takes no argument of more than 128 KiB anyway."""

_BASH_BLOCK = re.compile(r"^```(?:bash|sh)[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)


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


def cut_off(message: Message) -> Answer:
    """Return an answer that hit its length limit: none of it may be executed, however whole it looks."""
    kept = {"role": "assistant", "content": message.get("content") or "(the answer was cut off)"}
    return Answer(message=kept, fault="cut off")


def read_answer(message: Message, finish_reason: str, nonce: str) -> Answer:
    """Read an assistant message into actions: tool calls, or one ```bash block where a model has no tools."""
    if finish_reason == "length":
        return cut_off(message)
    calls = cast("Sequence[Mapping[str, object]]", message.get("tool_calls") or ())
    if calls:
        actions = [_action_of(call, nonce) for call in calls]
        return Answer(message=message | {"tool_calls": [_kept(call) for call in calls]}, actions=actions)
    content = str(message.get("content") or "")
    kept: Message = message | {"content": content or "(empty answer)"}
    blocks = _BASH_BLOCK.findall(content)
    if len(blocks) == 1:
        return Answer(message=kept, actions=[command_action(blocks[0].strip(), None, nonce)])
    if finish_reason == "content_filter":
        return Answer(message=kept, fault="withheld by the provider's content filter")
    return Answer(message=kept, fault="without a tool call" if content.strip() else "empty")


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
