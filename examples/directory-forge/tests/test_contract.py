"""The directory keeps the contract of the Forge port."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.stage import DirectoryStage

from providers.conformance import ForgeConformance, ForgeStage


class TestDirectoryForge(ForgeConformance):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> ForgeStage:
        return DirectoryStage(tmp_path / "forge")
