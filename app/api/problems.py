"""What the API answers when it cannot do what was asked: a name, what is wrong, and the way out."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException

from domain.errors import FixwrightError, StoreUnavailable
from domain.text import clip

MEDIA_TYPE = "application/problem+json"

LATER = {"Retry-After": "10"}


class ProblemBody(BaseModel):
    """An error as RFC 9457 has it, with a `name` for programs and a `way_out` for people."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(examples=["urn:fixwright:problem:no_such_run"])
    title: str = Field(examples=["Not Found"])
    status: int = Field(examples=[404])
    name: str = Field(examples=["no_such_run"])
    problem: str = Field(examples=["There is no run 7."])
    way_out: str = Field(examples=["GET /api/v1/runs lists the runs."])


class Problem(HTTPException):
    """An answer that is an error. `name` is one of docs/reference/api.md, and does not change."""

    def __init__(
        self,
        status: HTTPStatus,
        name: str,
        problem: str,
        *,
        way_out: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(status.value, problem, dict(headers or {}))
        self.status = status
        self.name = name
        self.way_out = way_out

    def answer(self) -> JSONResponse:
        """Return the response."""
        body = ProblemBody(
            type=f"urn:fixwright:problem:{self.name}",
            title=self.status.phrase,
            status=self.status.value,
            name=self.name,
            problem=self.detail,
            way_out=self.way_out,
        )
        return JSONResponse(body.model_dump(), self.status.value, self.headers, MEDIA_TYPE)


def no_such_run(number: int) -> Problem:
    """Return that a run is not there, or is not to be seen by who asks."""
    return Problem(
        HTTPStatus.NOT_FOUND,
        "no_such_run",
        f"There is no run {number}.",
        way_out="GET /api/v1/runs lists the runs.",
    )


def unreadable(error: Exception) -> Problem:
    """Return that the database cannot be used now."""
    return Problem(
        HTTPStatus.SERVICE_UNAVAILABLE,
        "store_unavailable",
        clip(str(error), 500),
        way_out="Try again in a moment; `fixwright doctor` on the machine tells more.",
        headers=LATER,
    )


def install(application: FastAPI) -> None:
    """Have every error of an application answered in this form."""
    application.add_exception_handler(Problem, _problem)
    application.add_exception_handler(StoreUnavailable, _unavailable)
    application.add_exception_handler(FixwrightError, _refused)
    application.add_exception_handler(RequestValidationError, _invalid)
    application.add_exception_handler(HTTPException, _http)


async def _problem(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, Problem)  # it is registered for nothing else
    return error.answer()


async def _unavailable(_: Request, error: Exception) -> JSONResponse:
    return unreadable(error).answer()


async def _refused(_: Request, error: Exception) -> JSONResponse:
    return Problem(
        HTTPStatus.CONFLICT,
        "refused",
        clip(str(error), 500),
        way_out="The message tells; `fixwright doctor` on the machine tells more.",
    ).answer()


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    """Say which fields are wrong, without repeating what was in them: it may be a key."""
    assert isinstance(error, RequestValidationError)  # it is registered for nothing else
    said = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:10]]
    return Problem(
        HTTPStatus.UNPROCESSABLE_ENTITY,
        "invalid_request",
        clip("; ".join(said), 1000),
        way_out="GET /api/v1/openapi.json describes what each request may hold.",
    ).answer()


async def _http(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)  # it is registered for nothing else
    status = HTTPStatus(error.status_code)
    return Problem(
        status,
        status.phrase.lower().replace(" ", "_"),
        f"{status.phrase}.",
        way_out="GET /api/v1/openapi.json lists the paths and their methods.",
        headers=error.headers,
    ).answer()
