"""Vendors that answer with what real ones have said, and a gateway in front of them."""

import http.server
import json
import os
import pathlib
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parents[4]
DATA = pathlib.Path(os.environ.get("OMNIROUTE_DATA", ROOT.parent / "shared" / "data")) / "exchanges"
#: Wire, files of recordings, end of the path.
WIRES = {
    "openai-chat": (["openai", "groq", "deepseek"], "/chat/completions"),
    "openai-responses": (["openai", "xai"], "/responses"),
    "anthropic-messages": (["anthropic"], "/messages"),
    "gemini": (["gemini"], "enerateContent"),
}


def recordings(wire: str) -> "list[dict]":
    """Exchanges that went well and say something."""
    files, path = WIRES[wire]
    found = []
    for file in files:
        for line in (DATA / f"{file}.jsonl").read_text().splitlines():
            one = json.loads(line)
            answer = one["response"]
            if one["request"]["path"].endswith(path) and answer["status"] == 200 and answer.get("body"):
                found.append(one)
    return found


def events(body: str) -> "list[dict]":
    """The data of server-sent events, read as simply as can be: the tests do not use our own reader."""
    lines = [line[5:].strip() for line in body.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line and line != "[DONE]"]


def whole(wire: str, reply: dict) -> "tuple[str, list]":
    """Text and calls of a whole reply."""
    text, calls = "", []
    if wire == "openai-chat":
        message = reply["choices"][0]["message"]
        text = message.get("content") or ""
        calls = [(c["function"]["name"], json.loads(c["function"]["arguments"] or "{}")) for c in message.get("tool_calls") or []]
    elif wire == "openai-responses":
        for item in reply["output"]:
            if item["type"] == "message":
                text += "".join(part.get("text", "") for part in item["content"])
            elif item["type"] == "function_call":
                calls.append((item["name"], json.loads(item["arguments"] or "{}")))
    elif wire == "anthropic-messages":
        text = "".join(block["text"] for block in reply["content"] if block["type"] == "text")
        calls = [(block["name"], block["input"]) for block in reply["content"] if block["type"] == "tool_use"]
    else:
        parts = reply["candidates"][0]["content"].get("parts", [])
        text = "".join(part.get("text", "") for part in parts if not part.get("thought"))
        calls = [(part["functionCall"]["name"], part["functionCall"].get("args", {})) for part in parts if "functionCall" in part]
    return text, calls


def streamed(wire: str, body: str) -> "tuple[str, list]":
    """Text and calls of a streamed reply."""
    text, calls = "", {}
    for event in events(body):
        if wire == "openai-chat":
            for choice in event.get("choices", [])[:1]:
                delta = choice.get("delta") or {}
                text += delta.get("content") or ""
                for call in delta.get("tool_calls") or []:
                    known = calls.setdefault(call.get("index", 0), ["", ""])
                    known[0] += (call.get("function") or {}).get("name") or ""
                    known[1] += (call.get("function") or {}).get("arguments") or ""
        elif wire == "openai-responses":
            if event["type"] == "response.completed":
                return whole(wire, event["response"])
        elif wire == "anthropic-messages":
            if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
                calls[event["index"]] = [event["content_block"]["name"], ""]
            elif event["type"] == "content_block_delta":
                delta = event["delta"]
                text += delta.get("text", "") if delta["type"] == "text_delta" else ""
                if delta["type"] == "input_json_delta":
                    calls[event["index"]][1] += delta["partial_json"]
        else:
            said, called = whole(wire, event) if event.get("candidates") else ("", [])
            text += said
            calls.update({len(calls) + at: [name, json.dumps(args)] for at, (name, args) in enumerate(called)})
    return text, [(name, json.loads(args or "{}")) for name, args in calls.values()]


class Vendors:
    """One server for all wires: what it says next is set by the test; else what it says `always`."""

    def __init__(self, always: "str | None" = None) -> None:
        vendors = self
        self.heard: "list[dict]" = []
        self.next: "list[tuple[int, str, str]]" = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_: object) -> None:
                pass

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                if always is None:
                    vendors.heard.append({"path": self.path, "headers": dict(self.headers), "body": json.loads(body)})
                    status, kind, answer = vendors.next.pop(0)
                else:
                    status, kind, answer = 200, "application/json", always
                data = answer.encode()
                self.send_response(status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def say(self, body: str, status: int = 200) -> None:
        kind = "application/json" if body.lstrip().startswith(("{", "[")) else "text/event-stream"
        self.next.append((status, kind, body))


class Gateway:
    """The built program over these vendors, one provider for each wire."""

    def __init__(self, folder: pathlib.Path, vendors: Vendors, more: str = "") -> None:
        lines = ['[store]\nkind = "memory"\n', more]
        for wire in WIRES:
            base = "v1beta" if wire == "gemini" else "v1"
            lines.append(f'[[providers]]\nid = "{wire}"\nwire = "{wire}"\nbase_url = "http://127.0.0.1:{vendors.port}/{base}"\n')
            lines.append(f'[[connections]]\nid = "{wire}/a"\nkey = {{ env = "MOCK_KEY" }}\n')
        config = folder / "omniroute.toml"
        config.write_text("".join(lines))
        binary = os.environ["OMNIROUTE_BIN"]
        command = [binary, "serve", "--config", str(config), "--listen", "127.0.0.1:0"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "MOCK_KEY": "sk-mock"})
        assert self.process.stderr is not None
        first = self.process.stderr.readline()
        assert "listens on" in first, first
        self.url = first.split("listens on ")[1].strip()
        threading.Thread(target=self.process.stderr.read, daemon=True).start()

    def close(self) -> int:
        self.process.terminate()
        return self.process.wait(20)
