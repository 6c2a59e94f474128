"""Serves the tools over standard input and output; nothing but the protocol is written there."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version as installed_version
from pathlib import Path

import anyio
import anyio.to_thread
import structlog
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as Described
from pydantic import ValidationError

from app.guard_check import why_not
from app.log import configure_logging
from app.mcp.arguments import problems_of
from app.mcp.tools import TOOLS, Desk
from domain.errors import FixwrightError, GitError
from domain.text import clip, plain

_log = structlog.get_logger(__name__)

LARGEST_ANSWER = 250_000
"""Characters of one answer; each tool bounds its parts so that this is never reached."""

_INSTRUCTIONS = (
    "Tools for fixing bugs in one repository. Ask localize_fault where a reported bug is before you search;"
    " look definitions up with inspect_ast_symbols; judge your patch with verify_patch_integrity; apply it"
    " with apply_transactional_patch, with run_tests where that is possible. All paths are from the root."
)


def serve(root: Path) -> None:
    """Serve until the client closes standard input."""
    configure_logging("console", stream=sys.stderr)
    with tempfile.TemporaryDirectory(prefix="fixwright-mcp-") as place:
        desk = Desk(root, Path(place) / "sources.sqlite")
        anyio.run(_serve, desk)


async def _serve(desk: Desk) -> None:
    turn = anyio.CapacityLimiter(1)

    async def list_tools(_: object, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=described())

    async def call_tool(_: object, asked: CallToolRequestParams) -> CallToolResult:
        work = partial(answer, desk, asked.name, asked.arguments or {})
        return await anyio.to_thread.run_sync(work, limiter=turn)

    server: Server[dict[str, object]] = Server(
        "fixwright",
        version=installed_version("fixwright"),
        title="Fixwright",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def described() -> list[Described]:
    """Return the tools as a client sees them."""
    return [
        Described(
            name=name,
            title=name.replace("_", " ").capitalize(),
            description=tool.description,
            input_schema=tool.arguments.model_json_schema(),
            annotations=ToolAnnotations(
                read_only_hint=not tool.changes,
                destructive_hint=tool.changes,
                idempotent_hint=not tool.changes,
                open_world_hint=False,
            ),
        )
        for name, tool in TOOLS.items()
    ]


def answer(desk: Desk, name: str, arguments: Mapping[str, object]) -> CallToolResult:
    """Call a tool. Whatever goes wrong is told in the result, for whoever asked to do better."""
    tool = TOOLS.get(name)
    if tool is None:
        return _error(f"there is no tool {name[:100]!r}; there are {', '.join(TOOLS)}")
    try:
        asked = tool.arguments.model_validate(dict(arguments))
        result = desk.call(asked)
    except ValidationError as error:
        return _error(f"{name}: {problems_of(error, tool.arguments)}")
    except GitError as error:
        return _error(f"{name}: {why_not(error, desk.root)}")
    except (FixwrightError, OSError) as error:
        return _error(f"{name}: {error}")
    except Exception as error:  # noqa: BLE001 - the session of a client must outlive a fault of one tool
        _log.exception("a tool failed", tool=name)
        return _error(
            f"{name}: failed inside ({type(error).__name__}); the server's standard error says more"
        )
    text = json.dumps(result, ensure_ascii=False).encode("utf-8", "replace").decode()  # names may be no text
    if len(text) > LARGEST_ANSWER:
        return _error(f"{name}: the answer would have {len(text)} characters; ask for less at a time")
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=json.loads(text))


def _error(message: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=clip(plain(message), 4000))], is_error=True)
