"""A provider that answers from a script, as a transport for whatever httpx the SDK is built on."""

import json
from typing import Any


def source() -> str:
    return "".join(f"let total_{n} = price_{n} * quantity_{n};\n" for n in range(1, 81))


def chat() -> list[dict[str, Any]]:
    """An agent that reads the same file twice."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "read a.rs, twice"}]
    for ident in ("a", "b"):
        call = {"id": ident, "type": "function", "function": {"name": "read", "arguments": '{"path": "a.rs"}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": ident, "content": source()})
    return messages


def library_of(client: type) -> Any:
    """The HTTP library that the client of an SDK is made of."""
    name = next(base.__module__ for base in client.__mro__ if "httpx" in base.__module__)
    return __import__(name.split(".")[0])


class Provider:
    """Takes requests, remembers their bodies, answers with what it was made with."""

    def __init__(self, library: Any, answer: dict[str, Any], *, status: int = 200, stream: "list[str] | None" = None):
        self.bodies: list[dict[str, Any]] = []

        def handler(request: Any) -> Any:
            assert int(request.headers["content-length"]) == len(request.content)
            self.bodies.append(json.loads(request.content))
            if stream is not None:
                text = "".join(f"{event}\n\n" for event in stream)
                headers = {"content-type": "text/event-stream"}
                return library.Response(200, headers=headers, content=text.encode())
            return library.Response(status, json=answer)

        self.transport = library.MockTransport(handler)
