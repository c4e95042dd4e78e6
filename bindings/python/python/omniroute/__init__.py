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

__all__ = [
    "EXACT_TOKENS",
    "AsyncTransport",
    "AuthenticationError",
    "Cancelled",
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
    "QuotaExhausted",
    "RateLimited",
    "ReasoningDelta",
    "Receipt",
    "Reply",
    "RequestError",
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
