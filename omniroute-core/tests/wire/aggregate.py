"""Reads recorded replies with nothing but the standard library: what a reader of our own must find in them.

Usage: aggregate.py FOLDER [WIRE]. Prints one JSON line for each reply that is no error:
{label, streamed, choices: {index: {text, refusal, reasoning, seals, calls, stop}}, usage: {input, output, cache_read}}
"""
import base64
import json
import pathlib
import struct
import sys


def wire_of(path):
    ends = {"/chat/completions": "openai-chat", "/responses": "openai-responses", "/messages": "anthropic-messages",
            "/v2/chat": "cohere", "/api/chat": "ollama", "/converse": "bedrock-converse",
            "/converse-stream": "bedrock-converse", "enerateContent": "gemini"}
    return next((wire for end, wire in ends.items() if path.endswith(end)), None)


def sse(text):
    return [json.loads(line[5:]) for line in text.split("\n") if line.startswith("data:") and line[5:].strip() != "[DONE]"]


def event_stream(raw):
    at, out = 0, []
    while at < len(raw):
        total, headers = struct.unpack(">II", raw[at:at + 8])
        head, payload, names, i = raw[at + 12:at + 12 + headers], raw[at + 12 + headers:at + total - 4], {}, 0
        while i < len(head):
            n = head[i]
            size = struct.unpack(">H", head[i + n + 2:i + n + 4])[0]
            names[head[i + 1:i + 1 + n].decode()] = head[i + n + 4:i + n + 4 + size].decode()
            i += n + 4 + size
        out.append((names[":event-type"], json.loads(payload)))
        at += total
    return out


class Message:
    def __init__(self):
        self.choices, self.usage = {}, None

    def choice(self, index=0):
        empty = {"text": "", "refusal": "", "reasoning": "", "seals": [], "calls": [], "stop": None}
        return self.choices.setdefault(index or 0, empty)


def call(identifier, name, arguments):
    return {"id": identifier or "", "name": name, "arguments": arguments}


def chat_usage(usage):
    details = usage.get("prompt_tokens_details") or {}
    cached = details.get("cached_tokens")
    if cached is None:
        cached = usage.get("cached_tokens", usage.get("prompt_cache_hit_tokens"))
    return {"input": usage["prompt_tokens"], "output": usage["completion_tokens"], "cache_read": cached}


def chat_details(choice, entries, told):
    for entry in entries or []:
        text = entry.get("text") or entry.get("summary") or ""
        if not told:
            choice["reasoning"] += text
        seal = entry.get("data") or entry.get("signature")
        if seal:
            choice["seals"].append(seal)


def content_text(content):
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def chat_whole(body):
    out = Message()
    for item in body["choices"]:
        choice, message = out.choice(item.get("index")), item.get("message") or item["delta"]
        choice["text"] = content_text(message.get("content"))
        choice["refusal"] = message.get("refusal") or ""
        plain = message.get("reasoning_content") or message.get("reasoning") or ""
        details = message.get("reasoning_details")
        listed = "".join((e.get("text") or e.get("summary") or "") for e in details or [])
        choice["reasoning"] = listed or plain
        chat_details(choice, details, True)
        for c in message.get("tool_calls") or []:
            choice["calls"].append(call(c.get("id"), c["function"]["name"], c["function"]["arguments"]))
        choice["stop"] = item.get("finish_reason")
    if body.get("usage"):
        out.usage = chat_usage(body["usage"])
    return out


def chat_stream(events):
    out, open_calls = Message(), {}
    for event in events:
        for item in event.get("choices") or []:
            index = item.get("index") or 0
            choice, delta = out.choice(index), item.get("delta") or {}
            choice["text"] += content_text(delta.get("content"))
            choice["refusal"] += delta.get("refusal") or ""
            plain = delta.get("reasoning_content") or delta.get("reasoning") or ""
            choice["reasoning"] += plain
            chat_details(choice, delta.get("reasoning_details"), bool(plain))
            for c in delta.get("tool_calls") or []:
                function = c.get("function") or {}
                key = (index, c["index"])
                if key in open_calls and c.get("id") and open_calls[key]["id"] not in ("", c["id"]):
                    del open_calls[key]
                if key not in open_calls:
                    open_calls[key] = call(c.get("id"), function.get("name"), "")
                    choice["calls"].append(open_calls[key])
                open_calls[key]["arguments"] += function.get("arguments") or ""
            choice["stop"] = choice["stop"] or item.get("finish_reason")
        usage = event.get("usage") or (event.get("x_groq") or {}).get("usage")
        if usage:
            out.usage = chat_usage(usage)
    return out


def anthropic_usage(usage, old=None):
    merged = dict(old or {})
    merged.update({k: v for k, v in usage.items() if v is not None})
    return merged


def anthropic_total(usage):
    read, write = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
    total = usage["input_tokens"] + (read or 0) + (write or 0)
    return {"input": total, "output": usage["output_tokens"], "cache_read": read}


