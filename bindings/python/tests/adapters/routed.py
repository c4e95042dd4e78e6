"""A router of the process over vendors that answer from a script, for the SDKs."""

import json
from typing import Any

import omniroute as om
from omniroute.testing import Script

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a.rs"}'}}


def whole(text: str, calls: "list[Any] | None" = None) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = calls
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-5", "choices": [choice], "usage": usage}
    return {"body": body}


def chunk(delta: dict[str, Any], stop: "str | None" = None) -> str:
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5", "choices": [choice]}
    return f"data: {json.dumps(event)}\n\n"


def streamed(*words: str) -> dict[str, Any]:
    pieces = [chunk({"role": "assistant", "content": words[0]}), *(chunk({"content": word}) for word in words[1:])]
    return {"pieces": [*pieces, chunk({}, "stop"), "data: [DONE]\n\n"]}


BUSY = {"status": 429, "body": {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}}


def router(*replies: dict[str, Any]) -> "tuple[om.Router, Script]":
    """Everything is answered by OpenAI's wire, whatever the client speaks."""
    vendors = Script(replies)
    config = {
        "connections": [{"id": "openai/work", "key": "not-a-key"}],
        "combos": [{"name": "daily", "strategy": "priority", "steps": ["openai/gpt-5"]}],
        "routing": {"same_target_retries": 0},
    }
    return om.Router(config, transport=vendors), vendors
