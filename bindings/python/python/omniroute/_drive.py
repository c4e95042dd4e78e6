"""Drives one call on an event loop: polls it, does its jobs, waits."""

from .errors import Cancelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from typing import Any

    from ._native import Call

WAITING, REPLY, BEGUN, PIECE, END, FAILED = range(6)
_SEND, _ASK, _READ, _ABORT, _WORK = range(5)


class TransportError(Exception):
    """A transport's exchange failed in ``phase``: ``connect``, ``tls``, ``send`` or ``read``. The words hold no secret."""

    def __init__(self, phase: str, message: str) -> None:
        super().__init__(message)
        self.phase = phase


class Request:
    """What a transport sends. ``headers`` hold keys: they are never shown."""

    __slots__ = ("body", "headers", "method", "url")

    def __init__(self, method: str, url: str, headers: "list[tuple[str, bytes]]", body: bytes) -> None:
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body

    def __repr__(self) -> str:
        return f"<Request {self.method} {self.url.partition('?')[0]}, {len(self.body)} bytes>"


class Response:
    """What a transport gives back when the head of an answer is there. Transports with answers that come in pieces
    override :meth:`read` and :meth:`close`."""

    __slots__ = ("body", "headers", "status", "whole")

    def __init__(
        self, status: int, headers: "list[tuple[str, str]]", body: bytes = b"", *, whole: bool = True
    ) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        #: Whether ``body`` is all of it.
        self.whole = whole

    async def read(self) -> bytes:
        """The next piece; empty at the end."""
        return b""

    def close(self) -> None:
        """Nobody reads on: the connection is closed. Does nothing after the end."""


class Registry:
    """Drivers of a router that are under way."""

    __slots__ = ("drivers", "make")

    def __init__(self) -> None:
        self.drivers: "dict[int, Driver]" = {}
        #: What drives a call.
        self.make = Driver

    def wake(self, ids: "list[int]", loop: "asyncio.AbstractEventLoop | None") -> None:
        """Other calls can go on, on whatever loop they are."""
        for ident in ids:
            driver = self.drivers.get(ident)
            if driver is None:
                continue
            if driver.loop is loop:
                driver.ring()
            else:
                try:
                    driver.loop.call_soon_threadsafe(driver.ring)
                except RuntimeError:
                    pass  # its loop is closed, and it with it


def _error(value: object) -> BaseException:
    """An error of the native module."""
    assert isinstance(value, BaseException)
    return value


class Driver:
    """One call on one loop."""

    __slots__ = (
        "_ask", "_call", "_clock", "_end", "_open", "_registry", "_rung", "_tasks", "_transport", "_waiter", "loop",
    )  # fmt: skip

    def __init__(
        self,
        loop: "asyncio.AbstractEventLoop",
        call: "Call",
        registry: Registry,
        transport: "Any",
        ask: "Any" = None,
        clock: "Any" = None,
    ) -> None:
        self.loop = loop
        self._call = call
        self._registry = registry
        self._transport = transport
        self._ask = ask
        self._clock = clock
        self._tasks: "dict[int, asyncio.Task[None]]" = {}
        self._open: "dict[int, Any]" = {}
        self._waiter: "asyncio.Future[None] | None" = None
        self._rung = False
        self._end: "BaseException | None" = None
        registry.drivers[call.id] = self

    async def next(self) -> "tuple[int, Any]":
        """What comes next: a reply, the begin, a piece, the end. Raises what the call failed with."""
        poll = self._call.poll
        while True:
            self._rung = False
            state, value, jobs, wake, others = poll()
            if jobs is not None:
                for job in jobs:
                    self._do(job)
            if others is not None:
                self._registry.wake(others, self.loop)
            if state == FAILED:
                raise _error(value)
            if state != WAITING:
                return state, value
            if self._end is not None:
                raise self._end
            if self._rung:
                continue
            self._waiter = self.loop.create_future()
            timer = None
            if wake is not None:
                later = self.loop.call_later if self._clock is None else self._clock.after
                timer = later(wake, self.ring)
            try:
                await self._waiter
            finally:
                self._waiter = None
                if timer is not None:
                    timer.cancel()

    def ring(self) -> None:
        """The call can go on."""
        self._rung = True
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def stop(self, error: "BaseException | None" = None) -> None:
        """Ends the call with an error, from its own loop."""
        self._end = error or Cancelled("the router was closed", code="cancelled")
        self.ring()

    def close(self) -> None:
        """Nobody waits for the call any more: what runs for it is broken off."""
        self._registry.drivers.pop(self._call.id, None)
        for task in self._tasks.values():
            task.cancel()
        self._tasks.clear()
        for response in self._open.values():
            response.close()
        self._open.clear()
        others = self._call.close()
        if others:
            self._registry.wake(others, self.loop)

    def _do(self, job: "tuple[Any, ...]") -> None:
        kind, ident = job[0], job[1]
        if kind == _SEND:
            self._run(ident, self._exchange(ident, self._transport.send(Request(*job[2:]))))
        elif kind == _READ:
            self._run(ident, self._read(ident))
        elif kind == _ABORT:
            task = self._tasks.pop(ident, None)
            if task is not None:
                task.cancel()
            response = self._open.pop(ident, None)
            if response is not None:
                response.close()
        elif kind == _ASK:
            self._run(ident, self._exchange(ident, self._ask(*job[2:])))
        elif kind == _WORK:
            # On a thread of Python's own: none of ours ever touches the interpreter.
            work = self.loop.run_in_executor(None, job[2].run)
            work.add_done_callback(lambda _: self.ring())

    def _run(self, ident: int, work: "Any") -> None:
        self._tasks[ident] = self.loop.create_task(work)

    async def _exchange(self, ident: int, sending: "Any") -> None:
        call = self._call
        try:
            response = await sending
            if response.whole:
                call.answered(ident, response.status, response.headers, response.body, True)
            else:
                self._open[ident] = response
                call.answered(ident, response.status, response.headers, response.body, False)
        except TransportError as error:
            call.broke(ident, error.phase, str(error))
        except Exception as error:
            call.broke(ident, "send", f"the transport failed: {type(error).__name__}: {error}")
        self._tasks.pop(ident, None)
        self.ring()

    async def _read(self, ident: int) -> None:
        call, response = self._call, self._open.get(ident)
        try:
            piece = b"" if response is None else await response.read()
            if piece:
                call.piece(ident, piece)
            else:
                self._open.pop(ident, None)
                call.ended(ident)
        except TransportError as error:
            call.broke(ident, error.phase, str(error))
        except Exception as error:
            call.broke(ident, "read", f"the transport failed: {type(error).__name__}: {error}")
        self._tasks.pop(ident, None)
        self.ring()
