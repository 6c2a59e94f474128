"""The nouns: frozen, named by keyword, without secrets in their printed form; and the error tree as drawn."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
import re
from datetime import UTC, datetime
from enum import StrEnum

import pytest

from domain import budget, errors, events, model, policy, ports
from domain.errors import CapReached, FixwrightError, PolicyRefusal
from domain.model import CloneAccess, Finding, Limit, Money, Reason, Severity, TestRun, Usage

VALUES = sorted(
    {
        value
        for module in (budget, events, model, policy, ports)
        for _, value in inspect.getmembers(module, dataclasses.is_dataclass)
        if value.__module__ == module.__name__
    },
    key=lambda value: value.__qualname__,
)

ENUMS = [value for _, value in inspect.getmembers(model, inspect.isclass) if issubclass(value, StrEnum)]

DESIGNED_REASONS = {
    *("needs_information", "awaiting_approval", "not_reproducible", "flaky_baseline", "environment", "guard"),
    *("no_change", "repeated_diff", "task_limit", "unpriced", "attempts_exhausted", "crash_loop", "config"),
    *("protected_path", "branch_moved", "sandbox", "internal_error"),
}


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__qualname__)
def test_nouns_are_frozen_slotted_and_named_by_keyword(value: type) -> None:
    parameters = value.__dataclass_params__
    assert parameters.frozen
    assert "__slots__" in vars(value)
    assert all(field.kw_only for field in dataclasses.fields(value))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: value.__qualname__)
def test_nouns_hold_no_mutable_default(value: type) -> None:
    for field in dataclasses.fields(value):
        default = field.default
        assert default is dataclasses.MISSING or default is None or default.__hash__ is not None


@pytest.mark.parametrize("enum", ENUMS, ids=lambda enum: enum.__name__)
def test_enum_texts_are_one_to_one(enum: type[StrEnum]) -> None:
    assert len(enum) == len(enum.__members__)
    assert len({member.value.lower() for member in enum}) == len(enum)


def test_every_reason_of_the_design_exists() -> None:
    assert {reason.value for reason in Reason} >= DESIGNED_REASONS


def test_a_credential_is_not_printed() -> None:
    access = CloneAccess(url="https://host/r.git", protocol="https", username="x", secret="canary")
    assert "canary" not in repr(access)
    assert "canary" not in str(access)


def test_a_delivery_does_not_print_its_body() -> None:
    delivery = ports.Delivery(
        provider="local",
        delivery_id="1",
        body_sha256="0" * 64,
        body=b"canary",
        received_at=datetime(2026, 1, 1, tzinfo=UTC),
        event=events.Uninteresting(why="ping"),
    )
    assert "canary" not in repr(delivery)


def test_values_compare_by_what_they_hold() -> None:
    assert Usage(input_tokens=1) == Usage(input_tokens=1)
    assert len({Usage(input_tokens=1), Usage(input_tokens=1), Usage()}) == 2
    with pytest.raises(dataclasses.FrozenInstanceError):
        Usage().input_tokens = 3  # type: ignore[misc] # the point of the test


def test_a_test_run_is_not_collected_as_a_test() -> None:
    assert TestRun.__test__ is False


# -- the error tree ---------------------------------------------------------------------------------


def drawn_tree() -> dict[str, str]:
    """Return child → parent as drawn in the module's docstring."""
    parents: dict[str, str] = {}
    branch: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        drawn = re.match(r"^((?:│   |    )*)(?:[├└]── )?([A-Z]\w+)(?:\s|$)", line)
        if not drawn or (line[0] not in "│├└ " and drawn[2] != "FixwrightError"):
            continue
        depth = len(drawn[1]) // 4 + (1 if "── " in line else 0)
        branch = [*branch[:depth], drawn[2]]
        if depth:
            parents[drawn[2]] = branch[depth - 1]
    return parents


def test_the_tree_is_the_one_that_is_drawn() -> None:
    real = {
        error.__name__: error.__base__.__name__
        for _, error in inspect.getmembers(errors, inspect.isclass)
        if issubclass(error, FixwrightError) and error is not FixwrightError
    }
    assert drawn_tree() == real


def test_errors_carry_what_a_decision_needs() -> None:
    assert CapReached(Limit.DAILY_COST, "no room").limit is Limit.DAILY_COST
    finding = Finding(rule="RH1", path="a", line=1, what="x", why="y", severity=Severity.CRITICAL)
    assert PolicyRefusal("no", (finding,)).findings == (finding,)
    assert PolicyRefusal("no").findings == ()


def test_errors_survive_the_way_between_processes() -> None:
    reached = pickle.loads(pickle.dumps(CapReached(Limit.TASK_COST, "no room")))
    assert (reached.limit, str(reached)) == (Limit.TASK_COST, "no room")
    finding = Finding(rule="RH1", path="a", line=1, what="x", why="y", severity=Severity.WARNING)
    refusal = pickle.loads(pickle.dumps(PolicyRefusal("no", (finding,))))
    assert (refusal.findings, str(refusal)) == ((finding,), "no")


def test_money_is_exact() -> None:
    assert Money("0.1") + Money("0.2") == Money("0.3")
