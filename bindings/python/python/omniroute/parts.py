"""Providers and strategies that are written in Python: plain objects with the names that the traits have.

    class Mine:
        id = "mine"
        models = ["small"]                  # what `auto` may choose; others may be named all the same

        async def chat(self, request, cx):
            return "hello"                  # or a Response, or an async iterator of events

    class Nearest:
        id = "nearest"

        def plan(self, cx, candidates):     # candidates, in the order in which they are to be asked
            return sorted(candidates, key=lambda one: one.mean_ms or 0)

        def observe(self, outcome): ...     # optional
"""

import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import Any

from ._drive import Response as Answer
from .errors import Error
from .reply import ReasoningDelta, Stop, TextDelta, ToolCall, ToolCallDelta, Usage

__all__ = ["CallContext", "Candidate", "Outcome", "PlanContext", "Request", "Response"]

_FAILURE = "x-omniroute-failure"
_JSON = ("content-type", "application/json")
_STREAM = ("content-type", "text/event-stream")
#: The code that stands for an error of a class, where the error has none of its own.
_CODES = {
    "AuthenticationError": "unauthorized",
    "RateLimited": "rate_limited",
    "QuotaExhausted": "quota_exhausted",
    "Timeout": "timeout",
    "ContextTooLong": "context_too_long",
    "Filtered": "filtered",
    "RequestError": "invalid_request",
}


class Request:
    """What a provider is asked: a request in the wire of OpenAI chat, with the provider's own name of the model."""

    __slots__ = ("_json", "body", "model", "stream")

    def __init__(self, model: str, stream: bool, body: bytes) -> None:
        self.model = model
        self.stream = stream
        self.body = body
        self._json: Any = None

    def json(self) -> "dict[str, Any]":
        """The request, decoded once."""
        if self._json is None:
            self._json = json.loads(self.body)
        found: "dict[str, Any]" = self._json
        return found

    @property
    def messages(self) -> "list[dict[str, Any]]":
        """Its messages."""
        found: "list[dict[str, Any]]" = self.json()["messages"]
        return found

    def __repr__(self) -> str:
        return f"<Request {self.model}, {len(self.body)} bytes>"


class CallContext:
    """Around a call of a provider."""

    __slots__ = ("model", "provider", "stream")

    def __init__(self, provider: str, model: str, stream: bool) -> None:
        self.provider = provider
        self.model = model
        self.stream = stream


class Response:
    """A whole answer of a provider."""

    __slots__ = ("reasoning", "stop", "text", "tool_calls", "usage")

    def __init__(
        self,
        text: str = "",
        *,
        tool_calls: Sequence[ToolCall] = (),
        reasoning: str = "",
        usage: "Usage | None" = None,
        stop: "str | None" = None,
    ) -> None:
        self.text = text
        self.tool_calls = tuple(tool_calls)
        self.reasoning = reasoning
        self.usage = usage
        self.stop = stop


