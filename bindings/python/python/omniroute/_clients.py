"""What the clients of two SDKs have in common: the SDK's own HTTP client, compressing what it sends."""

from .compressor import Compressor
from .transport import CompressTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

__all__ = ["compressing"]


def compressing(
    base: "type[Any]",
    *,
    asynchronous: bool,
    transport: "Any",
    compressor: "Compressor | None",
    **options: "Any",
) -> "Any":
    """An HTTP client of the SDK's own class ``base``, with its limits, timeouts and proxies, that compresses.

    ``transport`` is what sends in the end; the client's own if it is None.
    """
    shared = compressor if compressor is not None else Compressor()

    def around(send: "Callable[[Any], Any]") -> CompressTransport:
        return CompressTransport(_Inner(send), shared, **options)

    class Compressing(base):  # type: ignore[misc]
        def send(self, request: "Any", **how: "Any") -> "Any":
            return around(lambda sent: base.send(self, sent, **how)).handle_request(request)

    class AsyncCompressing(base):  # type: ignore[misc]
        async def send(self, request: "Any", **how: "Any") -> "Any":
            return await around(lambda sent: base.send(self, sent, **how)).handle_async_request(request)

    made = AsyncCompressing if asynchronous else Compressing
    return made() if transport is None else made(transport=transport)


class _Inner:
    """The client behind the transport."""

    __slots__ = ("handle_async_request", "handle_request")

    def __init__(self, send: "Callable[[Any], Any]") -> None:
        self.handle_request = send
        self.handle_async_request: "Callable[[Any], Awaitable[Any]]" = send
