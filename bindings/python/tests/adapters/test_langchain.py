"""LangChain with the middleware: a real agent and a scripted model."""

import asyncio
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from scripted import source

import omniroute as om
from omniroute.langchain import CompressionMiddleware, compress_history


@tool
def read(path: str) -> str:
    """Reads a file."""
    return source()


class Scripted(BaseChatModel):
    """Calls the tool twice, then ends. Remembers what it was sent."""

    seen: list[Any] = []
    fail: bool = False

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _next(self, messages: list[BaseMessage]) -> AIMessage:
        if self.fail:
            raise ValueError("the provider is down")
        self.seen.append(list(messages))
        results = sum(isinstance(message, ToolMessage) for message in messages)
        if results == 2:
            return AIMessage("done")
        return AIMessage("", tool_calls=[{"name": "read", "args": {"path": "a.rs"}, "id": f"c{results}"}])

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._next(messages))])

    def _stream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> Any:
        made = self._next(messages)
        chunks = [
            {"name": call["name"], "args": '{"path": "a.rs"}', "id": call["id"], "index": n}
            for n, call in enumerate(made.tool_calls)
        ]
        yield ChatGenerationChunk(message=AIMessageChunk(made.content, tool_call_chunks=chunks))


def check(model: Scripted, state: dict[str, Any]) -> None:
    last = [message.content for message in model.seen[-1] if isinstance(message, ToolMessage)]
    assert last[0] == source() and len(last[1]) < len(source()) // 2
    kept = [message.content for message in state["messages"] if isinstance(message, ToolMessage)]
    assert kept == [source(), source()], "what the agent keeps is as it was"
    final = state["messages"][-1]
    assert final.content == "done" and final.response_metadata["omniroute"]["applied"] is True
    # What was sent once is sent the same way again.
    earlier, later = model.seen[-2], model.seen[-1]
    assert [m.content for m in later[: len(earlier)]] == [m.content for m in earlier]


START: Any = {"messages": [HumanMessage("read a.rs, twice")]}


def test_whole() -> None:
    model = Scripted(seen=[])
    check(model, create_agent(model, [read], middleware=[CompressionMiddleware()]).invoke(START))


def test_asynchronous() -> None:
    model = Scripted(seen=[])
    agent = create_agent(model, [read], middleware=[CompressionMiddleware(om.Compressor(), session="t1")])
    check(model, asyncio.run(agent.ainvoke(START)))


def test_streamed() -> None:
    model = Scripted(seen=[])
    agent = create_agent(model, [read], middleware=[CompressionMiddleware()])
    states = list(agent.stream(START, stream_mode="values"))
    check(model, states[-1])


def test_errors_pass_through() -> None:
    agent = create_agent(Scripted(seen=[], fail=True), [read], middleware=[CompressionMiddleware()])
    with pytest.raises(ValueError, match="the provider is down"):
        agent.invoke(START)


def test_history() -> None:
    call = {"name": "read", "args": {"path": "a.rs"}}
    messages: list[BaseMessage] = [HumanMessage("hi")]
    for ident in ("a", "b"):
        messages.append(AIMessage("", tool_calls=[call | {"id": ident}]))
        messages.append(ToolMessage(source(), tool_call_id=ident))
    sent, receipt = compress_history(messages, om.Compressor())
    assert receipt.applied
    assert [new is old for new, old in zip(sent, messages, strict=True)] == [True, True, True, True, False]
    assert isinstance(sent[4], ToolMessage) and sent[4].tool_call_id == "b"


def test_contents_of_blocks_keep_everything_but_the_text() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aaaa"}}
    messages: list[BaseMessage] = [HumanMessage(["hi", image])]
    for ident in ("a", "b"):
        call: Any = {"name": "read", "args": {"path": "a.rs"}, "id": ident}
        messages.append(AIMessage([thought], tool_calls=[call]))
        text = {"type": "text", "text": source(), "cache_control": {"type": "ephemeral"}}
        messages.append(ToolMessage([text, image, "end"], tool_call_id=ident, artifact=3))
    sent, receipt = compress_history(messages, om.Compressor())
    assert receipt.applied and sent[:4] == messages[:4]
    last: Any = sent[4]
    assert last.artifact == 3 and last.content[1:] == [image, "end"]
    assert set(last.content[0]) == {"type", "text", "cache_control"}
    assert len(last.content[0]["text"]) < len(source()) // 2
