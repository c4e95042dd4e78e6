"""A vendor on loopback: a real HTTP/1.1 server on a thread of the test, which answers as it is told and remembers what
became of its connections."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Answer = Callable[["Vendor", dict[str, Any], socket.socket], bool]


class Vendor:
    """Answers requests; `answer` writes to the connection and says whether it stays open."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.requests: list[tuple[str, dict[str, str], dict[str, Any]]] = []
        self.connections = 0
        #: Set when a client has closed a connection that was not answered yet.
        self.closed = threading.Event()
        self.asked = threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/v1"
        self._threads: list[threading.Thread] = []
        self._lines: list[socket.socket] = []
        accepting = threading.Thread(target=self._accept, daemon=True)
        accepting.start()

    def _accept(self) -> None:
        while True:
            try:
                line, _ = self._socket.accept()
            except OSError:
                return
            self.connections += 1
            self._lines.append(line)
            serving = threading.Thread(target=self._serve, args=(line,), daemon=True)
            self._threads.append(serving)
            serving.start()

    def _serve(self, line: socket.socket) -> None:
        with line, line.makefile("rb") as reader:
            while first := reader.readline():
                headers = {}
                while (row := reader.readline().strip()) and row:
                    name, _, value = row.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = json.loads(reader.read(int(headers.get("content-length", 0))))
                self.requests.append((first.decode().split()[1], headers, body))
                self.asked.set()
                try:
                    if not self.answer(self, body, line):
                        return
                except OSError:
                    self.closed.set()
                    return

    def close(self) -> None:
        self._socket.close()
        for line in self._lines:
            try:
                line.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def whole(text: str, **more: Any) -> dict[str, Any]:
    """An answer of OpenAI chat."""
    message = {"role": "assistant", "content": text, **more}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in more else "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
    return {"id": "chat-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def chunk(delta: dict[str, Any], stop: str | None = None) -> bytes:
    """A piece of a stream of OpenAI chat."""
    choice = {"index": 0, "delta": delta, "finish_reason": stop}
    event = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(event).encode() + b"\n\n"


def send(line: socket.socket, status: int, body: bytes, kind: str = "application/json") -> None:
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    line.sendall(head.encode() + body)


def send_chunked(line: socket.socket, pieces: list[bytes]) -> None:
    line.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    for piece in pieces:
        line.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
    line.sendall(b"0\r\n\r\n")


def says(text: str) -> Answer:
    """Always the same text, whole or streamed as it is asked."""

    def answer(_: Vendor, body: dict[str, Any], line: socket.socket) -> bool:
        if body.get("stream"):
            words = [chunk({"content": word}) for word in text.split(" ")]
            send_chunked(line, [chunk({"role": "assistant"}), *words, chunk({}, "stop"), b"data: [DONE]\n\n"])
        else:
            send(line, 200, json.dumps(whole(text)).encode())
        return True

    return answer


def fails(status: int, body: dict[str, Any]) -> Answer:
    def answer(_: Vendor, __: dict[str, Any], line: socket.socket) -> bool:
        send(line, status, json.dumps(body).encode())
        return True

    return answer


def hangs(vendor: Vendor, _: dict[str, Any], line: socket.socket) -> bool:
    """Never answers; sees when the client goes away."""
    if line.recv(1) == b"":
        vendor.closed.set()
    return False


@contextmanager
def vendor(answer: Answer) -> Iterator[Vendor]:
    made = Vendor(answer)
    try:
        yield made
    finally:
        made.close()


def config(*vendors: Vendor, **more: Any) -> dict[str, Any]:
    """Asks the vendors in their order: the model `all`."""
    connections = [
        {"id": f"vendor{n}/test", "key": f"key-{n}", "base_url": one.url, "wire": "openai-chat"}
        for n, one in enumerate(vendors)
    ]
    steps = [f"vendor{n}/m" for n in range(len(vendors))]
    combos = [{"name": "all", "strategy": "priority", "steps": steps}]
    return {"connections": connections, "combos": combos, "routing": {"same_target_retries": 0}, **more}


ASK = {"model": "all", "messages": [{"role": "user", "content": "hello"}]}
