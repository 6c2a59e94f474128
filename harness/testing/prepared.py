"""A plan made ready to run: the command with what makes its runner report, variables and files beside it."""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.testing.adapters.adapter import SCRATCH, Adapter, Extension
from harness.testing.adapters.registry import adapter_of
from harness.testing.adapters.unittest import recorded
from harness.testing.calls import Call, call_of
from harness.testing.evidence import commands_of
from harness.testing.plan import Reach, Runner, TestPlan
from harness.testing.shell import Unreadable, parse

OUTPUT_FILE = "fixwright-output.txt"
_PNPM_TEST = re.compile(r"(?<![\w./-])(pnpm(?:[ \t]+-\S+)*)[ \t]+(?:test|t)(?=[ \t]|$)")
"""Up to version 9, `pnpm test` takes options for its own; `pnpm run test` hands them on in all versions."""
_SEPARATORS = {"TOX_OVERRIDE": ";"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What is given to the sandbox's shell, and what a person would type to see the same.

    `secret` stands before the names of the run's own files, so that nothing finds them that does not look.
    """

    command: str
    shown: str
    env: Mapping[str, str]
    extension: Extension
    adapter: Adapter
    secret: str

    def place(self, name: str) -> str:
        """Return where a report, or the output, lies in the scratch directory."""
        return f"{self.secret}-{name}"


def prepare(plan: TestPlan, targets: Sequence[str] = ()) -> Prepared:
    """Return a plan ready to run, on some of the test files only if that is possible."""
    adapter = adapter_of(plan.runner)
    extension = adapter.extension(plan.arguments)
    paths = _below(plan.directory, targets)
    narrowed = adapter.narrowed(plan.arguments, paths) if paths else ""
    shown = _extended(plan, extension, narrowed, adapter)
    command = recorded(shown) if plan.runner is Runner.UNITTEST else shown
    if adapter.captures:
        command = f"{{ {command}\n}} > {SCRATCH}/{OUTPUT_FILE} 2>&1"
    if plan.place:
        command = f"cd {shlex.quote(plan.place)} || exit 127\n{command}"
        shown = f"cd {shlex.quote(plan.place)} && {shown}"
    added = dict(extension.env)
    if plan.reach is Reach.ENVIRONMENT:
        added.update(extension.env_behind)
    secret = secrets.token_hex(8)
    for name in filter(None, (extension.report, OUTPUT_FILE)):
        command = command.replace(f"{SCRATCH}/{name}", f"{SCRATCH}/{secret}-{name}")
        added = {
            variable: value.replace(f"{SCRATCH}/{name}", f"{SCRATCH}/{secret}-{name}")
            for variable, value in added.items()
        }
    return Prepared(
        command=command,
        shown=shown,
        env=_merged(plan.env, added),
        extension=extension,
        adapter=adapter,
        secret=secret,
    )


def find_call(command: str, adapter: Adapter) -> Call | None:
    """Return the one call in a command that an adapter knows, or None."""
    try:
        calls = [call_of(each) for each in commands_of(parse(command))]
    except Unreadable:
        return None
    known = [call for call in calls if call is not None and adapter.recognises(call)]
    return known[0] if len(known) == 1 else None


def _below(directory: str, targets: Sequence[str]) -> list[str]:
    """Return the targets as seen from a directory; none at all where one of them is not below it."""
    if not directory:
        return list(targets)
    prefix = directory + "/"
    below = [path.removeprefix(prefix) for path in targets if path.startswith(prefix)]
    return below if len(below) == len(targets) else []


def _extended(plan: TestPlan, extension: Extension, narrowed: str, adapter: Adapter) -> str:
    command = plan.command
    tail = " ".join(filter(None, [extension.options, narrowed]))
    if plan.reach is Reach.SCRIPT:
        return " ".join(filter(None, [_PNPM_TEST.sub(r"\1 run test", command) if tail else command, tail]))
    if plan.reach is Reach.DASHES:
        return f"{command} -- {tail}" if tail else command
    call = find_call(command, adapter) if plan.reach is Reach.CALL else None
    if call is None:
        return command
    head = call.words[min(extension.behind, len(call.words)) - 1].end
    end = _end_of_options(call)
    pieces = [command[:head], extension.head, command[head:end].strip(), tail, command[end:].strip()]
    return " ".join(filter(None, pieces))


def _end_of_options(call: Call) -> int:
    """Return where options may be added: before a `--`, which hands the rest on to somebody else."""
    for position, word in enumerate(call.words):
        if word.text == "--" and position:
            return call.words[position - 1].end
    return call.end


def _merged(env: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Join variables that both sides set: ours after theirs."""
    merged = dict(env)
    for name, value in added.items():
        theirs = merged.get(name, "")
        merged[name] = f"{theirs}{_SEPARATORS.get(name, ' ')}{value}" if theirs else value
    return merged
