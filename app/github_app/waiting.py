"""How a worker waits for the App that it needs."""

from __future__ import annotations

import threading
from pathlib import Path

import structlog

from app.github_app.stored import DIRECTORY
from app.setting_groups import WorkerSettings
from app.signals import stopping_on_signals

log = structlog.get_logger(__name__)

LOOK_SECONDS = 0.5
TOLD_AGAIN_SECONDS = 600.0


def wait_until_configured(settings: WorkerSettings) -> bool:
    """Wait, as a worker. Returns True once an App is in place, False when asked to stop before."""
    stopped = threading.Event()
    waited = 0.0
    with stopping_on_signals(stopped.set):
        while not is_configured(settings.data_dir):
            if waited % TOLD_AGAIN_SECONDS == 0:
                log.error(
                    "waiting for a GitHub App: no work is done before there is one",
                    do="open the setup page of the web process, or run: fixwright app create; "
                    "or set FIXWRIGHT_GITHUB_APP_ID and FIXWRIGHT_GITHUB_PRIVATE_KEY_FILE",
                )
            if stopped.wait(LOOK_SECONDS):
                return False
            waited += LOOK_SECONDS
    return True


def is_configured(data_dir: Path) -> bool:
    """Tell whether an App is in place."""
    return (data_dir / DIRECTORY).is_dir()
