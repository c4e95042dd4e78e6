"""Transports for clients that are built on httpx or httpx2: their requests go to a router of the same process, without a
socket. The answer comes back in the wire of the path that was asked."""

from . import _native
from .errors import Cancelled, Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from .reply import RouteReceipt
    from .router import Router

__all__ = ["AsyncTransport", "SyncTransport"]

#: What a client is told for a code that routing gives no status with.
_STATUS = {"RequestError": 400, "NoCandidate": 404, "ConfigError": 500, "Internal": 500}


class _Transport:
    """What both have in common."""

    def __init__(
        self,
        router: "Router",
        *,
        session: "str | None" = None,
        on_receipt: "Callable[[RouteReceipt], object] | None" = None,
    ) -> None:
        self._router = router
        self._session = session
        self._on_receipt = on_receipt

    def _asked(self, request: "Any", body: bytes) -> "tuple[str, bool, dict[str, Any]] | None":
        """The wire, whether to stream, and the options of a call; None for a path that nobody serves."""
        path = request.url.path
        wire = _native.wire_of_path(path) if request.method == "POST" else None
        if wire is None:
            return None
        headers = request.headers
        tags = [tag.strip() for tag in headers.get("x-omniroute-tag", "").split(",") if tag.strip()]
        options: "dict[str, Any]" = {
            "wire": wire,
            "session": headers.get("x-omniroute-session") or self._session,
            "connection": headers.get("x-omniroute-connection") or None,
            "plan": headers.get("x-omniroute-compression") or None,
            "tags": tags,
        }
        if wire == "gemini":
            model, _, verb = path.rpartition("/")[2].partition(":")
            options["model"] = model
            return wire, verb.startswith("stream"), options
        import json

        try:
            stream = json.loads(body).get("stream") is True
        except (ValueError, AttributeError):
            stream = False
        return wire, stream, options

    def _elsewhere(self, request: "Any") -> "tuple[int, bytes]":
        """The list of models, or that there is nothing."""
        import json

        if request.method == "GET" and request.url.path.rstrip("/").endswith("/models"):
            rows = [
                {"id": name, "object": "model", "type": "model", "display_name": name, "created": 0,
                 "created_at": "1970-01-01T00:00:00Z", "owned_by": "omniroute"}
                for name in self._router.models()
            ]  # fmt: skip
            listed = {"object": "list", "data": rows, "has_more": False, "first_id": None, "last_id": None}
            return 200, json.dumps(listed).encode()
        message = f"{request.method} {request.url.path} is not served by a router in the process"
        return 404, _native.error_body("openai-chat", 404, "not_found", message)

    def _told(self, receipt: "RouteReceipt | None") -> None:
        if receipt is not None and self._on_receipt is not None:
            self._on_receipt(receipt)


def _failed(wire: str, error: Error, library: "Any", request: "Any") -> "Any":
    """An error as a client of the wire reads it."""
    if isinstance(error, Cancelled):
        return library.ReadTimeout(str(error), request=request)
    status = error.details.get("status")
    if not isinstance(status, int):
        status = _STATUS.get(type(error).__name__, 503)
    headers = {"content-type": "application/json"}
    if error.retry_at is not None:
        from datetime import datetime, timezone

        wait = (error.retry_at - datetime.now(timezone.utc)).total_seconds()
        headers["retry-after"] = str(max(1, min(86_400, round(wait + 0.5))))
    body = _native.error_body(wire, status, error.code, str(error))
    extensions = {"omniroute": error.receipt}
    return library.Response(status, headers=headers, content=body, request=request, extensions=extensions)


def _headers(receipt: "RouteReceipt | None", kind: str) -> "dict[str, str]":
    headers = {"content-type": kind}
    if receipt is not None:
        plan: "Mapping[str, Any]" = receipt.get("plan") or {}
        parts = {
            "strategy": plan.get("strategy", "-"),
            "provider": receipt.provider or "-",
            "model": receipt.model or "-",
            "attempts": len(receipt["attempts"]),
        }
        decision = "; ".join(f"{name}={value}" for name, value in parts.items())
        headers["x-omniroute-decision"] = decision.encode("ascii", "ignore").decode()
        headers["x-request-id"] = receipt.request
    return headers


def _library(request: "Any") -> "Any":
    """The HTTP library that the client is built on."""
    import sys

    return sys.modules[type(request).__module__.partition(".")[0]]


def _timeout(request: "Any") -> "float | None":
    """The client's limit of time; its limits of the network mean nothing here."""
    found: "float | None" = (request.extensions.get("timeout") or {}).get("read")
    return found