def anthropic_block(choice, block):
    kind = block["type"]
    if kind == "text":
        choice["text"] += block["text"]
    elif kind == "thinking":
        choice["reasoning"] += block["thinking"]
        if block.get("signature"):
            choice["seals"].append(block["signature"])
    elif kind == "redacted_thinking":
        choice["seals"].append(block["data"])
    elif kind == "tool_use":
        choice["calls"].append(call(block["id"], block["name"], json.dumps(block["input"])))


def anthropic_whole(body):
    out = Message()
    choice = out.choice()
    for block in body["content"]:
        anthropic_block(choice, block)
    choice["stop"] = body["stop_reason"]
    out.usage = anthropic_total(body["usage"])
    return out


def anthropic_stream(events):
    out, blocks, usage = Message(), {}, {}
    choice = out.choice()
    for event in events:
        kind = event["type"]
        if kind == "message_start":
            usage = anthropic_usage(event["message"]["usage"])
        elif kind == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"], _json="")
        elif kind == "content_block_delta":
            block, delta = blocks[event["index"]], event["delta"]
            for key in ("text", "thinking", "signature"):
                if key in delta:
                    block[key] = block.get(key, "") + delta[key]
            block["_json"] += delta.get("partial_json", "")
        elif kind == "message_delta":
            choice["stop"] = event["delta"]["stop_reason"]
            usage = anthropic_usage(event.get("usage") or {}, usage)
    for index in sorted(blocks):
        block = blocks[index]
        if block["type"] == "tool_use" and block["_json"]:
            block["input"] = json.loads(block["_json"])
        anthropic_block(choice, block)
    out.usage = anthropic_total(usage)
    return out


def responses_whole(body):
    out = Message()
    choice = out.choice()
    for item in body["output"]:
        if item["type"] == "message":
            for part in item["content"]:
                key = "refusal" if part["type"] == "refusal" else "text"
                choice[key] += part[key]
        elif item["type"] == "reasoning":
            texts = [p["text"] for p in item.get("summary") or []] or [p["text"] for p in item.get("content") or []]
            choice["reasoning"] += "".join(texts)
            if item.get("encrypted_content"):
                choice["seals"].append(item["encrypted_content"])
        elif item["type"] == "function_call":
            choice["calls"].append(call(item["call_id"], item["name"], item["arguments"]))
    reason = (body.get("incomplete_details") or {}).get("reason")
    choice["stop"] = reason or body["status"]
    usage = body.get("usage")
    if usage:
        details = usage.get("input_tokens_details") or {}
        out.usage = {"input": usage["input_tokens"], "output": usage["output_tokens"], "cache_read": details.get("cached_tokens")}
    return out


def responses_stream(events):
    """From the deltas and finished items alone; status and usage from the last event."""
    items, last = {}, None
    for event in events:
        kind = event["type"]
        at = event.get("output_index")
        if kind == "response.output_item.added":
            items[at] = {"item": event["item"], "text": {}, "summary": {}, "arguments": ""}
        elif kind in ("response.output_text.delta", "response.refusal.delta"):
            texts = items[at]["text"]
            texts[event["content_index"]] = texts.get(event["content_index"], "") + event["delta"]
        elif kind == "response.reasoning_summary_text.delta":
            texts = items[at]["summary"]
            texts[event["summary_index"]] = texts.get(event["summary_index"], "") + event["delta"]
        elif kind == "response.function_call_arguments.delta":
            items[at]["arguments"] += event["delta"]
        elif kind == "response.output_item.done":
            items[at]["done"] = event["item"]
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            last = event["response"]
    output = []
    for at in sorted(items):
        state = items[at]
        item = dict(state.get("done") or state["item"])
        if item["type"] == "message" and state["text"]:
            item["content"] = [{"type": "output_text", "text": state["text"][i]} for i in sorted(state["text"])]
        if item["type"] == "reasoning" and state["summary"]:
            item["summary"] = [{"text": state["summary"][i]} for i in sorted(state["summary"])]
        if item["type"] == "function_call" and state["arguments"]:
            item["arguments"] = state["arguments"]
        output.append(item)
    return responses_whole(dict(last, output=output or last["output"]))


def gemini_whole(body):
    out = Message()
    for candidate in body.get("candidates") or []:
        choice = out.choice(candidate.get("index"))
        for part in (candidate.get("content") or {}).get("parts") or []:
            if "functionCall" in part:
                c = part["functionCall"]
                choice["calls"].append(call(c.get("id"), c["name"], json.dumps(c.get("args") or {})))
            elif part.get("thought"):
                choice["reasoning"] += part.get("text", "")
            else:
                choice["text"] += part.get("text", "")
            if part.get("thoughtSignature"):
                choice["seals"].append(part["thoughtSignature"])
        choice["stop"] = candidate.get("finishReason")
    usage = body["usageMetadata"]
    total = usage["promptTokenCount"] + usage.get("toolUsePromptTokenCount", 0)
    written = usage.get("candidatesTokenCount", 0) + usage.get("thoughtsTokenCount", 0)
    out.usage = {"input": total, "output": written, "cache_read": usage.get("cachedContentTokenCount")}
    return out


