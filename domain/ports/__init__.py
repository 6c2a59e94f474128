"""The ports: what the product needs of the world, each small, each with at least two implementations.

A method's comment names the errors it may raise; any other error is a fault of the adapter.
"""

from domain.ports.agent import Agent, AgentReport, Brief, Localizer, Meter, Observer, PriceList
from domain.ports.clock import Clock
from domain.ports.forge import Capability, Forge, LabelChange, Provider, Purpose, WebhookDialect
from domain.ports.forge_capabilities import (
    Checking,
    CheckReport,
    CiJob,
    CiState,
    CiStatus,
    Conclusion,
    HoldingSecrets,
    Labelling,
    MissedDelivery,
    Reacting,
    ReadingFiles,
    Redelivering,
    Reviewing,
    ReviewThread,
    SelfChecking,
    WatchingCi,
)
from domain.ports.receipts import ReceiptLog, Signer
from domain.ports.sandbox import Sandbox, SandboxPolicy, SandboxSession, Shown
from domain.ports.store import (
    Admission,
    Admitted,
    Delivery,
    Inbox,
    Intent,
    Landing,
    Ledger,
    Reservation,
    Signal,
    TaskQueue,
)

__all__ = [
    "Admission",
    "Admitted",
    "Agent",
    "AgentReport",
    "Brief",
    "Capability",
    "CheckReport",
    "Checking",
    "CiJob",
    "CiState",
    "CiStatus",
    "Clock",
    "Conclusion",
    "Delivery",
    "Forge",
    "HoldingSecrets",
    "Inbox",
    "Intent",
    "LabelChange",
    "Labelling",
    "Landing",
    "Ledger",
    "Localizer",
    "Meter",
    "MissedDelivery",
    "Observer",
    "PriceList",
    "Provider",
    "Purpose",
    "Reacting",
    "ReadingFiles",
    "ReceiptLog",
    "Redelivering",
    "Reservation",
    "ReviewThread",
    "Reviewing",
    "Sandbox",
    "SandboxPolicy",
    "SandboxSession",
    "SelfChecking",
    "Shown",
    "Signal",
    "Signer",
    "TaskQueue",
    "WatchingCi",
    "WebhookDialect",
]
