"""An agent with three tools mends a program: it runs the tests, reads, writes and runs them again. Its models are played,
so no key is needed; the tools are real. One vendor breaks down in the middle, and the session goes on with the other."""

import asyncio
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

import omniroute as om

TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}
    for name, properties in {
        "run": {"command": {"type": "string"}},
        "read": {"path": {"type": "string"}},
        "write": {"path": {"type": "string"}, "text": {"type": "string"}},
    }.items()
]
TESTS = "python -m unittest -v test_shop"
# What a model would decide: the next call, by the number of results it has seen.
PLAN: list[tuple[str, dict[str, str]]] = [
    ("run", {"command": TESTS}),
    ("read", {"path": "shop.py"}),
    ("write", {"path": "shop.py", "text": "def price(amount):\n    return amount * 3\n"}),
    ("run", {"command": TESTS}),
]


class Played:
    """A vendor: an object with an id and a method."""

    def __init__(self, name: str, breaks_after: int = 99) -> None:
        self.id = name
        self._left = breaks_after

    async def chat(self, request: om.Request, cx: om.CallContext) -> om.Response:
        self._left -= 1
        if self._left < 0:
            raise om.Unavailable("out of order")
        seen = sum(message["role"] == "tool" for message in request.messages)
        if seen == len(PLAN):
            return om.Response("The price was wrong; all tests pass now.")
        name, arguments = PLAN[seen]
        return om.Response(tool_calls=[om.ToolCall(f"call-{seen}", name, json.dumps(arguments))])


def tool(folder: pathlib.Path, call: om.ToolCall) -> str:
    """Does what the model asks for."""
    asked = call.json()
    match call.name:
        case "run":
            command: list[str] = [sys.executable, *asked["command"].split()[1:]]
            ended = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            return ended.stdout + ended.stderr
        case "read":
            return (folder / str(asked["path"])).read_text()
        case _:
            (folder / asked["path"]).write_text(asked["text"])
            return "written"


async def agent(router: om.Router, folder: pathlib.Path, task: str) -> str:
    """Asks and does until there is nothing more to do."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": task}]
    while True:
        reply = await router.chat({"model": "agent", "messages": messages, "tools": TOOLS}, session="mend", timeout=60)
        before, after = reply.receipt["compressed"]
        print(f"{reply.receipt.provider}: {before} -> {after} tokens, {len(reply.receipt['attempts'])} attempts")
        messages.append(reply.json()["choices"][0]["message"])
        if not reply.tool_calls:
            return reply.text
        for call in reply.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": tool(folder, call)})


def workshop(folder: pathlib.Path) -> None:
    (folder / "shop.py").write_text("def price(amount):\n    return amount * 2\n")
    tests = "".join(f"    def test_{n}(self):\n        self.assertEqual(price({n}), {n * 3})\n" for n in range(60))
    (folder / "test_shop.py").write_text(f"import unittest\nfrom shop import price\nclass Shop(unittest.TestCase):\n{tests}")


async def main() -> None:
    config = {
        "combos": [{"name": "agent", "strategy": "priority", "steps": ["first/m", "second/m"]}],
        "compression": {"plan": "safe"},
        "routing": {"seed": 7},
    }
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        workshop(folder)
        async with om.Router(config, providers=[Played("first", breaks_after=2), Played("second")]) as router:
            print(await agent(router, folder, "make the tests pass"))


if __name__ == "__main__":
    asyncio.run(main())
