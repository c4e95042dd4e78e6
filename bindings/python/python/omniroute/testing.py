"""For tests of programs that route: vendors that answer as a script says, a clock that only moves when it is told, and
scenarios in files that other languages run as well.

>>> clock = VirtualClock()
>>> vendors = Script([{"status": 429}, {"body": {...}, "after_ms": 20}], clock=clock)        # doctest: +SKIP
>>> router = omniroute.Router(config, transport=vendors, clock=clock)                         # doctest: +SKIP
"""

import asyncio
import heapq
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any

from ._drive import Request, Response, TransportError
from .errors import Error
from .reply import TextDelta
from .router import Router

__all__ = ["Outcome", "Scenario", "Script", "VirtualClock"]

#: Rounds of the loop in which nothing asks for the time before it is moved on.
_ROUNDS = 50
_HEADERS = [("content-type", "application/json")]
_STREAM = [("content-type", "text/event-stream")]


class _Timer:
    __slots__ = ("callback",)

    def __init__(self, callback: Callable[[], object]) -> None:
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        """It does not ring any more."""
        self.callback = None


class VirtualClock:
    """Time that stands still. With ``auto`` (the default) it moves to the next moment that somebody waits for as soon as
    nothing else can go on; without, only :meth:`advance` moves it. For one loop."""

    def __init__(self, wall_ms: int = 1_800_000_000_000, *, auto: bool = True) -> None:
        self._start = wall_ms
        self._now = 0
        self._auto = auto
        self._heap: list[tuple[int, int, int, _Timer]] = []
        self._number = 0
        self._watching = False
        self._cores: list[Any] = []

    @property
    def wall_ms(self) -> int:
        """The date, in milliseconds since 1970."""
        return self._start + self._now // 1_000_000

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self._now / 1e9

    def attach(self, core: Any) -> None:
        """A router whose time this is."""
        self._cores.append(core)

    def after(self, seconds: float, callback: Callable[[], object], *, first: bool = False) -> _Timer:
        """Calls back in so many seconds. ``first``: before others of the same moment."""
        timer = _Timer(callback)
        self._number += 1
        at = self._now + round(seconds * 1e9)
        heapq.heappush(self._heap, (at, 0 if first else 1, self._number, timer))
        if self._auto and not self._watching:
            self._watching = True
            asyncio.get_running_loop().call_soon(self._watch, 0, self._number)
        return timer

    async def sleep(self, seconds: float) -> None:
        """Waits, as :func:`asyncio.sleep` does on the time of the machine."""
        if seconds <= 0:
            return
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def ring() -> None:
            if not done.done():
                done.set_result(None)

        timer = self.after(seconds, ring, first=True)
        try:
            await done
        finally:
            timer.cancel()

    def advance(self, seconds: float) -> None:
        """Moves on, through every moment on the way."""
        end = self._now + round(seconds * 1e9)
        while self._heap and self._heap[0][0] <= end:
            self._ring()
        self._move(end)

    def _ring(self) -> None:
        """Moves to the next moment."""
        at, _, _, timer = heapq.heappop(self._heap)
        if timer.callback is not None:
            self._move(at)
            timer.callback()

    def _move(self, to: int) -> None:
        by, self._now = to - self._now, to
        if by:
            for core in self._cores:
                core.advance(by)

    def _watch(self, rounds: int, seen: int) -> None:
        loop = asyncio.get_running_loop()
        if seen != self._number:
            rounds = 0
        if rounds < _ROUNDS:
            loop.call_soon(self._watch, rounds + 1, self._number)
            return
        while self._heap and self._heap[0][3].callback is None:
            heapq.heappop(self._heap)
        if not self._heap:
            self._watching = False
            return
        self._ring()
        loop.call_soon(self._watch, 0, self._number)


