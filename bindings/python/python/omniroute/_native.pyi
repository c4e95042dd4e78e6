# Generated from the Rust source by `make python-stubs`; do not edit.
"""
What the Python files of the package are built on.
"""

from typing import Final, SupportsFloat, SupportsIndex, final

__all__ = ["EXACT_TOKENS", "__version__", "Call", "Engine", "Events", "Receipt", "Reply", "RouterCore", "Work", "codes", "encode", "error_body", "wire_of_path"]

EXACT_TOKENS: Final[bool]
"""
Whether this build counts tokens with the real vocabularies.
"""

__version__: Final[str]
"""
Version of the package.
"""

@final
class Call:
    """
    One request on its way. Belongs to the event loop that polls it.
    """
    def answered(self, /, id: "int", status: "int", headers: "list[tuple[str, str]]", piece: "bytes | None" = None, whole: "bool" = False) -> None:
        """
        The head of an answer, what is there of its body, and whether that is all of it.
        """
    def broke(self, /, id: SupportsIndex, phase: str, message: str) -> None:
        """
        The exchange failed in `phase`: connect, tls, send or read.
        """
    def close(self, /) -> "list[int]":
        """
        Ends it. Gives other calls that can go on now.
        """
    def ended(self, /, id: SupportsIndex) -> None:
        """
        The body is complete.
        """
    @property
    def id(self, /) -> int:
        """
        Names the call among those of its router.
        """
    def piece(self, /, id: SupportsIndex, piece: bytes) -> None:
        """
        More of the body of an answer.
        """
    def poll(self, /) -> "tuple[int, object, list[tuple[object, ...]] | None, float | None, list[int] | None]":
        """
        Goes on as far as it can: what was found (0 waiting, 1 reply, 2 begun, 3 piece, 4 end, 5 failed) with its value, jobs,
        seconds until it has to be polled again, and other calls that can go on.
        """
    def receipt(self, /) -> "str | None":
        """
        The receipt as JSON, from the head of the answer on.
        """
    @property
    def wire(self, /) -> str:
        """
        The wire of the request and of the answer.
        """

@final
class Engine:
    """
    A compressor. Threads may share one; after a fork the child keeps its settings and forgets what was remembered.
    """
    def __new__(cls, /, text: "str", json: "bool") -> Engine:
        """
        From the text of a configuration: TOML, or JSON if `json` is true.
        """
    def compress(self, /, body: "object", wire: "str | None" = None, plan: "str | None" = None, model: "str | None" = None, session: "str | None" = None, preview: "bool" = False) -> "tuple[bytes, Receipt]":
        """
        Compresses a body. Gives the body, the same object if it is bytes and nothing changed, and the receipt.
        """
    def compress_list(self, /, messages: "list[object]", around: "dict[str, object]", wire: "str | None" = None, plan: "str | None" = None, model: "str | None" = None, session: "str | None" = None) -> "tuple[list[object] | None, Receipt]":
        """
        Compresses the list of messages of a request; `around` are the other members of the request. Gives a new list,
        or None if nothing changed, and the receipt.
        """
    def compress_text(self, /, text: "str", kind: "str | None" = None, command: "str | None" = None, exit_code: "int | None" = None, plan: "str | None" = None, model: "str | None" = None) -> "tuple[str, Receipt]":
        """
        Compresses one text that is no request. Gives the text, the same object if nothing changed, and the receipt. A
        text with a lone surrogate, which UTF-8 cannot carry, is left alone.
        """
    @property
    def plan(self, /) -> str:
        """
        The plan of calls that name none.
        """
    def stats(self, /) -> "dict[str, int]":
        """
        Sums over the calls so far.
        """

@final
class Events:
    """
    Reads the pieces of a streamed answer.
    """
    def __new__(cls, /, wire: str) -> Events:
        """
        Of an answer in this wire.
        """
    def feed(self, /, piece: "bytes | None") -> "list[tuple[object, ...]]":
        """
        What the next piece says; without one, the answer has ended. Each event is a tuple that begins with its kind.
        """

@final
class Receipt:
    """
    What one call did. Written as JSON only when asked.
    """
    @property
    def applied(self, /) -> bool:
        """
        Whether anything was changed.
        """
    def json(self, /) -> str:
        """
        The whole receipt as JSON text.
        """
    def summary(self, /) -> str:
        """
        One line for people.
        """
    @property
    def tokens_after(self, /) -> int:
        """
        Tokens as they are sent.
        """
    @property
    def tokens_before(self, /) -> int:
        """
        Tokens as they came.
        """

@final
class Reply:
    """
    A whole answer.
    """
    def body(self, /) -> bytes:
        """
        The answer in the wire of the request.
        """
    def receipt(self, /) -> str:
        """
        Who was asked, why, what it took, as JSON.
        """
    def told(self, /) -> str:
        """
        What the answer says, as JSON.
        """

@final
class RouterCore:
    """
    A router. Threads may share one; after a fork the child keeps its settings and forgets what was learned.
    """
    def __new__(cls, /, text: "str", json: "bool", seed: "int | None" = None, providers: "list[tuple[str, list[str]]] | None" = None, strategies: "list[tuple[str, object]] | None" = None, wall_ms: "int | None" = None) -> RouterCore:
        """
        From the text of a configuration: TOML, or JSON if `json` is true. With `wall_ms` its time stands still until
        it is moved.
        """
    def advance(self, /, nanoseconds: SupportsIndex) -> bool:
        """
        Moves a time that stands still, by nanoseconds; false if it is that of the machine.
        """
    def chat(self, /, body: "object", wire: "str | None" = None, session: "str | None" = None, model: "str | None" = None, stream: "bool | None" = None, timeout: "float | None" = None, tags: "list[str] | None" = None, connection: "str | None" = None, plan: "str | None" = None, request: "str | None" = None) -> "Call":
        """
        Starts a call. Nothing happens before it is polled.
        """
    def explain(self, /, body: "object", wire: "str | None" = None, session: "str | None" = None, model: "str | None" = None, tags: "list[str] | None" = None, connection: "str | None" = None) -> "tuple[str, str]":
        """
        Who would be asked, and why: for people, and as JSON.
        """
    def feedback(self, /, request: str, reward: SupportsFloat | SupportsIndex, weight: SupportsFloat | SupportsIndex) -> bool:
        """
        How good the answer of a request was, 0 to 1. False: nobody remembers the request.
        """
    def health(self, /) -> str:
        """
        How everything stands, as JSON.
        """
    def models(self, /) -> "list[str]":
        """
        Names that requests may use.
        """
    def now(self, /) -> float:
        """
        The time in seconds since 1970.
        """
    def warnings(self, /) -> "list[str]":
        """
        What is odd about the combos but not wrong.
        """

@final
class Work:
    """
    Heavy work of a call, for a thread of Python's own or at once.
    """
    def run(self, /) -> None:
        """
        Does it; a second time nothing happens.
        """

def codes() -> "list[tuple[str, str, str]]":
    """
    Code, class and meaning of every error.
    """

def encode(body: "object", what: "str" = "body") -> "bytes":
    """
    The body as bytes; the very same object if it is bytes. Messages call it `what`.
    """

def error_body(wire: "str", status: "int", code: "str", message: "str") -> "bytes":
    """
    An error as a client of a wire reads it.
    """

def wire_of_path(path: "str") -> "str | None":
    """
    The wire of the API behind the path of a URL.
    """
