"""The list of adapters. A new ecosystem is one file and one line here."""

from __future__ import annotations

from harness.testing.adapters.adapter import Adapter
from harness.testing.adapters.cargo import CargoAdapter
from harness.testing.adapters.ctest import CtestAdapter
from harness.testing.adapters.go import GoAdapter
from harness.testing.adapters.jest import JestAdapter
from harness.testing.adapters.jvm import GradleAdapter, MavenAdapter
from harness.testing.adapters.mocha import MochaAdapter
from harness.testing.adapters.nextest import NextestAdapter
from harness.testing.adapters.node import NodeAdapter
from harness.testing.adapters.phpunit import PhpunitAdapter
from harness.testing.adapters.pytest import PytestAdapter, ToxAdapter
from harness.testing.adapters.rspec import RspecAdapter
from harness.testing.adapters.unittest import UnittestAdapter
from harness.testing.adapters.vitest import VitestAdapter
from harness.testing.calls import Call
from harness.testing.plan import Runner

ADAPTERS: tuple[Adapter, ...] = (
    *(PytestAdapter(), ToxAdapter(), UnittestAdapter(), JestAdapter(), VitestAdapter(), MochaAdapter()),
    *(NodeAdapter(), GoAdapter(), NextestAdapter(), CargoAdapter(), RspecAdapter(), PhpunitAdapter()),
    *(MavenAdapter(), GradleAdapter(), CtestAdapter(), Adapter()),
)
_BY_RUNNER = {adapter.runner: adapter for adapter in reversed(ADAPTERS)}


def adapter_of(runner: Runner) -> Adapter:
    """Return the adapter of a runner."""
    return _BY_RUNNER[runner]


def adapter_for(call: Call) -> Adapter | None:
    """Return the adapter that knows the runner which a call starts, or None."""
    return next((adapter for adapter in ADAPTERS if adapter.recognises(call)), None)
