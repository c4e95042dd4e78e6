"""What calls give back. Values are frozen, can be pickled and copied, and are safe to share between threads and to use
after a fork."""

from _collections_abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ._native import Receipt as NativeReceipt

__all__ = ["Compressed", "CompressedText", "Messages", "Receipt"]


class Receipt(Mapping):  # type: ignore[type-arg]
    """What was done to a request, and why the rest was not: a mapping, decoded when it is first looked into.

    Holds no text of the request. ``applied``, ``tokens_before`` and ``tokens_after`` cost nothing. Frozen; may be shared,
    pickled, copied and used after a fork.
    """

    __slots__ = ("_native", "_text", "_line", "_data")
    _native: "NativeReceipt | None"
    _data: "dict[str, Any] | None"

    def __init__(self, native: "NativeReceipt | None" = None, text: str = "", line: str = "") -> None:
        self._native = native
        self._text = text
        self._line = line
        self._data = None

    def json(self) -> str:
        """The receipt as JSON text."""
        return self._native.json() if self._native is not None else self._text

    def summary(self) -> str:
        """One line for people."""
        return self._native.summary() if self._native is not None else self._line

    @property
    def applied(self) -> bool:
        """Whether anything was changed."""
        return self._native.applied if self._native is not None else bool(self["applied"])

    @property
    def tokens_before(self) -> int:
        """Tokens as they came."""
        return self._native.tokens_before if self._native is not None else int(self["tokens_before"])

    @property
    def tokens_after(self) -> int:
        """Tokens as they are sent."""
        return self._native.tokens_after if self._native is not None else int(self["tokens_after"])

    def _all(self) -> "dict[str, Any]":
        if self._data is None:
            import json

            self._data = json.loads(self.json())
        return self._data

    def __getitem__(self, key: str) -> "Any":
        return self._all()[key]

    def __iter__(self) -> "Iterator[str]":
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def __repr__(self) -> str:
        return f"<Receipt {self.summary()}>"

    def __reduce__(self) -> "tuple[object, ...]":
        return (Receipt, (None, self.json(), self.summary()))


class Compressed:
    """A request body that is ready to be sent, and the record of what was done.

    Frozen; may be shared, pickled, copied and used after a fork.
    """

    __slots__ = ("_body", "_given", "_json", "_receipt")
    __match_args__ = ("body", "receipt")

    def __init__(self, body: bytes, receipt: Receipt, given: "object" = None) -> None:
        self._body = body
        self._receipt = receipt
        self._given = given
        self._json: "Any" = None

    @property
    def body(self) -> bytes:
        """The body. The very object that was given if that was bytes and nothing changed."""
        return self._body

    @property
    def receipt(self) -> Receipt:
        """What was done and what was not, and why."""
        return self._receipt

    @property
    def text(self) -> str:
        """The body as text."""
        return self._body.decode()

    @property
    def changed(self) -> bool:
        """Whether the body differs from the one that was given."""
        return self._receipt.applied

    @property
    def saved_ratio(self) -> float:
        """Share of the request's tokens that was saved, from 0 to 1."""
        before = self._receipt.tokens_before
        return (before - self._receipt.tokens_after) / before if before else 0.0

    def json(self) -> "Any":
        """The body as objects, decoded once. The very dictionary that was given if nothing changed."""
        if self._json is None:
            if isinstance(self._given, dict) and not self.changed:
                self._json = self._given
            else:
                import json

                self._json = json.loads(self._body)
        return self._json

    def __repr__(self) -> str:
        return f"<Compressed {len(self._body)} bytes, {self._receipt.summary()}>"

    def __reduce__(self) -> "tuple[object, ...]":
        return (Compressed, (self._body, self._receipt))


class CompressedText:
    """A text that is ready to be put into a request, and the record of what was done.

    Frozen; may be shared, pickled, copied and used after a fork.
    """

    __slots__ = ("_receipt", "_text")
    __match_args__ = ("text", "receipt")

    def __init__(self, text: str, receipt: Receipt) -> None:
        self._text = text
        self._receipt = receipt

    @property
    def text(self) -> str:
        """The text. The very object that was given if nothing changed."""
        return self._text

    @property
    def receipt(self) -> Receipt:
        """What was done and what was not, and why; its figures are those of the text alone."""
        return self._receipt

    @property
    def changed(self) -> bool:
        """Whether the text differs from the one that was given."""
        return self._receipt.applied

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<CompressedText {len(self._text)} characters, {self._receipt.summary()}>"

    def __reduce__(self) -> "tuple[object, ...]":
        return (CompressedText, (self._text, self._receipt))


class Messages(list):  # type: ignore[type-arg]
    """A list of messages that is ready to be sent. Messages that did not change are the objects that were given; the
    others are copies. The list that was given is never changed.

    A list like any other; may be pickled, copied and used after a fork if the messages may.
    """

    __slots__ = ("receipt",)

    def __init__(self, messages: "Iterable[Any]", receipt: Receipt) -> None:
        super().__init__(messages)
        self.receipt = receipt

    @property
    def changed(self) -> bool:
        """Whether any message differs from the one that was given."""
        return self.receipt.applied

    def __reduce__(self) -> "tuple[object, ...]":
        return (Messages, (list(self), self.receipt))
