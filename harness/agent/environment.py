"""mini-swe-agent's environment, ours: every command is a request to the worker, which holds the sandbox."""

from __future__ import annotations

from pydantic import BaseModel

from domain.model import CommandResult
from harness.agent.link import Link
from harness.agent.protocol import Message, dump, load


class NoConfig(BaseModel):
    """An environment without settings of its own."""


class RemoteEnvironment:
    """Implements mini-swe-agent's Environment. No variable of any process ever becomes a template's."""

    def __init__(self, link: Link) -> None:
        self.config = NoConfig()
        self._link = link

    def execute(self, action: Message, cwd: str = "") -> Message:
        """Run an action: {"kind": "run", "command"} in the sandbox; others only come back as they are."""
        if action["kind"] != "run":
            return dict(action)
        result = load(CommandResult, self._link.ask("run", command=action["command"])["result"])
        return {"kind": "ran", **dump(CommandResult, result)}

    def get_template_vars(self, **_: object) -> Message:
        """Return nothing: no template is rendered."""
        return {}

    def serialize(self) -> Message:
        """Return nothing: records are made step by step."""
        return {}
