"""The router: a request in, an answer out, whoever gives it."""

from os import getpid

from . import _native
from .compressor import _file, _not, _written
from .errors import Cancelled, RequestError
from .reply import Explanation, ReasoningDelta, Reply, RouteReceipt, Stop, TextDelta, ToolCallDelta, Usage

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
    from os import PathLike
    from types import TracebackType
    from typing import Any

    from ._drive import Driver, Registry
    from .sync import SyncRouter
    from .types import Body

    Event = TextDelta | ReasoningDelta | ToolCallDelta | Usage | Stop

__all__ = ["Router", "Stream"]


class Router:
    """Routes requests to providers, in the process: no server, no port, no thread.

    ``config`` is the path of a TOML file or a dictionary: ``connections``, ``providers``, ``combos``, ``models``,
    ``routing`` and ``compression``. Keys are named (``{"env": "OPENAI_API_KEY"}``, looked up when they are needed) or
    given; without a key a connection uses the usual variable of its provider.

    - ``providers``, ``strategies``: objects of your own, see the guide;
    - ``transport``: what sends: an ``httpx.AsyncClient`` (or one of httpx2), an object with ``async def send(request)``,
      or by default HTTP/1.1 of the standard library;
    - ``seed``: where random numbers start, instead of ``routing.seed``.

    Works on asyncio. Threads may share one, each with a loop of its own. It can be pickled and copied if it was made
    from a configuration alone: the copy has the same settings and remembers nothing. After a fork the child keeps the
    settings and remembers nothing either; calls that were under way belong to the parent.
    """

    __slots__ = (
        "__weakref__", "_asked", "_clock", "_closed", "_core", "_custom", "_json", "_own", "_process", "_registry", "_seed",
        "_sync", "_text", "_transport",
    )  # fmt: skip

    def __init__(
        self,
        config: "str | PathLike[str] | Mapping[str, Any]",
        *,
        providers: "Sequence[Any]" = (),
        strategies: "Sequence[Any]" = (),
        transport: "Any" = None,
        clock: "Any" = None,
        seed: "int | None" = None,
    ) -> None:
        if hasattr(config, "keys"):
            text, is_json = _written(config), True
        elif config is None:
            raise TypeError(_not("config", "a dictionary or the path of a TOML file", config))
        else:
            text, is_json = _file(config), False
        self._custom = bool(providers or strategies or transport is not None or clock is not None)
        own = {}
        told: "list[tuple[str, Any]]" = []
        if providers or strategies:
            from . import parts

            own = parts.providers(providers)
            told = parts.strategies(strategies)
        self._clock = clock
        self._own = own
        listed = [(name, models) for name, (_, models) in own.items()]
        wall = None if clock is None else clock.wall_ms
        self._core = _native.RouterCore(text, is_json, seed, listed, told, wall)
        if clock is not None:
            clock.attach(self._core)
        self._text, self._json, self._seed = text, is_json, seed
        self._transport = _sending(transport)
        self._closed = False
        self._registry: "Registry | None" = None
        self._asked: "Any" = None
        self._process = 0
        self._sync: "SyncRouter | None" = None

    async def chat(
        self,
        body: "Body",
        *,
        timeout: "float | None" = None,
        session: "str | None" = None,
        wire: "str | None" = None,
        model: "str | None" = None,
        tags: "Iterable[str]" = (),
        connection: "str | None" = None,
        plan: "str | None" = None,
    ) -> Reply:
        """Answers a request: JSON text in any form, a request as a dictionary, or just its messages. The answer is in
        the wire of the request, whoever gave it.

        ``timeout``, in seconds, is when you give up: :class:`~omniroute.Cancelled`. ``session`` names the conversation;
        ``model`` stands in for the request's; ``tags`` have to be on a step, ``connection`` has to be the one that
        answers; ``plan`` is the plan of compression; ``wire`` is guessed if absent.
        """
        stream = False
        call = self._core.chat(body, wire, session, model, stream, timeout, list(tags), connection, plan)
        driver = self._driver(call)
        try:
            return Reply((await driver.next())[1])
        finally:
            driver.close()

    def stream(
        self,
        body: "Body",
        *,
        timeout: "float | None" = None,
        session: "str | None" = None,
        wire: "str | None" = None,
        model: "str | None" = None,
        tags: "Iterable[str]" = (),
        connection: "str | None" = None,
        plan: "str | None" = None,
    ) -> "Stream":
        """As :meth:`chat`, in pieces.

        >>> async with router.stream(body) as answer:        # doctest: +SKIP
        ...     async for event in answer:
        ...         match event:
        ...             case TextDelta(text): print(text, end="")
        """
        options = (wire, session, model, True, timeout, list(tags), connection, plan)
        return Stream(self, body, options)

    def explain(
        self,
        body: "Body",
        *,
        session: "str | None" = None,
        wire: "str | None" = None,
        model: "str | None" = None,
        tags: "Iterable[str]" = (),
        connection: "str | None" = None,
    ) -> Explanation:
        """Who would be asked, and why. Nothing is sent, nothing is learned."""
        return Explanation(*self._core.explain(body, wire, session, model, list(tags), connection))

    def health(self) -> "dict[str, Any]":
        """How everything stands: requests so far, connections that rest, breakers that are open."""
        import json

        found: "dict[str, Any]" = json.loads(self._core.health())
        return found

    def models(self) -> "list[str]":
        """Names that requests may use."""
        return self._core.models()

    def warnings(self) -> "list[str]":
        """What is odd about the configuration but not wrong."""
        return self._core.warnings()

    def feedback(self, request: "str | RouteReceipt | Reply", reward: float, *, weight: float = 1.0) -> bool:
        """How good an answer was, from 0, useless, to 1, perfect. False: nobody remembers the request."""
        if isinstance(request, Reply):
            request = request.receipt
        if isinstance(request, RouteReceipt):
            request = request.request
        return self._core.feedback(request, reward, weight)

    @property
    def sync(self) -> "SyncRouter":
        """The blocking face. Its event loop runs in one Python thread, which is started with the first call."""
        if self._sync is None:
            from .sync import SyncRouter

            self._sync = SyncRouter(self)
        return self._sync

    async def aclose(self) -> None:
        """Admits nothing more, ends calls that are under way with :class:`~omniroute.Cancelled`, closes connections."""
        self._closed = True
        if self._registry is not None and self._process == getpid():
            loop = _running()
            for driver in list(self._registry.drivers.values()):
                if driver.loop is loop:
                    driver.stop()
                else:
                    driver.loop.call_soon_threadsafe(driver.stop)
        close = getattr(self._transport, "aclose", None)
        if close is not None and type(self._transport).__module__ == "omniroute._http":
            await close()

    async def __aenter__(self) -> "Router":
        return self

    async def __aexit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        await self.aclose()

    def _driver(self, call: "_native.Call") -> "Driver":
        """Drives a call on the loop that runs here."""
        loop = _running()
        if self._closed:
            raise RequestError("the router was closed", code="closed")
        registry = self._registry
        if registry is None or self._process != getpid():
            registry = self._begin()
        return registry.make(loop, call, registry, self._transport, self._asked, self._clock)

    def _begin(self) -> "Registry":
        """Before the first call of the process. What was under way before a fork belongs to the parent."""
        from ._drive import Registry

        if self._transport is None:
            from ._http import AsyncioTransport

            self._transport = AsyncioTransport()
        self._asked = self._ask if self._own else None
        self._registry, self._process = Registry(), getpid()
        return self._registry

    async def _ask(self, provider: str, model: str, stream: bool, body: bytes) -> "Any":
        from . import parts

        return await parts.ask(self._own[provider][0], provider, model, stream, body)

    def __repr__(self) -> str:
        return f"<Router {len(self._text)} bytes of configuration>"

    def __reduce__(self) -> "tuple[object, ...]":
        if self._custom:
            raise TypeError("cannot pickle a Router with a custom transport, provider, strategy or clock")
        return (_from_text, (self._text, self._json, self._seed))


