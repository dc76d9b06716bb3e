"""The guard in front of the application: it refuses foreign and oversized requests and adds security headers.

A page of another site can make a visitor's browser send requests to a server on the visitor's machine. The guard
recognises such requests by headers that pages cannot forge: Host, Origin and Sec-Fetch-Site.
"""

import asyncio
import logging
from socket import gethostname
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief, brief_words, read_document
from paretofoil.study.database import StoreError
from paretofoil.web.errors import STATUSES, Busy
from paretofoil.web.models import first_problem
from paretofoil.web.settings import LOOPBACK, Settings, is_address

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
BODY_BYTES = 64 << 10
"""Largest length of a body."""
LONGER_BODIES = {"/api/agents": 8 << 20, "/api/folded": 1 << 20, "/api/probabilities": 1 << 20}
"""Largest lengths of bodies that may be longer: uploads, and states and commands."""
ALL_BODIES_BYTES = 64 << 20
"""Largest total length of the bodies that the server holds at one time."""
MAX_ITEMS = 120_000
"""Largest number of lists, objects and items in a body. Parsing them takes a few hundredths of a second."""
BODY_SECONDS = 30.0
"""Time limit for receiving a body."""
RETRY_SECONDS = 5
"""Seconds after which a client of a busy server should try again."""
LOG = logging.getLogger(__name__)


class Guard:
    """Middleware in front of the application. It reads the body within limits, and checks that the body is JSON."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._num_bytes = 0
        """Length of all bodies that the server holds now."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # the messages about the lifespan of the server
            await self._app(scope, receive, send)
            return
        body, send = bytearray(), _with_headers(scope, send)
        # Files are always sent whole: they are small, and malformed ranges would raise errors.
        scope["headers"] = [(name, value) for name, value in scope["headers"] if name != b"range"]
        try:
            self._refuse_foreign(scope, Headers(scope=scope))
            if scope["method"] in ("POST", "PUT", "PATCH"):
                await self._read_body(scope, receive, body)
            await self._app(scope, _replay(bytes(body), receive), send)
        except ClientDisconnect:
            return
        except Exception as error:
            await response_to(error, scope)(scope, receive, send)
        finally:
            self._num_bytes -= len(body)

    def _refuse_foreign(self, scope: Scope, headers: Headers) -> None:
        host = headers.get("host", "")
        if not is_own_host(host, self._settings):
            raise HTTPException(400, f"expected this server's own name as host, got {brief(host)}")
        site = headers.get("sec-fetch-site", "none")
        if scope["path"].startswith("/api") and site not in ("none", "same-origin"):
            raise HTTPException(403, f"expected a request from this server's own page, got one of a {brief(site)} page")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise HTTPException(403, f"expected a request from this server's own page, got one from {brief(origin)}")

    async def _read_body(self, scope: Scope, receive: Receive, body: bytearray) -> None:
        """Append the request's body to `body`."""
        content_type = Headers(scope=scope).get("content-type", "")
        if content_type.partition(";")[0].strip().lower() != "application/json":
            raise HTTPException(415, f"expected a body of type application/json, got {brief(content_type)}")
        limit = LONGER_BODIES.get(scope["path"], BODY_BYTES)
        try:
            async with asyncio.timeout(BODY_SECONDS):
                async for part in Request(scope, receive).stream():
                    body += part
                    self._num_bytes += len(part)
                    if len(body) > limit:
                        raise HTTPException(413, f"expected a body of at most {limit:,} bytes, got a longer one")
                    if self._num_bytes > ALL_BODIES_BYTES:
                        raise Busy("the server is receiving too many long requests; please try again in a few seconds")
        except TimeoutError:
            got = f"{len(body):,} bytes of an unfinished body"
            raise HTTPException(408, f"expected the whole body within {BODY_SECONDS:g} seconds, got {got}") from None
        num_items = sum(map(body.count, (b",", b"[", b"{")))
        if num_items > MAX_ITEMS:
            raise HTTPException(413, f"expected a body of at most {MAX_ITEMS:,} items, got {num_items:,}")
        # Refuses deep nesting, and values that JSON does not have, such as NaN.
        await asyncio.to_thread(read_document, bytes(body), "the body")


def is_own_host(host: str, settings: Settings) -> bool:
    """Return whether a Host header names this server.

    A server that other machines can reach does not know all of its addresses. It accepts every IP address, because the
    site of an attacker always has a name.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name in LOOPBACK or name == settings.host.lower():
        return True
    return not settings.loopback and (is_address(name) or name == gethostname().lower())


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that returns the body that was read, and then later messages."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return messages.pop() if messages else await receive()

    return receive_again


def _with_headers(scope: Scope, send: Send) -> Send:
    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store" if scope["path"].startswith("/api") else "no-cache")
        await send(message)

    return send_with_headers


def response_to(error: Exception, scope: Scope) -> JSONResponse:
    """Return the response to a request that raised an error: its status, and one sentence of JSON."""
    status, message, headers = 500, "internal error; the server's log has the details", dict[str, str]()
    if isinstance(error, HTTPException):
        expected = {404: "an address of this server", 405: "another method for this address"}.get(error.status_code)
        got = f"{scope['method']} {brief(scope['path'])}"
        message = error.detail if expected is None else f"expected {expected}, got {got}"
        status, headers = error.status_code, dict(error.headers or {})
    elif isinstance(error, RequestValidationError):
        first = error.errors()[0]
        status, message = 422, first_problem([{**first, "loc": first["loc"][1:]}])
    elif isinstance(error, Busy | StoreError):
        status, message, headers = 503, str(error), {"Retry-After": str(RETRY_SECONDS)}
        if isinstance(error, StoreError):  # its message names the file, which clients need not know
            LOG.error("%s", error)
            message = "the server cannot store replies now; please try again in a few seconds"
    elif isinstance(error, InvalidInput):
        status, message = STATUSES.get(type(error), 422), str(error)
    else:
        LOG.error("%s %s failed", scope["method"], scope["path"], exc_info=error)
    return JSONResponse({"error": brief_words(message)}, status, headers)


async def respond(request: Request, error: Exception) -> JSONResponse:
    """Return the response to an error that FastAPI would otherwise handle. The guard handles all other errors."""
    return response_to(error, request.scope)
