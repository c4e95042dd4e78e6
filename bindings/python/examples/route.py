import asyncio

import omniroute as om
from omniroute.testing import Script

CONFIG = {  # or the path of a TOML file
    "connections": [
        {"id": "openai/work", "key": "not-a-key"},  # {"env": "OPENAI_API_KEY"} in earnest
        {"id": "anthropic/work", "key": "not-a-key"},
    ],
    "combos": [
        {"name": "daily", "strategy": "priority", "steps": ["openai/gpt-5", "anthropic/claude-sonnet-4-5"]},
    ],
}
ASK = {"model": "daily", "messages": [{"role": "user", "content": "hello"}]}
# Plays both vendors, so that this runs without keys. Without `transport` requests are really sent.
BUSY = {"status": 429, "body": {"error": {"message": "slow down", "code": "rate_limit_exceeded"}}}
HELLO = {
    "body": {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
        "content": [{"type": "text", "text": "Hello from the second vendor."}], "stop_reason": "end_turn",
        "stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 7},
    }
}  # fmt: skip


async def main() -> None:
    async with om.Router(CONFIG, transport=Script([BUSY, HELLO, HELLO])) as router:
        reply = await router.chat(ASK, timeout=30)
        print(reply.text)
        print(reply.receipt.summary())
        async with router.stream(ASK) as answer:
            async for event in answer:
                match event:
                    case om.TextDelta(text):
                        print(text, end="")
                    case om.Stop(reason):
                        print(f" ({reason})")


asyncio.run(main())
