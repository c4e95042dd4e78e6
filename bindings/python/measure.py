"""Prints what the package costs on this machine: import, first call, crossing, threads. Times are process CPU, best of
many; run by `make python-measure`. What is compared is given the same model: another way of counting would be another
compressor behind the same object."""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SESSION = ROOT / "omniroute-compress" / "benches" / "data" / "session-150k.json"
IMPORT = """
import resource, sys, time
def rss():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()
modules, memory, cpu = set(sys.modules), rss(), time.process_time()
import omniroute
cpu, memory = time.process_time() - cpu, rss() - memory
others = [name for name in set(sys.modules) - modules if name.split(".")[0] != "omniroute"]
print(cpu * 1e3, memory / 1e6, len(others))
"""


def main() -> None:
    imports = [run_import() for _ in range(9)]
    cpu, memory = (statistics.median(column) for column in list(zip(*imports))[:2])
    print(f"import: {cpu:.1f} ms CPU, {memory:.1f} MB, {int(imports[0][2])} other modules")

    import omniroute as om

    raw = SESSION.read_bytes()
    request = json.loads(raw)
    messages = request["messages"]
    print(f"session: {len(messages)} messages, {len(raw)} bytes")
    compact = json.dumps(request, separators=(",", ":"), ensure_ascii=False).encode()
    start = time.process_time()
    om.Compressor().compress(raw)
    print(f"first call: {(time.process_time() - start) * 1e3:.1f} ms CPU")

    model = request.get("model")
    options = {"tools": request.get("tools"), "system": request.get("system"), "model": model}
    for plan in ("off", "safe"):
        engine = best(lambda c: c.compress(compact, model=model), plan)
        lists = best(lambda c: c.compress_messages(messages, **options), plan)
        print(f"plan {plan}: bytes {engine:.2f} ms, messages {lists:.2f} ms CPU; crossing {lists - engine:.2f} ms")
    known = warm(lambda c: c.compress(compact, model=model))
    lists = warm(lambda c: c.compress_messages(messages, **options))
    print(f"known session: bytes {known:.2f} ms, messages {lists:.2f} ms CPU; crossing {lists - known:.2f} ms")
    build = least(om.Compressor)
    print(f"making a compressor: {build:.3f} ms CPU")

    routing()
    one = wall(1, compact, om)
    two = wall(2, compact, om)
    print(f"two threads, two sessions: {2 * one / two:.2f}x one thread (of {os.cpu_count()} processors)")
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


ASK = {"model": "openai/gpt-5", "messages": [{"role": "user", "content": "word " * 200}]}
REPLY = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-5",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12},
}


def routing() -> None:
    """`Router.chat` of 1 KB, one candidate, over a transport that answers at once, less that transport awaited alone."""
    import asyncio

    import omniroute as om
    from omniroute._drive import Response

    body, reply = json.dumps(ASK).encode(), json.dumps(REPLY).encode()

    class Bare:
        async def send(self, request: object) -> Response:
            return Response(200, [("content-type", "application/json")], reply)

    async def short(work: "object", times: int = 25) -> float:
        start = time.process_time()
        for _ in range(times):
            await work()  # type: ignore[operator]
        return (time.process_time() - start) / times * 1e6

    async def main() -> None:
        bare = Bare()

        async def alone() -> None:
            await asyncio.create_task(bare.send(None))

        for plan in ("off", "safe"):
            config = {"connections": [{"id": "openai/x", "key": "k"}], "compression": {"plan": plan}}
            async with om.Router(config, transport=bare) as router:

                async def chat() -> None:
                    _ = (await router.chat(body)).body  # noqa: B023

                await short(chat, 300)
                least = min([await short(chat) for _ in range(300)])
                nothing = min([await short(alone) for _ in range(300)])
                print(f"Router.chat, plan {plan}: {least - nothing:.0f} us CPU (transport alone {nothing:.0f})")

    asyncio.run(main())


def run_import() -> "tuple[float, ...]":
    done = subprocess.run([sys.executable, "-I", "-c", IMPORT], check=True, capture_output=True, text=True)
    return tuple(float(word) for word in done.stdout.split())


def least(work: "object", times: int = 20) -> float:
    found = []
    for _ in range(times):
        start = time.process_time()
        work()  # type: ignore[operator]
        found.append((time.process_time() - start) * 1e3)
    return min(found)


def best(work: "object", plan: str, times: int = 15) -> float:
    """A compressor of its own for each call, made before the clock starts."""
    import omniroute as om

    found = []
    for _ in range(times):
        compressor = om.Compressor({"plan": plan})
        start = time.process_time()
        work(compressor)  # type: ignore[operator]
        found.append((time.process_time() - start) * 1e3)
    return min(found)


def warm(work: "object", times: int = 15) -> float:
    import omniroute as om

    compressor = om.Compressor()
    work(compressor)  # type: ignore[operator]
    return least(lambda: work(compressor), times)  # type: ignore[operator]


def wall(threads: int, body: bytes, om: "object") -> float:
    """Shortest time for each of `threads` to compress a session of its own a few times."""

    def job() -> None:
        for _ in range(5):
            om.Compressor().compress(body)  # type: ignore[attr-defined]

    found = []
    for _ in range(5):
        crew = [threading.Thread(target=job) for _ in range(threads)]
        start = time.perf_counter()
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
        found.append(time.perf_counter() - start)
    return min(found)


if __name__ == "__main__":
    main()
