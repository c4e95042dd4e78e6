"""Many calls on one thread, no thread but Python's, clean ends, forks."""

import asyncio
import multiprocessing
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import omniroute as om
import pytest
from omniroute.testing import Script, VirtualClock
from vendor import ASK, config, says, vendor, whole

RUNS = int(os.environ.get("OMNIROUTE_EXIT_RUNS", "20"))
BUSY = {"status": 429, "body": {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}}


def native_threads() -> int:
    return len(os.listdir("/proc/self/task")) if sys.platform == "linux" else threading.active_count()


class Named:
    """A vendor that answers each request with its own number, in another order than they came."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.sent = 0

    async def send(self, request: Any) -> object:
        import json

        from omniroute._drive import Response

        self.sent += 1
        number = json.loads(request.body)["messages"][0]["content"]
        await self.clock.sleep((1 + hash(number) % 7) / 10)
        if "vendor0" in request.url:
            return Response(503, [("content-type", "application/json")], b'{"error":{"message":"down"}}')
        return Response(200, [("content-type", "application/json")], json.dumps(whole(number)).encode())


def test_500_chats_on_one_thread() -> None:
    async def main() -> None:
        clock = VirtualClock()
        vendors = Named(clock)
        before = native_threads()
        names = [f"vendor{n}" for n in range(3)]
        settings = {
            "connections": [
                {"id": f"{name}/test", "key": "k", "base_url": f"https://{name}.example/v1", "wire": "openai-chat"}
                for name in names
            ],
            "combos": [{"name": "all", "strategy": "round-robin", "steps": [f"{name}/m" for name in names]}],
            "routing": {"same_target_retries": 0},
        }
        async with om.Router(settings, transport=vendors, clock=clock) as router:
            asks = [{"model": "all", "messages": [{"role": "user", "content": f"n{n}"}]} for n in range(500)]
            replies = await asyncio.gather(*(router.chat(ask) for ask in asks))
            assert [reply.text for reply in replies] == [f"n{n}" for n in range(500)]
            assert len({reply.receipt.request for reply in replies}) == 500
            assert native_threads() <= before  # vendors of other tests may end meanwhile
            assert router._registry is not None and not router._registry.drivers

    asyncio.run(main())


def test_a_call_that_ends_wakes_one_that_waits_also_on_another_loop() -> None:
    """Two threads, two loops, one router: everybody is answered."""

    def work() -> None:
        async def main() -> None:
            replies = await asyncio.gather(*(router.chat(ASK) for _ in range(20)))
            assert {reply.text for reply in replies} == {"hello"}

        try:
            asyncio.run(main())
        except BaseException as error:  # told below
            failed.append(error)

    failed: list[BaseException] = []
    with vendor(says("hello")) as one:
        router = om.Router(config(one))
        crew = [threading.Thread(target=work) for _ in range(4)]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join(60)
        assert failed == []


def test_routing_starts_no_thread() -> None:
    code = """
        import asyncio, os, threading
        import omniroute as om
        from omniroute.testing import Script
        from vendor import ASK, whole
        one = {"id": "openai/x", "key": "k"}
        async def main():
            async with om.Router({"connections": [one]}, transport=Script([{"body": whole("x")}] * 9)) as router:
                for _ in range(9):
                    await router.chat({**ASK, "model": "openai/gpt-5"})
                print(len(os.listdir("/proc/self/task")), threading.active_count())
        asyncio.run(main())
    """
    assert ran(code) == (0, "1 1\n", "")
    # A thread more is seen.
    another = "threading.Thread(target=threading.Event().wait, daemon=True).start()"
    more = code.replace("async def main", f"{another}\n        async def main")
    assert ran(more) == (0, "2 2\n", "")


BEFORE = """
    import asyncio, os, sys, threading
    import omniroute as om
    from vendor import ASK, config, hangs, says, vendor

    def run(main, answer=says("hello")):
        with vendor(answer) as one:
            asyncio.run(main(om.Router(config(one)), one))

    async def several(router, one):
        for _ in range(3):
            await router.chat(ASK)

    for _ in range(int(sys.argv[1]) - 1):
        child = os.fork()
        if child == 0:
            break
        status = os.waitpid(child, 0)[1]
        assert status == 0, status
