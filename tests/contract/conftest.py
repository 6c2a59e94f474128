"""What of the contract suite is for every day: on the embedded forge each check once, and of git a little."""

from __future__ import annotations

import pytest

from providers.conformance.git import GitChecks

DAILY = "TestLocalForge"
GIT_DAILY = {"test_a_pushed_branch_can_be_proposed", "test_a_branch_that_moved_is_left_where_it_is"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the long run every further parameter of a check, and most of what starts git."""
    seen: set[str] = set()
    for item in items:
        if not isinstance(item, pytest.Function) or item.cls is None or item.cls.__name__ != DAILY:
            continue
        name = item.originalname
        starts_git = name in vars(GitChecks) and name not in GIT_DAILY
        if starts_git or name in seen:
            item.add_marker("long")
        seen.add(name)
