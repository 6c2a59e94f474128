"""How a repository wants its work named and presented, from its own file: branches, titles, people to ask."""

from __future__ import annotations

from dataclasses import dataclass, replace

from domain.errors import ConfigurationError, GitError
from domain.model import Repository, Task
from domain.repo_config import FILE_NAME, RepoConfig, parse_repo_config
from domain.repo_sections import DEFAULT_BRANCH_PREFIX
from domain.text import clip, disarmed, visible
from harness.git import Mirror

LONGEST_TEMPLATE = 8_000
"""Characters of a pull-request template; a forge's text holds 65,536, and ours comes first."""

_TEMPLATES = (
    ".github/pull_request_template.md",
    "pull_request_template.md",
    "docs/pull_request_template.md",
    ".forgejo/pull_request_template.md",
    ".gitea/pull_request_template.md",
    ".gitlab/merge_request_templates/default.md",
)
"""Where forges look for one, in lower case; the first that is there counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What a publication follows. `base_branch` is "" for the default one.

    `kind` begins a commit's first line, None for the task's category; `titled` says that a title begins so,
    too. `template` is the repository's own, made inert. `asks_before_publishing` says that nothing is pushed
    without a maintainer's word.
    """

    base_branch: str = ""
    branch_prefix: str = DEFAULT_BRANCH_PREFIX
    kind: str | None = None
    titled: bool = False
    signs_off: bool = False
    reviewers: tuple[str, ...] = ()
    template: str = ""
    asks_before_publishing: bool = False

    def base(self, repository: Repository) -> str:
        """Return the branch that work begins from and goes to."""
        return self.base_branch or repository.default_branch


PLAIN_HOUSE = House()
"""A repository that says nothing."""


def house_of(config: RepoConfig, category: str) -> House:
    """Return what a repository's file says of the presentation of a task in a category."""
    commit = config.commit
    kinds = {"category": None, "conventional": config.commit_type(category), "plain": ""}
    return House(
        base_branch=config.base_branch or "",
        branch_prefix=config.branch_prefix,
        kind=kinds[commit.style],
        titled=commit.style == "conventional",
        signs_off=commit.sign_off,
        reviewers=tuple(config.pull_request.reviewers),
        asks_before_publishing=config.asks_before_publishing,
    )


def with_template(house: House, config: RepoConfig, mirror: Mirror, commit: str) -> House:
    """Return the house with its pull-request template as it stands in a commit, where it is to be used."""
    if not config.pull_request.template:
        return house
    return replace(house, template=template_in(mirror, commit))


def template_in(mirror: Mirror, commit: str) -> str:
    """Return the pull-request template in a commit, "" where there is none: nobody's words act in it."""
    by_name = {path.lower(): path for path in reversed(mirror.list_files(commit))}
    path = next((by_name[name] for name in _TEMPLATES if name in by_name), "")
    try:
        content = mirror.read_file(commit, path, 256 * 1024) if path else None
    except GitError:
        return ""
    text = visible((content or b"").decode("utf-8", "replace"))
    return clip(disarmed(text).strip(), LONGEST_TEMPLATE)


def known_house(mirror: Mirror, repository: Repository, task: Task) -> House:
    """Return the house by the file as last fetched: for going on where nothing else is known any more.

    One whose file cannot be read may want to be asked first, and so is.
    """
    head = mirror.default_head(repository.default_branch)
    if not head:
        return replace(PLAIN_HOUSE, asks_before_publishing=True)
    try:
        config = parse_repo_config(mirror.read_file(head, FILE_NAME))
    except (ConfigurationError, GitError):
        return replace(PLAIN_HOUSE, asks_before_publishing=True)
    return house_of(config, config.category_of(task.label, task.category))
