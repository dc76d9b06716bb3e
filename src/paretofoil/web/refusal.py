"""What is refused, and how: one sentence of JSON, never a traceback."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from paretofoil.core.document import brief, brief_words
from paretofoil.core.errors import InvalidInput
from paretofoil.web.errors import Busy, status_of

RETRY_SECONDS = 5
"""When to come again if there is too much to do."""


def refusal(status: int, error: object, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"error": brief_words(error)}, status, headers)


def handle_errors(app: FastAPI) -> None:
    """What routes raise becomes a sentence; all else is caught by the guard."""
    handlers: dict[Any, Any] = {
        InvalidInput: _invalid,
        RequestValidationError: _malformed,
        HTTPException: _no_route,
        Busy: _busy,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)


async def _invalid(request: Request, error: InvalidInput) -> JSONResponse:
    return refusal(status_of(error), error)


async def _malformed(request: Request, error: RequestValidationError) -> JSONResponse:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][1:]) or "the request"
    if first["type"] == "missing":
        return refusal(422, f"{where}: expected a value, got none")
    if first["type"] == "extra_forbidden":
        return refusal(422, f"expected no field that is not known, got {brief(where)}")
    told = str(first["msg"]).removeprefix("Input should ")
    told = f"{told[:1].lower()}{told[1:]}"
    return refusal(422, f"{where}: expected it to {told}, got {brief(first.get('input'))}")


async def _no_route(request: Request, error: HTTPException) -> JSONResponse:
    told = {404: "expected an address of this server", 405: "expected another method for this address"}
    got = f"{request.method} {brief(request.url.path)}"
    sentence = f"{told[error.status_code]}, got {got}" if error.status_code in told else error.detail
    return refusal(error.status_code, sentence, dict(error.headers or {}))


async def _busy(request: Request, error: Busy) -> JSONResponse:
    return refusal(503, error, {"Retry-After": str(RETRY_SECONDS)})
