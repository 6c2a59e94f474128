"""What `make redteam-bites` takes away is still where it says, so that the check cannot rot unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.redteam.defences import DEFENCES, Defence

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("defence", DEFENCES, ids=lambda defence: defence.name)
def test_what_is_taken_away_is_there(defence: Defence) -> None:
    for edit in defence.edits:
        text = (ROOT / edit.path).read_text("utf-8")
        assert text.count(edit.old) == edit.times, f"{edit.path}: find this defence again in defences.py"
        assert edit.new != edit.old


@pytest.mark.parametrize("defence", DEFENCES, ids=lambda defence: defence.name)
def test_its_attacks_are_in_files_that_are_there(defence: Defence) -> None:
    named = [word.partition("::")[0] for word in defence.attacks if word.startswith("tests/")]

    assert named
    assert all((ROOT / path).is_file() for path in named)
