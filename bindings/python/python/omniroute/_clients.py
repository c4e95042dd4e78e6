"""What the clients of two SDKs have in common: which httpx they are built on, and a transport for it."""

import sys

from .transport import CompressTransport

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = ["compressing"]


def compressing(base: "type[Any]", *, asynchronous: bool, transport: "Any", **options: "Any") -> "Any":
    """An HTTP client of the SDK's own class ``base`` that compresses what it sends.

    ``transport`` is what sends in the end; the usual one of the SDK's HTTP library if it is None.
    """
    if transport is None:
        home = next(kind.__module__ for kind in base.__mro__ if kind.__module__.split(".")[0] in ("httpx", "httpx2"))
        library = sys.modules[home.split(".")[0]]
        transport = library.AsyncHTTPTransport() if asynchronous else library.HTTPTransport()
    return base(transport=CompressTransport(transport, **options))
