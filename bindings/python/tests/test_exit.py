"""The interpreter ends cleanly, whatever is still running: each way many times, in fresh processes and in forked ones."""

import os
import subprocess
import sys
import textwrap

import pytest

#: How often each way is gone.
RUNS = int(os.environ.get("OMNIROUTE_EXIT_RUNS", "50"))

#: All runs but the last are children that leave through the end of the program, as the last one does.
BEFORE = """
    import asyncio, json, os, sys, threading
    import omniroute as om

    body = json.dumps({"messages": [{"role": "user", "content": "word " * 50}] * 300}).encode()

    async def main():
        for _ in range(3):
            await om.acompress(body)

    for _ in range(int(sys.argv[1]) - 1):
        child = os.fork()
        if child == 0:
            break
        status = os.waitpid(child, 0)[1]
        assert status == 0, status
"""

WAYS = {
    "plain": """
        asyncio.run(main())
    """,
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
        threading.Thread(target=lambda: [om.compress(body) for _ in range(100)], daemon=True).start()
        om.compress(body)
    """,
}

#: Ways that the same check must see.
BROKEN = {
    "crash": "os.abort()",
    "noise": "import atexit; atexit.register(lambda: os.write(2, b'late'))",
}


def outcome(way: str, runs: int) -> tuple[int, str]:
    code = textwrap.dedent(BEFORE) + textwrap.dedent(way)
    command = [sys.executable, "-W", "error", "-c", code, str(runs)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return ended.returncode, ended.stderr


@pytest.mark.parametrize("way", WAYS)
def test_the_interpreter_ends_cleanly(way: str) -> None:
    for runs in (1, 1, RUNS):
        assert outcome(WAYS[way], runs) == (0, "")


@pytest.mark.parametrize("way", BROKEN)
def test_the_check_sees_a_bad_end(way: str) -> None:
    for runs in (1, 2):
        assert outcome(BROKEN[way], runs) != (0, "")
