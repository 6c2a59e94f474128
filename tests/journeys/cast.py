"""The scripted model of whole conversations: lines of its own for each issue, and holds at any of them."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field

from app.demo.cases import Case
from app.demo.scripted_model import Json, Script, Turn, bash, restate, submit

SECONDS = 240.0
_KEY = re.compile(r"fairshare build (\d+)")


@dataclass
class Hold:
    """A line at which the model waits before it answers: until `go` is set."""

    asked: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)


class Cast:
    """Tells issues apart by a number in their text, which every request about them has."""

    def __init__(self) -> None:
        self._scripts: dict[int, Script] = {}
        self._holds: dict[tuple[int, int], Hold] = {}
        self._heard: dict[int, list[str]] = {}
        self._lock = threading.Lock()

    @property
    def script(self) -> Script:
        """What the endpoint plays for everybody."""
        return Script(then=self._play)

    def plays(self, key: int, script: Script) -> None:
        """Give an issue its lines, from the next request on."""
        self._scripts[key] = script

    def hold(self, key: int, turn: int) -> Hold:
        """Let the model wait before it answers an issue's turn, from 0; restatements are not counted."""
        return self._holds.setdefault((key, turn), Hold())

    def heard(self, key: int) -> list[str]:
        """Return what was asked about an issue so far: the messages of each request, as JSON."""
        with self._lock:
            return list(self._heard.get(key, []))

    def release(self) -> None:
        """Let every answer go that is held."""
        for hold in list(self._holds.values()):
            hold.go.set()

    def _play(self, request: Json) -> Turn:
        messages = request["messages"]
        assert isinstance(messages, list)
        text = json.dumps(messages)
        found = _KEY.search(text)
        assert found is not None, "every issue of these journeys says which build it is about"
        key = int(found[1])
        with self._lock:
            self._heard.setdefault(key, []).append(text)
        script, restates = self._scripts[key], "restate" in json.dumps(request.get("tools") or [])
        place = sum(message.get("role") == "assistant" for message in messages)
        if not restates and (hold := self._holds.get((key, place))):
            hold.asked.set()
            hold.go.wait(SECONDS)
        plays = script.restatement if restates else script.turns
        play = plays[place] if place < len(plays) else script.then
        return play if isinstance(play, Turn) else play(request)


def fixing(case: Case, *further: Turn) -> Script:
    """The case's restatement, its change and its test, what else is to be run, and its report."""
    change = [
        bash(turn.run.strip(), turn.say) for turn in case.all_turns if turn.run.strip().startswith("edit")
    ]
    return Script(restatement=(reading(case),), turns=(*change, *further, reporting(case)))


def doing(case: Case, *turns: Turn) -> Script:
    """The case's restatement, some turns, and its report."""
    return Script(restatement=(reading(case),), turns=(*turns, reporting(case)))


def reading(case: Case, **changes: object) -> Turn:
    """How the case's model reads its issue."""
    return restate(**{**case.restatement.model_dump(), **changes})


def reporting(case: Case, **changes: object) -> Turn:
    """The report at the end of the case's work."""
    return submit(**{**case.claim.model_dump(), **changes})


def writing(case: Case, words: str) -> Script:
    """The case's restatement, a line more in its README, and a report: the quickest work there is."""
    return doing(case, bash(f"printf '\\n{words}\\n' >> README.md"))
