# Generated from the Rust source by `make python-stubs`; do not edit.
"""
What the Python files of the package are built on.
"""

from typing import Final, final

__all__ = ["EXACT_TOKENS", "__version__", "Engine", "Receipt", "codes", "encode", "wire_of_path"]

EXACT_TOKENS: Final[bool]
"""
Whether this build counts tokens with the real vocabularies.
"""

__version__: Final[str]
"""
Version of the package.
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

def codes() -> "list[tuple[str, str, str]]":
    """
    Code, class and meaning of every error.
    """

def encode(body: "object", what: "str" = "body") -> "bytes":
    """
    The body as bytes; the very same object if it is bytes. Messages call it `what`.
    """

def wire_of_path(path: "str") -> "str | None":
    """
    The wire of the API behind the path of a URL.
    """
