"""mini-swe-agent's loop with our ends to it: records, circles, unusable answers, steps that run out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from minisweagent.agents.default import DefaultAgent
from minisweagent.exceptions import FormatError, InterruptAgentFlow, LimitsExceeded, Submitted

from domain.errors import FixwrightError
from domain.model import Limit
from domain.text import one_line
from harness.agent.briefing import written_meanwhile
from harness.agent.circles import Circles
from harness.agent.environment import RemoteEnvironment
from harness.agent.link import Link
from harness.agent.model import PaidModel, exit_message
from harness.agent.observations import NUDGE, correction, steps_left
from harness.agent.protocol import Message
from harness.agent.settings import AgentSettings

WARN_STEPS = 5


class WorkLoop(DefaultAgent):  # type: ignore[misc]  # mini-swe-agent ships no types
    """One conversation from the brief (or from where a crash left it) to an `exit` message.

    Mini-swe-agent's own limits are off, because they take 0 for "unlimited" and look only before a call:
    money is refused by the worker's meter, steps by the meter and here, time by the worker.
    """

    n_calls: int

    def __init__(
        self,
        model: PaidModel,
        env: RemoteEnvironment,
        *,
        link: Link,
        settings: AgentSettings,
        first_step: int,
    ) -> None:
        super().__init__(
            model,
            env,
            system_template="",
            instance_template="",
            step_limit=0,
            cost_limit=0,
            max_consecutive_format_errors=max(1, settings.faults_in_a_row),
        )
        self._link = link
        self._settings = settings
        self._first_step = first_step
        self._opening: Sequence[Message] = ()
        self._recorded = 0
        self._circles = Circles(repeats=settings.circle_repeats, alternations=settings.circle_alternations)

    @property
    def step_number(self) -> int:
        """Return the number of the newest step, counted over the whole attempt."""
        return self._first_step + self.n_calls

    def work(self, opening: Sequence[Message], *, recorded: int) -> Message:
        """Go on from `opening`, whose first `recorded` messages are on record; return the exit's extra."""
        self._opening = opening
        self._recorded = recorded
        return cast("Message", self.run())

    def add_messages(self, *messages: Message) -> list[Message]:
        """Append messages; the system and user messages that the base class makes give way to our opening."""
        if not self.messages:
            messages = tuple(self._opening)
        return cast("list[Message]", super().add_messages(*messages))

    def _render_template(self, template: str) -> str:
        """Render nothing: what comes from outside must arrive as it is."""
        return template

    def get_template_vars(self, **_: object) -> Message:
        """Return nothing: no template is rendered."""
        return {}

    def query(self) -> Message:
        """Ask the model, unless the steps are used up."""
        if self.step_number >= self._settings.max_steps:
            used = f"{self.step_number} of {self._settings.max_steps} steps ({Limit.ITERATIONS}) are used up"
            raise LimitsExceeded(exit_message("limit", used, limit=str(Limit.ITERATIONS)))
        self._hears_something()
        answered = self.n_calls
        try:
            message = cast("Message", super().query())
        except Exception:
            # The base class counts a call before it is made; one that brought no answer is no step.
            self.n_calls = answered
            raise
        cast("Message", message["extra"])["step"] = self.step_number
        return message

    def execute_actions(self, message: Message) -> list[Message]:
        """Run the actions of an answer, or send it back when it cannot be used."""
        extra = cast("Message", message["extra"])
        if extra["fault"]:
            fault = str(extra["fault"])
            correcting = {"role": "user", "content": correction(fault), "extra": {"fault": fault}}
            raise FormatError(correcting)
        actions = cast("list[Message]", extra["actions"])
        outputs = [self.env.execute(action) for action in actions]
        observations = self.model.format_observation_messages(message, outputs)
        circling = self._circling(actions, observations)
        left = self._settings.max_steps - self.step_number
        if circling == "nudge":
            observations[-1]["content"] = f"{observations[-1]['content']}\n\n{NUDGE}"
        elif left <= WARN_STEPS:
            observations[-1]["content"] = f"{observations[-1]['content']}\n\n{steps_left(left)}"
        self.add_messages(*observations)
        submitted = next((output for output in outputs if output["kind"] == "submit"), None)
        if submitted is not None and not self._hears_something():
            raise Submitted(exit_message("submitted", "the report was handed in", claim=submitted["claim"]))
        if circling == "stop":
            raise InterruptAgentFlow(
                exit_message("stuck", "stuck: the same commands with the same output, again after a warning")
            )
        return list(observations)

    def _hears_something(self) -> bool:
        """Put what maintainers have written into the conversation; tell whether there was anything."""
        said = cast("Sequence[str]", self._link.ask("listen")["said"])
        if said:
            self.add_messages({"role": "user", "content": written_meanwhile(said), "extra": {"said": True}})
        return bool(said)

    def _circling(self, actions: Sequence[Message], observations: Sequence[Message]) -> str:
        """Return "stop", "nudge" or "" for the whole answer."""
        seen = {
            self._circles.see(str(action.get("command") or action.get("error")), str(shown["content"]))
            for action, shown in zip(actions, observations, strict=True)
        }
        return "stop" if "stop" in seen else "nudge" if "nudge" in seen else ""

    def handle_uncaught_exception(self, e: Exception) -> list[Message]:
        """Note what ended the conversation, without a traceback: it may show what a library was given."""
        detail = str(e) if isinstance(e, FixwrightError) else f"{type(e).__name__}: {one_line(str(e), 500)}"
        return self.add_messages(exit_message("error", detail))

    def save(self, path: object, *_: object) -> Message:
        """Hand the new messages to the worker's transcript; called by the base class after every step."""
        new = self.messages[self._recorded :]
        self._recorded = len(self.messages)
        ended = bool(new) and new[-1].get("role") == "exit"
        if new:
            record = record_of("end" if ended else "step", self.step_number, new)
            self._link.ask("stepped", step=self.step_number, record=record)
        return {}


def record_of(kind: str, step: int, messages: Sequence[Message]) -> Message:
    """Return a transcript's record of a step: its new messages, and what its model call used and cost."""
    extras = [cast("Message", message.get("extra") or {}) for message in messages]
    paid = next((extra for extra in extras if "dollars" in extra), {})
    return {
        "kind": kind,
        "step": step,
        "messages": list(messages),
        "usage": paid.get("usage"),
        "cost": paid.get("dollars"),
        "seconds": paid.get("seconds"),
    }
