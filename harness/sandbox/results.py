"""Makes a command's result, with a last line that tells a reader why it was ended. Pure."""

from __future__ import annotations

from domain.model import CommandResult
from harness.sandbox.capture import OutputCapture
from harness.sandbox.supervise import Ending

COMMAND_BYTES = 120_000
"""The kernel takes 128 KiB per argument."""

_NOT_RUN, _TIMED_OUT, _KILLED = 126, 124, 137
_WHY = {
    Ending.TIMEOUT: "ended: it ran longer than its time limit",
    Ending.OUTPUT: "ended: it printed too much; write to a file and look at parts of it",
    Ending.DISK: "ended: the disk limit was reached; remove files that are not needed",
    Ending.MEMORY: "ended: the memory limit was reached; run less at a time",
    Ending.STOPPED: "ended: the attempt is being stopped",
}


def result_of(
    command: str, status: int, capture: OutputCapture, ending: Ending, *, seconds: float
) -> CommandResult:
    """Return the result; the exit code is 124 after a time-out and 137 after any other kill."""
    output = capture.text()
    if ending is not Ending.BY_ITSELF:
        status = _TIMED_OUT if ending is Ending.TIMEOUT else _KILLED
        output += f"\n[{_WHY[ending]}]\n"
    return CommandResult(
        command=command,
        exit_code=status,
        output=output,
        seconds=seconds,
        timed_out=ending is Ending.TIMEOUT,
        bytes_seen=capture.seen,
        killed=ending.value,
    )


def unsendable(command: str) -> CommandResult | None:
    """Return the refusal of a command that cannot be passed to a shell at all, or None."""
    size = len(command.encode("utf-8", "surrogatepass"))
    if "\x00" in command:
        problem = "a command cannot contain a NUL character"
    elif size > COMMAND_BYTES:
        problem = f"the command has {size} bytes and may have {COMMAND_BYTES}; write large files in parts"
    elif any("\ud800" <= character <= "\udfff" for character in command):
        problem = "the command contains half of a surrogate pair; send valid Unicode"
    else:
        return None
    return CommandResult(command=command, exit_code=_NOT_RUN, output=f"[not run: {problem}]\n", seconds=0.0)
