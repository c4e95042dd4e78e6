#!/usr/bin/env python3
"""Writes the sample streams beside it, by hand from the vendors' published formats: run without arguments."""

import base64
import binascii
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).parent
TEXT = ["Caf\u00e9 ", "\U0001f980", " costs ", "3 \u20ac."]


def frame(kind, name, payload):
    """One message of an AWS event stream."""
    headers = b""
    kinds = {":event-type": name, ":content-type": "application/json", ":message-type": "event"}
    if kind == "exception":
        kinds = {":exception-type": name, ":content-type": "application/json", ":message-type": "exception"}
    for key, value in kinds.items():
        headers += bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
    body = json.dumps(payload, ensure_ascii=False).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", binascii.crc32(prelude)) + headers + body
    return message + struct.pack(">I", binascii.crc32(message))


def bedrock():
    out = frame("event", "messageStart", {"role": "assistant"})
    for text in TEXT:
        out += frame("event", "contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": text}})
    out += frame("event", "contentBlockStop", {"contentBlockIndex": 0})
    whole = out + frame("event", "messageStop", {"stopReason": "end_turn"})
    usage = {"inputTokens": 7, "outputTokens": 5, "totalTokens": 12}
    whole += frame("event", "metadata", {"usage": usage, "metrics": {"latencyMs": 9}})
    broken = out + frame("exception", "throttlingException", {"message": "Too many tokens, wait."})
    return {"bedrock-converse": whole, "bedrock-converse-error": broken}


def cohere():
    def event(kind, **rest):
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **rest}, ensure_ascii=False)}\n\n"

    out = event("message-start", id="c-1", delta={"message": {"role": "assistant", "content": []}})
    out += event("content-start", index=0, delta={"message": {"content": {"type": "text", "text": ""}}})
    for text in TEXT:
        out += event("content-delta", index=0, delta={"message": {"content": {"text": text}}})
    out += event("content-end", index=0)
    usage = {"billed_units": {"input_tokens": 7, "output_tokens": 5}, "tokens": {"input_tokens": 7, "output_tokens": 5}}
    return {"cohere": (out + event("message-end", delta={"finish_reason": "COMPLETE", "usage": usage})).encode()}


def ollama():
    base = {"model": "m-1", "created_at": "2026-01-15T12:00:00Z"}
    lines = [{**base, "message": {"role": "assistant", "content": text}, "done": False} for text in TEXT]
    lines.append({**base, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop",
                  "prompt_eval_count": 7, "eval_count": 5})
    whole = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    broken = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines[:2] + [{"error": "model runner has stopped"}])
    return {"ollama": whole.encode(), "ollama-error": broken.encode()}


for name, data in {**bedrock(), **cohere(), **ollama()}.items():
    text = base64.b64encode(data).decode()
    (HERE / f"{name}.b64").write_text("\n".join(text[i:i + 96] for i in range(0, len(text), 96)) + "\n")
