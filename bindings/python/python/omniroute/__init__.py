"""Makes requests to language models shorter, and routes them, in the process, without losing a fact or a cached prefix.

>>> import omniroute as om
>>> om.compress(b'{"messages": [{"role": "user", "content": "hi"}]}').changed
False
"""

from ._native import EXACT_TOKENS, __version__
from .compressor import Compressor, acompress, compress, compress_messages, compress_text
from .errors import (
    AuthenticationError,
    Cancelled,
    ConfigError,
    ContextTooLong,
    Error,
    Filtered,
    Internal,
    NoCandidate,
    QuotaExhausted,
    RateLimited,
    RequestError,
    Timeout,
    Unavailable,
)
from .inprocess import AsyncTransport, SyncTransport
from .reply import (
    Explanation,
    ReasoningDelta,
    Reply,
    RouteReceipt,
    Stop,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from .results import Compressed, CompressedText, Messages, Receipt
from .router import Router, Stream
from .transport import CompressTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .parts import CallContext, Candidate, PlanContext, Request, Response

#: Needed by those who write parts of their own, loaded when they are asked for.
_PARTS = ("CallContext", "Candidate", "PlanContext", "Request", "Response")


def __getattr__(name: str) -> object:
    if name in _PARTS:
        from . import parts

        return getattr(parts, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "EXACT_TOKENS",
    "AsyncTransport",
    "AuthenticationError",
    "CallContext",
    "Cancelled",
    "Candidate",
    "CompressTransport",
    "Compressed",
    "CompressedText",
    "Compressor",
    "ConfigError",
    "ContextTooLong",
    "Error",
    "Explanation",
    "Filtered",
    "Internal",
    "Messages",
    "NoCandidate",
    "PlanContext",
    "QuotaExhausted",
    "RateLimited",
    "ReasoningDelta",
    "Receipt",
    "Reply",
    "Request",
    "RequestError",
    "Response",
    "RouteReceipt",
    "Router",
    "Stop",
    "Stream",
    "SyncTransport",
    "TextDelta",
    "Timeout",
    "ToolCall",
    "ToolCallDelta",
    "Unavailable",
    "Usage",
    "__version__",
    "acompress",
    "compress",
    "compress_messages",
    "compress_text",
]
