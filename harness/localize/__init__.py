"""Finding where a fix belongs, without a model."""

from harness.localize.localizer import BaselineLocalizer, NullLocalizer

__all__ = ["BaselineLocalizer", "NullLocalizer"]
