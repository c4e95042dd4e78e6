import asyncio

import omniroute as om

compressor = om.Compressor({"plan": "safe"})  # or the path of a TOML file


async def turn(body: bytes) -> bytes:
    out = await compressor.acompress(body, session="s1")  # known text is looked up
    print(out.receipt.summary())
    return out.body


asyncio.run(turn(b'{"model": "gpt-5", "messages": [{"role": "user", "content": "hi"}]}'))
print(compressor.stats()["calls"])
