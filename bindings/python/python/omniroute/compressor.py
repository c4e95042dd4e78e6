"""The compressor, and the functions that make one for a single call."""

from . import _native
from .errors import ConfigError, RequestError
from .results import Compressed, CompressedText, Messages, Receipt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike
    from types import TracebackType
    from typing import Any, TypeVar

    from .types import Body, CompressionConfig

    T = TypeVar("T")

__all__ = ["Compressor", "acompress", "compress", "compress_messages", "compress_text"]

#: Smaller bodies are compressed at once also by asynchronous calls: handing them to another thread takes longer.
_OFFLOAD_FROM = 64 * 1024


class Compressor:
    """Makes requests shorter. Built once for a program or a session; later calls cost only what is new.

    Threads may share one. It can be pickled and copied: the copy has the same settings and remembers nothing. After a fork
    the child keeps the settings and remembers nothing either.

    ``config`` is the path of a TOML file or a dictionary (``{"plan": "safe"}``); nothing is read unless it is named here.

    Its calls take, all by name and all optional:

    - ``session``: requests of one conversation; what is remembered is kept apart for each;
    - ``plan``: another plan than the configured one, for this call;
    - ``model``: the model that counts tokens, if the request does not name it;
    - ``wire``: the API the request is for (``"openai-chat"``, ``"openai-responses"``, ``"anthropic-messages"``,
      ``"gemini"``); guessed if absent.
    """

    __slots__ = ("__weakref__", "_engine", "_json", "_text")

    def __init__(self, config: "str | PathLike[str] | CompressionConfig | Mapping[str, Any] | None" = None) -> None:
        if config is None:
            text, is_json = "{}", True
        elif hasattr(config, "keys"):
            text, is_json = _written(config), True
        else:
            text, is_json = _file(config), False
        self._set(text, is_json)

    def _set(self, text: str, is_json: bool) -> None:
        self._text = text
        self._json = is_json
        self._engine = _native.Engine(text, is_json)

    def compress(
        self,
        body: "Body",
        *,
        wire: "str | None" = None,
        plan: "str | None" = None,
        model: "str | None" = None,
        session: "str | None" = None,
    ) -> Compressed:
        """Compresses a request body: JSON text in any form, a request as a dictionary, or just its messages.

        A body that cannot be read comes back unchanged and ``receipt["skipped"]`` says why.
        """
        sent, receipt = self._engine.compress(body, wire, plan, model, session)
        return Compressed(sent, Receipt(receipt), body)

    def preview(
        self,
        body: "Body",
        *,
        wire: "str | None" = None,
        plan: "str | None" = None,
        model: "str | None" = None,
        session: "str | None" = None,
    ) -> Compressed:
        """What :meth:`compress` would do with a body it has never seen. Leaves no trace in memory or statistics."""
        sent, receipt = self._engine.compress(body, wire, plan, model, session, True)
        return Compressed(sent, Receipt(receipt), body)

    def compress_messages(
        self,
        messages: "Iterable[Any]",
        tools: "list[Any] | None" = None,
        *,
        system: "object | None" = None,
        wire: "str | None" = None,
        plan: "str | None" = None,
        model: "str | None" = None,
        session: "str | None" = None,
    ) -> Messages:
        """Compresses a list of messages: list in, list out, the same objects where nothing changed.

        Objects of an SDK are read through their ``model_dump``; a changed one comes back as a dictionary. What cannot be
        read is kept as it is and noted in the receipt. ``tools`` and ``system`` stand beside the messages in a request;
        they are not changed. Items of the Responses API need ``wire="openai-responses"``.
        """
        around: "dict[str, object]" = {}
        if model is not None:
            around["model"] = model
        if system is not None:
            around["system"] = system
        if tools is not None:
            around["tools"] = tools
        given = _listed(messages)
        changed, receipt = self._engine.compress_list(given, around, wire, plan, model, session)
        return Messages(given if changed is None else changed, Receipt(receipt))

    def compress_text(
        self,
        text: str,
        kind: str = "tool_output",
        command: "str | None" = None,
        *,
        exit_code: "int | None" = None,
        plan: "str | None" = None,
        model: "str | None" = None,
    ) -> CompressedText:
        """Compresses one text that is no request: what ``command``, a line as it is typed in a shell, printed."""
        if not isinstance(text, str):
            hint = "; decode bytes first, for instance text.decode(errors='replace')"
            raise TypeError(_not("text", "a str", text) + (hint if isinstance(text, (bytes, bytearray)) else ""))
        if command is not None and not isinstance(command, str):
            hint = "; for a list of arguments use shlex.join"
            raise TypeError(_not("command", "a str", command) + (hint if isinstance(command, (list, tuple)) else ""))
        sent, receipt = self._engine.compress_text(text, kind, command, exit_code, plan, model)
        return CompressedText(sent, Receipt(receipt))

    async def acompress(
        self,
        body: "Body",
        *,
        wire: "str | None" = None,
        plan: "str | None" = None,
        model: "str | None" = None,
        session: "str | None" = None,
    ) -> Compressed:
        """As :meth:`compress`; a large body is compressed on a thread of the loop's executor."""
        raw = _native.encode(body)

        def work() -> Compressed:
            sent, receipt = self._engine.compress(raw, wire, plan, model, session)
            return Compressed(sent, Receipt(receipt), body)

        return await _off_loop(len(raw), work)

    async def acompress_messages(
        self,
        messages: "Iterable[Any]",
        tools: "list[Any] | None" = None,
        *,
        system: "object | None" = None,
        wire: "str | None" = None,
        plan: "str | None" = None,
        model: "str | None" = None,
        session: "str | None" = None,
    ) -> Messages:
        """As :meth:`compress_messages`, on a thread of the loop's executor."""
        given = list(_listed(messages))

        def work() -> Messages:
            return self.compress_messages(
                given, tools, system=system, wire=wire, plan=plan, model=model, session=session
            )

        return await _off_loop(_OFFLOAD_FROM, work)

    def stats(self) -> "dict[str, int]":
        """Sums over the calls so far: calls, changed, skipped, tokens and bytes before and after."""
        return self._engine.stats()

    @property
    def plan(self) -> str:
        """The plan of calls that name none."""
        return self._engine.plan

    def __enter__(self) -> "Compressor":
        return self

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        trace: "TracebackType | None",
    ) -> None:
        return None

    def __repr__(self) -> str:
        return f"<Compressor plan={self.plan!r}>"

    def __reduce__(self) -> "tuple[object, ...]":
        return (_from_text, (self._text, self._json))


