"""The documented interface: whatever fits its schema, or nearly does, never breaks the server."""

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from visitor import QUESTION, Visitor, visiting

from paretofoil.web.app import create_app
from paretofoil.web.settings import Settings

schema = schemathesis.openapi.from_dict(create_app(Settings()).openapi())
REAL = {name: QUESTION[name] for name in ("agent", "command", "foil", "time")}


@pytest.fixture(scope="module")
def roomy() -> Iterator[Visitor]:
    """A server with room for all that is asked here, since a full queue is no error."""
    with visiting(queue=100_000) as visitor:
        yield visitor


def send(visitor: Visitor, sent: dict[str, Any]) -> None:
    told = {name: sent[name] for name in ("params", "headers", "json") if name in sent}
    if "data" in sent:
        told["content"] = sent["data"] if isinstance(sent["data"], str | bytes) else str(sent["data"])
    answer = visitor.request(sent["method"], sent["url"], **told)
    assert answer.status_code < 500, answer.text
    assert answer.status_code < 400 or set(answer.json()) == {"error"}


@schema.parametrize()
@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_nothing_that_is_sent_breaks_the_server(case: schemathesis.Case, roomy: Visitor) -> None:
    sent = case.as_transport_kwargs(base_url="http://127.0.0.1:8765")
    send(roomy, sent)
    if isinstance(sent.get("json"), dict):  # the same about a real moment, so that more than names are looked at
        real = {name: value for name, value in REAL.items() if name in sent["json"]}
        send(roomy, {**sent, "json": {**sent["json"], **real}})


def test_every_route_says_what_it_does_and_how_it_refuses(roomy: Visitor) -> None:
    document = roomy.get("/api/openapi.json").json()
    assert document["info"]["title"] == "Paretofoil"
    for path, methods in document["paths"].items():
        assert path.startswith("/api/")
        for route in methods.values():
            assert route["summary"]
            assert route["description"]
            assert "422" in route["responses"]
