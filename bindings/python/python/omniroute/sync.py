"""The blocking face of a router: one event loop in one Python thread, started with the first call."""

import asyncio
import atexit
import os
import threading
import weakref

from .errors import RequestError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from typing import Any, TypeVar

    from .reply import Reply, RouteReceipt
    from .router import Event, Router, Stream

    T = TypeVar("T")

__all__ = ["SyncRouter"]


class SyncRouter:
    """Calls that wait for their answers. Threads may share it; after a fork the child starts a loop of its own."""

    __slots__ = ("__weakref__", "_lock", "_loop", "_process", "_router", "_thread")

    def __init__(self, router: "Router") -> None:
        self._router = router
        self._lock = threading.Lock()
        self._loop: "asyncio.AbstractEventLoop | None" = None
        self._thread: "threading.Thread | None" = None
        self._process = 0

    def chat(self, body: "Any", **options: "Any") -> "Reply":
        """As ``await router.chat(...)``."""
        return self._wait(self._router.chat(body, **options))

    def stream(self, body: "Any", **options: "Any") -> "Iterator[Event]":
        """The events of ``router.stream(...)``. Leaving the loop over them ends the call."""
        stream = self._router.stream(body, **options)
        return self._all(stream, stream.__aiter__())

    def stream_raw(self, body: "Any", **options: "Any") -> "Iterator[bytes]":
        """The bytes of ``router.stream(...).raw()``."""
        stream = self._router.stream(body, **options)
        return self._all(stream, stream.raw())

    def open(self, body: "Any", **options: "Any") -> "SyncStream":
        """A stream whose answer has begun."""
        stream = self._router.stream(body, **options)
        self._wait(stream.__aenter__())
        return SyncStream(self, stream)

    def close(self) -> None:
        """Closes the router and ends the thread."""
        self._wait(self._router.aclose())
        self._stop()

    def _all(self, stream: "Stream", items: "Any") -> "Iterator[Any]":
        async def following() -> "Any":
            return await anext(items, None)

        async def ending() -> None:
            await items.aclose()
            stream.close()

        try:
            while (item := self._wait(following())) is not None:
                yield item
        finally:
            self._wait(ending())

    def _wait(self, work: "Coroutine[Any, Any, T]") -> "T":
        try:
            loop = self._running()
        except BaseException:
            work.close()
            raise
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            # Ctrl-C, for instance: the call ends with whoever waits for it.
            future.cancel()
            raise

    def _running(self) -> "asyncio.AbstractEventLoop":
        if threading.current_thread() is self._thread and self._process == os.getpid():
            raise RequestError("the blocking face cannot be used from within its own loop", code="use_async")
        if self._process != os.getpid():
            # The parent's thread does not exist here, and its lock may be held for ever.
            self._lock, self._loop, self._thread = threading.Lock(), None, None
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(loop,), name="omniroute-sync", daemon=True)
                self._loop, self._process = loop, os.getpid()
                self._thread.start()
                _FACES.add(self)
            return self._loop

    def _stop(self) -> None:
        with self._lock:
            loop, self._loop = self._loop, None
        if loop is not None and self._process == os.getpid():
            loop.call_soon_threadsafe(loop.stop)
            if self._thread is not None and self._thread is not threading.current_thread():
                self._thread.join()

    def __del__(self) -> None:
        loop = self._loop
        if loop is not None and self._process == os.getpid() and not loop.is_closed():
            loop.call_soon_threadsafe(loop.stop)


class SyncStream:
    """The bytes of a streamed answer that has begun. Read once."""

    __slots__ = ("_face", "_stream")

    def __init__(self, face: SyncRouter, stream: "Stream") -> None:
        self._face = face
        self._stream = stream

    @property
    def receipt(self) -> "RouteReceipt | None":
        """Who was asked, why, what it took; complete at the end."""
        return self._stream.receipt

    def __iter__(self) -> "Iterator[bytes]":
        return self._face._all(self._stream, self._stream.raw())

    def close(self) -> None:
        """Ends the call; does nothing after its end."""

        async def ending() -> None:
            self._stream.close()

        self._face._wait(ending())


def _run(loop: "asyncio.AbstractEventLoop") -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        tasks = asyncio.all_tasks(loop)
        for task in tasks:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()


#: Faces whose thread runs: it has to end before the interpreter does.
_FACES: "weakref.WeakSet[SyncRouter]" = weakref.WeakSet()


@atexit.register
def _end() -> None:
    for face in list(_FACES):
        face._stop()
