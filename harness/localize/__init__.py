"""Finding where a fix belongs, without a model."""

from harness.localize.localizer import (
    STRATEGIES,
    FaultLocalizer,
    ForgivingLocalizer,
    NullLocalizer,
    localizer_named,
)

__all__ = ["STRATEGIES", "FaultLocalizer", "ForgivingLocalizer", "NullLocalizer", "localizer_named"]
