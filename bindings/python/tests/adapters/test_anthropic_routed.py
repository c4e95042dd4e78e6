"""The Anthropic SDK through a router of the process, answered by a vendor of another wire."""

import asyncio
from typing import Any

import anthropic
import pytest
from routed import BUSY, CALL, router, streamed, whole

from omniroute.anthropic import Anthropic, AsyncAnthropic

ASK: dict[str, Any] = {"model": "daily", "max_tokens": 100, "messages": [{"role": "user", "content": "hello"}]}


def test_whole_streamed_and_tools() -> None:
    async def main() -> None:
        receipts: list[Any] = []
        client = AsyncAnthropic(made, on_receipt=receipts.append)
        answer = await client.messages.create(**ASK)
        assert answer.content[0].text == "hello back" and answer.stop_reason == "end_turn"
        answer = await client.messages.create(**ASK)
        assert answer.content[-1].input == {"path": "a.rs"} and answer.stop_reason == "tool_use"
        async with client.messages.stream(**ASK) as stream:
            assert "".join([text async for text in stream.text_stream]) == "one two"
        assert [receipt["finished"] for receipt in receipts] == [True] * 3

    made, vendors = router(whole("hello back"), whole("", [CALL]), streamed("one", " two"))
    asyncio.run(main())
    assert all("api.openai.com" in request.url for request in vendors.requests)


def test_errors_are_the_sdks_own() -> None:
    made, vendors = router(BUSY)
    client = Anthropic(made)
    with pytest.raises(anthropic.RateLimitError):
        client.messages.create(**ASK)
    with pytest.raises(anthropic.NotFoundError):
        client.messages.create(**{**ASK, "model": "nobody/knows"})
    assert len(vendors.requests) == 1
    made.sync.close()
