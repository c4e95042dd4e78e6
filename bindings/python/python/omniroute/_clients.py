"""What the clients of two SDKs have in common: the SDK's own HTTP client, compressing what it sends."""

from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from .compressor import Compressor
from .inprocess import AsyncTransport, SyncTransport
from .results import Receipt
from .router import Router
from .transport import CompressTransport

__all__ = ["Maker"]

Client = TypeVar("Client")


class Maker(Generic[Client]):
    """Makes clients of an SDK: called with the options of the SDK's own class and those of compression.

    ``http`` is the SDK's own HTTP client, synchronous or not: its limits, timeouts and proxies stay.
    """

    def __init__(self, kind: Callable[..., Client], http: type[Any], base_url: str) -> None:
        self._kind = kind
        self._http = http
        self._base_url = base_url

    def __call__(
        self,
        router: Router | None = None,
        /,
        *,
        compressor: Compressor | None = None,
        session: str | None = None,
        on_receipt: Callable[[Any], object] | None = None,
        transport: Any = None,
        **options: Any,
    ) -> Client:
        """A client of the SDK. ``transport`` sends in the end; the usual one if absent.

        With a ``router`` its requests are routed in the process, and the client itself neither retries nor needs a key.
        The router compresses as its configuration says.
        """
        if router is not None:
            if compressor is not None or transport is not None:
                raise TypeError("with a router there is no other compressor and no other transport")
            options = {"base_url": self._base_url, "api_key": "in-process", "max_retries": 0, **options}
            within = AsyncTransport if hasattr(self._http, "aclose") else SyncTransport
            routed = within(router, session=session, on_receipt=on_receipt)
            return self._kind(http_client=self._http(transport=routed), **options)
        shared = compressor if compressor is not None else Compressor()

        def around(send: Callable[[Any], Any]) -> CompressTransport:
            return CompressTransport(_Inner(send), shared, session=session, on_receipt=on_receipt)

        http = _compressing(self._http, around)
        return self._kind(http_client=http() if transport is None else http(transport=transport), **options)


def _compressing(base: type[Any], around: Callable[[Callable[[Any], Any]], CompressTransport]) -> type[Any]:
    """The class ``base`` with what ``around`` makes of it around its sending."""

    class Compressing(base):  # type: ignore[misc]
        def send(self, request: Any, **how: Any) -> Any:
            return around(lambda sent: base.send(self, sent, **how)).handle_request(request)

    class AsyncCompressing(base):  # type: ignore[misc]
        async def send(self, request: Any, **how: Any) -> Any:
            return await around(lambda sent: base.send(self, sent, **how)).handle_async_request(request)

    return AsyncCompressing if hasattr(base, "aclose") else Compressing


class _Inner:
    """The client behind the transport."""

    __slots__ = ("handle_async_request", "handle_request")

    def __init__(self, send: Callable[[Any], Any]) -> None:
        self.handle_request = send
        self.handle_async_request: Callable[[Any], Awaitable[Any]] = send
