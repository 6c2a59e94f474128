"""The webhook door: bytes → signature → event → durable decision, as a plain ASGI endpoint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus

import structlog
from starlette.types import Receive, Scope, Send

from app.group_commit import DeliveryWriter, NotStored
from app.refusal import Headers, Refused, SenderGone
from app.request_body import BodyReader
from domain.events import Event, IssueLabelled, Uninteresting
from domain.guests import is_account
from domain.hashing import feed
from domain.noted import Noted
from domain.ports import Admitted, Clock, Delivery, WebhookDialect

DOOR_PREFIX = "/webhooks/"

_LATER = ((b"retry-after", b"10"),)


class Door:
    """Answers POST /webhooks/{provider}: 202 with the decision once it is durable, or a refusal.

    Nothing is parsed, and the database is not touched, before the signature was found good.
    """

    def __init__(
        self,
        dialects: Mapping[str, WebhookDialect],
        secrets: Sequence[bytes],
        *,
        writer: DeliveryWriter,
        reader: BodyReader,
        clock: Clock,
    ) -> None:
        self._dialects = dialects
        self._secrets = secrets
        self._writer = writer
        self._reader = reader
        self._clock = clock
        self._log = structlog.get_logger(__name__).bind()  # once: the lazy one binds anew for every line

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        try:
            admitted = await self._take(scope, receive)
        except Refused as refusal:
            self._log_refusal(scope, refusal)
            await _answer(send, refusal.status, {"error": refusal.status.phrase}, refusal.headers)
        except SenderGone:
            self._log.info("sender gone", path=scope["path"][:80])
        else:
            answer = {"decision": admitted.admission.value, "task": admitted.task_id}
            await _answer(send, HTTPStatus.ACCEPTED, answer)

    async def _take(self, scope: Scope, receive: Receive) -> Admitted:
        headers: Headers = scope["headers"]
        dialect = self._dialects.get(scope["path"].removeprefix(DOOR_PREFIX))
        if dialect is None:
            raise Refused(HTTPStatus.NOT_FOUND, "no such provider")
        _check_form(scope["method"], headers)
        body = await self._reader.read(headers, receive)
        if not dialect.verify(body, headers, self._secrets):
            raise Refused(HTTPStatus.UNAUTHORIZED, "signature")
        delivery = self._understand(dialect, headers, body)
        try:
            admitted = await self._writer.store(delivery)
        except NotStored as error:
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, f"not stored: {error}", _LATER) from None
        self._log_decision(delivery, admitted)
        return admitted

    def _understand(self, dialect: WebhookDialect, headers: Headers, body: bytes) -> Delivery:
        try:
            event = dialect.parse(body, headers)
            _check_actor(event)
            return Delivery(
                provider=dialect.name,
                delivery_id=dialect.delivery_id(headers),
                body_sha256=_sha256(body),
                body=body,
                received_at=self._clock.now(),
                event=event,
            )
        except ValueError as error:
            raise Refused(HTTPStatus.BAD_REQUEST, str(error)[:200]) from None

    def _log_refusal(self, scope: Scope, refusal: Refused) -> None:
        self._log.warning(
            "delivery refused",
            status=refusal.status.value,
            why=refusal.why,
            path=scope["path"][:80],
            peer=(scope.get("client") or ("?",))[0],
        )

    def _log_decision(self, delivery: Delivery, admitted: Admitted) -> None:
        self._log.info(
            "delivery decided",
            delivery=delivery.delivery_id,
            provider=delivery.provider,
            event_type=_kind(delivery.event),
            repository=_repository(delivery.event),
            decision=admitted.admission.value,
            task=admitted.task_id,
        )


def _sha256(body: bytes) -> str:
    body_hash = hashlib.sha256()
    feed(body_hash, body)
    return body_hash.hexdigest()


def _check_form(method: str, headers: Headers) -> None:
    """Refuse what is no JSON delivery by its first lines."""
    if method != "POST":
        raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"method {method[:20]}", ((b"allow", b"POST"),))
    kinds = [value for name, value in headers if name == b"content-type"]
    if len(kinds) != 1 or kinds[0].partition(b";")[0].strip().lower() != b"application/json":
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "content type")
    if any(name == b"content-encoding" for name, _ in headers):
        raise Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "content encoding")


def _check_actor(event: Event) -> None:
    """Refuse an account that is called as those are who have none. Raises ValueError."""
    if not isinstance(event, Uninteresting) and not is_account(event.actor):
        raise ValueError("the sender's id is none of a forge's")


def _kind(event: Event) -> str:
    return f"Uninteresting({event.why})" if isinstance(event, Uninteresting) else type(event).__name__


def _repository(event: Event) -> str | None:
    if isinstance(event, Uninteresting):
        return None
    if isinstance(event, Noted):
        return event.repository_name or None
    return event.repository_name if isinstance(event, IssueLabelled) else event.issue.repository_id


async def _answer(
    send: Send, status: HTTPStatus, content: Mapping[str, str | int | None], headers: Headers = ()
) -> None:
    body = json.dumps(content).encode("ascii")
    start = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode("ascii")),
        *headers,
    ]
    await send({"type": "http.response.start", "status": status.value, "headers": start})
    await send({"type": "http.response.body", "body": body})
