"""Judging a test command before it runs: can its exit status say anything about tests at all?

The line is gone through as a shell would, with each command coming out either way. It is evidence if it can
only end well where its tests have run and none has failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from harness.testing.calls import call_of
from harness.testing.programs import Judged, Kind, judge_call
from harness.testing.shell import (
    Chain,
    Group,
    Pipeline,
    Script,
    Simple,
    Unreadable,
    parse,
    simple_commands,
)

_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})
_BACKGROUND = "a trailing `&` puts the tests in the background, so their exit status is lost"
_PIPE = "a pipe without `set -o pipefail` reports the last command's exit status, not the tests'"
_TOO_LONG = "the command is too long to be judged"
_MOST_STATES = 256
_MOST_COMMANDS = 60


def why_not_evidence(command: str, variables: Iterable[str] = ()) -> str:
    """Return why a command's success would prove nothing about tests, or "" if it may prove something.

    `variables` are set around it, as `NAME=value`: some tools take options from them.
    """
    if not command.strip():
        return "the command is empty"
    try:
        script = parse(command)
        judged = _all_judged(script, tuple(variables))
    except Unreadable as refusal:
        return str(refusal)
    runners = [command for command, what in judged if what.kind is Kind.TESTS]
    others = [command for command, what in judged if what.kind is Kind.PERHAPS]
    if not runners and not others:
        reasons = [what.why for _, what in judged if what.why]
        return reasons[0] if reasons else f"`{command.strip()[:80]}` runs no tests"
    try:
        hidden = [_Walk(tests).why_hidden(script) for tests in runners or others]
    except Unreadable as refusal:
        return str(refusal)
    if not runners and "" in hidden:
        return ""
    return next(filter(None, hidden), "")


def commands_of(script: Script) -> list[Simple]:
    """Return all simple commands of a line, those in `bash -c` lines included. Raises Unreadable."""
    found: list[Simple] = []
    for command in simple_commands(script):
        inner = _shell_line(command)
        found += commands_of(inner) if inner is not None else [command]
    return found


def _all_judged(script: Script, variables: tuple[str, ...]) -> list[tuple[Simple, Judged]]:
    judged: list[tuple[Simple, Judged]] = []
    for command in commands_of(script):
        call = call_of(command)
        if call is None or call.name in {"export", "declare", "typeset"}:
            variables += tuple(text for text in command.texts if "=" in text)
            judged.append((command, Judged(Kind.NOTHING)))
            continue
        what = judge_call(replace(call, assignments=(*variables, *call.assignments)))
        if what.kind is Kind.REFUSED:
            raise Unreadable(what.why)
        judged.append((command, what))
    if len(judged) > _MOST_COMMANDS:
        raise Unreadable(_TOO_LONG)
    return judged


def _shell_line(command: Simple) -> Script | None:
    """Return the line that a `bash -c` gives to a shell, or None for all else."""
    call = call_of(command)
    if call is None or call.name not in _SHELLS:
        return None
    for position, word in enumerate(call.arguments):
        if re.fullmatch(r"-[a-z]*c", word):
            rest = [other for other in call.arguments[position + 1 :] if not other.startswith("-")]
            return parse(rest[0]) if rest else None
    return None


@dataclass(frozen=True, slots=True)
class _State:
    """How far the line has come: the last exit status, and what became of the tests."""

    ok: bool = True
    ran: bool = False
    failed: bool = False
    hidden: str = ""
    skipped: str = ""
    ended: bool = False
    stops: bool = False
    pipefail: bool = False


class _Walk:
    """Goes through a line with one of its commands as the tests, and all others as anything."""

    def __init__(self, tests: Simple) -> None:
        self._tests = tests

    def why_hidden(self, script: Script) -> str:
        """Return why the line may end well although the tests failed or never ran, or ""."""
        for state in self._script(script, {_State()}):
            if state.ok and state.failed:
                return state.hidden or "the tests' exit status is lost"
            if state.ok and not state.ran:
                before = state.skipped or "what stands before"
                return f"`{before}` comes before the tests and can keep them from running"
        return ""

    def _script(self, script: Script, states: set[_State]) -> set[_State]:
        for position, chain in enumerate(script):
            going = {state for state in states if not state.ended}
            ended = states - going
            shown = chain.links[0][1].shown
            why = f"what follows (`{shown}`) replaces the tests' exit status" if position else ""
            states = ended | {
                _told(before, after, why) for before in going for after in self._chain(chain, before)
            }
            if len(states) > _MOST_STATES:
                raise Unreadable(_TOO_LONG)
        return states

    def _chain(self, chain: Chain, start: _State) -> Iterator[_State]:
        states = {start}
        for position, (operator, pipeline) in enumerate(chain.links):
            last = position == len(chain.links) - 1
            before = chain.links[position - 1][1].shown if position else ""
            states = {
                after
                for state in states
                for after in self._link((operator, pipeline), state, last=last, before=before)
            }
        if not chain.background:
            yield from states
            return
        for state in states:
            is_here = state.ran and not start.ran
            yield replace(
                state,
                ok=True,
                ended=False,
                failed=state.failed or is_here,
                hidden=_BACKGROUND if is_here else "",
            )

    def _link(
        self, link: tuple[str, Pipeline], state: _State, *, last: bool, before: str
    ) -> Iterator[_State]:
        operator, pipeline = link
        goes = not state.ended and (not operator or (operator == "&&") == state.ok)
        if not goes:
            is_skipped = bool(operator) and state.ok and not state.ran and not state.skipped
            yield replace(state, skipped=before) if is_skipped else state
            return
        for after in self._pipeline(pipeline, state):
            told = (
                _told(state, after, f"`{operator} {pipeline.shown}` hides a failure") if operator else after
            )
            stops = told.stops and last and not told.ok and not pipeline.negated and not told.ended
            yield replace(told, ended=True) if stops else told

    def _pipeline(self, pipeline: Pipeline, state: _State) -> Iterator[_State]:
        combined = set(self._part(pipeline.parts[0], state))
        for part in pipeline.parts[1:]:
            combined = {
                _piped(left, right)
                for left in combined
                for right in self._part(part, replace(left, ended=False))
            }
        for after in combined:
            inner = replace(after, ended=state.ended) if len(pipeline.parts) > 1 else after
            if pipeline.negated:
                inner = replace(inner, ok=not inner.ok)
                if inner.failed and inner.ok:
                    inner = replace(inner, hidden="`!` turns a failure into a success")
            yield inner

    def _part(self, part: Simple | Group, state: _State) -> Iterator[_State]:
        if isinstance(part, Simple):
            yield from self._simple(part, state)
            return
        for after in self._script(part.body, {state}):
            if part.subshell:
                yield replace(after, ended=state.ended, stops=state.stops, pipefail=state.pipefail)
            else:
                yield after

    def _simple(self, command: Simple, state: _State) -> Iterator[_State]:
        inner = _shell_line(command)
        if inner is not None:
            yield from self._inner_shell(command, inner, state)
            return
        if command is self._tests or command == self._tests:
            ends = command.texts[:1] == ("exec",)
            yield replace(state, ok=True, ran=True, ended=ends)
            yield replace(state, ok=False, ran=True, failed=True, hidden="", ended=ends)
            return
        yield from _other(command, state)

    def _inner_shell(self, command: Simple, script: Script, state: _State) -> Iterator[_State]:
        options = {word for word in command.texts if word.startswith("-")}
        start = replace(
            state,
            stops=any(re.fullmatch(r"-[a-z]*e[a-z]*", option) for option in options),
            pipefail="pipefail" in command.texts,
        )
        for after in self._script(script, {start}):
            yield replace(after, ended=state.ended, stops=state.stops, pipefail=state.pipefail)


def _other(command: Simple, state: _State) -> Iterable[_State]:
    """Return how a command that is not the tests may come out."""
    call = call_of(command)
    name = call.name if call else ":"
    texts = call.texts if call else ()
    if name == "set":
        return [_after_set(texts, state)]
    if name in {"exit", "return"}:
        return [_after_exit(texts, state, command.shown)]
    if name in {"true", ":", "echo", "printf"}:
        return [replace(state, ok=True)]
    if name == "false":
        return [replace(state, ok=False)]
    return [replace(state, ok=True), replace(state, ok=False)]


def _after_set(texts: tuple[str, ...], state: _State) -> _State:
    stops, pipefail = state.stops, state.pipefail
    for position, word in enumerate(texts[1:], 1):
        if re.fullmatch(r"[-+][a-z]*e[a-z]*", word) or (
            word == "errexit" and texts[position - 1] in {"-o", "+o"}
        ):
            sign = word[0] if word != "errexit" else texts[position - 1][0]
            stops = sign == "-"
        if word == "pipefail":
            pipefail = re.fullmatch(r"-[a-z]*o", texts[position - 1]) is not None
    return replace(state, ok=True, stops=stops, pipefail=pipefail)


def _after_exit(texts: tuple[str, ...], state: _State, shown: str) -> _State:
    value = texts[1] if len(texts) > 1 else "$?"
    ok = state.ok if value == "$?" else not (value.isdigit() and int(value[:9]) % 256)
    skipped = state.skipped if state.ran else shown
    return replace(state, ok=ok, ended=True, skipped=skipped)


def _piped(left: _State, right: _State) -> _State:
    """Join two parts of a pipeline: `right` began from `left`, so it knows what became of the tests."""
    if right.pipefail:
        return replace(right, ok=left.ok and right.ok)
    lost = left.failed and not left.ok
    return replace(right, hidden=_PIPE) if lost and right.ok else right


def _told(before: _State, after: _State, why: str) -> _State:
    """Note why a failure is not the line's any more, the first time that it is lost."""
    lost = before.failed and not before.ok and after.ok
    return replace(after, hidden=why) if lost and why and not after.hidden else after
