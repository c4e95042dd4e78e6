"""HTTP/1.1 over asyncio, with nothing but the standard library: TLS, connections that are kept, bodies in chunks. No
proxies, no redirects; whoever needs those passes a client of httpx."""

import asyncio
import weakref
from urllib.parse import urlsplit

from ._drive import Request, Response, TransportError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator

__all__ = ["AsyncioTransport"]

#: Most connections to one host that are kept while nobody uses them.
_KEPT = 32
#: Longest head of an answer.
_HEAD = 256 << 10
_PIECE = 64 << 10
#: A connection that has been idle for longer is not used again, in seconds.
_IDLE = 30.0


class AsyncioTransport:
    """Sends requests over connections of its own. One may serve several loops and threads: each loop has connections of
    its own, and after a fork the child opens new ones."""

    def __init__(self, *, ssl_context: "ssl.SSLContext | None" = None) -> None:
        self._ssl = ssl_context
        self._pools: "weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _Pool]" = weakref.WeakKeyDictionary()

    async def send(self, request: Request) -> Response:
        """Sends; gives back when the head of the answer is there."""
        parts = urlsplit(request.url)
        secure = parts.scheme == "https"
        host = parts.hostname or ""
        key = (host, parts.port or (443 if secure else 80), secure)
        pool = await self._pool()
        head = _head(request, parts.path or "/", parts.query, parts.netloc.rpartition("@")[2])
        while True:
            line = pool.take(key)
            kept = line is not None
            if line is None:
                line = await self._connect(key)
            try:
                try:
                    line.writer.write(head + request.body)
                    await line.writer.drain()
                except (ConnectionError, OSError) as error:
                    if kept:
                        line.abort()
                        continue
                    raise TransportError("send", _words(error)) from None
                try:
                    return await _answer(request.method, line, pool, key)
                except _Stale:
                    line.abort()
                    # Closed while it was idle, as far as can be told: it goes out again on another one.
                    if kept:
                        continue
                    raise TransportError("read", "the connection was closed before an answer came") from None
            except BaseException:
                line.abort()
                raise

    async def aclose(self) -> None:
        """Closes the connections of this loop."""
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.guard.aclose()

    async def _pool(self) -> "_Pool":
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            pool = self._pools[loop] = _Pool()
            await pool.guard.__anext__()
        return pool

    async def _connect(self, key: "tuple[str, int, bool]") -> "_Line":
        host, port, secure = key
        options = {}
        if secure:
            if self._ssl is None:
                import ssl

                self._ssl = ssl.create_default_context()
            options = {"ssl": self._ssl, "server_hostname": host}
        try:
            reader, writer = await asyncio.open_connection(host, port, limit=_HEAD, **options)  # type: ignore[arg-type]
        except OSError as error:
            phase = "tls" if "SSL" in type(error).__name__ else "connect"
            raise TransportError(phase, f"{host}:{port}: {_words(error)}") from None
        return _Line(reader, writer)


class _Stale(Exception):
    """The connection ended before a byte of an answer."""


class _Line:
    """A connection."""

    __slots__ = ("idle_since", "reader", "writer")

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.idle_since = 0.0

    def abort(self) -> None:
        """Closes it at once; does nothing if its loop is gone."""
        try:
            self.writer.transport.abort()
        except RuntimeError:
            pass


class _Pool:
    """Connections of one loop that nobody uses."""

    __slots__ = ("_idle", "guard", "lines")

    def __init__(self) -> None:
        self._idle: "dict[tuple[str, int, bool], list[_Line]]" = {}
        #: Every connection that is open, used or not.
        self.lines: "weakref.WeakSet[_Line]" = weakref.WeakSet()
        # The loop closes its generators before it ends, and this one closes the connections.
        self.guard = _closing(self._idle)

    def take(self, key: "tuple[str, int, bool]") -> "_Line | None":
        lines = self._idle.get(key)
        now = asyncio.get_running_loop().time()
        while lines:
            line = lines.pop()
            if not (line.reader.at_eof() or line.writer.is_closing()) and now - line.idle_since < _IDLE:
                return line
            line.abort()
        return None

    def give(self, key: "tuple[str, int, bool]", line: _Line) -> None:
        lines = self._idle.setdefault(key, [])
        if len(lines) >= _KEPT:
            line.abort()
            return
        line.idle_since = asyncio.get_running_loop().time()
        lines.append(line)


async def _closing(idle: "dict[tuple[str, int, bool], list[_Line]]") -> "AsyncGenerator[None, None]":
    try:
        yield
    finally:
        for lines in idle.values():
            for line in lines:
                line.abort()
        idle.clear()
        await asyncio.sleep(0)