class Stream:
    """A streamed answer: events, or the bytes of the client's wire with :meth:`raw`. Leaving ``async with`` or the loop
    over it ends the call. Read once, on the loop where it began."""

    __slots__ = ("_driver", "_options", "_body", "_receipt", "_router", "_call", "_whole", "_over")

    def __init__(self, router: Router, body: "Any", options: "tuple[Any, ...]") -> None:
        self._router = router
        self._body = body
        self._options = options
        self._call: "_native.Call | None" = None
        self._driver: "Driver | None" = None
        self._receipt: "RouteReceipt | None" = None
        self._whole: "Any" = None
        self._over = False

    async def __aenter__(self) -> "Stream":
        await self._begin()
        return self

    async def __aexit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        self.close()

    @property
    def receipt(self) -> "RouteReceipt | None":
        """Who was asked, why, what it took; complete at the end. None before the answer begins."""
        if self._receipt is not None:
            return self._receipt
        text = None if self._call is None else self._call.receipt()
        return None if text is None else RouteReceipt(text)

    @property
    def wire(self) -> "str | None":
        """The wire of the answer: that of the request. None before the call began."""
        return None if self._call is None else self._call.wire

    async def __aiter__(self) -> "AsyncGenerator[Event, None]":
        await self._begin()
        assert self._call is not None
        reader = _native.Events(self._call.wire)
        try:
            while True:
                piece = await self._piece()
                for event in reader.feed(piece):
                    yield _event(event)
                if piece is None:
                    return
        finally:
            self.close()

    async def raw(self) -> "AsyncGenerator[bytes, None]":
        """The answer as bytes, as a client of the wire reads it. An answer that breaks off says so in its last bytes."""
        await self._begin()
        try:
            while (piece := await self._piece()) is not None:
                yield piece
        finally:
            self.close()

    def close(self) -> None:
        """Ends the call; does nothing after its end."""
        driver, self._driver = self._driver, None
        if driver is not None:
            self._receipt = self.receipt
            driver.close()
        self._over = True

    async def _begin(self) -> None:
        if self._call is not None:
            return
        self._call = self._router._core.chat(self._body, *self._options)
        self._body = None
        self._driver = self._router._driver(self._call)
        try:
            _, self._whole = await self._driver.next()
        except BaseException:
            self.close()
            raise

    async def _piece(self) -> "bytes | None":
        if self._driver is None:
            return None
        try:
            state, value = await self._driver.next()
        except BaseException:
            self.close()
            raise
        if value is None:
            self.close()
        return value  # type: ignore[no-any-return]

    def __repr__(self) -> str:
        return f"<Stream {'over' if self._over else 'open'}>"


