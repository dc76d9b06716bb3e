"""The guard in front of the application: it refuses foreign and oversized requests and adds security headers.

A page of another site can make a visitor's browser send requests to a server on the same machine. The guard recognises
them by headers that pages cannot forge: the host, the origin, and what the browser says about the site.
"""

import asyncio
import logging
from socket import gethostname
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from paretofoil.core.errors import InvalidInput
from paretofoil.core.json import brief, brief_words, read_document
from paretofoil.web.errors import Busy, status_of
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
BODY_BYTES = 1 << 20
UPLOAD_BYTES = 8 << 20
UPLOADS = "/api/agents"
BODY_SECONDS = 30.0
"""Time limit for receiving a body."""
RETRY_SECONDS = 5
"""When to try again after the server was busy."""
INTERNAL_ERROR = "internal error; the server's log has the details"
LOG = logging.getLogger(__name__)


class Guard:
    """Middleware in front of the application. It reads the body, within limits, and checks that it is JSON."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._handle(scope, receive, _with_headers(scope, send))

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        response = self._refuse_foreign(scope, headers)
        body = b""
        if response is None:
            body, response = await _read_body(scope, headers, receive)
        if response is not None:
            await response(scope, receive, send)
            return
        try:
            await self._app(scope, _replay(body, receive), send)
        except Exception:  # for the log only, not for the client
            LOG.exception("%s %s failed", scope["method"], scope["path"])
            await error_response(500, INTERNAL_ERROR)(scope, receive, send)

    def _refuse_foreign(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if not is_own_host(host, self._settings):
            return error_response(400, f"expected this server's own name as host, got {brief(host)}")
        site = headers.get("sec-fetch-site", "none")
        if scope["path"].startswith("/api") and site not in ("none", "same-origin"):
            return error_response(403, f"expected a request from this server's own page, got one that is {brief(site)}")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return error_response(403, f"expected a request from this server's own page, got one from {brief(origin)}")
        return None


def is_own_host(host: str, settings: Settings) -> bool:
    """Return whether a Host header names this server.

    A server that other machines can reach does not know all of its addresses. It accepts every IP address, since an
    attacker's site always has a name.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name in LOOPBACK or name == settings.host.lower():
        return True
    return not settings.loopback and (is_address(name) or name == gethostname().lower())


async def _read_body(scope: Scope, headers: Headers, receive: Receive) -> tuple[bytes, Response | None]:
    """Return the body, and an error response if it is refused."""
    if scope["method"] not in ("POST", "PUT", "PATCH"):
        return b"", None
    content_type = headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() != "application/json":
        return b"", error_response(415, f"expected a body of type application/json, got {brief(content_type)}")
    limit = UPLOAD_BYTES if scope["path"] == UPLOADS else BODY_BYTES
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _receive_body(receive, limit)
    except TimeoutError:
        return b"", error_response(408, f"expected the whole body within {BODY_SECONDS:g} seconds")
    if body is None:
        return b"", error_response(413, f"expected a body of at most {limit:,} bytes")
    try:
        read_document(body, "the body")  # refuses what JSON does not have, such as NaN, and deep nesting
    except InvalidInput as error:
        return b"", error_response(422, error)
    return body, None


async def _receive_body(receive: Receive, limit: int) -> bytes | None:
    """Return the body, or None as soon as it exceeds the limit."""
    body = bytearray()
    async for part in Request({"type": "http"}, receive).stream():
        body += part
        if len(body) > limit:
            return None
    return bytes(body)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return a receive function that gives the application the body that was read, then whatever else comes."""
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


def error_response(status: int, error: object, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": brief_words(error)}, status, headers)


def handle_errors(app: FastAPI) -> None:
    """Turn what routes raise into one sentence of JSON. The guard catches everything else."""

    @app.exception_handler(InvalidInput)
    async def invalid(request: Request, error: InvalidInput) -> JSONResponse:
        return error_response(status_of(error), error)

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        problem = first_problem([{**first, "loc": first["loc"][1:]} for first in error.errors()[:1]])
        return error_response(422, problem)

    @app.exception_handler(HTTPException)
    async def no_route(request: Request, error: HTTPException) -> JSONResponse:
        expected = {404: "an address of this server", 405: "another method for this address"}.get(error.status_code)
        given = f"{request.method} {brief(request.url.path)}"
        message = error.detail if expected is None else f"expected {expected}, got {given}"
        return error_response(error.status_code, message, dict(error.headers or {}))

    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> JSONResponse:
        return error_response(503, error, {"Retry-After": str(RETRY_SECONDS)})