def _from_text(text: str, is_json: bool) -> Compressor:
    made = Compressor.__new__(Compressor)
    made._set(text, is_json)
    return made


async def _off_loop(size: int, work: "Callable[[], T]") -> "T":
    import asyncio

    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise RuntimeError(
            "omniroute awaits on asyncio and no asyncio loop is running here; "
            "under trio call the synchronous function in trio.to_thread.run_sync"
        ) from None
    if size < _OFFLOAD_FROM:
        return work()
    return await loop.run_in_executor(None, work)


def _not(name: str, rule: str, value: "object") -> str:
    return f"{name} is {rule}, not {type(value).__name__}"


def _written(config: "Any") -> str:
    try:
        return _native.encode(dict(config), "configuration").decode()
    except RequestError as error:
        raise ConfigError(str(error), code="config", details={"errors": (str(error),)}) from None


def _file(path: "Any") -> str:
    if isinstance(path, int) or not (isinstance(path, (str, bytes)) or hasattr(path, "__fspath__")):
        raise TypeError(_not("config", "a dictionary, the path of a TOML file or None", path))
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError as error:
        error.strerror = 'no such file of a configuration (a plan is given as {"plan": ...})'
        raise
    except UnicodeDecodeError as error:
        reason = f"{path}: the bytes from {error.start} on are not UTF-8"
        raise ConfigError(reason, code="config", details={"errors": (reason,)}) from None


def _listed(messages: "Iterable[Any]") -> "list[Any]":
    if isinstance(messages, list):
        return messages
    whole = isinstance(messages, (str, bytes, bytearray, memoryview)) or hasattr(messages, "keys")
    if whole or not hasattr(messages, "__iter__") or hasattr(messages, "model_dump"):
        hint = "; for a whole request use compress()" if whole else ""
        raise TypeError(_not("messages", "a list", messages) + hint)
    return list(messages)


def _once(plan: "str | None") -> Compressor:
    """A compressor for one call: it remembers nothing. The plan goes with the call, so that a wrong one is its error."""
    nothing = {"entries": 0}
    return Compressor({"memo": nothing} if plan is None else {"plan": "off", "memo": nothing})


def compress(
    body: "Body",
    *,
    wire: "str | None" = None,
    plan: "str | None" = "safe",
    model: "str | None" = None,
    session: "str | None" = None,
) -> Compressed:
    """Compresses one request body and remembers nothing. In a session build a :class:`Compressor` once."""
    return _once(plan).compress(body, wire=wire, plan=plan, model=model, session=session)


def compress_messages(
    messages: "Iterable[Any]",
    tools: "list[Any] | None" = None,
    *,
    system: "object | None" = None,
    wire: "str | None" = None,
    plan: "str | None" = "safe",
    model: "str | None" = None,
    session: "str | None" = None,
) -> Messages:
    """As :meth:`Compressor.compress_messages`, once; remembers nothing."""
    return _once(plan).compress_messages(
        messages, tools, system=system, wire=wire, plan=plan, model=model, session=session
    )


def compress_text(
    text: str,
    kind: str = "tool_output",
    command: "str | None" = None,
    *,
    exit_code: "int | None" = None,
    plan: "str | None" = "safe",
    model: "str | None" = None,
) -> CompressedText:
    """As :meth:`Compressor.compress_text`, once; remembers nothing."""
    return _once(plan).compress_text(text, kind, command, exit_code=exit_code, plan=plan, model=model)


async def acompress(
    body: "Body",
    *,
    wire: "str | None" = None,
    plan: "str | None" = "safe",
    model: "str | None" = None,
    session: "str | None" = None,
) -> Compressed:
    """As :func:`compress`; a large body is compressed on a thread of the loop's executor."""
    return await _once(plan).acompress(body, wire=wire, plan=plan, model=model, session=session)
