"""Gives a process its own variables and no others."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from app.setting_groups import CommonSettings
from app.settings import inherited_environment, own_environment


def keep_own_variables(group: type[CommonSettings]) -> None:
    """Start this program anew, under the same process id, where it was given variables that are not its own.

    A Procfile's processes all get the whole environment. What a process was started with stays readable in
    /proc for as long as it lives, whatever it deletes later; only a new start takes it away.
    """
    own = own_environment(group)
    if own == inherited_environment():
        return
    _start(own)


def start_anew() -> None:
    """Start this program anew, under the same process id and with the same variables: it reads them again."""
    _start(inherited_environment())


def _start(environment: Mapping[str, str]) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)
