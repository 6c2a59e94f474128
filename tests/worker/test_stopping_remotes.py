"""A shutdown or a cancel while git waits for a remote: a fetch from a silent one, a push to a slow one."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import cast

import pytest

from domain.model import CloneAccess, Outcome, Reason
from domain.ports import Forge, Purpose
from domain.states import State
from providers.local.forge import LocalForge
from tests.worker.town import WRITE, Town, plays
from worker.loop import Loop

Act = Callable[[Town, Loop], None]


def shut_down(town: Town, loop: Loop) -> None:
    loop.stop()


def cancel(town: Town, loop: Loop) -> None:
    (issue,) = (task.issue for task in town.queue.tasks())
    town.world.comment(issue, town.maintainer, "/fixwright cancel")
    town.deliver()


class Elsewhere:
    """The embedded forge, whose repositories are cloned from another address."""

    def __init__(self, town: Town, url: str) -> None:
        self._forge, self._url = LocalForge(town.root / "forge"), url

    def __getattr__(self, name: str) -> object:
        return getattr(self._forge, name)

    def clone_access(self, repository_id: str, purpose: Purpose = Purpose.FETCH) -> CloneAccess:
        return CloneAccess(url=self._url, protocol="https")


@contextmanager
def silent_server(heard: Callable[[], None]) -> Iterator[str]:
    """Take one connection, say so, and never answer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept: list[socket.socket] = []

        def listen() -> None:
            kept.append(server.accept()[0])
            heard()

        threading.Thread(target=listen, daemon=True).start()
        yield f"https://127.0.0.1:{server.getsockname()[1]}/lamp.git"
        for connection in kept:
            connection.close()


@pytest.mark.parametrize("act", [shut_down, cancel])
def test_while_it_fetches_from_a_silent_remote(notes: Town, act: Act) -> None:
    notes.issue("docs")
    loops: list[Loop] = []

    with silent_server(lambda: act(notes, loops[0])) as url:
        forge = cast(Forge, Elsewhere(notes, url))
        loops.append(notes.loop(plays(WRITE), forge=forge, beat_seconds=0.01))
        loops[0].turn()

    if act is cancel:
        assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
        assert notes.outcomes == [Outcome.CANCELLED]
    else:
        assert notes.stands == (State.QUEUED, None)
        assert notes.outcomes == [None] and notes.task.recoveries == 0
    assert notes.cast.briefs == []
    assert not list((notes.root / "ground" / "work").iterdir())


def slow_hook(town: Town, name: str, begun: Callable[[], None]) -> None:
    """Make the remote's hook take for ever, and say when it begins."""
    (repository,) = (town.root / "forge").rglob("*.git")
    pipe, hook = town.root / "begun", repository / "hooks" / name
    os.mkfifo(pipe)
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\necho > {pipe}\nexec sleep 600\n")
    hook.chmod(0o755)

    def listen() -> None:
        pipe.read_text()
        hook.unlink()
        begun()

    threading.Thread(target=listen, daemon=True).start()


@pytest.mark.parametrize("hook", [pytest.param("pre-receive", marks=pytest.mark.long), "post-receive"])
def test_a_shutdown_during_the_push_goes_on_with_the_same_bytes(notes: Town, hook: str) -> None:
    notes.issue("docs")
    loop = notes.loop(plays(WRITE))
    slow_hook(notes, hook, loop.stop)

    loop.turn()

    assert notes.stands == (State.QUEUED, None) and notes.outcomes == [None]
    assert len(notes.branches) == (hook == "post-receive")
    notes.loop(plays("never asked again"), life="two").turn()

    assert notes.stands == (State.IN_REVIEW, None) and notes.cast.briefs == []
    (pull,) = notes.world.pulls(notes.repository.id)
    assert list(notes.branches) == [pull.head_branch]
    verdict = notes.queue.verdict(notes.attempts[0])
    assert verdict and notes.world.git.tree(notes.repository.id, pull.head_branch) == verdict.tree


@pytest.mark.parametrize("hook", [pytest.param("pre-receive", marks=pytest.mark.long), "post-receive"])
def test_a_cancel_during_the_push_ends_it(notes: Town, hook: str) -> None:
    issue = notes.issue("docs")
    loop = notes.loop(plays(WRITE), beat_seconds=0.01)
    slow_hook(notes, hook, lambda: cancel(notes, loop))

    loop.turn()

    assert notes.stands == (State.CANCELLED, Reason.WITHDRAWN)
    assert not notes.world.pulls(notes.repository.id)
    assert len(notes.branches) == (hook == "post-receive")
    assert "**Stopped, as asked.**" in notes.text(issue)
