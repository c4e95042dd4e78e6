"""Sends through an asynchronous client of httpx or httpx2 that the program has made: its proxies and limits hold."""

from ._drive import Request, Response, TransportError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Any

__all__ = ["ClientTransport"]


class ClientTransport:
    """Around a client. It is not closed: whoever made it does that."""

    def __init__(self, client: "Any") -> None:
        self._client = client

    async def send(self, request: Request) -> Response:
        """Sends; gives back when the head of the answer is there."""
        client = self._client
        headers = [(name.encode(), value) for name, value in request.headers]
        # Limits of time are the router's.
        made = client.build_request(request.method, request.url, headers=headers, content=request.body, timeout=None)
        try:
            response = await client.send(made, stream=True)
        except Exception as error:
            raise _failed(error, "connect" if "Connect" in type(error).__name__ else "send") from None
        return _Streamed(response)


class _Streamed(Response):
    __slots__ = ("_pieces", "_response")

    def __init__(self, response: "Any") -> None:
        # The client has unpacked the body.
        packed = ("content-encoding", "content-length", "transfer-encoding")
        headers = [(name.lower(), value) for name, value in response.headers.multi_items() if name.lower() not in packed]
        super().__init__(response.status_code, headers, whole=False)
        self._response = response
        self._pieces: "AsyncIterator[bytes]" = response.aiter_bytes()

    async def read(self) -> bytes:
        try:
            while True:
                piece = await anext(self._pieces, None)
                if piece is None:
                    await self._response.aclose()
                    return b""
                if piece:
                    return piece
        except Exception as error:
            raise _failed(error, "read") from None

    def close(self) -> None:
        import asyncio

        task = asyncio.get_running_loop().create_task(self._response.aclose())
        _CLOSING.add(task)
        task.add_done_callback(_CLOSING.discard)


#: Responses that are being closed: a loop keeps no strong reference to its tasks.
_CLOSING: "set[Any]" = set()


def _failed(error: Exception, phase: str) -> TransportError:
    return TransportError(phase, f"{type(error).__name__}: {error}")