def ollama(objects):
    out = Message()
    choice = out.choice()
    for body in objects:
        message = body["message"]
        choice["text"] += message.get("content") or ""
        choice["reasoning"] += message.get("thinking") or ""
        for c in message.get("tool_calls") or []:
            choice["calls"].append(call(c.get("id"), c["function"]["name"], json.dumps(c["function"]["arguments"])))
        if body["done"]:
            choice["stop"] = body["done_reason"]
            out.usage = {"input": body.get("prompt_eval_count"), "output": body["eval_count"], "cache_read": None}
    return out


def bedrock_usage(usage):
    read, write = usage.get("cacheReadInputTokens"), usage.get("cacheWriteInputTokens")
    return {"input": usage["inputTokens"] + (read or 0) + (write or 0), "output": usage["outputTokens"], "cache_read": read}


def bedrock_whole(body):
    out = Message()
    choice = out.choice()
    for block in body["output"]["message"]["content"]:
        choice["text"] += block.get("text", "")
        if "toolUse" in block:
            use = block["toolUse"]
            choice["calls"].append(call(use["toolUseId"], use["name"], json.dumps(use["input"])))
    choice["stop"], out.usage = body["stopReason"], bedrock_usage(body["usage"])
    return out


def bedrock_stream(events):
    out, calls = Message(), {}
    choice = out.choice()
    for name, event in events:
        at = event.get("contentBlockIndex")
        if name == "contentBlockStart" and "toolUse" in event["start"]:
            use = event["start"]["toolUse"]
            calls[at] = call(use["toolUseId"], use["name"], "")
            choice["calls"].append(calls[at])
        elif name == "contentBlockDelta":
            choice["text"] += event["delta"].get("text", "")
            if "toolUse" in event["delta"]:
                calls[at]["arguments"] += event["delta"]["toolUse"]["input"]
        elif name == "messageStop":
            choice["stop"] = event["stopReason"]
        elif name == "metadata":
            out.usage = bedrock_usage(event["usage"])
    return out


def cohere_usage(usage):
    tokens = usage["tokens"]
    return {"input": tokens["input_tokens"], "output": tokens["output_tokens"], "cache_read": usage.get("cached_tokens")}


def cohere_whole(body):
    out = Message()
    choice, message = out.choice(), body["message"]
    choice["reasoning"] = message.get("tool_plan") or ""
    for part in message.get("content") or []:
        choice["text"] += part.get("text", "")
        choice["reasoning"] += part.get("thinking", "")
    for c in message.get("tool_calls") or []:
        choice["calls"].append(call(c["id"], c["function"]["name"], c["function"]["arguments"]))
    choice["stop"], out.usage = body["finish_reason"], cohere_usage(body["usage"])
    return out


def cohere_stream(events):
    out, calls = Message(), {}
    choice = out.choice()
    for event in events:
        message = (event.get("delta") or {}).get("message") or {}
        kind = event["type"]
        if kind in ("content-start", "content-delta"):
            choice["text"] += message["content"].get("text", "")
            choice["reasoning"] += message["content"].get("thinking", "")
        elif kind == "tool-plan-delta":
            choice["reasoning"] += message["tool_plan"]
        elif kind == "tool-call-start":
            c = message["tool_calls"]
            calls[event["index"]] = call(c["id"], c["function"]["name"], c["function"]["arguments"])
            choice["calls"].append(calls[event["index"]])
        elif kind == "tool-call-delta":
            calls[event["index"]]["arguments"] += message["tool_calls"]["function"]["arguments"]
        elif kind == "message-end":
            choice["stop"], out.usage = event["delta"]["finish_reason"], cohere_usage(event["delta"]["usage"])
    return out


WHOLE = {"openai-chat": chat_whole, "anthropic-messages": anthropic_whole, "openai-responses": responses_whole,
         "gemini": gemini_whole, "bedrock-converse": bedrock_whole, "cohere": cohere_whole, "ollama": lambda b: ollama([b])}
STREAM = {"openai-chat": chat_stream, "anthropic-messages": anthropic_stream, "openai-responses": responses_stream,
          "cohere": cohere_stream}


def read(wire, body):
    if body.lstrip().startswith("{"):
        try:
            whole = json.loads(body)
        except json.JSONDecodeError:
            return True, ollama([json.loads(line) for line in body.splitlines() if line])
        return False, WHOLE[wire](whole)
    if wire == "bedrock-converse":
        return True, bedrock_stream(event_stream(base64.b64decode(body)))
    return True, STREAM[wire](sse(body))


def main():
    only = sys.argv[2] if len(sys.argv) > 2 else None
    for path in sorted(pathlib.Path(sys.argv[1]).glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").split("\n"):
            if not line:
                continue
            exchange = json.loads(line)
            wire = wire_of(exchange["request"]["path"])
            if wire is None or exchange["response"]["status"] != 200 or (only and wire != only):
                continue
            streamed, message = read(wire, exchange["response"]["body"])
            label = exchange["provider"] + "/" + exchange["name"]
            print(json.dumps({"label": label, "wire": wire, "streamed": streamed, "choices": message.choices, "usage": message.usage}))


main()
