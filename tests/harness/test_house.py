"""How a repository's file decides on names and presentation; its template does nothing by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from domain.repo_config import RepoConfig, parse_repo_config
from harness.house import LONGEST_TEMPLATE, house_of, template_in
from tests.harness.git_world import World


def template_of(world: World, commit: str) -> str:
    world.mirror.fetch(world.access)
    return template_in(world.mirror, commit)


def config(text: str) -> RepoConfig:
    return parse_repo_config(text.encode())


@pytest.mark.parametrize(
    ("style", "category", "kind", "titled"),
    [
        ("category", "bug", None, False),
        ("plain", "bug", "", False),
        ("conventional", "bug", "fix", True),
        ("conventional", "docs", "docs", True),
        ("conventional", "tidy", "refactor", True),
        ("conventional", "audit", "fix", True),
    ],
)
def test_the_style_and_the_category_make_the_kind(
    style: str, category: str, kind: str | None, titled: bool
) -> None:
    own = (
        "categories: {tidy: {evidence: suite, commit_type: refactor}, audit: {evidence: failing_test}}\n"
        f"commit: {{style: {style}}}\n"
    )
    house = house_of(config(own), category)
    assert (house.kind, house.titled) == (kind, titled)


@pytest.mark.parametrize(
    "path", [".github/PULL_REQUEST_TEMPLATE.md", "pull_request_template.md", "docs/Pull_Request_Template.md"]
)
def test_a_template_is_found_where_forges_look(tmp_path: Path, path: str) -> None:
    world = World(tmp_path, None)
    commit = world.commit({path: "## What\n- [ ] tests\n"})
    assert template_of(world, commit) == "## What\n- [ ] tests"


def test_a_template_acts_on_nothing(tmp_path: Path) -> None:
    world = World(tmp_path, None)
    text = "<!-- hidden -->Fixes #3 @acme/core ![x](http://evil.example/p.png) [skip ci]\n" + "y" * 20_000
    template = template_of(world, world.commit({"pull_request_template.md": text}))
    assert "hidden" not in template and "Fixes #3" not in template and "@acme" not in template
    assert "![" not in template and "[skip ci]" not in template
    assert len(template) <= LONGEST_TEMPLATE


def test_no_template_is_none(tmp_path: Path) -> None:
    world = World(tmp_path, None)
    assert template_of(world, world.commit({"a": "b"})) == ""