def _head(request: Request, path: str, query: str, host: str) -> bytes:
    target = f"{path}?{query}" if query else path
    lines = [f"{request.method} {target} HTTP/1.1\r\nhost: {host}\r\n".encode("latin-1")]
    for name, value in request.headers:
        if name not in ("host", "content-length", "connection", "accept-encoding"):
            lines.append(name.encode("latin-1") + b": " + value + b"\r\n")
    lines.append(b"content-length: %d\r\naccept-encoding: identity\r\n\r\n" % len(request.body))
    return b"".join(lines)


async def _answer(method: str, line: _Line, pool: _Pool, key: "tuple[str, int, bool]") -> Response:
    reader = line.reader
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if error.partial:
                raise TransportError("read", "the connection was closed inside the head of the answer") from None
            raise _Stale from None
        except asyncio.LimitOverrunError:
            raise TransportError("read", f"the head of the answer is larger than {_HEAD} bytes") from None
        except OSError as error:
            if isinstance(error, ConnectionError):
                raise _Stale from None
            raise TransportError("read", _words(error)) from None
        first, *rest = head[:-4].decode("latin-1").split("\r\n")
        version, _, status_text = first.partition(" ")
        if not version.startswith("HTTP/1.") or not status_text[:3].isdigit():
            raise TransportError("read", "the answer is not HTTP/1.1")
        status = int(status_text[:3])
        if status >= 200:
            break
    headers = []
    for row in rest:
        name, colon, value = row.partition(":")
        if not colon or name != name.strip():
            raise TransportError("read", "a line of the head of the answer is no header")
        headers.append((name.lower(), value.strip()))
    fields = dict(headers)
    keep = version == "HTTP/1.1" and "close" not in fields.get("connection", "").lower()
    if method == "HEAD" or status in (204, 304):
        length: "int | None" = 0
    elif "chunked" in fields.get("transfer-encoding", "").lower():
        return _Body(status, headers, line, (pool, key) if keep else None, None, True)
    elif "content-length" in fields:
        told = fields["content-length"]
        if not told.isdigit():
            raise TransportError("read", "content-length of the answer is no number")
        length = int(told)
    else:
        length, keep = None, False
    response = _Body(status, headers, line, (pool, key) if keep else None, length, False)
    if length is not None and length <= _PIECE:
        # Small ones are taken at once: nobody asks for them piece by piece.
        while piece := await response.read():
            response.body += piece
        response.whole = True
    return response


class _Body(Response):
    """A body that is still coming."""

    __slots__ = ("_chunked", "_left", "_line", "_over", "_place")

    def __init__(
        self,
        status: int,
        headers: "list[tuple[str, str]]",
        line: _Line,
        place: "tuple[_Pool, tuple[str, int, bool]] | None",
        left: "int | None",
        chunked: bool,
    ) -> None:
        super().__init__(status, headers, whole=False)
        self._line = line
        self._place = place
        #: Bytes that are left, of the body or of the chunk; None: until the connection ends.
        self._left = 0 if chunked else left
        self._chunked = chunked
        self._over = False

    async def read(self) -> bytes:
        if self._over:
            return b""
        try:
            if self._chunked and self._left == 0 and not await self._chunk():
                return self._end()
            if self._left == 0:
                return self._end()
            piece = await self._line.reader.read(_PIECE if self._left is None else min(self._left, _PIECE))
            if not piece:
                if self._left is None:
                    return self._end()
                raise TransportError("read", "the connection was closed inside the answer")
            if self._left is not None:
                self._left -= len(piece)
                if self._chunked and self._left == 0:
                    await self._line.reader.readexactly(2)
            return piece
        except (OSError, asyncio.IncompleteReadError) as error:
            self.close()
            raise TransportError("read", _words(error)) from None
        except BaseException:
            self.close()
            raise

    async def _chunk(self) -> bool:
        try:
            row = await self._line.reader.readuntil(b"\r\n")
        except asyncio.LimitOverrunError:
            raise TransportError("read", "a chunk of the answer has no size") from None
        size = row.split(b";", 1)[0].strip()
        try:
            self._left = int(size, 16)
        except ValueError:
            raise TransportError("read", "a chunk of the answer has no size") from None
        if self._left:
            return True
        while (await self._line.reader.readuntil(b"\r\n")) != b"\r\n":
            pass  # what stands after the last chunk
        return False

    def _end(self) -> bytes:
        self._over = True
        if self._place is None:
            self._line.abort()
        else:
            pool, key = self._place
            pool.give(key, self._line)
        return b""

    def close(self) -> None:
        if not self._over:
            self._over = True
            self._line.abort()


def _words(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__
