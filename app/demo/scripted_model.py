"""A model that plays a script behind a real OpenAI-compatible HTTP endpoint on loopback, with a bill."""

from __future__ import annotations

import argparse
import importlib
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import cast

from app.demo.model_script import Fault, Json, Play, Script, ToolCall, Turn, bash, restate, submit
from domain.budget import cost_of
from domain.model import Money, Price, Usage

__all__ = [
    "BillEntry",
    "Fault",
    "Json",
    "Play",
    "Script",
    "ScriptedModel",
    "ToolCall",
    "Turn",
    "bash",
    "count_tokens",
    "restate",
    "submit",
]

MOST_BODY_BYTES = 32 * 2**20
BYTES_PER_TOKEN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class BillEntry:
    """One request as the provider bills it. Dollars; a faulty answer costs nothing."""

    number: int
    model: str
    turn: int
    status: int
    usage: Usage
    cost: Money
    max_tokens: int
    headers: Mapping[str, str]
    request: Json = field(repr=False)


class ScriptedModel:
    """The endpoint. Use it as a context manager, or call `start` and `stop`.

    `scripts` maps model names to scripts; a request for any other name gets a 404 as from a real provider.
    With `api_key` set, a request without it as bearer token gets a 401.
    """

    def __init__(
        self,
        scripts: Mapping[str, Script],
        *,
        price: Price | None = None,
        api_key: str = "",
        port: int = 0,
    ) -> None:
        self._scripts = dict(scripts)
        self._price = price or Price(input=Money(0), output=Money(0), free=True)
        self.api_key = api_key
        self._bill: list[BillEntry] = []
        self._faults: dict[tuple[str, str, int], int] = {}
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", port), self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> ScriptedModel:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> ScriptedModel:
        """Serve in a thread until `stop`."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the service, and with it every answer that is being withheld."""
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def base_url(self) -> str:
        """Return the address for a client's `api_base`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def models(self) -> Sequence[str]:
        """Return the names of the scripts."""
        return sorted(self._scripts)

    @property
    def bill(self) -> tuple[BillEntry, ...]:
        """Return every request so far, in order of arrival."""
        with self._lock:
            return tuple(self._bill)

    @property
    def total(self) -> Money:
        """Return the dollars billed so far."""
        return sum((entry.cost for entry in self.bill), Money(0))

    def set_script(self, name: str, script: Script) -> None:
        """Add a script, or replace one; its faults begin anew."""
        with self._lock:
            self._scripts[name] = script
            self._faults = {key: count for key, count in self._faults.items() if key[0] != name}

    def turn_for(self, request: Json) -> tuple[int, Turn] | None:
        """Return which turn a request is due and the turn, without its fault when that is used up."""
        name = str(request.get("model"))
        script = self._scripts.get(name)
        if script is None:
            return None
        act = "restatement" if "restate" in _offered(request) else "turns"
        plays = script.restatement if act == "restatement" else script.turns
        messages = cast("list[Json]", request.get("messages") or [])
        index = sum(message.get("role") == "assistant" for message in messages)
        play = plays[index] if index < len(plays) else script.then
        turn = play if isinstance(play, Turn) else play(request)
        if turn.fault is not None:
            key = (name, act, index)
            with self._lock:
                self._faults[key] = self._faults.get(key, 0) + 1
                if self._faults[key] > turn.fault.times:
                    turn = replace(turn, fault=None)
        return index, turn

    def charge(self, request: Json, index: int, status: int, usage: Usage, headers: Mapping[str, str]) -> int:
        """Enter a request in the bill and return its number, from 1."""
        limit = request.get("max_tokens") or request.get("max_completion_tokens") or 0
        with self._lock:
            number = len(self._bill) + 1
            self._bill.append(
                BillEntry(
                    number=number,
                    model=str(request.get("model")),
                    turn=index,
                    status=status,
                    usage=usage,
                    cost=cost_of(usage, self._price),
                    max_tokens=int(cast("int", limit)),
                    headers=headers,
                    request=request,
                )
            )
        return number


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, address: tuple[str, int], model: ScriptedModel) -> None:
        self.model = model
        super().__init__(address, _Handler)

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of clients that hang up; any other fault shows as a missing answer in a test."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        """Answer GET /v1/models, /bill and /health."""
        model = self.server.model
        if self.path == "/v1/models":
            listed = [{"id": name, "object": "model", "owned_by": "fixwright"} for name in model.models]
            self._answer(200, {"object": "list", "data": listed})
        elif self.path == "/bill":
            self._answer(200, {"total": str(model.total), "requests": [_shown(e) for e in model.bill]})
        elif self.path == "/health":
            self._answer(200, {"ok": True})
        else:
            self._answer(404, _error("no such page", "not_found"))

    def do_POST(self) -> None:
        """Answer POST /v1/chat/completions."""
        body = self.rfile.read(min(int(self.headers.get("Content-Length") or 0), MOST_BODY_BYTES))
        if self.path != "/v1/chat/completions":
            self._answer(404, _error("no such page", "not_found"))
            return
        key = self.server.model.api_key
        if key and self.headers.get("Authorization") != f"Bearer {key}":
            self._answer(401, _error("Incorrect API key provided.", "invalid_api_key"))
            return
        try:
            request = json.loads(body)
            complaint = _complaint(request)
        except ValueError:
            complaint = "the body is not JSON"
        if complaint:
            self._answer(400, _error(complaint, "invalid_request_error"))
            return
        self._play(request)

    def _play(self, request: Json) -> None:
        model = self.server.model
        due = model.turn_for(request)
        if due is None:
            self._answer(404, _error(f"The model `{request.get('model')}` does not exist", "model_not_found"))
            return
        index, turn = due
        headers = {name.lower(): value for name, value in self.headers.items()}
        if turn.delay_seconds:
            model.closing.wait(turn.delay_seconds)
        if turn.fault is not None:
            model.charge(request, index, turn.fault.status, Usage(), headers)
            self._fail(turn.fault)
            return
        usage = _usage_of(request, turn)
        number = model.charge(request, index, 200, usage, headers)
        self._answer(200, _completion(number, request, turn, usage))

    def _fail(self, fault: Fault) -> None:
        self.close_connection = True
        closing = self.server.model.closing
        if fault.kind == "status":
            self._answer(fault.status, fault.body, fault.headers)
        elif fault.kind == "stall":
            closing.wait()
        elif fault.kind in {"trickle", "headers"}:
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", "100000")
            self.end_headers()
            self.wfile.flush()
            while not closing.wait(0.2 if fault.kind == "trickle" else 3600):
                self.wfile.write(b" ")
                self.wfile.flush()

    def _answer(
        self, status: int, body: Mapping[str, object] | str, headers: Mapping[str, str] | None = None
    ) -> None:
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *arguments: object) -> None:
        """Stay silent; the bill is the log."""


def _error(message: str, code: str) -> Json:
    return {"error": {"message": message, "type": code, "param": None, "code": code}}


def _offered(request: Json) -> set[str]:
    tools = cast("list[dict[str, dict[str, str]]]", request.get("tools") or [])
    return {tool.get("function", {}).get("name", "") for tool in tools}


def _complaint(request: object) -> str:
    """Return what a strict provider would object to, or ""."""
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        return "messages must be a list"
    if request.get("stream"):
        return "this model does not stream"
    wanted: set[str] = set()
    for message in request["messages"]:
        if message.get("role") == "tool":
            if message.get("tool_call_id") not in wanted:
                return "a tool message must follow the tool call that it answers"
            wanted.discard(message.get("tool_call_id"))
        elif wanted:
            return f"tool calls without an answer: {', '.join(sorted(wanted))}"
        else:
            wanted = {call["id"] for call in message.get("tool_calls") or []}
    return f"tool calls without an answer: {', '.join(sorted(wanted))}" if wanted else ""


def count_tokens(value: object) -> int:
    """Count tokens as this endpoint bills them: one per four bytes of the JSON text, rounded up."""
    return -(-len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")) // BYTES_PER_TOKEN)


def _usage_of(request: Json, turn: Turn) -> Usage:
    """Count a call; `turn.usage` may replace prompt, completion, cached and cache_write tokens."""
    counted = {
        "prompt_tokens": count_tokens([request.get("messages"), request.get("tools")]),
        "completion_tokens": count_tokens([turn.text, [asdict(call) for call in turn.calls]]),
        "cached_tokens": 0,
        "cache_write_tokens": 0,
    }
    for name, value in (turn.usage or {}).items():
        if name in counted:
            counted[name] = int(cast("int", value))
    fresh = counted["prompt_tokens"] - counted["cached_tokens"] - counted["cache_write_tokens"]
    return Usage(
        input_tokens=fresh,
        output_tokens=counted["completion_tokens"],
        cache_read_tokens=counted["cached_tokens"],
        cache_write_tokens=counted["cache_write_tokens"],
    )


def _completion(number: int, request: Json, turn: Turn, usage: Usage) -> Json:
    message: Json = {"role": "assistant", "content": turn.text}
    if turn.calls:
        message["tool_calls"] = [_call(call, number, place) for place, call in enumerate(turn.calls)]
    finish = turn.finish_reason or ("tool_calls" if turn.calls else "stop")
    answer: Json = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": request.get("model"),
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
    }
    if turn.usage is not None:
        apart = int(cast("int", turn.usage.get("reasoning_tokens", 0)))
        prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        answer["usage"] = {
            "prompt_tokens": prompt,
            "completion_tokens": usage.output_tokens,
            "total_tokens": prompt + usage.output_tokens + apart,
            "prompt_tokens_details": {"cached_tokens": usage.cache_read_tokens},
        }
        if "cost" in turn.usage:
            cast("Json", answer["usage"])["cost"] = turn.usage["cost"]
    return answer


def _call(call: ToolCall, number: int, place: int) -> Json:
    arguments = json.dumps(call.arguments) if call.raw_arguments is None else call.raw_arguments
    return {
        "id": f"call_{number}_{place}" if call.call_id is None else call.call_id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _shown(entry: BillEntry) -> Json:
    return {
        "number": entry.number,
        "model": entry.model,
        "turn": entry.turn,
        "status": entry.status,
        "usage": asdict(entry.usage),
        "cost": str(entry.cost),
        "max_tokens": entry.max_tokens,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the scripts of `MODULE:NAME` until the process is ended; print the address first."""
    parser = argparse.ArgumentParser(prog="python -m app.demo.scripted_model", description=main.__doc__)
    parser.add_argument("scripts", help="module and name of a mapping of model names to scripts")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--input", type=Decimal, default=Decimal(1), help="dollars per million tokens")
    parser.add_argument("--output", type=Decimal, default=Decimal(4), help="dollars per million tokens")
    chosen = parser.parse_args(arguments)
    module, _, name = chosen.scripts.partition(":")
    scripts: Mapping[str, Script] = getattr(importlib.import_module(module), name)
    price = Price(input=chosen.input / 10**6, output=chosen.output / 10**6)
    with ScriptedModel(scripts, price=price, port=chosen.port) as model:
        print(model.base_url, flush=True)  # noqa: T201  # the caller reads the address from here
        threading.Event().wait()


if __name__ == "__main__":
    main()
