"""Life inside a Python program: threads, forks, the event loop, signals, imports."""

import asyncio
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import trio

import omniroute as om


def run(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, *arguments, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


THREADS = """
    import asyncio, json, pathlib, threading, time, _thread
    import omniroute as om
    def unknown():
        return len(list(pathlib.Path("/proc/self/task").iterdir())) - threading.active_count()
    body = json.dumps({"messages": [{"role": "user", "content": "word " * 50}] * 800}).encode()
    om.compress(body)
    asyncio.run(om.acompress(body))
    end = time.monotonic() + 2  # threads of the executor take a moment to go
    while unknown() and time.monotonic() < end:
        time.sleep(0.01)
    print(unknown())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_thread_of_ours() -> None:
    assert run(THREADS).stdout == "0\n"
    # A thread that Python's own list does not know is seen.
    strange = THREADS.replace("om.compress(body)", "_thread.start_new_thread(time.sleep, (30,))", 1)
    assert run(strange).stdout == "1\n"


def test_threads_share_one(body: bytes) -> None:
    compressor = om.Compressor()
    expected = om.compress(body).body
    found: list[bytes] = []

    def work(n: int) -> None:
        for _ in range(5):
            found.append(compressor.compress(body, session=f"s{n % 3}").body)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 40


def beats(work: Callable[[], object]) -> int:
    """How often another thread gets to run while this one works, if only letting go lets it."""
    count = 0
    ready, done = threading.Event(), threading.Event()

    def beat() -> None:
        nonlocal count
        while not done.is_set():
            count += 1
            ready.set()
            time.sleep(0.0005)

    old = sys.getswitchinterval()
    sys.setswitchinterval(100)
    thread = threading.Thread(target=beat)
    try:
        thread.start()
        ready.wait()
        before = count
        work()
        return count - before
    finally:
        done.set()
        sys.setswitchinterval(old)
        thread.join()


def test_other_threads_run_meanwhile(large: bytes) -> None:
    text = large.decode()
    request = json.loads(large)
    for work in (
        lambda: [om.Compressor().compress(large) for _ in range(9)],
        lambda: [om.Compressor().compress_messages(request["messages"]) for _ in range(9)],
        lambda: [om.Compressor().compress_text(text) for _ in range(9)],
    ):
        assert beats(work) > 0
    # Work that holds the interpreter is seen to.
    assert beats(lambda: sum(range(3_000_000))) == 0


def child(compressor: om.Compressor, body: bytes, queue: Any) -> None:
    queue.put((compressor.compress(body).body, compressor.stats()["calls"], compressor.plan))


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_processes(way: Any, body: bytes) -> None:
    compressor = om.Compressor({"plan": "safe"})
    expected = compressor.compress(body).body
    context = multiprocessing.get_context(way)
    queue = context.Queue()
    process = context.Process(target=child, args=(compressor, body, queue))
    process.start()
    assert queue.get(timeout=60) == (expected, 1, "safe")
    process.join()
    assert process.exitcode == 0


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_fork_while_other_threads_work(large: bytes) -> None:
    """A lock that another thread holds at the moment of the fork stays locked in the child."""
    compressor = om.Compressor()
    compressor.compress(large)  # what is made once in a process is made
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            compressor.compress(large)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                signal.alarm(30)
                compressor.compress(large)
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_async(body: bytes, large: bytes) -> None:
    async def main() -> None:
        compressor = om.Compressor()
        assert (await om.acompress(body)).body == om.compress(body).body
        results = await asyncio.gather(*(compressor.acompress(large, session=str(n)) for n in range(4)))
        assert {result.body for result in results} == {om.compress(large).body}
        task = asyncio.create_task(compressor.acompress(large))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        async with asyncio.timeout(30):
            await compressor.acompress_messages([{"role": "user", "content": "hi"}])

    asyncio.run(main())


def test_other_loops_get_a_clear_error() -> None:
    async def main() -> None:
        await om.acompress(b"{}")

    with pytest.raises(RuntimeError, match=r"no asyncio loop is running here; under trio call .* trio.to_thread.run_sync"):
        trio.run(main)

    async def advised() -> om.Compressed:
        return await trio.to_thread.run_sync(om.compress, b"{}")

    assert trio.run(advised).body == b"{}"


def test_development_mode() -> None:
    ended = run("import omniroute as om; om.compress(b'{}'); om.compress_text('x' * 9000)", "-X", "dev")
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("loop", ["om.Compressor().compress(body)", "asyncio.run(forever())"])
def test_ctrl_c(loop: str) -> None:
    code = f"""
        import asyncio, omniroute as om, json, os, signal, threading
        body = json.dumps({{"messages": [{{"role": "user", "content": "word " * 50}}] * 2000}}).encode()
        async def forever():
            while True:
                await om.acompress(body)
        # A program that runs in the background of a shell is started without it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                {loop}
        except KeyboardInterrupt:
            print("interrupted")
    """
    ended = run(code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")


IMPORT = """
    import sys
    before = set(sys.modules)
    import omniroute
    def others():
        return sorted(name for name in set(sys.modules) - before if name.split(".")[0] != "omniroute")
    print(others())
    omniroute.compress(b'{"messages": []}')
    omniroute.compress_messages([{"role": "user", "content": "hi"}])
    omniroute.compress_text("hi").receipt.summary()
    print(others())
    omniroute.compress(b"{}").receipt["plan"]
    print("json" in others())
"""


def test_import_loads_nothing_else() -> None:
    assert run(IMPORT, "-I").stdout.splitlines() == ["[]", "[]", "True"]
    # One import more is seen.
    assert run(IMPORT.replace("import omniroute\n", "import omniroute, json\n", 1), "-I").stdout.splitlines()[0] != "[]"


def test_several_interpreters_are_refused() -> None:
    code = """
        import sys
        import omniroute
        if sys.version_info >= (3, 13):
            import _interpreters as inner
            print(inner.exec(inner.create(), "import omniroute._native").type.__name__)
        else:
            import _xxsubinterpreters as inner
            try:
                inner.run_string(inner.create(), "import omniroute._native")
            except Exception as error:
                print("ImportError" if "ImportError" in str(error) else error)
    """
    assert run(code).stdout == "ImportError\n"
