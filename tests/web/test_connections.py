"""A server on a real port: half-open connections, broken HTTP, and the signals that stop it."""

import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
import uvicorn
from fastapi import FastAPI

from paretofoil.web import connections, guard
from paretofoil.web.connections import LimitedProtocol
from paretofoil.web.guard import Guard
from paretofoil.web.settings import Settings


@contextmanager
def listening() -> Iterator[tuple[str, int]]:
    """The host and port of a small application behind the guard, served as the real one is."""
    app = FastAPI()

    @app.get("/api/ping")
    async def ping() -> str:
        return "pong"

    app.add_middleware(Guard, settings=Settings())
    server = uvicorn.Server(uvicorn.Config(app, http=LimitedProtocol, ws="none", log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield listener.getsockname()
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    with listening() as place:
        yield place


def ping(address: tuple[str, int]) -> str:
    return str(httpx.get("http://{}:{}/api/ping".format(*address), timeout=10).json())


def receive_all(client: socket.socket) -> bytes:
    """What the server sends until it closes the connection."""
    client.settimeout(10)
    parts = []
    try:
        while part := client.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def test_half_open_connections_do_not_silence_the_server(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_CONNECTIONS", 20)
    with ExitStack() as opened:
        clients = [opened.enter_context(socket.create_connection(address)) for _ in range(100)]
        for client in clients[:50]:
            try:
                client.sendall(b"GET /api/ping HTTP/1.1\r\nHost: 127")
            except OSError:  # closed by then, for others came
                continue
        assert ping(address) == "pong"
        assert receive_all(clients[0]) == b""  # the oldest was closed
        clients[-1].sendall(b"GET /api/ping HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
        assert receive_all(clients[-1]).endswith(b'"pong"')


@pytest.mark.parametrize(
    ("sent", "seconds"),
    [
        (b"", 0.1),
        (b"GET /api/ping HTTP/1.1\r\n", 0.1),
        (b"GET /api/ping HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /api", 1.0),  # the first head must come in time
    ],
    ids=["nothing", "half of a head", "half of a second head"],
)
def test_a_head_that_never_ends_is_not_waited_for(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch, sent: bytes, seconds: float
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", seconds)
    with socket.create_connection(address) as client:
        with suppress(OSError):  # cut off already
            client.sendall(sent)
        assert receive_all(client).endswith(b'"pong"' if b"\r\n\r\n" in sent else b"")


def test_a_head_that_comes_byte_by_byte_is_not_waited_for(
    address: tuple[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.1)
    pause = threading.Event()
    with socket.create_connection(address) as client:
        for _ in range(500):
            try:
                client.sendall(b"x")
            except OSError:
                return
            pause.wait(0.01)
    pytest.fail("the connection was not closed")


@pytest.mark.parametrize("sent", [b"\x00\x01\x02\r\n\r\n", b"GET /\r\n\r\n", b"GET " + b"x" * 100_000])
def test_what_is_not_http_is_refused_with_the_security_headers(address: tuple[str, int], sent: bytes) -> None:
    with socket.create_connection(address) as client:
        client.sendall(sent)
        answer = receive_all(client)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert body.startswith(b'{"error": "expected an HTTP request')
    for name, value in guard.HEADERS.items():
        assert f"{name}: {value}".lower().encode() in head.lower()


def test_a_client_that_does_not_read_is_cut_off(address: tuple[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "REQUEST_SECONDS", 0.1)
    with socket.create_connection(address) as client:
        head = b"POST /api/ping HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        client.sendall(head + b"Content-Length: 9\r\n\r\n{")
        assert receive_all(client) == b""


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_signal_to_hang_up_stops_the_server_as_one_to_terminate_does(number: signal.Signals) -> None:
    from test_serve_verb import address_of, typed

    if signal.getsignal(number) is signal.SIG_IGN:
        pytest.skip("these tests were started with nohup, which the server inherits")
    with typed("deep-sea-treasure", "--workers", "1") as process:
        httpx.get(f"{address_of(process)}api/health")
        workers = children_of(process.pid)
        assert len(workers) == 2
        process.send_signal(number)
        assert process.wait(60) == -signal.SIGTERM
        assert "Traceback" not in process.stderr.read()  # type: ignore[union-attr]
        assert not [worker for worker in workers if Path(f"/proc/{worker}").exists()]


def children_of(pid: int) -> list[str]:
    return [child for path in Path(f"/proc/{pid}/task").glob("*/children") for child in path.read_text().split()]