class Script:
    """A transport that sends nothing: the n-th request gets the n-th reply.

    A reply is a mapping: ``status`` (200), ``headers``, ``body`` (bytes, text or an object) or ``pieces`` of a stream,
    ``after_ms`` before its head and ``piece_ms`` before each piece, ``broke`` (a phase: the exchange fails there).
    ``requests`` are those that were sent; ``aborted`` counts those that were given up.
    """

    def __init__(self, replies: Iterable[Mapping[str, Any]], *, clock: VirtualClock | None = None) -> None:
        self._replies = list(replies)
        self._clock = clock
        self.requests: list[Request] = []
        self.aborted = 0

    async def send(self, request: Request) -> Response:
        """The next reply."""
        self.requests.append(request)
        if len(self.requests) > len(self._replies):
            raise TransportError("send", "the script is over")
        reply = self._replies[len(self.requests) - 1]
        try:
            await self._wait(reply.get("after_ms", 0))
        except asyncio.CancelledError:
            self.aborted += 1
            raise
        if "broke" in reply:
            raise TransportError(reply["broke"], "the script says so")
        headers = [(name.lower(), value) for name, value in reply.get("headers", {}).items()]
        status = reply.get("status", 200)
        if "pieces" in reply:
            return _Pieces(self, status, headers or _STREAM, reply)
        body = reply.get("body", b"")
        if not isinstance(body, (str, bytes)):
            body = json.dumps(body)
        return Response(status, headers or _HEADERS, body.encode() if isinstance(body, str) else body)

    async def _wait(self, milliseconds: float) -> None:
        if milliseconds:
            await (asyncio if self._clock is None else self._clock).sleep(milliseconds / 1e3)


class _Pieces(Response):
    __slots__ = ("_over", "_reply", "_script", "_sent")

    def __init__(
        self, script: Script, status: int, headers: list[tuple[str, str]], reply: Mapping[str, Any]
    ) -> None:
        super().__init__(status, headers, whole=False)
        self._script, self._reply, self._sent, self._over = script, reply, 0, False

    async def read(self) -> bytes:
        await self._script._wait(self._reply.get("piece_ms", 0))
        pieces = self._reply["pieces"]
        if self._sent == len(pieces):
            self._over = True
            return b""
        self._sent += 1
        piece = pieces[self._sent - 1]
        return piece.encode() if isinstance(piece, str) else piece

    def close(self) -> None:
        if not self._over:
            self._over = True
            self._script.aborted += 1


class Outcome:
    """What became of one request of a scenario: the text or the code of the error, and the receipt as JSON text."""

    __slots__ = ("error", "receipt", "text")

    def __init__(self, text: str | None, error: str | None, receipt: str) -> None:
        self.text = text
        self.error = error
        self.receipt = receipt

    def __repr__(self) -> str:
        return f"<Outcome {self.error or 'answered'}>"


class Scenario:
    """A file with a configuration, requests, what the vendors answer, and what has to come of it."""

    def __init__(self, path: "str | PathLike[str]") -> None:
        with open(path, "rb") as file:
            self._told = tomllib.load(file)

    @property
    def name(self) -> str:
        """What it shows."""
        return str(self._told["name"])

    @property
    def expected(self) -> list[Mapping[str, Any]]:
        """What has to come of each request: ``text`` or ``error``, and ``receipt``."""
        return [request["expect"] for request in self._told["requests"]]

    async def run(self) -> list[Outcome]:
        """Plays it through a :class:`~omniroute.Router`, on a clock of its own."""
        clock = VirtualClock(self._told.get("wall_ms", 1_800_000_000_000))
        vendors = Script(self._told["replies"], clock=clock)
        outcomes = []
        async with Router(self._told["config"], transport=vendors, clock=clock) as router:
            for request in self._told["requests"]:
                clock.advance(request.get("advance_ms", 0) / 1e3)
                outcomes.append(await _play(router, request))
        return outcomes


async def _play(router: Router, request: Mapping[str, Any]) -> Outcome:
    timeout = request["timeout_ms"] / 1e3 if "timeout_ms" in request else None
    options: dict[str, Any] = {"session": request.get("session"), "wire": request.get("wire"), "timeout": timeout}
    try:
        if not request.get("stream", False):
            reply = await router.chat(request["body"], **options)
            return Outcome(reply.text, None, reply.receipt.json())
        text = ""
        async with router.stream(request["body"], **options) as answer:
            async for event in answer:
                text += event.text if isinstance(event, TextDelta) else ""
        assert answer.receipt is not None
        return Outcome(text, None, answer.receipt.json())
    except Error as error:
        return Outcome(None, error.code, "" if error.receipt is None else error.receipt.json())  # type: ignore[attr-defined]
