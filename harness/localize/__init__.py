"""Finding where a fix belongs, without a model."""

from harness.localize.localizer import STRATEGIES, FaultLocalizer, NullLocalizer, localizer_named

__all__ = ["STRATEGIES", "FaultLocalizer", "NullLocalizer", "localizer_named"]
