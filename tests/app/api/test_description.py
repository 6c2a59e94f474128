"""The API's own description: whatever it allows, and what it does not, is answered as it says."""

from __future__ import annotations

from contextlib import suppress

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.generation import GenerationMode
from starlette.testclient import TestClient

from app.api.application import api_application, described
from tests.app.api.service import ISSUE, Service
from tests.app.api.world import OPERATOR

HAS_NO_END = "/runs/{number}/stream"

FEW = settings(
    max_examples=12,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


def test_everything_is_described(service: Service) -> None:
    description = described(service.parts()).openapi()
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            assert operation.get("description"), (method, path)
            assert "401" in operation["responses"], (method, path)
            answer = operation["responses"].get("200") or operation["responses"]["201"]
            assert answer["content"], (method, path)
    assert set(description["paths"]) >= {
        "/runs",
        "/runs/{number}",
        HAS_NO_END,
        *(f"/runs/{{number}}/{act}" for act in ("approve", "publish", "cancel", "retry")),
        *("/deliveries", "/deliveries/{number}", "/deliveries/{number}/replay", "/spend", "/health"),
    }


@pytest.mark.long
@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("is_guest", [False, True])
def test_no_request_of_any_shape_makes_it_fail(
    service: Service, is_guest: bool, mode: GenerationMode
) -> None:
    application = api_application(service.parts(is_open=is_guest))
    TestClient(application, headers=OPERATOR).post("/runs", json={"issue": ISSUE})
    schema = schemathesis.openapi.from_dict(described(service.parts()).openapi())
    schema.app = application
    tried: list[int] = []

    def attack(case: schemathesis.Case) -> None:
        answer = case.call(headers=None if is_guest else OPERATOR)
        tried.append(answer.status_code)
        assert answer.status_code < 500, case.as_curl_command()
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == ["application/problem+json"]

    for operation in schema.get_all_operations():
        found = operation.ok()
        if found.path == HAS_NO_END:
            continue
        with suppress(Unsatisfiable):  # nothing wrong can be said where nothing may be said
            FEW(given(case=found.as_strategy(generation_mode=mode))(attack))()
    assert len(tried) > 50
