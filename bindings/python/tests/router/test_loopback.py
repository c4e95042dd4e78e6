"""The router over real sockets: whole, streamed, falling over, given up, cancelled."""

import asyncio
import pathlib
import json
import pickle

import omniroute as om
import pytest

from vendor import ASK, chunk, config, fails, hangs, says, send_chunked, vendor

RATE = {"error": {"message": "slow down", "type": "requests", "code": "rate_limit_exceeded"}}


def test_a_whole_answer_comes_over_one_connection() -> None:
    async def main() -> None:
        async with om.Router(config(one)) as router:
            for _ in range(3):
                reply = await router.chat(ASK)
                assert reply.text == "hello back"
            assert reply.json()["choices"][0]["message"]["content"] == "hello back"
            assert reply.usage == om.Usage(9, 3, 0, 0) and reply.stop == "stop" and reply.tool_calls == ()
            assert (reply.receipt.provider, reply.receipt.connection, reply.receipt.model) == ("vendor0", "test", "m")
            assert reply.receipt["finished"] and router.feedback(reply, 1.0)
            again = pickle.loads(pickle.dumps(reply))
            assert (again.text, again.body, again.receipt) == (reply.text, reply.body, reply.receipt)
            assert router.health()["requests"] == 3 and "all" in router.models()
            assert "vendor0/test/m" in str(router.explain(ASK))

    with vendor(says("hello back")) as one:
        asyncio.run(main())
        assert one.connections == 1
        path, headers, body = one.requests[0]
        assert path == "/v1/chat/completions" and body["model"] == "m"
        assert headers["authorization"] == "Bearer key-0"


def test_a_stream_comes_as_events_and_as_bytes() -> None:
    async def main() -> None:
        router = om.Router(config(one))
        async with router.stream(ASK) as answer:
            events = [event async for event in answer]
        texts = [text for event in events for text in ([event.text] if isinstance(event, om.TextDelta) else [])]
        assert "".join(texts) == "helloback" and om.Stop("stop") in events
        assert answer.receipt is not None and answer.receipt["finished"] and answer.receipt["streamed"]
        raw = b"".join([piece async for piece in router.stream(ASK).raw()])
        assert raw.endswith(b"data: [DONE]\n\n") and b'"content": "back"' in raw
        await router.aclose()

    with vendor(says("hello back")) as one:
        asyncio.run(main())


def test_the_next_answers_when_the_first_is_busy() -> None:
    async def main() -> None:
        async with om.Router(config(one, two)) as router:
            reply = await router.chat(ASK)
            assert reply.text == "second" and reply.receipt.provider == "vendor1"
            assert [attempt.get("kind") for attempt in reply.receipt["attempts"]] == ["rate_limited", None]

    with vendor(fails(429, RATE)) as one, vendor(says("second")) as two:
        asyncio.run(main())


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, {"error": {"message": "bad key", "code": "invalid_api_key"}}, om.AuthenticationError),
        (429, RATE, om.RateLimited),
        (503, {"error": {"message": "down"}}, om.Unavailable),
        (400, {"error": {"message": "no", "type": "invalid_request_error"}}, om.RequestError),
    ],
)
def test_errors_have_their_class(status: int, body: dict[str, object], kind: type[om.Error]) -> None:
    async def main() -> None:
        async with om.Router(config(one)) as router:
            with pytest.raises(kind) as caught:
                await router.chat(ASK)
        error = caught.value
        assert error.receipt is not None and len(error.receipt["attempts"]) >= 1
        assert "\n" not in str(error) and "key-0" not in str(error) + repr(error.details)
        assert pickle.loads(pickle.dumps(error)).receipt == error.receipt

    with vendor(fails(status, body)) as one:
        asyncio.run(main())


def test_nobody_and_nonsense() -> None:
    async def main() -> None:
        async with om.Router(config(one)) as router:
            with pytest.raises(om.NoCandidate):
                await router.chat({**ASK, "model": "nobody/knows"})
            with pytest.raises(om.RequestError):
                await router.chat(b"[]")
            with pytest.raises(om.RequestError):
                await router.chat(b"{")
            with pytest.raises(om.RequestError, match="timeout"):
                await router.chat(ASK, timeout=-1)
        with pytest.raises(om.RequestError) as caught:
            await router.chat(ASK)
        assert caught.value.code == "closed"

    with vendor(says("x")) as one:
        asyncio.run(main())


