"""The Anthropic SDK with compression: the same client, the same calls, shorter requests.

    from omniroute.anthropic import Anthropic
    client = Anthropic()            # every option of the SDK's own client works

The receipt of a call is in ``response.extensions["omniroute"]`` of its HTTP response and goes to ``on_receipt``.
"""

import anthropic as sdk

from ._clients import compressing
from .compressor import Compressor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .results import Receipt

__all__ = ["AsyncAnthropic", "Anthropic"]


def Anthropic(
    *,
    compressor: "Compressor | None" = None,
    session: "str | None" = None,
    on_receipt: "Callable[[Receipt], object] | None" = None,
    transport: "Any" = None,
    **options: "Any",
) -> "sdk.Anthropic":
    """A client of the SDK. ``transport`` sends in the end; the usual one if absent."""
    http = compressing(
        sdk.DefaultHttpxClient,
        asynchronous=False,
        transport=transport,
        compressor=compressor,
        session=session,
        on_receipt=on_receipt,
    )
    return sdk.Anthropic(http_client=http, **options)


def AsyncAnthropic(
    *,
    compressor: "Compressor | None" = None,
    session: "str | None" = None,
    on_receipt: "Callable[[Receipt], object] | None" = None,
    transport: "Any" = None,
    **options: "Any",
) -> "sdk.AsyncAnthropic":
    """An asynchronous client of the SDK. ``transport`` sends in the end; the usual one if absent."""
    http = compressing(
        sdk.DefaultAsyncHttpxClient,
        asynchronous=True,
        transport=transport,
        compressor=compressor,
        session=session,
        on_receipt=on_receipt,
    )
    return sdk.AsyncAnthropic(http_client=http, **options)
