"""How a command becomes another user's: by the cheapest program that is proven to do it."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

import pytest

from harness.sandbox.becoming import Becoming, way_to_become
from harness.sandbox.identity import Identity
from harness.sandbox.launch import launch

_TAKES_OPTIONS = '#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\n'
WORKS = _TAKES_OPTIONS + 'exec /usr/bin/setpriv --reuid={uid} --regid={uid} --clear-groups "$@"\n'
DOES_NOTHING = _TAKES_OPTIONS + 'shift\nexec "$@"\n'
KEEPS_A_GROUP = _TAKES_OPTIONS + 'exec /usr/bin/setpriv --reuid={uid} --regid={uid} --groups 0 "$@"\n'
KEEPS_THE_GROUP = _TAKES_OPTIONS + 'exec /usr/bin/setpriv --reuid={uid} --clear-groups "$@"\n'
REFUSES = "#!/bin/sh\necho unknown option >&2\nexit 1\n"


@pytest.fixture
def other(as_root: int) -> Identity:
    return Identity(as_root, as_root, separate=True)


def program(directory: Path, name: str, text: str, uid: int) -> Path:
    (directory / name).write_text(text.replace("{uid}", str(uid)))
    (directory / name).chmod(0o755)
    return directory / name


def test_nothing_is_needed_to_stay_who_we_are() -> None:
    ourselves = Identity(os.geteuid(), os.getegid(), separate=False)
    assert way_to_become(ourselves) == Becoming(ourselves)
    assert not way_to_become(ourselves).by_copy


def test_a_program_of_the_machine_does_it(other: Identity) -> None:
    way = way_to_become(other)
    assert Path(way.words[0]).name in ("unshare", "setpriv") and not way.by_copy


@pytest.mark.parametrize("text", [DOES_NOTHING, KEEPS_A_GROUP, KEEPS_THE_GROUP, REFUSES])
def test_a_program_that_does_not_do_all_of_it_is_passed_over(other: Identity, room: Path, text: str) -> None:
    bad = program(room, "bad", text, other.uid)
    good = program(room, "good", WORKS, other.uid)
    assert way_to_become(other, unshare=bad, setpriv=good).words[0] == str(good)


def test_where_no_program_does_it_python_does(other: Identity, room: Path) -> None:
    way = way_to_become(other, unshare=room / "missing", setpriv=program(room, "bad", REFUSES, other.uid))
    assert way == Becoming(other) and way.by_copy
    launched = launch(["/bin/sh", "-c", "/usr/bin/id -u; /usr/bin/id -G; :", "sh"], user=way, limits={})
    with closing(launched):
        launched.give("")
        assert launched.process.wait(20) == 0
        assert os.read(launched.output, 100).split() == [str(other.uid).encode()] * 2
