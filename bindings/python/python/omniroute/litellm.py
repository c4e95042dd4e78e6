"""Compression for LiteLLM.

    import litellm
    from omniroute.litellm import CompressionLogger
    litellm.callbacks = [CompressionLogger()]

works for ``litellm.acompletion`` and its streams. For ``litellm.completion`` wrap the messages:
``litellm.completion(model=..., messages=omniroute.compress_messages(messages))``.
The receipt of a call is in ``response._hidden_params["omniroute"]`` and goes to ``on_receipt``.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from litellm.integrations.custom_logger import CustomLogger

from .compressor import Compressor
from .results import Receipt

__all__ = ["CompressionLogger"]

#: The receipt of the call that the current task is making.
_RECEIPT: ContextVar[Receipt | None] = ContextVar("omniroute_receipt", default=None)


class CompressionLogger(CustomLogger):  # type: ignore[misc]
    """Compresses what LiteLLM sends. The caller's list of messages is not touched. Tasks may share one."""

    def __init__(
        self,
        compressor: Compressor | None = None,
        *,
        session: str | None = None,
        on_receipt: Callable[[Receipt], object] | None = None,
    ) -> None:
        super().__init__()
        self.compressor = compressor if compressor is not None else Compressor()
        self.session = session
        self.on_receipt = on_receipt

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any], call_type: Any) -> dict[str, Any] | None:
        """Called by LiteLLM before a call: gives the arguments to use instead."""
        messages = kwargs.get("messages")
        _RECEIPT.set(None)
        if not isinstance(messages, list):
            return None
        done = await self.compressor.acompress_messages(
            messages, kwargs.get("tools"), wire="openai-chat", model=kwargs.get("model"), session=self.session
        )
        _RECEIPT.set(done.receipt)
        if self.on_receipt is not None:
            self.on_receipt(done.receipt)
        return {**kwargs, "messages": list(done)}

    async def async_post_call_success_deployment_hook(
        self, request_data: dict[str, Any], response: Any, call_type: Any
    ) -> Any:
        """Called by LiteLLM after a call: notes the receipt in the answer."""
        receipt, hidden = _RECEIPT.get(), getattr(response, "_hidden_params", None)
        if receipt is not None and isinstance(hidden, dict):
            hidden["omniroute"] = dict(receipt)
        return response