class _Row:
    """A frozen look at a mapping."""

    __slots__ = ("_row",)

    def __init__(self, row: Mapping[str, Any]) -> None:
        self._row = row

    def __getattr__(self, name: str) -> Any:
        try:
            return self._row[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; there are {', '.join(self._row)}") from None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._row.get('key', '')}>"


class PlanContext(_Row):
    """What a strategy may know of a request: ``input_tokens``, ``max_output``, ``task``, ``session``, ``seed``,
    ``ticket``, ``now_ms``. Never its text."""

    __slots__ = ()


class Candidate(_Row):
    """Somebody who could answer: ``key``, ``provider``, ``connection``, ``model``, ``rank``, ``weight``, ``tags``,
    ``context``, ``price_in``, ``price_out``, ``mean_ms``, ``error_rate``, ``quota_left``, ``in_flight``. What is not
    known is None."""

    __slots__ = ("position",)

    def __init__(self, position: int, row: Mapping[str, Any]) -> None:
        super().__init__(row)
        self.position = position


class Outcome(_Row):
    """How an attempt ended: ``key``, ``failed`` (a code or None), ``latency_ms``, ``first_ms``."""

    __slots__ = ()


def providers(objects: Iterable[Any]) -> "dict[str, tuple[Any, list[str]]]":
    """Checks providers; gives them by their ids, with their models."""
    found: "dict[str, tuple[Any, list[str]]]" = {}
    for one in objects:
        name = _named("provider", one)
        chat = getattr(one, "chat", None)
        if not callable(chat):
            got = "nothing" if chat is None else type(chat).__name__
            rule = "chat must be a coroutine function or return an awaitable"
            raise TypeError(f'provider "{name}": {rule} (got {got})')
        _takes("provider", name, chat, "chat", ("request", "cx"))
        models = getattr(one, "models", [])
        if isinstance(models, str) or not all(isinstance(model, str) for model in models):
            raise TypeError(f'provider "{name}": models must be a list of str')
        if name in found:
            raise TypeError(f'provider "{name}" is there twice')
        found[name] = (one, list(models))
    return found


def strategies(objects: Iterable[Any]) -> "list[tuple[str, Any]]":
    """Checks strategies; gives what the native module calls, by their ids."""
    found: "dict[str, Any]" = {}
    for one in objects:
        name = _named("strategy", one)
        plan = getattr(one, "plan", None)
        if not callable(plan) or inspect.iscoroutinefunction(plan):
            got = "a coroutine function" if callable(plan) else "nothing" if plan is None else type(plan).__name__
            raise TypeError(f'strategy "{name}": plan must be a function that is not async (got {got})')
        _takes("strategy", name, plan, "plan", ("cx", "candidates"))
        observe = getattr(one, "observe", None)
        if observe is not None and not callable(observe):
            raise TypeError(f'strategy "{name}": observe must be a function (got {type(observe).__name__})')
        if name in found:
            raise TypeError(f'strategy "{name}" is there twice')
        found[name] = _Called(name, plan, observe)
    return list(found.items())


class _Called:
    """A strategy as the native module calls it."""

    __slots__ = ("_name", "_observe", "_plan")

    def __init__(self, name: str, plan: "Callable[..., Any]", observe: "Callable[..., Any] | None") -> None:
        self._name, self._plan, self._observe = name, plan, observe

    def plan(self, cx: "dict[str, Any]", rows: "list[dict[str, Any]]") -> "list[int]":
        """The positions of candidates, in order."""
        order = []
        for one in self._plan(PlanContext(cx), [Candidate(n, row) for n, row in enumerate(rows)]):
            position = one.position if isinstance(one, Candidate) else one
            if not isinstance(position, int):
                raise TypeError(f"plan gives candidates or their positions, not {type(one).__name__}")
            order.append(position)
        return order

    def observe(self, row: "dict[str, Any]") -> None:
        """How an attempt ended."""
        if self._observe is not None:
            self._observe(Outcome(row))


def _named(kind: str, one: Any) -> str:
    name = getattr(one, "id", None)
    if isinstance(one, type):
        raise TypeError(f"a {kind} is an object, not the class {one.__name__}; make one")
    if not isinstance(name, str) or not name or "/" in name:
        raise TypeError(f"a {kind} has an id that is a str without \"/\" (got {name!r} of {type(one).__name__})")
    return name


def _takes(kind: str, name: str, work: "Callable[..., Any]", method: str, names: "tuple[str, ...]") -> None:
    try:
        signature = inspect.signature(work)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*names)
    except TypeError:
        raise TypeError(f'{kind} "{name}": {method} must take ({", ".join(names)}), it takes {signature}') from None


async def ask(provider: Any, name: str, model: str, stream: bool, body: bytes) -> Answer:
    """Lets a provider answer, as a transport would."""
    try:
        said = provider.chat(Request(model, stream, body), CallContext(name, model, stream))
        if inspect.isawaitable(said):
            said = await said
        if hasattr(said, "__aiter__"):
            if stream:
                return _Told(model, said)
            said = await _gathered(said)
        return Answer(200, [_JSON], _whole(model, said, name))
    except Error as error:
        code = _CODES.get(type(error).__name__, "unavailable") if error.code == "internal" else error.code
        return Answer(500, [(_FAILURE, code)], str(error).encode())
    except Exception as error:
        return Answer(500, [(_FAILURE, "unavailable")], f"{type(error).__name__}: {error}".encode())


