"""The child process: holds the key and the conversation; has no sandbox, no database and no repository."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from domain.errors import AgentFailure, ModelRefused, ProviderUnavailable
from domain.ports import AgentReport, Brief
from domain.text import Redactor, one_line
from harness.agent.link import Link, end_with, lay_down_rights, leave, shut_out, step_back
from harness.agent.protocol import count_of, dump, load
from harness.agent.settings import AgentSettings, ModelSettings

if TYPE_CHECKING:
    from harness.agent.conversation import Conversation


def main() -> int:
    """Serve one run for the worker at the other end of the pipes; return the exit status."""
    shut_out()
    lay_down_rights()
    link = _connect()
    first = link.receive("settings")
    end_with(count_of(first, "parent"))
    model = load(ModelSettings, first["model"])
    settings = load(AgentSettings, first["agent"])
    link.redact = Redactor(model.secrets)
    step_back(settings.niceness)
    try:
        conversation = _load(link, model, settings)
        link.tell("ready")
        brief = load(Brief, link.receive("brief")["brief"])
        report = conversation.run(brief)
        link.tell("done", report=dump(AgentReport, report))
    except ProviderUnavailable as error:
        link.tell("failed", kind="transient", message=str(error), retry_after=error.retry_after)
    except ModelRefused as error:
        link.tell("failed", kind="refused", message=str(error))
    except AgentFailure as error:
        link.tell("failed", kind="permanent", message=str(error))
    except Exception as error:
        text = f"the agent failed: {type(error).__name__}: {one_line(str(error), 500)}"
        link.tell("failed", kind="permanent", message=text)
        raise
    return 0


def _connect() -> Link:
    """Take standard output for messages alone; whatever else prints goes to standard error."""
    writer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return Link(sys.stdin.buffer, writer, orphaned=leave)


def _load(link: Link, model: ModelSettings, settings: AgentSettings) -> Conversation:
    """Import the model stack, which takes seconds and most of this process' memory.

    A fifth of the time would go into looking for garbage among what stays for good.
    """
    gc.disable()
    from harness.agent.conversation import Conversation

    gc.freeze()
    gc.enable()
    return Conversation(link, model, settings)


if __name__ == "__main__":
    sys.exit(main())
