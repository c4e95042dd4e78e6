"""The OpenAI SDK with compression, whole, streamed, with tools, with errors, asynchronous."""

import asyncio
import http.server
import json
import threading
from typing import Any

import openai
import pytest
from scripted import Provider, chat, library_of, source

import omniroute as om
from omniroute.openai import AsyncOpenAI, OpenAI

LIBRARY = library_of(openai.DefaultHttpxClient)
ANSWER = {
    "id": "c1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "done"}}],
}


def provider(**options: Any) -> Provider:
    return Provider(LIBRARY, options.pop("answer", ANSWER), **options)


def shorter(sent: dict[str, Any]) -> bool:
    contents = [message["content"] for message in sent["messages"] if message["role"] == "tool"]
    return contents[0] == source() and len(contents[1]) < len(source()) // 2


def test_whole() -> None:
    receipts: list[om.Receipt] = []
    end = provider()
    client = OpenAI(transport=end.transport, api_key="k", on_receipt=receipts.append)
    given = chat()
    raw = client.chat.completions.with_raw_response.create(model="gpt-5", messages=given)  # type: ignore[arg-type]
    assert raw.parse().choices[0].message.content == "done"
    assert shorter(end.bodies[0]) and given == chat()
    assert receipts[0].applied and raw.http_response.extensions["omniroute"] is receipts[0]
    assert isinstance(client, openai.OpenAI)


def test_streamed() -> None:
    chunk = 'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s}]}'
    events = [chunk % '{"content":"do"}', chunk % '{"content":"ne"}', "data: [DONE]"]
    end = provider(stream=events)
    client = OpenAI(transport=end.transport, api_key="k")
    stream = client.chat.completions.create(model="gpt-5", messages=chat(), stream=True)  # type: ignore[call-overload]
    assert "".join(piece.choices[0].delta.content for piece in stream) == "done"
    assert shorter(end.bodies[0])


def test_responses_and_other_paths() -> None:
    end = provider(answer={"id": "r", "object": "response", "output": [], "data": [], "model": "m"})
    client = OpenAI(transport=end.transport, api_key="k")
    items: list[Any] = []
    for ident in ("a", "b"):
        items.append({"type": "function_call", "call_id": ident, "name": "read", "arguments": '{"path": "a.rs"}'})
        items.append({"type": "function_call_output", "call_id": ident, "output": source()})
    client.responses.create(model="gpt-5", input=items)
    outputs = [item["output"] for item in end.bodies[0]["input"] if "output" in item]
    assert outputs[0] == source() and len(outputs[1]) < len(source()) // 2
    client.embeddings.create(model="m", input="text", encoding_format="float")
    assert end.bodies[1]["input"] == "text"


def test_errors_are_those_of_the_sdk() -> None:
    end = provider(answer={"error": {"message": "slow down"}}, status=429)
    client = OpenAI(transport=end.transport, api_key="k", max_retries=0)
    with pytest.raises(openai.RateLimitError):
        client.chat.completions.create(model="gpt-5", messages=chat())  # type: ignore[arg-type]


class Stuck(LIBRARY.AsyncBaseTransport):  # type: ignore[misc, name-defined]
    """Never answers."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.cancelled = False

    async def handle_async_request(self, request: Any) -> Any:
        self.reached.set()
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            self.cancelled = True
            raise


def test_asynchronous_and_cancelled() -> None:
    async def main() -> None:
        end = provider()
        async with AsyncOpenAI(transport=end.transport, api_key="k") as client:
            done = await client.chat.completions.create(model="gpt-5", messages=chat())  # type: ignore[arg-type]
            assert done.choices[0].message.content == "done" and shorter(end.bodies[0])
        stuck = Stuck()
        async with AsyncOpenAI(transport=stuck, api_key="k") as client:
            call = client.chat.completions.create(model="gpt-5", messages=chat())  # type: ignore[arg-type]
            task = asyncio.ensure_future(call)
            await stuck.reached.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert stuck.cancelled

    asyncio.run(main())


def test_objects_of_the_sdk_in_the_list() -> None:
    call = {"id": "b", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.rs"}'}}
    answered = openai.types.chat.ChatCompletionMessage.model_validate(
        {"role": "assistant", "content": None, "tool_calls": [call]}
    )
    given = [*chat()[:3], answered, chat()[4]]
    out = om.compress_messages(given)
    assert out.changed and out == [*given[:4], om.compress_messages(chat())[4]]
    assert out[3] is answered and not out.receipt["notes"]


class Proxy(http.server.BaseHTTPRequestHandler):
    """Answers itself and remembers what came."""

    seen: list[tuple[str, dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.seen.append((self.path, json.loads(body)))
        answer = json.dumps(ANSWER).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: Any) -> None:
        pass


def test_the_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    server = http.server.HTTPServer(("127.0.0.1", 0), Proxy)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name in ("no_proxy", "NO_PROXY", "all_proxy", "ALL_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{server.server_port}")
    try:
        with OpenAI(api_key="k", base_url="http://provider.invalid/v1", max_retries=0) as client:
            client.chat.completions.create(model="gpt-5", messages=chat())  # type: ignore[arg-type]
    finally:
        server.shutdown()
        server.server_close()
    ((path, sent),) = Proxy.seen
    assert path == "http://provider.invalid/v1/chat/completions" and shorter(sent)


def test_any_client_of_the_library() -> None:
    end = provider()
    client = LIBRARY.Client(transport=om.CompressTransport(end.transport))
    with client:
        client.post("http://provider.invalid/v1/chat/completions", json={"model": "m", "messages": chat()})
        client.post("http://provider.invalid/v1/other", json={"messages": chat()})
    assert shorter(end.bodies[0]) and not shorter(end.bodies[1])
