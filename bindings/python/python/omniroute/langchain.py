"""Compression for LangChain agents.

    from langchain.agents import create_agent
    from omniroute.langchain import CompressionMiddleware
    agent = create_agent(model, tools, middleware=[CompressionMiddleware()])

What the agent keeps is not touched: only the request to the model is shorter. The receipt of a call is in the answer's
``response_metadata["omniroute"]``.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage

from .compressor import Compressor
from .results import Messages, Receipt

__all__ = ["CompressionMiddleware", "compress_history"]

#: What :func:`_plain` writes, whatever the blocks in it are.
_WIRE = "openai-chat"

#: Names of roles in requests, by the type of a message.
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}


def compress_history(
    messages: Sequence[BaseMessage], compressor: Compressor, *, session: str | None = None
) -> tuple[list[BaseMessage], Receipt]:
    """The messages as they are to be sent, the same objects where nothing changed, and the receipt."""
    plain = [_plain(message) for message in messages]
    done = compressor.compress_messages(plain, wire=_WIRE, session=session)
    return _merged(messages, plain, done), done.receipt


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
        plain = [_plain(message) for message in request.messages]
        done = await self.compressor.acompress_messages(plain, wire=_WIRE, session=self.session)
        sent = _merged(request.messages, plain, done)
        return _noted(await handler(request.override(messages=sent)), done.receipt)  # type: ignore[arg-type]


def _plain(message: BaseMessage) -> dict[str, Any]:
    """What compression looks at. Blocks of the content stay in their places."""
    content: Any = message.content
    if isinstance(content, list):
        content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in content]
    plain: dict[str, Any] = {"role": _ROLES.get(message.type, "user"), "content": content}
    calls = getattr(message, "tool_calls", None)
    if calls:
        plain["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": json.dumps(call["args"])},
            }
            for call in calls
        ]
    if message.type == "tool":
        plain["tool_call_id"] = getattr(message, "tool_call_id", None)
    return plain


def _merged(messages: Sequence[BaseMessage], plain: list[dict[str, Any]], done: Messages) -> list[BaseMessage]:
    """The messages with the contents of ``done``; everything else of a message is as it was."""
    out = list(messages)
    for index, (given, new) in enumerate(zip(plain, done, strict=True)):
        if new is given:
            continue
        content: Any = new["content"]
        if isinstance(content, list):
            content = [
                block["text"] if isinstance(own, str) else block
                for own, block in zip(messages[index].content, content, strict=True)
            ]
        out[index] = messages[index].model_copy(update={"content": content})
    return out


def _noted(response: ModelResponse[Any], receipt: Receipt) -> ModelResponse[Any]:
    for message in getattr(response, "result", [response]):
        if isinstance(message, BaseMessage):
            metadata = getattr(message, "response_metadata", None)
            if isinstance(metadata, dict):
                metadata["omniroute"] = dict(receipt)
    return response
