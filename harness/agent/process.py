"""The agent in the worker: starts the child that calls the model, and ends it for certain."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from domain.errors import FixwrightError
from domain.model import Limit
from domain.ports import AgentReport, Brief, Meter, Observer, SandboxSession
from domain.text import Redactor
from harness.agent.attendance import Attendance, WallClock
from harness.agent.child_process import ChildProcess
from harness.agent.protocol import dump
from harness.agent.settings import AgentSettings, ModelSettings

PACKAGE_ROOT = Path(__file__).resolve().parents[2]


class ChildAgent:
    """mini-swe-agent in a child process; implements `domain.ports.Agent`. One run at a time.

    `python` is the interpreter that has litellm. `home` is a directory of ours that the child may write to.
    `network` are the variables by which an operator routes outgoing calls (HTTPS_PROXY, SSL_CERT_FILE, …):
    the only ones that the child gets besides our own.

    Start it from a thread that lives as long as the run: the kernel ends the child with that thread.
    """

    def __init__(
        self,
        *,
        python: str,
        home: Path,
        model: ModelSettings,
        settings: AgentSettings,
        network: Mapping[str, str] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._python = python
        self._home = home
        self._model = model
        self._settings = settings
        self._network = dict(network or {})
        self._monotonic = monotonic
        self._redact = Redactor(model.secrets)
        self._child: ChildProcess | None = None

    @property
    def pid(self) -> int | None:
        """Return the id of the child that waits or works, or None."""
        return self._child.pid if self._child else None

    def prestart(self) -> None:
        """Start the child now, so that its imports overlap with other preparation. Raises AgentFailure."""
        if self._child is not None:
            return
        self._home.mkdir(parents=True, exist_ok=True, mode=0o700)
        child = ChildProcess(
            [self._python, "-P", "-s", "-m", "harness.agent.child"],
            env=self._environment(),
            cwd=self._home,
            redact=self._redact,
        )
        try:
            child.send(
                {
                    "type": "settings",
                    "parent": os.getpid(),
                    "model": dump(ModelSettings, self._model),
                    "agent": dump(AgentSettings, self._settings),
                }
            )
        except FixwrightError:
            child.close()
            raise
        self._child = child

    def close(self) -> None:
        """End a child that was started and is not needed."""
        if self._child is not None:
            self._child.close()
            self._child = None

    def run(self, brief: Brief, session: SandboxSession, meter: Meter, observer: Observer) -> AgentReport:
        """Work until a report is handed in, a limit is reached or the observer asks for a stop.

        Raises AgentFailure, ProviderUnavailable, Stopped, SandboxError.
        """
        wall_seconds = min(self._settings.wall_seconds, brief.most_seconds or self._settings.wall_seconds)
        attendance = Attendance(
            session=session,
            meter=meter,
            observer=observer,
            deadline=self._monotonic() + wall_seconds - brief.seconds_used,
            command_seconds=self._settings.command_seconds,
            monotonic=self._monotonic,
        )
        try:
            self.prestart()
            if self._child is None:
                raise AssertionError("prestart makes a child or raises")
            return attendance.serve(self._child, brief)
        except WallClock:
            minutes = wall_seconds / 60
            return AgentReport(
                restatement=attendance.restatement,
                claim=None,
                stopped_by=Limit.WALL_CLOCK,
                stop_detail=f"{minutes:.0f} minutes ({Limit.WALL_CLOCK}) are used up",
                steps=attendance.steps,
            )
        finally:
            attendance.close()
            self.close()

    def _environment(self) -> dict[str, str]:
        """Return the child's whole environment: nothing is inherited, and nothing in it is secret.

        LITELLM_MODE keeps litellm from loading a `.env` file that lies about; the cost map is the one on
        disk, never fetched.
        """
        return self._network | {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self._home),
            "LANG": "C.UTF-8",
            "PYTHONPATH": str(PACKAGE_ROOT),
            "PYTHONUNBUFFERED": "1",
            "MSWEA_SILENT_STARTUP": "1",
            "MSWEA_GLOBAL_CONFIG_DIR": str(self._home / "mini-swe-agent"),
            "LITELLM_MODE": "PRODUCTION",
            "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            "LITELLM_TELEMETRY": "False",
            "DO_NOT_TRACK": "1",
        }
