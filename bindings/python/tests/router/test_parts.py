"""Providers and strategies that are written in Python."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import omniroute as om
import pytest
from omniroute.parts import Response
from vendor import config, says, vendor

ASK = {"model": "mine/small", "messages": [{"role": "user", "content": "hello"}]}


class Mine:
    id = "mine"
    models = ["small"]

    def __init__(self, said: Any = "hello") -> None:
        self.said = said
        self.asked: list[Any] = []
        self.ended = 0

    async def chat(self, request: Any, cx: Any) -> Any:
        self.asked.append((request.model, request.stream, request.messages, cx.provider))
        if isinstance(self.said, BaseException):
            raise self.said
        return self.said() if callable(self.said) else self.said


class Talks(Mine):
    async def chat(self, request: Any, cx: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        try:
            yield "one"
            yield om.TextDelta(" two")
            yield om.ToolCallDelta(0, "c1", "read", "")
            yield om.ToolCallDelta(0, None, None, '{"path": "a"}')
            yield om.Usage(5, 2, 1, 0)
        finally:
            self.ended += 1


def chat(provider: Any, ask: Any = ASK, **options: Any) -> om.Reply:
    async def main() -> om.Reply:
        async with om.Router({}, providers=[provider]) as router:
            return await router.chat(ask, **options)

    return asyncio.run(main())


def test_a_provider_answers_in_every_way() -> None:
    mine = Mine()
    assert chat(mine).text == "hello" and mine.asked == [("small", False, ASK["messages"], "mine")]
    call = om.ToolCall("c1", "read", '{"path": "a"}')
    reply = chat(Mine(Response("hi", tool_calls=[call], usage=om.Usage(5, 2, 1, 0))))
    assert (reply.text, reply.tool_calls, reply.usage, reply.stop) == ("hi", (call,), om.Usage(5, 2, 1, 0), "tool_calls")
    assert reply.tool_calls[0].json() == {"path": "a"}
    reply = chat(Talks())
    assert (reply.text, reply.tool_calls, reply.usage) == ("one two", (call,), om.Usage(5, 2, 1, 0))
    ask = {"model": "mine/small", "max_tokens": 9, "messages": ASK["messages"]}
    assert chat(Mine(), ask, wire="anthropic").json()["content"] == [{"type": "text", "text": "hello"}]


def test_a_provider_streams_and_is_left() -> None:
    async def main() -> None:
        async with om.Router({}, providers=[talks]) as router:
            events = [event async for event in router.stream(ASK)]
            assert events[:2] == [om.TextDelta("one"), om.TextDelta(" two")]
            assert om.ToolCallDelta(0, "c1", "read", "") in events and om.Stop("tool_calls") in events
            assert talks.ended == 1
            async with router.stream(ASK) as answer:
                async for _ in answer:
                    break
            while talks.ended < 2:
                await asyncio.sleep(0)
            # One that is whole although it is to be streamed.
        async with om.Router({}, providers=[Mine()]) as router:
            assert om.TextDelta("hello") in [event async for event in router.stream(ASK)]

    talks = Talks()
    asyncio.run(main())


@pytest.mark.parametrize(
    ("raised", "kind", "code"),
    [
        (om.Filtered("not that"), om.Filtered, "filtered"),
        (om.RateLimited("later", code="rate_limited"), om.RateLimited, "rate_limited"),
        (ValueError("oh"), om.Unavailable, "unavailable"),
        (12, om.Unavailable, "unavailable"),
    ],
)
def test_what_a_provider_raises(raised: Any, kind: type[om.Error], code: str) -> None:
    with pytest.raises(kind) as caught:
        chat(Mine(raised))
    assert caught.value.code == code and caught.value.receipt is not None


def test_cancelling_reaches_the_provider() -> None:
    class Slow(Mine):
        async def chat(self, request: Any, cx: Any) -> Any:
            try:
                await asyncio.sleep(60)
            finally:
                self.ended += 1

    slow = Slow()
    with pytest.raises(om.Cancelled):
        chat(slow, timeout=0.01)
    assert slow.ended == 1


class Backwards:
    id = "backwards"

    def __init__(self) -> None:
        self.seen: list[Any] = []
        self.outcomes: list[Any] = []

    def plan(self, cx: Any, candidates: list[Any]) -> Any:
        self.seen.append((cx.task, [one.key for one in candidates]))
        return reversed(candidates)

    def observe(self, outcome: Any) -> None:
        self.outcomes.append((outcome.key, outcome.failed))


def test_a_strategy_decides_and_is_told() -> None:
    async def main() -> None:
        settings = config(one, two)
        settings["combos"][0]["strategy"] = "backwards"
        async with om.Router(settings, strategies=[strategy]) as router:
            reply = await router.chat({**ASK, "model": "all"})
            assert reply.text == "second" and reply.receipt["plan"]["strategy"] == "backwards"
            assert "vendor1" in str(router.explain({**ASK, "model": "all"}))

    strategy = Backwards()
    with vendor(says("first")) as one, vendor(says("second")) as two:
        asyncio.run(main())
    assert strategy.seen[0] == ("default", ["vendor0/test/m", "vendor1/test/m"])
    assert strategy.outcomes == [("vendor1/test/m", None)]


@pytest.mark.parametrize("plan", [lambda cx, c: [7], lambda cx, c: ["x"], lambda cx, c: 1 / 0, lambda cx, c: [0, 0]])
def test_a_strategy_that_gives_no_plan(plan: Any) -> None:
    async def main() -> None:
        settings = config(one, two)
        settings["combos"][0]["strategy"] = "mine"
        bad = type("Bad", (), {"id": "mine", "plan": staticmethod(plan)})()
        async with om.Router(settings, strategies=[bad]) as router:
            with pytest.raises(om.Internal, match='strategy "mine"') as caught:
                await router.chat({**ASK, "model": "all"})
            assert caught.value.code == "strategy_error"

    with vendor(says("first")) as one, vendor(says("second")) as two:
        asyncio.run(main())
        assert one.requests == [] and two.requests == []


def made(**members: Any) -> Any:
    return type("Made", (), members)()


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"providers": [made(id="mine", chat="x")]}, r'provider "mine": chat must be a coroutine .* \(got str\)'),
        ({"providers": [made(id="mine")]}, r"got nothing"),
        ({"providers": [made(id="a/b", chat=print)]}, r"without"),
        ({"providers": [made(id=3, chat=print)]}, r"has an id that is a str"),
        ({"providers": [Mine]}, r"not the class Mine"),
        ({"providers": [Mine(), Mine()]}, r"twice"),
        ({"providers": [made(id="m", chat=lambda self: 1)]}, r"must take \(request, cx\)"),
        ({"providers": [made(id="m", chat=lambda self, r, c: 1, models="x")]}, r"list of str"),
        ({"strategies": [made(id="s", plan=Mine.chat)]}, r"not async"),
        ({"strategies": [made(id="s")]}, r"got nothing"),
        ({"strategies": [made(id="s", plan=lambda self, cx, c: c, observe=1)]}, r"observe must be a function"),
    ],
)
def test_wrong_shapes_are_found_when_the_router_is_made(options: Any, rule: str) -> None:
    with pytest.raises(TypeError, match=rule):
        om.Router({}, **options)
