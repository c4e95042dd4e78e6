"""The Anthropic SDK with compression: the same client, the same calls, shorter requests.

    from omniroute.anthropic import Anthropic
    client = Anthropic()            # every option of the SDK's own client works

``compressor``, ``session`` and ``on_receipt`` may be given as well, and ``transport``, which sends in the end. The receipt of a
call is in ``response.extensions["omniroute"]`` of its HTTP response and goes to ``on_receipt``.

    client = AsyncAnthropic(router)      # an omniroute.Router: requests are routed in the process, without a socket
"""

import anthropic as sdk

from ._clients import Maker

__all__ = ["AsyncAnthropic", "Anthropic"]

#: A client of the SDK.
Anthropic = Maker(sdk.Anthropic, sdk.DefaultHttpxClient, "http://omniroute.invalid")

#: An asynchronous client of the SDK.
AsyncAnthropic = Maker(sdk.AsyncAnthropic, sdk.DefaultAsyncHttpxClient, "http://omniroute.invalid")
