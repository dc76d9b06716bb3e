"""The guard at the door: whose requests are let in, how much they may bring, and what goes out with every answer.

A page of another site can make a visitor's browser send requests to a server on the same machine. Such requests are
told by their headers, which pages cannot forge: the host they name (a name that was bound to this machine later), the
origin they come from, and what the browser says of it.
"""

import asyncio
import logging
from ipaddress import ip_address
from socket import gethostname
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from paretofoil.core.document import brief, read_document
from paretofoil.core.errors import InvalidInput
from paretofoil.web.refusal import refusal
from paretofoil.web.settings import LOOPBACK, Settings

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
BROKEN = "something went wrong inside the server; what it was is written where it was started"
LOG = logging.getLogger(__name__)
BODY_SECONDS = 30.0
"""How long a request may take to bring its body."""


class Guard:
    """Stands before the application; whatever it lets through has a body that was read, and is JSON."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._let_in(scope, receive, _with_headers(scope, send))

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        refused = self._foreign(scope, headers)
        body = b""
        if refused is None:
            body, refused = await _read(scope, headers, receive)
        if refused is not None:
            await refused(scope, receive, send)
        else:
            await self._pass_on(scope, _replay(body, receive), send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Whatever goes wrong inside is told to whoever runs the server, and to nobody else."""
        try:
            await self._app(scope, receive, send)
        except Exception:
            LOG.exception("%s %s failed", scope["method"], scope["path"])
            await refusal(500, BROKEN)(scope, receive, send)

    def _foreign(self, scope: Scope, headers: Headers) -> Response | None:
        host = headers.get("host", "")
        if not known_host(host, self._settings):
            return refusal(400, f"expected a request to this server by its own name, got one to {brief(host)}")
        site = headers.get("sec-fetch-site", "none")
        if scope["path"].startswith("/api") and site not in ("none", "same-origin"):
            return refusal(403, f"expected a request from this server's own page, got one that is {brief(site)}")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return refusal(403, f"expected a request from this server's own page, got one from {brief(origin)}")
        return None


def known_host(host: str, settings: Settings) -> bool:
    """Whether a request names this machine.

    A server that others can reach has addresses that it does not know of; a number is never the name of another site.
    """
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name in LOOPBACK or name == settings.host.lower():
        return True
    return not settings.loopback and (_is_number(name) or name == gethostname().lower())


def _is_number(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


async def _read(scope: Scope, headers: Headers, receive: Receive) -> tuple[bytes, Response | None]:
    """The body, or why it is refused."""
    if scope["method"] not in ("POST", "PUT", "PATCH"):
        return b"", None
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return b"", refusal(415, "expected a body of type application/json")
    limit = UPLOAD_BYTES if scope["path"] == UPLOADS else BODY_BYTES
    try:
        async with asyncio.timeout(BODY_SECONDS):
            body = await _collect(receive, limit)
    except TimeoutError:
        return b"", refusal(408, f"expected a body within {BODY_SECONDS:g} seconds")
    if body is None:
        return b"", refusal(413, f"expected a body of at most {limit:,} bytes, got more")
    try:
        read_document(body, "the body")  # refuses what JSON does not have, such as NaN, and what is too deep
    except InvalidInput as error:
        return b"", refusal(422, error)
    return body, None


async def _collect(receive: Receive, limit: int) -> bytes | None:
    """All of the body, or None as soon as it is too long: no more than the limit is ever held."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(parts)
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > limit:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Gives the application the body that was read, and afterwards what else comes."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _with_headers(scope: Scope, send: Send) -> Send:
    async def send_more(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers: Any = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store" if scope["path"].startswith("/api") else "no-cache")
        await send(message)

    return send_more
