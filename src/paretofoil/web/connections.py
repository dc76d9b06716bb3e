"""The HTTP server, with limits on the number and the time of connections that uvicorn does not have."""

import json
import signal
import socket
from asyncio import TimerHandle, Transport
from typing import Any

import h11
import uvicorn
from fastapi import FastAPI
from uvicorn.protocols.http.h11_impl import H11Protocol

from paretofoil.web.guard import HEADERS

MAX_CONNECTIONS = 400
"""Largest number of connections: with the pipes of 256 workers, below 1,024 open files, the usual limit."""
HEAD_SECONDS = 10.0
"""Time limit for receiving the request line and the headers."""
REQUEST_SECONDS = 300.0
"""Time limit of a whole request, for clients that do not read the response."""


class LimitedProtocol(H11Protocol):
    """A connection with time limits. If there are too many, the one that has been idle longest is closed."""

    _idle_since: float | None = None
    """When the connection began to wait for a request; None while it has one."""
    _timer: TimerHandle | None = None

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._follow()
        if len(self.connections) > MAX_CONNECTIONS:
            others: set[Any] = self.connections
            idle = {other: other._idle_since for other in others if other._idle_since is not None}  # this one, at least
            min(idle, key=idle.__getitem__).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._follow()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._follow()

    def connection_lost(self, exc: Exception | None) -> None:
        self._set_timer(None)
        super().connection_lost(exc)

    def _follow(self) -> None:
        """Set a time limit when the connection begins to wait for a request, and when it has received the headers."""
        has_request = self.conn.their_state is not h11.IDLE
        if has_request and self._idle_since is not None:
            self._idle_since = None
            self._set_timer(REQUEST_SECONDS)
        elif not has_request and self._idle_since is None:
            self._idle_since = self.loop.time()
            self._set_timer(HEAD_SECONDS)

    def _set_timer(self, seconds: float | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = None if seconds is None else self.loop.call_later(seconds, self.transport.abort)

    def send_400_response(self, msg: str) -> None:
        """Refuse data that is not HTTP with a response like those of the guard: JSON, and the security headers."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            headers = {**HEADERS, "Content-Type": "application/json", "Connection": "close"}
            body = json.dumps({"error": f"expected an HTTP request, got other data ({msg})"}).encode()
            response = h11.Response(status_code=400, headers=list(headers.items()), reason=b"Bad Request")
            for event in (response, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def run_server(app: FastAPI, listening: socket.socket) -> None:
    """Serve the application until the process gets SIGINT, SIGTERM or SIGHUP."""
    config = uvicorn.Config(
        app, http=LimitedProtocol, ws="none", log_level="warning", server_header=False, timeout_graceful_shutdown=3
    )
    server = uvicorn.Server(config)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # not under `nohup`
        signal.signal(signal.SIGHUP, lambda number, frame: server.handle_exit(signal.SIGTERM, frame))
    server.run(sockets=[listening])