def _whole(model: str, said: Any, name: str) -> bytes:
    if isinstance(said, bytes):
        return said
    if isinstance(said, Mapping):
        return json.dumps(said).encode()
    if isinstance(said, str):
        said = Response(said)
    if not isinstance(said, Response):
        rule = "a str, a Response, a reply as dict or bytes, or an async iterator of events"
        raise TypeError(f'provider "{name}": chat must give {rule} (got {type(said).__name__})')
    message: "dict[str, Any]" = {"role": "assistant", "content": said.text}
    if said.reasoning:
        message["reasoning_content"] = said.reasoning
    if said.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in said.tool_calls
        ]
    stop = said.stop or ("tool_calls" if said.tool_calls else "stop")
    reply: "dict[str, Any]" = {
        "id": "reply", "object": "chat.completion", "created": 0, "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": stop}],
    }  # fmt: skip
    if said.usage is not None:
        reply["usage"] = _usage(said.usage)
    return json.dumps(reply).encode()


def _usage(usage: Usage) -> "dict[str, Any]":
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


async def _gathered(events: "AsyncIterator[Any]") -> Response:
    """Events as a whole answer."""
    out = Response()
    calls: "dict[int, list[Any]]" = {}
    async for event in events:
        match event:
            case str(text) | TextDelta(text):
                out.text += text
            case ReasoningDelta(text):
                out.reasoning += text
            case ToolCallDelta(index, ident, name, arguments):
                call = calls.setdefault(index, [ident, name, ""])
                call[2] += arguments
            case Usage():
                out.usage = event
            case Stop(reason):
                out.stop = reason
            case _:
                raise TypeError(f"an event is a str or one of omniroute's events, not {type(event).__name__}")
    out.tool_calls = tuple(ToolCall(*call) for _, call in sorted(calls.items()))
    return out


class _Told(Answer):
    """Events as a stream of OpenAI chat."""

    __slots__ = ("_calls", "_events", "_model", "_state", "_usage")

    def __init__(self, model: str, events: "AsyncIterator[Any]") -> None:
        super().__init__(200, [_STREAM], whole=False)
        self._events = events
        self._model = model
        self._state = "open"
        self._usage: "Usage | None" = None
        self._calls = False

    async def read(self) -> bytes:
        while self._state == "open":
            try:
                event = await anext(self._events)
            except StopAsyncIteration:
                return self._last("tool_calls" if self._calls else "stop")
            match event:
                case str(text) | TextDelta(text):
                    return self._chunk({"content": text})
                case ReasoningDelta(text):
                    return self._chunk({"reasoning_content": text})
                case ToolCallDelta(index, ident, name, arguments):
                    self._calls = True
                    call: "dict[str, Any]" = {"index": index, "function": {"arguments": arguments}}
                    if ident is not None:
                        call |= {"id": ident, "type": "function"}
                        call["function"]["name"] = name
                    return self._chunk({"tool_calls": [call]})
                case Usage():
                    self._usage = event
                case Stop(reason):
                    return self._last(reason)
                case _:
                    raise TypeError(f"an event is a str or one of omniroute's events, not {type(event).__name__}")
        return b""

    def _last(self, reason: str) -> bytes:
        self._state = "over"
        out = self._chunk({}, reason)
        if self._usage is not None:
            out += _event({"model": self._model, "choices": [], "usage": _usage(self._usage)})
        return out + b"data: [DONE]\n\n"

    def _chunk(self, delta: "dict[str, Any]", stop: "str | None" = None) -> bytes:
        choices = [{"index": 0, "delta": delta, "finish_reason": stop}]
        return _event({"model": self._model, "choices": choices})

    def close(self) -> None:
        if self._state != "over":
            self._state = "over"
            end = getattr(self._events, "aclose", None)
            if end is not None:
                import asyncio

                task = asyncio.get_running_loop().create_task(end())
                _CLOSING.add(task)
                task.add_done_callback(_CLOSING.discard)


#: Iterators that are being closed: a loop keeps no strong reference to its tasks.
_CLOSING: "set[Any]" = set()


def _event(event: "dict[str, Any]") -> bytes:
    whole = {"id": "reply", "object": "chat.completion.chunk", "created": 0, **event}
    return b"data: " + json.dumps(whole).encode() + b"\n\n"
