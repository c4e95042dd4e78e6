"""Bodies that several tests use."""

import json
from typing import Any

import pytest


def source() -> str:
    return "".join(f"let total_{n} = price_{n} * quantity_{n};\n" for n in range(1, 81))


def chat() -> list[dict[str, Any]]:
    """An agent that reads the same file twice: the second result can be told by the first."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "read a.rs, twice"}]
    for ident in ("a", "b"):
        call = {"id": ident, "type": "function", "function": {"name": "read", "arguments": '{"path": "a.rs"}'}}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": ident, "content": source()})
    return messages


@pytest.fixture
def messages() -> list[dict[str, Any]]:
    return chat()


@pytest.fixture
def body() -> bytes:
    return json.dumps({"model": "gpt-5", "messages": chat()}).encode()


@pytest.fixture
def large() -> bytes:
    """Over the size from which asynchronous calls use a thread."""
    rows = [chat()[0] | {"content": f"question {n} " + "word " * 40} for n in range(400)]
    return json.dumps({"model": "gpt-5", "messages": rows + chat()}).encode()