"""

WAYS = {
    "plain": "run(several)",
    "streamed": """
        async def main(router, one):
            async with router.stream(ASK) as answer:
                async for _ in answer: pass
            async for _ in router.stream(ASK): break
        run(main)
    """,
    "cancelled": """
        async def main(router, one):
            task = asyncio.create_task(router.chat(ASK))
            while not one.asked.is_set(): await asyncio.sleep(0.001)
            task.cancel()
            try: await task
            except asyncio.CancelledError: pass
        run(main, hangs)
    """,
    "orphaned": """
        async def main(router, one):
            main.task = asyncio.create_task(router.chat(ASK))
            main.stream = router.stream(ASK).raw()
            main.other = asyncio.create_task(anext(main.stream))
            while not one.asked.is_set(): await asyncio.sleep(0.001)
        run(main, hangs)
    """,
    "raised": """
        async def main(router, one):
            task = asyncio.create_task(router.chat(ASK))
            await asyncio.sleep(0.001)
            raise SystemExit(0)
        run(main, hangs)
    """,
    "blocking": """
        with vendor(says("hello")) as one:
            router = om.Router(config(one))
            router.sync.chat(ASK)
            for _ in router.sync.stream(ASK): break
    """,
}

#: What the same check must see.
BROKEN = {"crash": "os.abort()", "noise": "import atexit; atexit.register(lambda: os.write(2, b'late'))"}


def ran(code: str, *arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code), *arguments]
    paths = [str(pathlib.Path(__file__).parent), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    return ended.returncode, ended.stdout, ended.stderr


@pytest.mark.parametrize("way", WAYS)
def test_the_interpreter_ends_cleanly(way: str) -> None:
    code = textwrap.dedent(BEFORE) + textwrap.dedent(WAYS[way])
    for runs in (1, 1, RUNS):
        assert ran(code, str(runs)) == (0, "", "")


@pytest.mark.parametrize("way", BROKEN)
def test_the_check_sees_a_bad_end(way: str) -> None:
    assert ran(textwrap.dedent(BEFORE) + BROKEN[way], "1") != (0, "", "")


def child(router: om.Router) -> str:
    async def main() -> str:
        return (await router.chat(ASK)).text

    return asyncio.run(main()) + router.sync.chat(ASK).text


def test_a_forked_child_routes_for_itself() -> None:
    with vendor(says("hello")) as one:
        router = om.Router(config(one))
        assert router.sync.chat(ASK).text == "hello"
        before = router.health()["requests"]
        for way in ("fork", "spawn"):
            with multiprocessing.get_context(way).Pool(2) as pool:
                # A fork hands the very object over; pickled, it is made anew from its configuration.
                assert pool.map(child, [router, router]) == ["hellohello"] * 2
        read, write = os.pipe()
        if (pid := os.fork()) == 0:
            said = child(router)
            os.write(write, said.encode())
            os._exit(0)
        os.close(write)
        assert os.read(read, 100) == b"hellohello" and os.waitpid(pid, 0)[1] == 0
        assert router.health()["requests"] == before
        assert router.sync.chat(ASK).text == "hello"
        router.sync.close()


def test_ctrl_c_ends_a_blocking_call() -> None:
    code = """
        import os, signal, sys, threading, time
        import omniroute as om
        from vendor import ASK, config, hangs, vendor
        with vendor(hangs) as one:
            router = om.Router(config(one))
            # A program that runs in the background of a shell is started without it.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            def press():
                one.asked.wait(30)
                os.kill(os.getpid(), signal.SIGINT)
            threading.Thread(target=press).start()
            try:
                router.sync.chat(ASK)
            except KeyboardInterrupt:
                print(one.closed.wait(30))
    """
    assert ran(code) == (0, "True\n", "")


def test_a_virtual_clock_waits_for_nobody() -> None:
    async def main() -> None:
        clock = VirtualClock()
        replies = [BUSY | {"after_ms": 60_000}, {"body": whole("late"), "after_ms": 60_000}]
        async with om.Router(settings, transport=Script(replies, clock=clock), clock=clock) as router:
            reply = await router.chat(ASK)
            assert reply.text == "late" and clock.seconds >= 120

    settings = {
        "connections": [{"id": f"v-{n}/t", "key": "k", "base_url": "https://v.example/v1"} for n in range(2)],
        "combos": [{"name": "all", "strategy": "priority", "steps": ["v-0/m", "v-1/m"]}],
    }
    begun = time.monotonic()
    asyncio.run(main())
    assert time.monotonic() - begun < 60
