"""What the model says: its restatement of the issue, and its report at the end. Claims, never facts."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _without_blanks(lines: list[str]) -> list[str]:
    return [line for line in lines if line]


_Lines = Annotated[list[str], AfterValidator(_without_blanks)]
"""A list as a model writes one: a blank entry says nothing and is left out."""


Conclusion = Literal["changed", "not_reproducible", "already_fixed", "as_documented"]
"""What the agent came to: it changed something, or says why nothing has to be changed."""


class Restatement(BaseModel):
    """The issue in the model's own words, asked for before any work."""

    model_config = ConfigDict(extra="ignore", str_max_length=4000, str_strip_whitespace=True)

    expected: str = Field(description="What the reporter expects to happen.")
    actual: str = Field(description="What happens instead.")
    reproduction: str = Field(default="", description="The shortest way to see it.")
    suspected_area: str = Field(default="", description="File, function or feature most likely at fault.")
    confidence: float = Field(ge=0, le=1, description="How sure that the issue is understood, 0 to 1.")
    questions: _Lines = Field(
        default_factory=list,
        max_length=3,
        description="Concrete questions without whose answers any fix would be a guess. Empty if clear.",
    )

    @property
    def is_ambiguous(self) -> bool:
        """Whether work must wait for the reporter's answer."""
        return bool(self.questions)


class Claim(BaseModel):
    """The agent's report when it says that it is finished."""

    model_config = ConfigDict(extra="forbid", str_max_length=8000, str_strip_whitespace=True)

    root_cause: str = Field(min_length=1, description="Why the fault happened, in one or two sentences.")
    changes: str = Field(min_length=1, description="What was changed, in one or two sentences.")
    test_commands: _Lines = Field(
        default_factory=list, max_length=10, description="Commands that were run to test the change."
    )
    not_verified: str = Field(default="", description="What was not tested, and why.")
    conclusion: Conclusion = Field(
        default="changed",
        description="`changed`, or why nothing has to be changed: the fault does not show, is fixed already, "
        "or the behaviour is as documented.",
    )
    reproduction: str = Field(
        default="",
        description="Where nothing has to be changed: one command that shows it, exits with 0 if so and with "
        "something else if not. It is run again on a clean checkout.",
    )
