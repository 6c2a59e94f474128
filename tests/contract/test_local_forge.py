"""The embedded forge keeps the contract of the Forge port, also behind a client that fails on demand."""

from __future__ import annotations

from pathlib import Path

import pytest

from providers.conformance import ForgeConformance, ForgeStage
from providers.local.stage import FaultyLocalStage, LocalStage


class TestLocalForge(ForgeConformance):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> ForgeStage:
        return LocalStage(tmp_path / "forge")


@pytest.mark.long
class TestFaultyForge(ForgeConformance):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> ForgeStage:
        return FaultyLocalStage(tmp_path / "forge")
