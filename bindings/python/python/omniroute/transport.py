"""A transport for clients that are built on httpx or httpx2: compresses what they send, whatever SDK is above."""

from . import _native
from .compressor import Compressor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .results import Compressed, Receipt

__all__ = ["CompressTransport"]


class CompressTransport:
    """Wraps a transport of httpx or httpx2, synchronous or asynchronous, and compresses request bodies on their way.

    ``httpx.Client(transport=CompressTransport(httpx.HTTPTransport()))``

    Touches POST requests to paths of known chat APIs only; everything else passes through as it is. The receipt of a call is
    in ``response.extensions["omniroute"]`` and goes to ``on_receipt`` if that is given. Threads may share one if they may
    share the inner transport; it can be pickled if that can.
    """

    def __init__(
        self,
        inner: "Any",
        compressor: "Compressor | None" = None,
        *,
        session: "str | None" = None,
        on_receipt: "Callable[[Receipt], object] | None" = None,
    ) -> None:
        self._inner = inner
        self._compressor = compressor if compressor is not None else Compressor()
        self._session = session
        self._on_receipt = on_receipt

    def handle_request(self, request: "Any") -> "Any":
        """Compresses and sends."""
        wire = _wire(request)
        if wire is None:
            return self._inner.handle_request(request)
        out = self._compressor.compress(request.read(), wire=wire, session=self._session)
        return self._noted(self._inner.handle_request(_with(request, out)), out)

    async def handle_async_request(self, request: "Any") -> "Any":
        """Compresses and sends."""
        wire = _wire(request)
        if wire is None:
            return await self._inner.handle_async_request(request)
        body = await request.aread()
        out = await self._compressor.acompress(body, wire=wire, session=self._session)
        return self._noted(await self._inner.handle_async_request(_with(request, out)), out)

    def _noted(self, response: "Any", out: "Compressed") -> "Any":
        response.extensions["omniroute"] = out.receipt
        if self._on_receipt is not None:
            self._on_receipt(out.receipt)
        return response

    def close(self) -> None:
        """Closes the inner transport."""
        self._inner.close()

    async def aclose(self) -> None:
        """Closes the inner transport."""
        await self._inner.aclose()

    def __enter__(self) -> "CompressTransport":
        self._inner.__enter__()
        return self

    def __exit__(self, *raised: "Any") -> None:
        self._inner.__exit__(*raised)

    async def __aenter__(self) -> "CompressTransport":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *raised: "Any") -> None:
        await self._inner.__aexit__(*raised)


def _wire(request: "Any") -> "str | None":
    """The wire of a request that can be compressed."""
    if request.method != "POST" or request.headers.get("content-encoding", "identity") != "identity":
        return None
    return _native.wire_of_path(request.url.path)


def _with(request: "Any", out: "Compressed") -> "Any":
    """The request with its new body; the same request if nothing changed."""
    if not out.changed:
        return request
    headers = [(k, v) for k, v in request.headers.raw if k.lower() not in (b"content-length", b"transfer-encoding")]
    return type(request)(
        request.method, request.url, headers=headers, content=out.body, extensions=request.extensions
    )
