"""Requests that fit the documented schema, or nearly do, never cause a server error (fuzzing, long)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, settings
from visitor import QUESTION, Visitor, visiting

from paretofoil.web.app import create_app
from paretofoil.web.settings import Settings
from paretofoil.web.user_study.session import UserStudySession, study_router

pytestmark = pytest.mark.long

STUDY = Path(__file__).parents[2] / "docs" / "user-study.json"
REAL = {name: QUESTION[name] for name in ("agent", "command", "foil", "step")}
FUZZ = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)

study_app = FastAPI()
study_app.include_router(study_router(cast(UserStudySession, None)), prefix="/api")
server_schema = schemathesis.openapi.from_dict(create_app(Settings()).openapi())
study_schema = schemathesis.openapi.from_dict(study_app.openapi())


@pytest.fixture(scope="module")
def server() -> Iterator[Visitor]:
    """A server with a queue that never fills: a full queue would be a refusal, not an error."""
    with visiting(queue=100_000) as visitor:
        yield visitor


@pytest.fixture(scope="module")
def study_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    agents = ("deep-sea-treasure", "deep-sea-treasure-early")
    replies = tmp_path_factory.mktemp("study") / "replies.sqlite"
    with visiting(agents=agents, study=STUDY, replies=replies, queue=100_000) as visitor:
        yield visitor


def send(visitor: Visitor, request: dict[str, Any]) -> None:
    """Send a request and check that it is answered, or refused with an error message."""
    sent = {name: request[name] for name in ("params", "headers", "json") if name in request}
    if "data" in request:
        sent["content"] = request["data"] if isinstance(request["data"], str | bytes) else str(request["data"])
    answer = visitor.request(request["method"], request["url"], **sent)
    assert answer.status_code < 500, answer.text
    assert answer.status_code < 400 or set(answer.json()) == {"error"}


@server_schema.parametrize()
@FUZZ
def test_no_request_breaks_the_server(case: schemathesis.Case, server: Visitor) -> None:
    request = case.as_transport_kwargs(base_url="http://127.0.0.1:8765")
    send(server, request)
    if isinstance(request.get("json"), dict):  # again about an existing decision, to get past the check of the names
        real = {name: value for name, value in REAL.items() if name in request["json"]}
        send(server, {**request, "json": {**request["json"], **real}})


@study_schema.parametrize()
@FUZZ
def test_no_request_breaks_the_user_study(case: schemathesis.Case, study_server: Visitor) -> None:
    send(study_server, case.as_transport_kwargs(base_url="http://127.0.0.1:8765"))
