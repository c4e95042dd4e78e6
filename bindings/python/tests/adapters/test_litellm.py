"""LiteLLM with the callback: the real client and a scripted answer."""

import asyncio
import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import litellm
import pytest
from litellm import CustomLLM, ModelResponse
from scripted import chat, source

import omniroute as om
from omniroute.litellm import CompressionLogger


class Scripted(CustomLLM):
    """Remembers what it was sent."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    async def acompletion(self, *_: Any, **kwargs: Any) -> ModelResponse:
        self.seen.append(kwargs["messages"])
        if kwargs["model"] == "down":
            raise litellm.RateLimitError("slow down", "scripted", "down")
        return litellm.completion(model="gpt-5", messages=[], mock_response="done")  # type: ignore[return-value]

    async def astreaming(self, *_: Any, **kwargs: Any) -> Any:
        self.seen.append(kwargs["messages"])
        yield {"text": "done", "is_finished": True, "finish_reason": "stop", "index": 0, "tool_use": None, "usage": None}

    def completion(self, *_: Any, **kwargs: Any) -> ModelResponse:
        self.seen.append(kwargs["messages"])
        return litellm.completion(model="gpt-5", messages=[], mock_response="done")  # type: ignore[return-value]


@pytest.fixture
def scripted() -> Any:
    provider = Scripted()
    litellm.custom_provider_map = [{"provider": "scripted", "custom_handler": provider}]
    receipts: list[om.Receipt] = []
    provider.receipts = receipts  # type: ignore[attr-defined]
    litellm.callbacks = [CompressionLogger(on_receipt=receipts.append)]
    yield provider
    litellm.callbacks = []


def shorter(messages: Any) -> bool:
    contents = [message["content"] for message in messages if message["role"] == "tool"]
    return contents[0] == source() and len(contents[1]) < len(source()) // 2


def test_whole(scripted: Any) -> None:
    given = chat()
    done = asyncio.run(litellm.acompletion(model="scripted/m", messages=given))
    assert done.choices[0].message.content == "done"
    assert shorter(scripted.seen[-1]) and given == chat()
    assert scripted.receipts[-1].applied
    assert done._hidden_params["omniroute"]["applied"] is True


def test_streamed(scripted: Any) -> None:
    async def main() -> str:
        stream = await litellm.acompletion(model="scripted/m", messages=chat(), stream=True)
        return "".join([chunk.choices[0].delta.content or "" async for chunk in stream])

    assert asyncio.run(main()) == "done" and shorter(scripted.seen[-1])


def test_errors_are_those_of_litellm(scripted: Any) -> None:
    with pytest.raises(litellm.RateLimitError):
        asyncio.run(litellm.acompletion(model="scripted/down", messages=chat(), num_retries=0))


def test_synchronous(scripted: Any) -> None:
    litellm.completion(model="scripted/m", messages=om.compress_messages(chat()))
    assert shorter(scripted.seen[-1])
