"""Life inside a Python program: threads, forks, the event loop, signals, the end of the interpreter, imports."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any

import pytest

import omniroute as om

#: Runs of each way to end a program.
RUNS = int(os.environ.get("OMNIROUTE_EXIT_RUNS", "4"))


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


def test_other_threads_run_meanwhile(large: bytes) -> None:
    """While one thread compresses, another one counts."""
    beats = 0
    done = threading.Event()

    def beat() -> None:
        nonlocal beats
        while not done.is_set():
            beats += 1
            time.sleep(0.0005)

    old = sys.getswitchinterval()
    sys.setswitchinterval(100)  # only a thread that lets go lets another one run
    thread = threading.Thread(target=beat)
    try:
        thread.start()
        for _ in range(20):
            om.Compressor().compress(large)
        during = beats
    finally:
        done.set()
        sys.setswitchinterval(old)
        thread.join()
    assert during > 0


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
    call = om.acompress(b"{}")
    with pytest.raises(RuntimeError, match="asyncio"):
        call.send(None)


EXITS = {
    "plain": "asyncio.run(main())",
    "cancelled": """
        async def cancelled():
            task = asyncio.create_task(main())
            await asyncio.sleep(0)
            task.cancel()
            try:
                await task
            except asyncio.CancelledError:
                pass
        asyncio.run(cancelled())
    """,
    "orphaned": """
        async def orphaned():
            orphaned.task = asyncio.create_task(main())
            await asyncio.sleep(0)
        asyncio.run(orphaned())
    """,
    "raised": """
        async def raised():
            task = asyncio.create_task(main())
            await asyncio.sleep(0)
            raise SystemExit(0)
        asyncio.run(raised())
    """,
    "daemon": """
        import threading
        threading.Thread(target=lambda: [om.compress(body) for _ in range(100)], daemon=True).start()
        om.compress(body)
    """,
}


@pytest.mark.parametrize("way", EXITS)
def test_the_interpreter_ends_cleanly(way: str) -> None:
    code = f"""
        import asyncio, json
        import omniroute as om
        body = json.dumps({{"messages": [{{"role": "user", "content": "word " * 50}}] * 800}}).encode()
        async def main():
            for _ in range(3):
                await om.acompress(body)
    """
    code = textwrap.dedent(code) + textwrap.dedent(EXITS[way])
    for _ in range(RUNS):
        ended = run(code, "-W", "error")
        assert (ended.returncode, ended.stderr) == (0, ""), way


def test_development_mode() -> None:
    ended = run("import omniroute as om; om.compress(b'{}'); om.compress_text('x' * 9000)", "-X", "dev")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_ctrl_c() -> None:
    code = """
        import omniroute as om, json, os, signal, threading, time
        body = json.dumps({"messages": [{"role": "user", "content": "word " * 50}] * 2000}).encode()
        threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        try:
            while True:
                om.Compressor().compress(body)
        except KeyboardInterrupt:
            print("interrupted")
    """
    ended = run(code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "interrupted\n", "")


def test_import_loads_nothing_else() -> None:
    code = """
        import sys
        before = set(sys.modules)
        import omniroute
        print(sorted(name for name in set(sys.modules) - before if name.split(".")[0] != "omniroute"))
        omniroute.compress(b'{"messages": []}')
        print(sorted(name for name in set(sys.modules) - before if name.split(".")[0] != "omniroute"))
    """
    assert run(code, "-I").stdout.splitlines() == ["[]", "[]"]


def test_several_interpreters_are_refused() -> None:
    code = """
        import _xxsubinterpreters as inner
        import omniroute
        try:
            inner.run_string(inner.create(), "import omniroute._native")
        except Exception as error:
            print("ImportError" in str(error))
    """
    if sys.version_info >= (3, 13):
        pytest.skip("the module of this name is gone")
    assert run(code).stdout == "True\n"
