"""The documentation says what is so: generated blocks, links, commands, scenarios, settings, reasons."""

from __future__ import annotations

import re

import pytest

from app.demo.scenarios import SCENARIOS
from app.docs import BLOCKS, ROOT, broken_links, stale_blocks, written
from app.settings import GROUPS, variable
from domain.model import Reason
from domain.states import chart
from harness.change import DEFAULT_PROTECTED, LOCKFILES
from worker.announce import ENDINGS

README = (ROOT / "README.md").read_text()


def test_no_generated_block_is_stale() -> None:
    assert stale_blocks() == []


def test_a_stale_block_would_be_seen() -> None:
    path, _ = BLOCKS["states"]
    assert written(path.read_text(), "states", "something else") != path.read_text()
    with pytest.raises(ValueError, match="no block"):
        written("no markers here", "states", "x")


def test_the_chart_in_the_docs_is_the_table() -> None:
    assert chart() in (ROOT / "docs/explanation/design.md").read_text()


def test_no_relative_link_is_broken() -> None:
    assert broken_links() == []


def test_every_make_target_in_the_docs_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    pages = [README, *(page.read_text() for page in (ROOT / "docs").rglob("*.md"))]
    named = {
        target for page in pages for target in re.findall(r"(?:`|^)make ([a-z][a-z-]*)", page, re.MULTILINE)
    }
    for target in named - {"bench"}:
        assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), target


def test_every_scenario_is_in_the_readme() -> None:
    for name in SCENARIOS:
        assert name == "fix" or f"SCENARIO={name}" in README


def test_every_setting_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/settings.md").read_text()
    for group in GROUPS:
        for name in group.model_fields:
            assert f"`{variable(name)}`" in page


def test_every_protected_path_is_in_the_reference() -> None:
    page = (ROOT / "docs/reference/protected-paths.md").read_text().splitlines()
    assert {f"    {pattern}" for pattern in (*DEFAULT_PROTECTED, *LOCKFILES)} <= set(page)


def test_every_reason_to_stop_tells_people_what_to_do_next() -> None:
    assert set(ENDINGS) == set(Reason)
    for headline, next_step in ENDINGS.values():
        assert headline.endswith(".") and next_step.endswith(".")


def test_nothing_names_a_package_registry_or_a_lock_with_hosts() -> None:
    constraints = (ROOT / "constraints.txt").read_text()
    assert "://" not in constraints
    assert "@" not in constraints
