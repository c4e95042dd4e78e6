"""The OpenAI SDK through a router of the process: no socket, no port."""

import asyncio
import pathlib
import sys
from typing import Any

import openai
import pytest
from routed import BUSY, CALL, router, streamed, whole
from scripted import library_of

import omniroute as om
from omniroute.openai import AsyncOpenAI, OpenAI

MESSAGES: list[Any] = [{"role": "user", "content": "hello"}]


def test_whole_with_tools_and_receipt() -> None:
    async def main() -> None:
        receipts: list[Any] = []
        client = AsyncOpenAI(made, on_receipt=receipts.append)
        answer = await client.chat.completions.create(model="daily", messages=MESSAGES)
        assert answer.choices[0].message.content == "hello back"
        answer = await client.chat.completions.create(model="daily", messages=MESSAGES)
        (call,) = answer.choices[0].message.tool_calls or ()
        assert call.id == "c1"
        assert [receipt.provider for receipt in receipts] == ["openai", "openai"]
        assert "daily" in [model.id async for model in client.models.list()]
        await client.close()

    made, vendors = router(whole("hello back"), whole("", [CALL]))
    asyncio.run(main())
    assert len(vendors.requests) == 2


def test_streamed_and_left() -> None:
    async def main() -> None:
        receipts: list[Any] = []
        client = AsyncOpenAI(made, on_receipt=receipts.append)
        stream = await client.chat.completions.create(model="daily", messages=MESSAGES, stream=True)
        words = [chunk.choices[0].delta.content async for chunk in stream if chunk.choices]
        assert words[:2] == ["one", " two"]
        assert receipts[0]["finished"]
        # The client stops reading at the mark of the end: the answer is whole, its connection is not read to the end.
        before = vendors.aborted
        stream = await client.chat.completions.create(model="daily", messages=MESSAGES, stream=True)
        async for _ in stream:
            break
        await stream.close()
        assert vendors.aborted == before + 1 and not receipts[1]["finished"]

    made, vendors = router(streamed("one", " two"), streamed("one", " two", " three"))
    asyncio.run(main())


def test_responses() -> None:
    async def main() -> None:
        client = AsyncOpenAI(made)
        answer = await client.responses.create(model="daily", input="hello")
        assert answer.output_text == "hello back"

    made, _ = router(whole("hello back"))
    asyncio.run(main())


def test_errors_are_the_sdks_own() -> None:
    async def main() -> None:
        client = AsyncOpenAI(made)
        with pytest.raises(openai.RateLimitError) as caught:
            await client.chat.completions.create(model="daily", messages=MESSAGES)
        assert caught.value.response.extensions["omniroute"]["attempts"][0]["kind"] == "rate_limited"
        with pytest.raises(openai.NotFoundError):
            await client.chat.completions.create(model="nobody/knows", messages=MESSAGES)
        with pytest.raises(openai.NotFoundError):
            await client.embeddings.create(model="daily", input="x", encoding_format="float")

    made, vendors = router(BUSY, BUSY)
    asyncio.run(main())
    assert len(vendors.requests) == 1, "one layer of retries"


def test_the_clients_timeout_is_honoured() -> None:
    async def main() -> None:
        for stream in (False, True):
            with pytest.raises(openai.APITimeoutError):
                await AsyncOpenAI(made, timeout=0.05).chat.completions.create(
                    model="daily", messages=MESSAGES, stream=stream
                )

    made, vendors = router(whole("late") | {"after_ms": 60_000}, whole("late") | {"after_ms": 60_000})
    asyncio.run(main())
    assert vendors.aborted == 2


def test_blocking_whole_and_streamed() -> None:
    made, _ = router(whole("hello back"), streamed("one", " two"), BUSY)
    client = OpenAI(made)
    answer = client.chat.completions.create(model="daily", messages=MESSAGES)
    assert answer.choices[0].message.content == "hello back"
    with client.chat.completions.create(model="daily", messages=MESSAGES, stream=True) as stream:
        assert [chunk.choices[0].delta.content for chunk in stream][:2] == ["one", " two"]
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model="daily", messages=MESSAGES)
    made.sync.close()


def test_a_client_of_ones_own() -> None:
    async def main() -> None:
        http = library.AsyncClient(transport=om.AsyncTransport(made, session="s1"))
        client = openai.AsyncOpenAI(base_url="http://x.invalid/v1", api_key="x", max_retries=0, http_client=http)
        answer = await client.chat.completions.create(model="daily", messages=MESSAGES)
        assert answer.choices[0].message.content == "hello back"

    library = library_of(openai.DefaultAsyncHttpxClient)
    made, _ = router(whole("hello back"))
    asyncio.run(main())
    with pytest.raises(TypeError, match="no other"):
        AsyncOpenAI(made, compressor=om.Compressor())


def test_a_router_sends_through_a_client_of_httpx() -> None:
    """The other way around: the router sends with the program's own client, over real sockets."""
    sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "router"))
    from vendor import ASK, config, hangs, says, vendor

    async def main() -> None:
        async with library.AsyncClient() as client:
            async with om.Router(config(one), transport=client) as router:
                assert (await router.chat(ASK)).text == "hello back"
                events = [event async for event in router.stream(ASK)]
                assert om.TextDelta("hello") in events and events[-1] == om.Stop("stop")
            async with om.Router(config(slow), transport=client) as router:
                task = asyncio.create_task(router.chat(ASK))
                while not slow.asked.is_set():
                    await asyncio.sleep(0.001)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                assert await asyncio.to_thread(slow.closed.wait, 10)
            assert not client.is_closed

    library = library_of(openai.DefaultAsyncHttpxClient)
    with vendor(says("hello back")) as one, vendor(hangs) as slow:
        asyncio.run(main())
        assert one.requests[0][1]["authorization"] == "Bearer key-0"
    with pytest.raises(TypeError, match="AsyncClient"):
        om.Router(config(one), transport=library.Client())
