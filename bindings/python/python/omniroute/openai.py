"""The OpenAI SDK with compression: the same client, the same calls, shorter requests.

    from omniroute.openai import OpenAI
    client = OpenAI()            # every option of the SDK's own client works

``compressor``, ``session`` and ``on_receipt`` may be given as well, and ``transport``, which sends in the end. The receipt of a
call is in ``response.extensions["omniroute"]`` of its HTTP response and goes to ``on_receipt``.

    client = AsyncOpenAI(router)      # an omniroute.Router: requests are routed in the process, without a socket
"""

import openai as sdk

from ._clients import Maker

__all__ = ["AsyncOpenAI", "OpenAI"]

#: A client of the SDK.
OpenAI = Maker(sdk.OpenAI, sdk.DefaultHttpxClient, "http://omniroute.invalid/v1")

#: An asynchronous client of the SDK.
AsyncOpenAI = Maker(sdk.AsyncOpenAI, sdk.DefaultAsyncHttpxClient, "http://omniroute.invalid/v1")
