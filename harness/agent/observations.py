"""What the model reads after its commands, and when its answer could not be used. All pure."""

from __future__ import annotations

from collections.abc import Sequence

from domain.text import clip, plain
from harness.agent.protocol import Message

NUDGE = (
    "You have done exactly this several times, with the same result. Doing it again will not help. Think"
    " about what you know, and try something else; if you cannot get further, submit an honest report."
)


def observation(output: Message, limit: int) -> str:
    """Return the text of what an action led to, at most about `limit` characters."""
    if output["kind"] == "refuse":
        return f"error: {output['error']}"
    if output["kind"] == "submit":
        return "The report was received."
    lines = [f"exit code {output['exit_code']}"]
    if output.get("timed_out"):
        lines = [f"stopped after {float(str(output['seconds'])):.0f} s: the command took too long"]
    if output.get("killed"):
        lines.append(f"killed: {output['killed']}")
    text = clip(plain(str(output["output"])), limit).rstrip()
    return "\n".join([*lines, text or "(no output)"])


def messages_of(actions: Sequence[Message], outputs: Sequence[Message], limit: int) -> list[Message]:
    """Return one message per action: a tool's result, or a user's message where the model has no tools."""
    return [_message(action, output, limit) for action, output in zip(actions, outputs, strict=True)]


def _message(action: Message, output: Message, limit: int) -> Message:
    extra: Message = {"observation": True, "kind": output["kind"]}
    if output["kind"] == "ran":
        extra |= {key: output[key] for key in ("command", "exit_code", "seconds", "timed_out")}
    message: Message = {"role": "user", "content": observation(output, limit), "extra": extra}
    if action.get("call_id"):
        message |= {"role": "tool", "tool_call_id": action["call_id"]}
    return message


def correction(fault: str) -> str:
    """Return what to tell a model whose answer could not be used."""
    if fault == "cut off":
        return (
            "Your answer was cut off at its length limit, and nothing of it was executed. Answer more"
            " briefly: think less at a time, and split large edits into several commands."
        )
    return (
        f"Your answer was {fault}. Call the tool `bash` to go on, or the tool `submit` to hand in your report"
        " when you have finished."
    )


def steps_left(count: int) -> str:
    """Return the warning that the work must come to an end."""
    return f"[{count} more answer{'s' if count != 1 else ''} and the work ends; submit your report in time]"
