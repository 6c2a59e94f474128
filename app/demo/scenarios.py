"""The demo's scenarios as data: which case, which settings, what people do meanwhile, how it has to end."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from app.demo.cases import Case
from app.demo.scripted_model import Json, Play, Script, Turn, bash, restate, submit
from domain.errors import ConfigurationError
from domain.model import Reason


class Meanwhile(StrEnum):
    """What happens from outside while the service works."""

    NOTHING = "nothing"
    RESUME = "a maintainer resumes the blocked issue"
    KILL = "the worker is killed in the middle of the attempt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario. `blocked_by` None means that it has to end in a verified draft pull request."""

    name: str
    shows: str
    case: str
    script: Callable[[Case], Script]
    settings: Mapping[str, str] = field(default_factory=dict)
    meanwhile: Meanwhile = Meanwhile.NOTHING
    blocked_by: Reason | None = None


def plain_script(case: Case) -> Script:
    """Play the case's turns, then hand in its report."""
    acts = [bash(turn.run.strip(), turn.say) for turn in case.all_turns]
    return Script(restatement=(_restatement(case),), turns=(*acts, _report(case)))


def two_attempts(case: Case) -> Script:
    """Play the case's turns first, and its further turns when an earlier attempt is told of."""
    first = [bash(turn.run.strip(), turn.say) for turn in case.all_turns]
    second = [*(bash(turn.run.strip(), turn.say) for turn in case.more_turns), _report(case)]
    length = max(len(first), len(second))
    turns = tuple(_by_attempt(_at(first, n), _at(second, n)) for n in range(length))
    return Script(restatement=(_restatement(case),), turns=turns)


def _by_attempt(first: Turn, second: Turn) -> Play:
    def choose(request: Json) -> Turn:
        return second if "Attempt 1 ended" in str(request) else first

    return choose


def _at(turns: list[Turn], position: int) -> Turn:
    return turns[position] if position < len(turns) else bash("git diff --stat", "Let me look again.")


def _restatement(case: Case) -> Turn:
    return restate(**case.restatement.model_dump())


def _report(case: Case) -> Turn:
    return submit(**case.claim.model_dump())


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario(
            name="fix",
            shows="a bug, labelled by a maintainer, becomes a verified draft pull request",
            case="fairshare",
            script=plain_script,
        ),
        Scenario(
            name="blocked",
            shows="the step cap is hit; the work waits on its branch; a maintainer's comment resumes it",
            case="fairshare-blocked",
            script=two_attempts,
            settings={"FIXWRIGHT_MAX_ITERATIONS": "4"},
            meanwhile=Meanwhile.RESUME,
        ),
        Scenario(
            name="cheat",
            shows="the agent weakens a test instead of mending the bug: refused, and said so on the issue",
            case="fairshare-cheat",
            script=plain_script,
            settings={"FIXWRIGHT_MAX_ATTEMPTS": "1"},
            blocked_by=Reason.GUARD,
        ),
        Scenario(
            name="unclear",
            shows="the issue can be read in two ways: one concrete question, and no work before the answer",
            case="fairshare-unclear",
            script=plain_script,
            blocked_by=Reason.NEEDS_INFORMATION,
        ),
        Scenario(
            name="docs",
            shows="a documentation issue",
            case="fairshare-docs",
            script=plain_script,
        ),
        Scenario(
            name="real",
            shows="a genuine past bug of a real package, proved red and green on the package's own tests",
            case="real-parse",
            script=plain_script,
        ),
        Scenario(
            name="crash",
            shows="the worker is killed in mid-attempt and restarted: one pull request, nothing paid twice",
            case="fairshare",
            script=plain_script,
            meanwhile=Meanwhile.KILL,
        ),
    )
}


def scenario_named(name: str) -> Scenario:
    """Return a scenario. Raises ConfigurationError naming those there are."""
    try:
        return SCENARIOS[name]
    except KeyError:
        raise ConfigurationError(
            f"no scenario {name!r}; there are {', '.join(SCENARIOS)}; for example make demo SCENARIO=crash"
        ) from None
