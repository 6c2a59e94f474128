"""The contract suite of the Forge port: subclass it, build a stage, and a forge is tested.

    class TestMyForge(ForgeConformance):
        @pytest.fixture
        def stage(self, tmp_path):
            return MyStage(tmp_path)

Needs pytest, which comes with the extra `dev`. What a forge or its stage cannot do shows as a skip.
"""

import pytest

# Without this a failed check would say "AssertionError" and no more.
pytest.register_assert_rewrite(
    "providers.conformance.reading",
    "providers.conformance.commenting",
    "providers.conformance.pulling",
    "providers.conformance.failing",
    "providers.conformance.extras",
    "providers.conformance.git",
    "providers.conformance.hearing",
)

from providers.conformance.commenting import CommentingChecks  # noqa: E402  (after the line above)
from providers.conformance.extras import ExtraChecks  # noqa: E402
from providers.conformance.failing import FailingChecks  # noqa: E402
from providers.conformance.git import GitChecks  # noqa: E402
from providers.conformance.hearing import HearingChecks  # noqa: E402
from providers.conformance.plain_git import GitClient  # noqa: E402
from providers.conformance.pulling import PullingChecks  # noqa: E402
from providers.conformance.reading import ReadingChecks  # noqa: E402
from providers.conformance.stage import Delivered, ForgeStage, Hearing  # noqa: E402

__all__ = ["Delivered", "ForgeConformance", "ForgeStage", "GitClient", "Hearing"]


class ForgeConformance(
    ReadingChecks, CommentingChecks, PullingChecks, GitChecks, HearingChecks, FailingChecks, ExtraChecks
):
    """Every check of the Forge port. A subclass gives the fixture `stage`."""
