"""The webhook side of the GitHub-shaped forges: verify a signature, then read an event. Pure, no I/O."""

from providers.webhooks.dialect import GitHubShapedDialect
from providers.webhooks.signature import is_signed, sign

__all__ = ["GitHubShapedDialect", "is_signed", "sign"]
