"""What a router gives back. Values are frozen, can be pickled and copied, and are safe to share between threads and to
use after a fork."""

from _collections_abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ._native import Reply as NativeReply

__all__ = [
    "Explanation",
    "ReasoningDelta",
    "Reply",
    "RouteReceipt",
    "Stop",
    "TextDelta",
    "ToolCall",
    "ToolCallDelta",
    "Usage",
]


class _Text(Mapping):  # type: ignore[type-arg]
    """A mapping over JSON text, decoded when it is first looked into."""

    __slots__ = ("_data", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._data: "dict[str, Any] | None" = None

    def json(self) -> str:
        """As JSON text."""
        return self._text

    def _all(self) -> "dict[str, Any]":
        if self._data is None:
            import json

            self._data = json.loads(self._text)
        return self._data

    def __getitem__(self, key: str) -> "Any":
        return self._all()[key]

    def __iter__(self) -> "Iterator[str]":
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())


class RouteReceipt(_Text):
    """What became of a request: who was asked, why, how long it took, what it cost. Holds no text of requests or
    answers and no keys. Frozen; may be shared, pickled, copied and used after a fork."""

    __slots__ = ()

    @property
    def request(self) -> str:
        """Names the request, also for ``router.feedback``."""
        return str(self["request"])

    @property
    def provider(self) -> "str | None":
        """Who answered; None if nobody did."""
        return self._answered(0)

    @property
    def connection(self) -> "str | None":
        """Under which connection."""
        return self._answered(1)

    @property
    def model(self) -> "str | None":
        """With which model, in the provider's words."""
        return self._answered(2)

    @property
    def cost_usd(self) -> float:
        """US dollars of all attempts whose price is known."""
        return int(self["micro_usd"]) / 1e6

    def summary(self) -> str:
        """One line for people."""
        tried = [f"{one['key']}: {one.get('kind', 'answered')}" for one in self["attempts"]]
        return f"{self['route']}: {', '.join(tried) or 'nobody was asked'}"

    def _answered(self, part: int) -> "str | None":
        parts = str(self.get("answered") or "").split("/", 2)
        return parts[part] if part < len(parts) and parts[part] else None

    def __repr__(self) -> str:
        return f"<RouteReceipt {self.summary()}>"

    def __reduce__(self) -> "tuple[object, ...]":
        return (RouteReceipt, (self._text,))


class Explanation(_Text):
    """Who would be asked, and why: a mapping for programs, ``str()`` for people."""

    __slots__ = ("_words",)

    def __init__(self, words: str, text: str) -> None:
        super().__init__(text)
        self._words = words

    def __str__(self) -> str:
        return self._words

    def __repr__(self) -> str:
        return f"<Explanation {self['strategy']}, {len(self['picks'])} candidates>"

    def __reduce__(self) -> "tuple[object, ...]":
        return (Explanation, (self._words, self._text))


class _Value:
    """A frozen value of a few fields."""

    __slots__ = ()
    __match_args__: "tuple[str, ...]" = ()

    def __init__(self, *values: "Any") -> None:
        for name, value in zip(self.__match_args__, values, strict=True):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen")

    def _fields(self) -> "tuple[Any, ...]":
        return tuple(getattr(self, name) for name in self.__match_args__)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash((type(self), self._fields()))

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__match_args__)
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> "tuple[object, ...]":
        return (type(self), self._fields())


class TextDelta(_Value):
    """More text of a streamed answer."""

    __slots__ = ("text",)
    __match_args__ = ("text",)
    text: str


class ReasoningDelta(_Value):
    """More reasoning of a streamed answer."""

    __slots__ = ("text",)
    __match_args__ = ("text",)
    text: str


class ToolCallDelta(_Value):
    """A call of a tool begins (with ``id`` and ``name``), or more of its ``arguments``. ``index`` tells the calls of an
    answer apart."""

    __slots__ = ("arguments", "id", "index", "name")
    __match_args__ = ("index", "id", "name", "arguments")
    index: int
    id: "str | None"
    name: "str | None"
    arguments: str


class Usage(_Value):
    """Tokens of an answer. ``cached`` is a part of ``input``, ``reasoning`` one of ``output``."""

    __slots__ = ("cached", "input", "output", "reasoning")
    __match_args__ = ("input", "output", "cached", "reasoning")
    input: int
    output: int
    cached: int
    reasoning: int


class Stop(_Value):
    """Why an answer ended: ``stop``, ``length``, ``tool_calls``, ``content_filter``, ``refusal`` and so on."""

    __slots__ = ("reason",)
    __match_args__ = ("reason",)
    reason: str


class ToolCall(_Value):
    """A call of a tool: what it is called with is text, mostly JSON."""

    __slots__ = ("arguments", "id", "name")
    __match_args__ = ("id", "name", "arguments")
    id: str
    name: str
    arguments: str

    def json(self) -> "Any":
        """The arguments, decoded."""
        import json

        return json.loads(self.arguments)


class Reply:
    """A whole answer in the wire of the request, whoever gave it.

    Frozen; may be shared, pickled, copied and used after a fork.
    """

    __slots__ = ("_body", "_json", "_native", "_receipt", "_said")
    __match_args__ = ("text", "tool_calls")

    def __init__(self, native: "NativeReply | None", body: bytes = b"", said: str = "", receipt: str = "") -> None:
        self._native = native
        self._body: "bytes | None" = body if native is None else None
        self._said: "dict[str, Any] | None" = None
        self._receipt: "RouteReceipt | None" = None if native is not None else RouteReceipt(receipt)
        self._json: "Any" = None
        if native is None:
            import json

            self._said = json.loads(said)

    @property
    def body(self) -> bytes:
        """The answer as bytes."""
        if self._body is None:
            assert self._native is not None
            self._body = self._native.body()
        return self._body

    @property
    def text(self) -> str:
        """What was said."""
        return str(self._told()["text"])

    @property
    def reasoning(self) -> str:
        """What was thought, as far as the provider tells."""
        return str(self._told()["reasoning"])

    @property
    def tool_calls(self) -> "tuple[ToolCall, ...]":
        """Tools that are called."""
        return tuple(ToolCall(one["id"], one["name"], one["arguments"]) for one in self._told()["tool_calls"])

    @property
    def usage(self) -> "Usage | None":
        """Tokens; None if the provider does not tell."""
        usage = self._told()["usage"]
        return None if usage is None else Usage(usage["input"], usage["output"], usage["cached"], usage["reasoning"])

    @property
    def stop(self) -> "str | None":
        """Why it ended."""
        reason = self._told()["stop"]
        return None if reason is None else str(reason)

    @property
    def receipt(self) -> RouteReceipt:
        """Who was asked, why, how long it took, what it cost."""
        if self._receipt is None:
            assert self._native is not None
            self._receipt = RouteReceipt(self._native.receipt())
        return self._receipt

    def json(self) -> "Any":
        """The body as objects, decoded once."""
        if self._json is None:
            import json

            self._json = json.loads(self.body)
        return self._json

    def _told(self) -> "dict[str, Any]":
        if self._said is None:
            import json

            assert self._native is not None
            self._said = json.loads(self._native.told())
        return self._said

    def __repr__(self) -> str:
        return f"<Reply {len(self.body)} bytes, {self.receipt.summary()}>"

    def __reduce__(self) -> "tuple[object, ...]":
        import json

        return (Reply, (None, self.body, json.dumps(self._told()), self.receipt.json()))
