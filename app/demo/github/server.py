"""A GitHub on loopback: real HTTP, tokens with permissions, faults by plan, and git over HTTP."""

from __future__ import annotations

import base64
import email.utils
import json
import re
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jwt

from app.demo.github import accounts, making
from app.demo.github.exchange import Answer, Exchange, Judge, Refused, Request, approve
from app.demo.github.page import page_of
from app.demo.github.routes import respond
from app.demo.github.shapes import PREFIX
from app.demo.github.state import APP_ID, Fault, GithubState, Seen, Token, app_public_key


class GithubServer:
    """Serves a state until closed. `url` is the API's address, as an Enterprise server would have it."""

    def __init__(self, state: GithubState, judge: Judge = approve) -> None:
        """Begin to serve on a free port; what the judge complains of is kept in `state.broken`."""
        self.state = state
        self._judge = judge
        self.asked: list[str] = []
        """Addresses elsewhere: somebody took us for a proxy."""
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def _serve(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = self.rfile.read(length)
                if "chunked" in (self.headers.get("transfer-encoding") or ""):
                    body = _chunks(self.rfile)
                if self.path.startswith("http://"):
                    server.asked.append(self.path)
                    server._send(self, 502, None, {})
                elif self.path.startswith(PREFIX) or self.path.startswith("/api/graphql"):
                    server._api(self, body)
                elif making.PAGE.fullmatch(self.path.partition("?")[0]):
                    server._send(self, 302, b"", {"Location": making.register(state, self.path, body)})
                elif self.path.startswith(f"{accounts.AUTHORIZE}?"):
                    server._send(self, 302, b"", {"Location": accounts.authorize(state, self.path)})
                elif self.path == accounts.ACCESS_TOKEN:
                    answer = accounts.access_token(state, body)
                    server._send(self, answer.status, answer.data, answer.headers)
                elif self.path.startswith("/_logs/"):
                    server._log(self)
                elif page := re.fullmatch(r"/([^/]+/[^/]+)/(?:pull|issues)/(\d+)", self.path):
                    server._page(self, page[1], int(page[2]))
                else:
                    server._git(self, body)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self._http.server_port}"
        self.url = self.origin + PREFIX
        state.log_host = state.log_host or self.origin
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop serving."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    # -- the API ------------------------------------------------------------------------------------

    def _api(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        parts = urlsplit(handler.path)
        raw = parts.path.removeprefix(PREFIX) if parts.path.startswith(PREFIX) else "/graphql"
        query = {key: values[-1] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        headers = {name.lower(): value for name, value in handler.headers.items()}
        request = Request(
            handler.command, unquote(raw), raw, query, json.loads(body) if body else None, headers
        )
        fault = self.state.take_fault(request.method, request.path)
        if fault is not None and not fault.acted:
            self._remember(request)
            self._complain(request, None)
            self._fail(handler, fault)
            return
        answer = self._answer(request)
        self._complain(request, answer)
        if fault is not None:
            self._fail(handler, fault)
            return
        self._send(handler, answer.status, answer.data, answer.headers)

    def _answer(self, request: Request) -> Answer:
        credential = request.headers.get("authorization", "").partition(" ")[2]
        try:
            if credential.startswith(accounts.PREFIX):
                return accounts.respond_to_account(self.state, request, self.url)
            if re.fullmatch(r"/applications/[^/]+/token", request.path):
                return accounts.give_back(self.state, request)
            self._authenticate(request)
            self._remember(request)
            return respond(self.state, request, self.url)
        except Refused as refused:
            self._remember(request)
            return refused.answer

    def _complain(self, request: Request, answer: Answer | None) -> None:
        """Write down whatever the judge objects to, and what this GitHub does not know."""
        if answer is not None and answer.status == 501:
            self.state.broken.append(f"there is no {request.method} {request.path} here")
        exchange = Exchange(self._by_name(request.raw_path), request, answer)
        self.state.broken += self._judge(exchange)

    def _by_name(self, path: str) -> str:
        """Return a path by id as the described path by name that it stands for."""
        match = re.fullmatch(r"/repositories/\d+(/.*)?", path)
        return f"/repos/owner/name{match[1] or ''}" if match else path

    def _remember(self, request: Request) -> None:
        permissions = request.token.permissions if request.token else None
        self.state.seen.append(
            Seen(request.method, request.path, request.query, request.headers, request.body, permissions)
        )

    def _authenticate(self, request: Request) -> None:
        scheme, _, credential = request.headers.get("authorization", "").partition(" ")
        if not scheme:
            return
        if credential.startswith("ghs_"):
            request.token = self._token(credential)
            return
        self._check_jwt(credential)
        request.is_app = True

    def _token(self, credential: str) -> Token:
        token = self.state.tokens.get(credential)
        if token is None or token.expires_at <= self.state.now():
            raise Refused(401, "Bad credentials")
        if token.installation not in self.state.installations.values():
            raise Refused(401, "Bad credentials")
        if token.installation.suspended:
            raise Refused(403, "This installation has been suspended")
        return token

    def _check_jwt(self, credential: str) -> None:
        """Apply GitHub's rules for an App's signature, by GitHub's own clock."""
        lenient = {"verify_exp": False, "verify_iat": False}
        try:
            claims = jwt.decode(credential, app_public_key(), algorithms=["RS256"], options=lenient)  # type: ignore[arg-type]  # an RSA key
        except jwt.InvalidTokenError:
            raise Refused(401, "A JSON web token could not be decoded") from None
        now = self.state.now()
        if claims["iat"] > now:
            raise Refused(401, "'Issued at' claim ('iat') must be an Integer in the past")
        if claims["exp"] > now + 600:
            raise Refused(401, "'Expiration time' claim ('exp') is too far in the future")
        if claims["exp"] <= now:
            raise Refused(401, "'Expiration time' claim ('exp') must be in the future")
        if str(claims["iss"]) != str(APP_ID):
            raise Refused(404, "Integration not found")

    def _fail(self, handler: BaseHTTPRequestHandler, fault: Fault) -> None:
        if fault.drop:
            handler.close_connection = True
            handler.connection.close()
            return
        body = {"message": "Server Error"} if fault.body is None else fault.body
        self._send(handler, fault.status, body, dict(fault.headers))

    def _send(self, handler: BaseHTTPRequestHandler, status: int, data: Any, headers: dict[str, str]) -> None:
        content = b"" if data is None else data if isinstance(data, bytes) else json.dumps(data).encode()
        handler.send_response_only(status)
        date = email.utils.formatdate(self.state.now(), usegmt=True)
        named = {"Date": date, "Content-Type": "application/json; charset=utf-8", **headers}
        for name, value in named.items():
            handler.send_header(name, value)
        if status != 204:
            handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content)

    def _log(self, handler: BaseHTTPRequestHandler) -> None:
        """Give out a job's log as the storage does: to whoever has the address, and no token."""
        number = int(urlsplit(handler.path).path.rpartition("/")[2])
        if handler.headers.get("authorization"):
            self.state.broken.append("a token was sent to where logs are stored")
        log = self.state.logs.get(number)
        self._send(handler, 200 if log is not None else 404, log or b"", {"Content-Type": "text/plain"})

    def _page(self, handler: BaseHTTPRequestHandler, full_name: str, number: int) -> None:
        text = page_of(self.state.local, full_name, number)
        content = (text or "Not Found\n").encode()
        self._send(handler, 200 if text else 404, content, {"Content-Type": "text/plain; charset=utf-8"})

    # -- git ----------------------------------------------------------------------------------------

    def _git(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        path, _, query = handler.path.partition("?")
        match = re.match(r"/([^/]+/[^/]+?)\.git/", path)
        writes = "git-receive-pack" in handler.path
        refusal = self._git_refusal(handler, match[1] if match else "", writes=writes)
        if refusal:
            status, headers = refusal
            self._send(handler, status, b"", {"Content-Type": "text/plain", **headers})
            return
        environment = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "HOME": "/nonexistent",
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
            "GIT_PROJECT_ROOT": str(self.state.local.root / "repos"),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REMOTE_USER": "x-access-token",
            "PATH_INFO": unquote(path),
            "QUERY_STRING": query,
            "REQUEST_METHOD": handler.command,
            "CONTENT_TYPE": handler.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
        }
        if handler.command == "POST":
            self.state.pushes += writes
            self.state.fetches += not writes
        command = ["git", "-c", "safe.directory=*", "-c", "http.receivepack=true", "http-backend"]
        done = subprocess.run(command, input=body, env=environment, capture_output=True, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self._send(handler, int(fields.pop("Status", "200").split()[0]), content, fields)

    def _git_refusal(
        self, handler: BaseHTTPRequestHandler, full_name: str, *, writes: bool
    ) -> tuple[int, dict[str, str]] | None:
        scheme, _, encoded = (handler.headers.get("Authorization") or "").partition(" ")
        if scheme != "Basic":
            return 401, {"WWW-Authenticate": 'Basic realm="GitHub"'}
        user, _, secret = base64.b64decode(encoded).decode().partition(":")
        try:
            token = self._token(secret)
        except Refused:
            return 401, {"WWW-Authenticate": 'Basic realm="GitHub"'}
        here = {each.full_name: each for each in self.state.local.repositories()}.get(full_name)
        if user != "x-access-token" or here is None or int(here.id) not in token.repository_ids:
            return 404, {}
        level = token.permissions.get("contents", "")
        may = level == "write" or (level == "read" and not writes)
        return None if may and not (writes and here.archived) else (403, {})


def _chunks(stream: Any) -> bytes:
    content = b""
    while size := int(stream.readline().split(b";")[0], 16):
        content += stream.read(size)
        stream.readline()
    stream.readline()
    return content
