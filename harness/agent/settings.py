"""What the agent is set to: the model it calls and the limits it works under."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Which model is called, and how. The key goes to the child on its standard input, and nowhere else.

    `name` is litellm's, with the provider in front. `keys` are keys under their usual names (such as
    OPENAI_API_KEY), of which the provider's own is taken when `api_key` is empty. `options` go to every call
    as they are, such as `temperature` or `reasoning_effort`. `call_seconds` bounds one call whatever the
    socket does; `patience_seconds` bounds all tries of one call with the waiting between them.
    """

    name: str
    api_key: str = field(default="", repr=False)
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    api_base: str = ""
    options: Mapping[str, object] = field(default_factory=dict)
    max_output_tokens: int = 8192
    call_seconds: float = 120.0
    patience_seconds: float = 300.0
    first_wait_seconds: float = 2.0
    most_timeouts: int = 2

    @property
    def secrets(self) -> list[str]:
        """Return every key, for a redactor."""
        return [self.api_key, *self.keys.values()]


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    """The limits of one run. A limit of 0 means none allowed, never unlimited.

    `context_tokens` is the size at which old command output is taken out of the conversation; it stays below
    the model's own window. `circle_repeats` and `circle_alternations` say how often the same command with
    the same output, or the same pair of them, counts as going in circles. `programs` are all that may be run,
    one at a time and without a shell; none: whatever there is, in a shell.
    """

    max_steps: int = 250
    wall_seconds: float = 3600.0
    command_seconds: float = 120.0
    context_tokens: int = 60_000
    observation_characters: int = 12_000
    circle_repeats: int = 4
    circle_alternations: int = 6
    faults_in_a_row: int = 3
    niceness: int = 19
    programs: tuple[str, ...] = ()
