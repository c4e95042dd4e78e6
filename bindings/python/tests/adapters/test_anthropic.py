"""The Anthropic SDK with compression, whole, streamed, with errors, asynchronous."""

import asyncio
from typing import Any

import anthropic
import pytest
from scripted import Provider, library_of, source

import omniroute as om
from omniroute.anthropic import Anthropic, AsyncAnthropic

LIBRARY = library_of(anthropic.DefaultHttpxClient)
ANSWER = {
    "id": "m1",
    "type": "message",
    "role": "assistant",
    "model": "claude-scripted",
    "content": [{"type": "text", "text": "done"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 1, "output_tokens": 1},
}


def chat() -> list[Any]:
    messages: list[Any] = [{"role": "user", "content": "read a.rs, twice"}]
    for ident in ("a", "b"):
        use = {"type": "tool_use", "id": ident, "name": "read", "input": {"path": "a.rs"}}
        result = {"type": "tool_result", "tool_use_id": ident, "content": source()}
        messages += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    return messages


def shorter(sent: dict[str, Any]) -> bool:
    blocks = [b for m in sent["messages"] if isinstance(m["content"], list) for b in m["content"]]
    contents = [block["content"] for block in blocks if block["type"] == "tool_result"]
    return contents[0] == source() and len(contents[1]) < len(source()) // 2


def test_whole() -> None:
    end = Provider(LIBRARY, ANSWER)
    client = Anthropic(transport=end.transport, api_key="k")
    raw = client.messages.with_raw_response.create(model="claude-scripted", max_tokens=9, messages=chat())
    assert raw.parse().content[0].text == "done"  # type: ignore[union-attr]
    assert shorter(end.bodies[0])
    assert raw.http_response.extensions["omniroute"].applied
    assert isinstance(client, anthropic.Anthropic)


def test_streamed() -> None:
    events = [
        'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}',
        'event: message_stop\ndata: {"type":"message_stop"}',
    ]
    end = Provider(LIBRARY, ANSWER, stream=events)
    client = Anthropic(transport=end.transport, api_key="k")
    stream = client.messages.create(model="claude-scripted", max_tokens=9, messages=chat(), stream=True)
    assert [event.type for event in stream] == ["content_block_delta", "message_stop"]
    assert shorter(end.bodies[0])


def test_errors_are_those_of_the_sdk() -> None:
    end = Provider(LIBRARY, {"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}, status=429)
    client = Anthropic(transport=end.transport, api_key="k", max_retries=0)
    with pytest.raises(anthropic.RateLimitError):
        client.messages.create(model="claude-scripted", max_tokens=9, messages=chat())


def test_objects_of_the_sdk_in_the_list() -> None:
    given = chat()
    use = anthropic.types.ToolUseBlock(type="tool_use", id="b", name="read", input={"path": "a.rs"})
    given[3] = {"role": "assistant", "content": [use]}
    out = om.compress_messages(given, wire="anthropic-messages")
    assert [new is old for new, old in zip(out, given, strict=True)] == [True, True, True, True, False]
    assert out[4] == om.compress_messages(chat(), wire="anthropic-messages")[4]
    assert out.changed and not out.receipt["notes"]


def test_asynchronous() -> None:
    async def main() -> None:
        end = Provider(LIBRARY, ANSWER)
        async with AsyncAnthropic(transport=end.transport, api_key="k") as client:
            await client.messages.create(model="claude-scripted", max_tokens=9, messages=chat())
        assert shorter(end.bodies[0])

    asyncio.run(main())
