"""Compression for LangChain agents.

    from langchain.agents import create_agent
    from omniroute.langchain import CompressionMiddleware
    agent = create_agent(model, tools, middleware=[CompressionMiddleware()])

What the agent keeps is not touched: only the request to the model is shorter. The receipt of a call is in the answer's
``response_metadata["omniroute"]``.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage, convert_to_openai_messages

from .compressor import Compressor
from .results import Messages, Receipt

__all__ = ["CompressionMiddleware", "compress_history"]


def compress_history(
    messages: Sequence[BaseMessage], compressor: Compressor, *, session: str | None = None
) -> tuple[list[BaseMessage], Receipt]:
    """The messages as they are to be sent, the same objects where nothing changed, and the receipt."""
    plain, owners = _plain(messages)
    return _merged(messages, owners, plain, compressor.compress_messages(plain, session=session))


class CompressionMiddleware(AgentMiddleware[Any, Any]):
    """Compresses what an agent sends to its model. Threads may share one; it can be pickled if the compressor can."""

    def __init__(self, compressor: Compressor | None = None, *, session: str | None = None) -> None:
        super().__init__()
        self.compressor = compressor if compressor is not None else Compressor()
        self.session = session

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Compresses and calls."""
        sent, receipt = compress_history(request.messages, self.compressor, session=self.session)
        return _noted(handler(request.override(messages=sent)), receipt)  # type: ignore[arg-type]

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Compresses and calls."""
        plain, owners = _plain(request.messages)
        done = await self.compressor.acompress_messages(plain, session=self.session)
        sent, receipt = _merged(request.messages, owners, plain, done)
        return _noted(await handler(request.override(messages=sent)), receipt)  # type: ignore[arg-type]


def _plain(messages: Sequence[BaseMessage]) -> tuple[list[Any], list[int | None]]:
    """The messages in the shape of OpenAI, and for each the index of the message it stands for alone."""
    plain: list[Any] = []
    owners: list[int | None] = []
    for index, message in enumerate(messages):
        made = convert_to_openai_messages([message])
        parts = made if isinstance(made, list) else [made]
        plain.extend(parts)
        owners.extend([index if len(parts) == 1 else None] * len(parts))
    return plain, owners


def _merged(
    messages: Sequence[BaseMessage], owners: list[int | None], plain: list[Any], done: Messages
) -> tuple[list[BaseMessage], Receipt]:
    out = list(messages)
    for index, given, new in zip(owners, plain, done, strict=True):
        if index is not None and new is not given:
            out[index] = messages[index].model_copy(update={"content": new["content"]})
    return out, done.receipt


def _noted(response: ModelResponse[Any], receipt: Receipt) -> ModelResponse[Any]:
    for message in getattr(response, "result", [response]):
        if isinstance(message, BaseMessage):
            metadata = getattr(message, "response_metadata", None)
            if isinstance(metadata, dict):
                metadata["omniroute"] = dict(receipt)
    return response
