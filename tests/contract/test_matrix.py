"""The committed support matrix is of this suite: its rows, their checks, and what each forge claims."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from domain.ports import Capability
from providers.local.stage import LocalStage
from tests.contract.matrix import EXAMPLE, FORGES, PAGE, Results, cell, page_rows, rows, table
from tests.providers.github.stage import GithubStage

CAPABILITIES = {capability.value: capability for capability in Capability}


@pytest.fixture
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[frozenset[Capability]]]:
    """What each forge claims, in the order of the matrix."""
    monkeypatch.setattr(sys, "path", [str(EXAMPLE), *sys.path])
    from directory_forge.forge import DirectoryForge

    github = GithubStage(tmp_path / "github")
    forges = {
        "github": github.client(),
        "local": LocalStage(tmp_path / "local").forge(),
        "directory": DirectoryForge(tmp_path),
    }
    yield [forges[name].capabilities for name in FORGES]
    github.close()


def test_the_page_has_the_suites_rows_and_every_forges_claims(claims: list[frozenset[Capability]]) -> None:
    found = page_rows(PAGE.read_text())
    assert {name: count for name, count, _ in found} == {
        name: len(checks) for name, checks in rows().items() if checks
    }, "the suite changed: run `make forges`"
    for name, _, cells in found:
        assert len(cells) == len(FORGES)
        for cell_text, claimed in zip(cells, claims, strict=True):
            if name in CAPABILITIES:
                assert (cell_text == "–") is (CAPABILITIES[name] not in claimed), name


def test_the_suite_has_checks_for_every_capability_and_many_for_all() -> None:
    counted = {name: len(checks) for name, checks in rows().items()}
    assert sum(counted.values()) >= 120 and all(counted.values()), counted


def test_a_cell_says_what_was_found() -> None:
    results = Results(held={"a", "b"}, failed={"b", "d"}, skipped={"c": "local cannot", "a": "local cannot"})
    assert cell(["a"], results) == "all" and cell(["a", "c"], results) == "1" and cell(["c"], results) == "–"
    assert cell(["a", "b"], results) == "**1 of 2, some fail**"
    assert "- local: cannot (1)" in table({"local": results})
