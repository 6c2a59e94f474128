"""`fixwright tasks` and `fixwright show`: tasks as lines for people, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from app.api.models import Run, RunDetail
from app.api.news import StreamEvent
from app.tasks_cli.opening import no_task, opened
from domain.budget import show_money
from domain.model import Money
from domain.states import State
from domain.text import one_line, plain
from store.task_pages import Wanted

ROLES = {"prompt": "prompt", "answer": "model", "command": "$", "output": "output", "end": "end"}


def tasks_text(wanted: Wanted, limit: int, *, as_json: bool) -> str:
    """Return the newest tasks. Raises ConfigurationError, StoreUnavailable."""
    with opened() as store:
        runs = store.runs.page(wanted, limit).runs
    if as_json:
        return json.dumps([run.model_dump(mode="json") for run in runs], indent=2) + "\n"
    if not runs:
        return "There are no such tasks.\n"
    return "".join(f"{_task_line(run)}\n" for run in runs)


def show_text(number: int, *, transcript: bool, as_json: bool) -> str:
    """Return one task, with its story where that is wanted. Raises ConfigurationError, StoreUnavailable."""
    run, events = told(number, with_events=transcript)
    if as_json:
        return document(run, events if transcript else None)
    lines = [*run_lines(run)]
    if transcript:
        lines += ["", *(line for event in events for line in event_lines(event))]
    return "".join(f"{line}\n" for line in lines)


def told(number: int, *, with_events: bool = True) -> tuple[RunDetail, list[StreamEvent]]:
    """Return a task and its story. Raises ConfigurationError, StoreUnavailable."""
    with opened() as store:
        try:
            run = store.runs.run(number)
        except KeyError:
            raise no_task(number) from None
        return run, store.story(number) if with_events else []


def document(run: RunDetail, events: Iterable[StreamEvent] | None) -> str:
    """Return a task as one JSON object, as the API has it, with its `events` where they are given."""
    found: dict[str, object] = run.model_dump(mode="json")
    if events is not None:
        found["events"] = [{"id": each.id, "kind": each.kind, **each.data} for each in events]
    return json.dumps(found, indent=2) + "\n"


def run_lines(run: RunDetail) -> Iterator[str]:
    """Yield what there is to say of a task."""
    yield _task_line(run)
    yield f"next: {run.next_step}"
    if run.detail:
        yield f"detail: {one_line(run.detail, 400)}"
    yield f"asked for by {one_line(run.requested_by, 80)}, {run.created_at:%Y-%m-%d %H:%M:%S} UTC"
    for pull in run.pulls:
        yield f"pull request #{pull.number} {one_line(pull.url, 200)}".rstrip()
    if run.waiting:
        yield f"waits for an approval of the {run.waiting.gate}: {run.waiting.name}"
    for attempt in run.attempt_list:
        outcome = attempt.outcome or "under way"
        yield f"attempt {attempt.number}: {outcome}, {attempt.steps} steps, {_money(attempt.spent_usd)}"
        if attempt.verdict:
            yield f"  {one_line(attempt.verdict.summary, 400)}"


def event_lines(event: StreamEvent) -> Iterator[str]:
    """Yield one thing that happened, with nothing in it that a terminal would obey."""
    data = event.data
    if event.kind == "move":
        reason = f" ({data['reason']})" if data["reason"] else ""
        yield f"{_moment(data['at'])}  {data['trigger']}: {data['state']}{reason}"
    elif event.kind == "phase":
        note = f"  {one_line(str(data['note']), 200)}" if data["note"] else ""
        yield f"{_moment(data['started_at'])}  {data['name']} {data['seconds']} s{note}"
    elif event.kind == "step":
        yield f"{_moment(data['at'])}  step {data['step']}  ${data['cost'] or '0'}"
        for entry in _sequence(data["entries"]):
            yield from _entry_lines(entry)
    else:
        yield f"{event.kind}:"
        yield from (f"    {line}" for line in plain(_json_text(data.get(event.kind))).split("\n"))


def _entry_lines(entry: Mapping[str, object]) -> Iterator[str]:
    role = ROLES.get(str(entry["role"]), "?")
    for number, line in enumerate(plain(str(entry["text"])).split("\n")):
        yield f"    {role if number == 0 else '':>6} {line}".rstrip()


def _json_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _sequence(value: object) -> Sequence[Mapping[str, object]]:
    return value if isinstance(value, list) else ()


def _task_line(run: Run) -> str:
    state = run.state.value if run.reason is None else f"{run.state.value} ({run.reason.value})"
    where = f"{run.forge}:{one_line(run.repository, 100)}#{run.issue}"
    return f"{run.id:>5}  {state:<28} {_money(run.spent_usd):>9}  {where}  {one_line(run.title, 100)}"


def _money(dollars: str) -> str:
    return show_money(Money(dollars))


def _moment(value: object) -> str:
    return str(value)[:19].replace("T", " ") or "-"


def wanted_state(name: str) -> State | None:
    """Return a state by its name, None for "". Raises ConfigurationError."""
    from domain.errors import ConfigurationError

    try:
        return State(name.lower()) if name else None
    except ValueError:
        known = ", ".join(State)
        raise ConfigurationError(f"--state: {name[:40]!a} is none; it is one of {known}") from None
