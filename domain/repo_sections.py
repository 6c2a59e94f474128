"""The parts of `.fixwright.yml` that say how a repository wants work to be asked for, made and shown."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, WithJsonSchema

from domain.model import Category

DEFAULT_BRANCH_PREFIX = "fixwright/"

_NOT_IN_A_REF = re.compile(r"[\x00-\x20\x7f~^:?*\[\\\ud800-\udfff]|\.\.|@\{|//|/\.|\.lock(?:/|$)")
_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]*")
_DIRECTORY_PART = re.compile(r"[\w@+][\w@+. -]*(?<! )|\.[\w@+-][\w@+. -]*(?<! )")
_LOGIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LABEL = re.compile(
    r"[^\x00-\x1f\x7f,\ud800-\udfff]*[^\s\x00-\x1f\x7f,\ud800-\udfff][^\x00-\x1f\x7f,\ud800-\udfff]*"
)


class Section(BaseModel):
    """What all parts of the file have in common: no key that is not known, nothing changed later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def branch_problem(name: str) -> str:
    """Return why git would take no branch of this name, or one that means something else; "" if it would."""
    if not name or len(name.encode("utf-8", "replace")) > 200:
        return "a branch's name has 1 to 200 bytes"
    if (
        name.startswith(("-", "/", ".", "refs/"))
        or name in {"@", "HEAD"}
        or name.endswith(("/", ".", ".lock"))
    ):
        return "this is not the name of a branch; write it as `git branch` shows it, such as `develop`"
    if found := _NOT_IN_A_REF.search(name):
        return f"git takes no branch with {found[0]!r} in its name"
    return ""


def _branch(name: str) -> str:
    if problem := branch_problem(name):
        raise ValueError(problem)
    return name


def _prefix(text: str) -> str:
    if len(text) > 60 or not _PREFIX.fullmatch(text) or branch_problem(f"{text}issue-1"):
        raise ValueError(
            "a prefix has 1 to 60 letters, digits, `.`, `_`, `-` or `/`, begins with a letter or digit, and "
            "makes a branch's name with `issue-1` behind it, such as `bot/`"
        )
    return text


def _directory(path: str) -> str:
    parts = [part for part in path.split("/") if part not in {"", "."}]
    if path.startswith(("/", "~")) or ".." in parts:
        raise ValueError("a directory of this repository, by its path from the root, such as `packages/api`")
    if len(path) > 500 or ".git" in parts or not all(map(_DIRECTORY_PART.fullmatch, parts)):
        raise ValueError("a path of letters, digits, spaces and `_ @ + . -`, such as `packages/api`")
    return "/".join(parts)


def _login(name: str) -> str:
    if not _LOGIN.fullmatch(name):
        raise ValueError("a person's account name, without `@`; teams cannot be asked")
    return name


def _label(name: str) -> str:
    if len(name) > 100 or not _LABEL.fullmatch(name):
        raise ValueError("a label's name has 1 to 100 characters in one line, and no comma")
    return name


BranchName = Annotated[str, AfterValidator(_branch), WithJsonSchema({"type": "string", "minLength": 1})]
BranchPrefix = Annotated[
    str,
    AfterValidator(_prefix),
    WithJsonSchema({"type": "string", "pattern": rf"^{_PREFIX.pattern}$", "maxLength": 60}),
]
Directory = Annotated[
    str,
    AfterValidator(_directory),
    WithJsonSchema({"type": "string", "pattern": r"^(?!/|~)(?!.*(?:^|/)\.\.(?:/|$)).*$", "maxLength": 500}),
]
Login = Annotated[
    str, AfterValidator(_login), WithJsonSchema({"type": "string", "pattern": rf"^{_LOGIN.pattern}$"})
]
LabelName = Annotated[
    str, AfterValidator(_label), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": 100})
]
CategoryName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,39}$")]
CommitType = Annotated[str, Field(pattern=r"^[a-z][a-z-]{0,19}$")]
Sentence = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]


class CategoryRules(Section):
    """A kind of work of this repository's own: what has to be shown before its pull request is opened."""

    evidence: Literal["failing_test", "suite", "documentation"] = Field(
        description="`failing_test`: a test that is red without the change and green with it, and nothing "
        "broken (as for bug). `suite`: nothing broken (as for chore). `documentation`: links that lead "
        "somewhere, and nothing broken where there are tests (as for docs)."
    )
    instructions: Sentence | None = Field(
        default=None, description="What the agent is told of such work, besides what it is told of its kind."
    )
    commit_type: CommitType | None = Field(
        default=None,
        description="The type of its commits with `commit.style: conventional`. Absent: that of the kind "
        "whose evidence it needs.",
    )

    @property
    def judged_as(self) -> Category:
        """The kind whose rules its evidence follows."""
        kinds = {
            "failing_test": Category.BUG,
            "suite": Category.CHORE,
            "documentation": Category.DOCS,
        }
        return kinds[self.evidence]


class CommitSection(Section):
    """How commit messages are written."""

    style: Literal["category", "conventional", "plain"] = Field(
        default="category",
        description="The first line of a commit, and of a pull request's title with `conventional`: "
        "`category` (`bug: …`), `conventional` (`fix: …`, `docs: …`, `chore: …`) or `plain` (`…`).",
    )
    sign_off: bool = Field(
        default=False,
        strict=True,
        description="Each commit gets the DCO's `Signed-off-by` with the author's own name and address. The "
        "operator may have chosen a name for all repositories; then it is that one, in any case.",
    )


class PullSection(Section):
    """How a pull request is presented."""

    reviewers: list[Login] = Field(
        default_factory=list,
        max_length=15,
        description="Accounts that are asked for a review of each new draft, where the forge can.",
    )
    template: bool = Field(
        default=False,
        strict=True,
        description="The repository's own pull-request template is put below the text, with nothing ticked.",
    )


CONVENTIONAL = {Category.BUG: "fix", Category.DOCS: "docs", Category.CHORE: "chore"}
"""Commit types of the kinds of work that need no rules of the repository's own."""

Disagreement = tuple[tuple[str, ...], str]
"""Where in the file, by keys, and what is wrong there."""


def label_disagreements(
    labels: dict[str, str], categories: dict[str, CategoryRules]
) -> Iterator[Disagreement]:
    """Find labels for kinds of work that there are not, or that are there twice; kinds that have a name."""
    known = {*map(str, Category), *categories}
    for name in categories:
        if name in set(map(str, Category)):
            yield ("categories", name), f"`{name}` has its own rules already; choose another name"
    seen: set[str] = set()
    for label, category in labels.items():
        folded = label.strip().casefold()
        if category not in known:
            yield (
                ("labels", label),
                f"there is no category `{category}`; known here: {', '.join(sorted(known))}",
            )
        if folded in seen:
            yield ("labels", label), "given twice: forges do not tell upper from lower case in labels"
        seen.add(folded)


def branch_disagreements(base: str | None, prefix: str) -> Iterator[Disagreement]:
    """Find a base that would be one of our own branches, or in the way of them."""
    if base is None:
        return
    ours = (f"{each}issue-" for each in (prefix, DEFAULT_BRANCH_PREFIX))
    if made := next((each for each in ours if base.startswith(each)), ""):
        yield ("base_branch",), f"branches that begin with `{made}` are made for issues"
    elif prefix.startswith(f"{base}/"):
        yield ("branch_prefix",), f"git cannot have branches below `{base}/` beside the branch `{base}`"
