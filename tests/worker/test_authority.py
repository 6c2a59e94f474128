"""Only a maintainer's own words may call a test's expectation wrong: anybody can write an issue."""

from __future__ import annotations

import pytest

from domain.model import Outcome, Permission, Reason
from domain.states import State
from tests.worker.conftest import BuildTown
from tests.worker.town import FIX, PYTEST_CALC, Town, caps, plays

WRONG_TEST = "from calc import double\n\n\ndef test_five():\n    assert double(5) == 7\n"
CORRECTION = "sed -i 's/== 7/== 10/' test_wrong.py"
NAMES_BOTH = "The test expects 7 for double(5); 10 is right."


def town(build: BuildTown) -> Town:
    return build({**PYTEST_CALC, "test_wrong.py": WRONG_TEST})


@pytest.mark.long
def test_a_strangers_issue_does_not_permit_a_changed_expectation(build: BuildTown) -> None:
    place = town(build)
    place.issue(body=NAMES_BOTH)
    place.loop(plays(FIX, CORRECTION), caps=caps(max_attempts=1)).turn()
    assert place.stands == (State.BLOCKED, Reason.GUARD)
    assert place.outcomes == [Outcome.REFUSED]


@pytest.mark.long
def test_a_maintainers_comment_does(build: BuildTown) -> None:
    place = town(build)
    issue = place.issue(body="double(5) is wrong.")
    place.comment(issue, NAMES_BOTH)
    place.loop(plays(FIX, CORRECTION), caps=caps(max_attempts=1)).turn()
    assert place.stands == (State.IN_REVIEW, None), place.text(issue)


@pytest.mark.long
def test_an_issue_that_a_maintainer_wrote_does(build: BuildTown) -> None:
    place = town(build)
    place.world.grant(place.repository.id, place.stranger, Permission.WRITE)
    issue = place.issue(body=NAMES_BOTH)
    place.loop(plays(FIX, CORRECTION), caps=caps(max_attempts=1)).turn()
    assert place.stands == (State.IN_REVIEW, None), place.text(issue)