def _event(event: "tuple[Any, ...]") -> "Event":
    kind, *rest = event
    if kind == "failed":
        raise rest[0]
    return _EVENTS[kind](*rest)


_EVENTS: "dict[str, Callable[..., Event]]" = {
    "text": TextDelta,
    "reasoning": ReasoningDelta,
    "tool_call": ToolCallDelta,
    "usage": Usage,
    "stop": Stop,
}


def _from_text(text: str, is_json: bool, seed: "int | None") -> Router:
    made = Router({}, seed=seed)
    made._core = _native.RouterCore(text, is_json, seed)
    made._text, made._json = text, is_json
    return made


def _sending(transport: "Any") -> "Any":
    """What sends; None: the standard library, made when it is needed."""
    if transport is None:
        return None
    if hasattr(transport, "build_request") and hasattr(transport, "send"):
        if not hasattr(transport, "aclose"):
            raise TypeError(_not("transport", "an httpx.AsyncClient, or an object with async def send", transport))
        from ._httpx import ClientTransport

        return ClientTransport(transport)
    if not callable(getattr(transport, "send", None)):
        raise TypeError(_not("transport", "an httpx.AsyncClient, or an object with async def send", transport))
    return transport


#: `asyncio.get_running_loop`, once somebody needs it: the package loads without asyncio.
_get_loop: "Callable[[], asyncio.AbstractEventLoop] | None" = None


def _running() -> "asyncio.AbstractEventLoop":
    global _get_loop
    if _get_loop is None:
        from asyncio import get_running_loop

        _get_loop = get_running_loop
    try:
        return _get_loop()
    except RuntimeError:
        raise RuntimeError(
            "omniroute awaits on asyncio and no asyncio loop is running here; "
            "without one, or under trio, call router.sync.chat (in trio.to_thread.run_sync)"
        ) from None
