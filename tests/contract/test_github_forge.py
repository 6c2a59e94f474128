"""GitHub keeps the contract of the Forge port: over real HTTP, judged by GitHub's own description."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from providers.conformance import ForgeConformance, ForgeStage
from tests.providers.github.stage import GithubStage


@pytest.mark.long
class TestGithubForge(ForgeConformance):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> Iterator[ForgeStage]:
        stage = GithubStage(tmp_path / "github")
        yield stage
        stage.close()
