"""HTTP/1.1 of the standard library: what servers do, what they do wrong, TLS."""

import asyncio
import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import omniroute as om
import pytest
import trio
from omniroute._drive import Request, TransportError
from omniroute._http import AsyncioTransport
from vendor import ASK, Vendor, config, says, send, vendor, whole


def answers(raw: bytes, *, stays: bool = False) -> Callable[..., bool]:
    def answer(_: Vendor, __: dict[str, Any], line: socket.socket) -> bool:
        line.sendall(raw)
        return stays

    return answer


async def fetched(url: str, transport: "AsyncioTransport | None" = None) -> tuple[int, bytes]:
    transport = transport or AsyncioTransport()
    response = await transport.send(Request("POST", url, [], b"{}"))
    body = response.body
    if not response.whole:
        while piece := await response.read():
            body += piece
    return response.status, body


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (OK + b"content-length: 2\r\n\r\nab", b"ab"),
        (OK + b"Content-Length:2\r\n\r\nab", b"ab"),
        (OK + b"\r\nuntil the end", b"until the end"),
        (OK + b"transfer-encoding: chunked\r\n\r\n2;x=y\r\nab\r\n3\r\ncde\r\n0\r\nlater: on\r\n\r\n", b"abcde"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"content-length: 2\r\n\r\nab", b"ab"),
        (b"HTTP/1.1 204 No\r\n\r\n", b""),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nab", b"ab"),
        (OK + b"content-length: 200000\r\n\r\n" + b"x" * 200_000, b"x" * 200_000),
    ],
)
def test_what_servers_do(raw: bytes, body: bytes) -> None:
    with vendor(answers(raw)) as one:
        assert asyncio.run(fetched(one.url))[1] == body


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"SSH-2.0-x\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        OK + b"no colon\r\n\r\n",
        OK + b"content-length: -1\r\n\r\n",
        OK + b"content-length: 9\r\n\r\nab",
        OK + b"transfer-encoding: chunked\r\n\r\nzz\r\nab\r\n",
        OK + b"transfer-encoding: chunked\r\n\r\n5\r\nab",
        OK + b"content-len",
        OK + b"x: " + b"y" * 300_000 + b"\r\n\r\n",
    ],
)
def test_what_servers_do_wrong(raw: bytes) -> None:
    with vendor(answers(raw)) as one, pytest.raises(TransportError) as caught:
        asyncio.run(fetched(one.url))
    assert caught.value.phase == "read"


def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(TransportError) as caught:
        asyncio.run(fetched(f"http://127.0.0.1:{port}/"))
    assert caught.value.phase == "connect"


def test_a_kept_connection_that_was_closed_is_no_failure() -> None:
    """Servers close idle connections whenever they like; the request goes out again on a new one, once."""

    def once(_: Vendor, __: dict[str, Any], line: socket.socket) -> bool:
        send(line, 200, json.dumps(whole("hello")).encode())
        return False  # although it said nothing of closing

    async def main() -> None:
        async with om.Router(config(one)) as router:
            for _ in range(5):
                assert (await router.chat(ASK)).text == "hello"

    with vendor(once) as one:
        asyncio.run(main())
        assert len(one.requests) == 5 and one.connections == 5


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_tls(tmp_path: Path) -> None:
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *files, *names]
    subprocess.run(command, check=True, capture_output=True)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            await reader.readexactly(2)
            writer.write(OK + b"content-length: 2\r\n\r\nab")
            await writer.drain()

    async def main() -> None:
        listening = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=server)
        url = f"https://localhost:{listening.sockets[0].getsockname()[1]}/"
        trusted = ssl.create_default_context(cafile=str(tmp_path / "cert.pem"))
        transport = AsyncioTransport(ssl_context=trusted)
        for _ in range(2):
            assert await fetched(url, transport) == (200, b"ab")
        await transport.aclose()
        # A certificate that nobody vouches for is refused.
        with pytest.raises(TransportError) as caught:
            await fetched(url)
        assert caught.value.phase == "tls"
        listening.close()

    asyncio.run(main())


def test_trio_gets_a_clear_error() -> None:
    async def main() -> None:
        with pytest.raises(RuntimeError, match="trio.to_thread"):
            await router.chat(ASK)
        reply = await trio.to_thread.run_sync(router.sync.chat, ASK)
        assert reply.text == "hello"

    with vendor(says("hello")) as one:
        router = om.Router(config(one))
        trio.run(main)
        router.sync.close()