def test_cancelling_reaches_the_connection() -> None:
    async def main(way: str) -> None:
        one.closed.clear()
        one.asked.clear()
        router = om.Router(config(one))
        task = asyncio.create_task(router.chat(ASK, timeout=0.05 if way == "timeout" else None))
        if way == "cancel":
            while not one.asked.is_set():
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        elif way == "timeout":
            with pytest.raises(om.Cancelled):
                await task
        elif way == "asyncio.timeout":
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await task
        else:
            while not one.asked.is_set():
                await asyncio.sleep(0.001)
            await router.aclose()
            with pytest.raises(om.Cancelled):
                await task
        await asyncio.to_thread(one.closed.wait, 10)
        assert one.closed.is_set(), way
        if way != "close":
            # Nobody is blamed, nothing stays.
            health = router.health()["resilience"]
            assert [(one["in_flight"], one["failures"]) for one in health["breakers"]] == [(0, 0)]
            assert health["connections"] == []

    for way in ("cancel", "timeout", "asyncio.timeout", "close"):
        with vendor(hangs) as one:
            asyncio.run(main(way))


def test_leaving_a_stream_closes_the_connection() -> None:
    def begins(self: object, _: dict[str, object], line: object) -> bool:
        piece = chunk({"role": "assistant", "content": "one"})
        line.sendall(  # type: ignore[attr-defined]
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            + b"%x\r\n%s\r\n" % (len(piece), piece)
        )
        return hangs(self, {}, line)  # type: ignore[arg-type]

    async def main() -> None:
        router = om.Router(config(one))
        async with router.stream(ASK) as answer:
            async for event in answer:
                assert event == om.TextDelta("one")
                break
        assert await asyncio.to_thread(one.closed.wait, 10)
        await router.aclose()

    with vendor(begins) as one:  # type: ignore[arg-type]
        asyncio.run(main())


def test_a_stream_that_breaks_off_raises_and_the_bytes_say_so() -> None:
    def breaks(_: object, __: dict[str, object], line: object) -> bool:
        piece = chunk({"role": "assistant", "content": "one"})
        line.sendall(  # type: ignore[attr-defined]
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
            + b"%x\r\n%s\r\n" % (len(piece), piece)
        )
        return False

    async def main() -> None:
        async with om.Router(config(one)) as router:
            with pytest.raises(om.Unavailable) as caught:
                async for _ in router.stream(ASK):
                    pass
            assert caught.value.code == "upstream_interrupted"
            raw = b"".join([piece async for piece in router.stream(ASK).raw()])
            assert b"upstream_interrupted" in raw and b"[DONE]" not in raw

    with vendor(breaks) as one:  # type: ignore[arg-type]
        asyncio.run(main())


def test_a_large_body_is_compressed_off_the_loop(large: bytes) -> None:
    async def main() -> None:
        async with om.Router(config(one)) as router:
            reply = await router.chat({**json.loads(large), "model": "all"})
            before, after = reply.receipt["compressed"]
            assert after < before and reply.text == "fine"

    with vendor(says("fine")) as one:
        asyncio.run(main())


def test_a_configuration_in_a_file_and_all_its_mistakes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "router.toml"
    path.write_text('[[connections]]\nid = "openai"\nkye = "secret-1"\n[routing]\nmax_attempts = 99\n')
    with pytest.raises(om.ConfigError) as caught:
        om.Router(path)
    assert len(caught.value.errors) == 3 and "secret-1" not in str(caught.value)
    path.write_text('[[connections]]\nid = "openai/x"\nkey = {enf = "secret-2"}\n[[combos]]\nname="c"\nstrategy="nope"\nsteps=[]\n')
    with pytest.raises(om.ConfigError) as caught:
        om.Router(path)
    assert "secret-2" not in str(caught.value)
    path.write_text('[[connections]]\nid = "openai/x"\nkey = "secret-3"\n')
    router = om.Router(path)
    assert "secret-3" not in repr(router)
    assert pickle.loads(pickle.dumps(router)).models() == router.models()
    with pytest.raises(TypeError, match="cannot pickle"):
        pickle.dumps(om.Router(path, transport=_Never()))
    with pytest.raises(TypeError, match="transport is"):
        om.Router(path, transport="https")


class _Never:
    async def send(self, request: object) -> object:
        raise NotImplementedError


def test_the_blocking_face() -> None:
    with vendor(says("hello back")) as one:
        router = om.Router(config(one))
        assert router.sync.chat(ASK).text == "hello back"
        events = list(router.sync.stream(ASK))
        assert om.TextDelta("hello") in events and events[-1] == om.Stop("stop")
        for event in router.sync.stream(ASK):
            break
        assert b"[DONE]" in b"".join(router.sync.stream_raw(ASK))
        with pytest.raises(om.NoCandidate):
            router.sync.chat({**ASK, "model": "x/y"})
        router.sync.close()
        with pytest.raises(om.RequestError):
            router.sync.chat(ASK)


def test_without_a_loop_it_says_what_to_do() -> None:
    router = om.Router({"connections": [{"id": "openai/x", "key": "k"}]})
    work = router.chat(ASK)
    with pytest.raises(RuntimeError, match="router.sync.chat"):
        work.send(None)
    assert send_chunked is not None