class AsyncTransport(_Transport):
    """``httpx.AsyncClient(transport=omniroute.AsyncTransport(router))``: whatever SDK is above, its requests are routed
    in the process.

    ``session`` names the conversation of all requests (the header ``x-omniroute-session`` that of one); ``on_receipt`` is
    called with every receipt at the end of an answer; that of a whole answer is also in
    ``response.extensions["omniroute"]``. The client's read timeout is the limit of a whole answer and of the begin of a
    streamed one. Switch retries of the client off: two layers of them multiply. Threads may share one; it can be pickled
    if the router can.
    """

    async def handle_async_request(self, request: "Any") -> "Any":
        """Answers."""
        library = _library(request)
        body = await request.aread()
        asked = self._asked(request, body)
        if asked is None:
            status, listed = self._elsewhere(request)
            headers = {"content-type": "application/json"}
            return library.Response(status, headers=headers, content=listed, request=request)
        wire, stream, options = asked
        try:
            if not stream:
                reply = await self._router.chat(body, timeout=_timeout(request), **options)
                self._told(reply.receipt)
                headers = _headers(reply.receipt, "application/json")
                extensions = {"omniroute": reply.receipt}
                return library.Response(
                    200, headers=headers, content=reply.body, request=request, extensions=extensions
                )
            import asyncio

            answer = self._router.stream(body, **options)
            try:
                async with asyncio.timeout(_timeout(request)):
                    await answer.__aenter__()
            except TimeoutError:
                raise library.ReadTimeout("the answer did not begin in time", request=request) from None
        except Error as error:
            self._told(error.receipt)  # type: ignore[arg-type]
            made = _failed(wire, error, library, request)
            if isinstance(made, Exception):
                raise made from None
            return made
        pieces = _async_pieces(library)(answer, self._told)
        headers = _headers(answer.receipt, "text/event-stream")
        return library.Response(200, headers=headers, stream=pieces, request=request)

    async def aclose(self) -> None:
        """Does nothing: whoever made the router closes it."""

    async def __aenter__(self) -> "AsyncTransport":
        return self

    async def __aexit__(self, *raised: "Any") -> None:
        return None


class SyncTransport(_Transport):
    """As :class:`AsyncTransport` for ``httpx.Client``, over the blocking face of the router."""

    def handle_request(self, request: "Any") -> "Any":
        """Answers."""
        library = _library(request)
        body = request.read()
        asked = self._asked(request, body)
        if asked is None:
            status, listed = self._elsewhere(request)
            headers = {"content-type": "application/json"}
            return library.Response(status, headers=headers, content=listed, request=request)
        wire, stream, options = asked
        face = self._router.sync
        try:
            if not stream:
                reply = face.chat(body, timeout=_timeout(request), **options)
                self._told(reply.receipt)
                headers = _headers(reply.receipt, "application/json")
                extensions = {"omniroute": reply.receipt}
                return library.Response(
                    200, headers=headers, content=reply.body, request=request, extensions=extensions
                )
            answer = face.open(body, **options)
        except Error as error:
            self._told(error.receipt)  # type: ignore[arg-type]
            made = _failed(wire, error, library, request)
            if isinstance(made, Exception):
                raise made from None
            return made
        pieces = _sync_pieces(library)(answer, self._told)
        headers = _headers(answer.receipt, "text/event-stream")
        return library.Response(200, headers=headers, stream=pieces, request=request)

    def close(self) -> None:
        """Does nothing: whoever made the router closes it."""

    def __enter__(self) -> "SyncTransport":
        return self

    def __exit__(self, *raised: "Any") -> None:
        return None


#: Classes of streams, by library and kind: made when a client of the library first asks.
_MADE: "dict[tuple[str, str], type[Any]]" = {}


def _async_pieces(library: "Any") -> "type[Any]":
    key = (library.__name__, "async")
    if key not in _MADE:

        class Pieces(library.AsyncByteStream):  # type: ignore[misc]
            def __init__(self, answer: "Any", told: "Any") -> None:
                self._answer, self._told = answer, told

            async def __aiter__(self) -> "Any":
                async for piece in self._answer.raw():
                    yield piece

            async def aclose(self) -> None:
                self._answer.close()
                self._told(self._answer.receipt)

        _MADE[key] = Pieces
    return _MADE[key]


def _sync_pieces(library: "Any") -> "type[Any]":
    key = (library.__name__, "sync")
    if key not in _MADE:

        class Pieces(library.SyncByteStream):  # type: ignore[misc]
            def __init__(self, answer: "Any", told: "Any") -> None:
                self._answer, self._told = answer, told

            def __iter__(self) -> "Any":
                return iter(self._answer)

            def close(self) -> None:
                self._answer.close()
                self._told(self._answer.receipt)

        _MADE[key] = Pieces
    return _MADE[key]
