"""What the server refuses: a status that says whose fault it is, one sentence, and nothing of its inside."""

import time
from typing import Any

import httpx
import pytest
from pydantic import ValidationError
from visitor import QUESTION, Visitor

from paretofoil.web import guard
from paretofoil.web.guard import is_own_host
from paretofoil.web.models import ProbabilitiesRequest
from paretofoil.web.settings import Settings

EPISODE = {"agent": "deep-sea-treasure", "command": [8.0, -8.0]}
STATE = [0.0] * 22


def refused(answer: httpx.Response, status: int, *words: str) -> None:
    """One sentence with these words, and no more."""
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    told = answer.json()["error"]
    assert "\n" not in told
    assert "Traceback" not in told
    assert len(told) <= 400
    for word in words:
        assert word in told


BAD_QUESTIONS: list[tuple[dict[str, Any], int, str]] = [
    ({"agent": "deep-sea-treasur"}, 404, "did you mean deep-sea-treasure?"),
    ({"agent": "../../../etc/passwd"}, 404, "expected an agent among"),
    ({"agent": "/etc"}, 404, "expected an agent among"),
    ({"agent": "x" * 201}, 422, "agent: expected"),
    ({"command": [8.0]}, 422, "expected the command to have 2 numbers, got 1"),
    ({"command": [8.0, -8.0, 1.0]}, 422, "expected the command to have 2 numbers, got 3"),
    ({"command": []}, 422, "command: expected"),
    ({"command": [1e101, -8.0]}, 422, "command.0: expected"),
    ({"command": "8,-8"}, 422, "command: expected"),
    ({"command": [[8.0], [-8.0]]}, 422, "command.0: expected"),
    ({"step": 8}, 422, "expected a step from 0 to 7 of this episode, got 8"),
    ({"step": -1}, 422, "step: expected"),
    ({"step": 10**400}, 422, "expected whole numbers of at most"),
    ({"foil": "dwn"}, 422, "did you mean down?"),
    ({"foil": "right"}, 422, "expected a foil that the agent does not choose, got right"),
    ({"foil": 7}, 422, "expected an action number from 0 to 3, got 7"),
    ({"step": 0, "foil": "up"}, 422, "expected a foil among the valid actions down, right, got up"),
    ({"outcome": "ends"}, 422, "expected either a foil or an outcome, got both"),
    ({"foil": None, "outcome": "treasur >= 20"}, 422, "did you mean treasure >= 20?"),
    ({"foil": None, "outcome": "ends", "search": "cf-zoo"}, 422, "expected a search for outcomes among auto, exact"),
    ({"foil": None, "outcome": "treasure >= 8"}, 422, "expected an outcome that the episode does not meet already"),
    ({"foil": None, "outcome": "treasure >= 9", "share": 0}, 422, "share: expected a number above 0"),
    ({"foil": None, "outcome": "x" * 501}, 422, "outcome: expected at most 500 characters"),
    ({"search": "exat"}, 422, "expected a search among auto"),
    ({"search": "__import__"}, 422, "expected a search among auto"),
    ({"options": {"kappa": -0.1}}, 422, "options.kappa: expected a number of at least 0"),
    ({"options": {"norm": "l3"}}, 422, "options.norm: expected"),
    ({"options": {"box": "huge"}}, 422, "options.box: expected"),
    ({"options": {"keep": ["tresure"]}}, 422, "did you mean treasure?"),
    (
        {"options": {"ranges": {"treasure": [20.0, 30.0]}}},
        422,
        "expected a range of treasure that contains the command's value 8",
    ),
    ({"options": {"ranges": {"treasure": [1.0]}}}, 422, "options.ranges.treasure"),
    ({"options": {"k": 0}}, 422, "options.k: expected"),
    ({"options": {"kapa": 0.1}}, 422, "did you mean kappa?"),
    ({"options": 7}, 422, "options: expected an object, got 7"),
    ({"options": {"min_change": 2.0}}, 422, "options.min_change: expected"),
    ({"seconds": 1e9}, 422, "seconds: expected"),
    ({"seconds": 0}, 422, "seconds: expected"),
    ({"queries": 10**9}, 422, "queries: expected"),
    ({"seed": -1}, 422, "seed: expected"),
    ({"seed": 2**64}, 422, "seed: expected"),
    ({"stpe": 5}, 422, "got 'stpe' (did you mean step?)"),
]


@pytest.mark.parametrize(("wrong", "status", "words"), BAD_QUESTIONS, ids=lambda value: str(value)[:40])
def test_a_question_that_cannot_be_asked_is_refused_with_a_sentence(
    visitor: Visitor, wrong: dict[str, Any], status: int, words: str
) -> None:
    refused(visitor.post("/api/answers", {**QUESTION, **wrong}), status, words)


@pytest.mark.parametrize("field", QUESTION)
def test_a_question_with_a_field_missing_says_which(visitor: Visitor, field: str) -> None:
    asked = {name: value for name, value in QUESTION.items() if name != field}
    missing = "expected either a foil or an outcome, got neither" if field == "foil" else "expected a value, got none"
    refused(visitor.post("/api/answers", asked), 422, missing if field == "foil" else f"{field}: {missing}")


def test_numbers_that_json_does_not_have_are_refused(visitor: Visitor) -> None:
    for number in ("NaN", "Infinity", "-Infinity"):
        body = f'{{"agent": "deep-sea-treasure", "command": [8, {number}]}}'
        answer = visitor.request("POST", "/api/episodes", content=body, headers={"content-type": "application/json"})
        refused(answer, 422, f"expected finite numbers, got {number}")


@pytest.mark.parametrize("body", ["", "{", "[" * 50_000, '"' + "x" * 10, "null", "[]", "\xff"])
def test_a_body_that_is_no_question_is_refused(visitor: Visitor, body: str) -> None:
    content = body.encode("latin-1")
    answer = visitor.request("POST", "/api/episodes", content=content, headers={"content-type": "application/json"})
    refused(answer, 422)


BAD_OTHERS: list[tuple[str, dict[str, Any], int, str]] = [
    ("/api/episodes", {**EPISODE, "command": [8.0]}, 422, "2 numbers"),
    ("/api/episodes", {**EPISODE, "agent": "nobody"}, 404, "expected an agent among"),
    ("/api/consequences", {**EPISODE, "step": 99, "issued": [5.0, -2.0]}, 422, "a step from 0 to 7"),
    ("/api/consequences", {**EPISODE, "step": 1, "issued": [5.0]}, 422, "2 numbers"),
    ("/api/flip-maps", {**EPISODE, "steps": [0, 99]}, 422, "steps from 0 to 7"),
    ("/api/flip-maps", {**EPISODE, "search": "none"}, 422, "expected a search among"),
    ("/api/folded", {"agent": "deep-sea-treasure", "state": [1.0, 2.0]}, 422, "expected the state to have 22 numbers"),
    (
        "/api/folded",
        {"agent": "deep-sea-treasure", "state": [1e60, *STATE[1:]]},
        422,
        "expected the state to be float32 numbers",
    ),
    (
        "/api/probabilities",
        {"agent": "deep-sea-treasure", "state": STATE, "valid_actions": [4], "commands": [[8.0, -8.0]]},
        422,
        "expected actions from 0 to 3, got 4",
    ),
    (
        "/api/probabilities",
        {"agent": "deep-sea-treasure", "state": STATE, "valid_actions": [0], "commands": [[8.0]] * 10_001},
        422,
        "commands: expected",
    ),
]


@pytest.mark.parametrize(("path", "asked", "status", "words"), BAD_OTHERS)
def test_other_routes_refuse_as_well(
    visitor: Visitor, path: str, asked: dict[str, Any], status: int, words: str
) -> None:
    refused(visitor.post(path, asked), status, words)


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ("agent=deep-sea-treasure&command=8,-8&step=9", 422, "expected a step from 0 to 8"),
        ("agent=deep-sea-treasure&command=8,nan&step=0", 422, "command.1: expected a finite number"),
        ("agent=deep-sea-treasure&command=8,x&step=0", 422, "command.1: expected a finite number, got 'x'"),
        ("agent=deep-sea-treasure&command=8,-8&step=0&since=1", 422, "expected both since and issued, or neither"),
        ("agent=..%2F..&command=8,-8&step=0", 404, "expected an agent among"),
        ("agent=deep-sea-treasure&command=8,-8", 422, "step: expected a value, got none"),
    ],
)
def test_pictures_of_what_does_not_happen_are_refused(visitor: Visitor, query: str, status: int, words: str) -> None:
    refused(visitor.get(f"/api/pictures?{query}"), status, words)


@pytest.mark.parametrize(
    "path",
    [
        "/api/agents/nobody",
        "/api/agents/..",
        "/api/agents/..%2F..%2Fetc%2Fpasswd/picture.png",
        "/api/agents/%00",
        "/api/jobs/0",
        "/api/jobs/..%2f",
        "/api/nothing",
        "/page/../app.py",
        "/page/%2e%2e/app.py",
        "/page/..%2fapp.py",
        "/page//etc/passwd",
        "/etc/passwd",
    ],
)
def test_what_is_not_there_is_not_found(visitor: Visitor, path: str) -> None:
    refused(visitor.get(path), 404)


def test_another_method_is_told_so(visitor: Visitor) -> None:
    refused(visitor.request("DELETE", "/api/agents"), 405, "expected another method")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_that_a_form_could_send_is_refused(visitor: Visitor, kind: str) -> None:
    answer = visitor.request("POST", "/api/episodes", content=b"{}", headers={"content-type": kind})
    refused(answer, 415, "application/json")


def test_a_body_that_is_too_long_is_refused_before_it_is_read_whole(visitor: Visitor) -> None:
    sent = 0

    async def endless() -> Any:
        nonlocal sent
        while True:
            sent += 1 << 16
            yield b" " * (1 << 16)

    answer = visitor.request("POST", "/api/episodes", content=endless(), headers={"content-type": "application/json"})
    refused(answer, 413, f"at most {guard.BODY_BYTES:,} bytes")
    assert sent <= guard.BODY_BYTES + (2 << 16)


def test_a_body_of_many_small_items_is_refused_before_it_is_parsed(visitor: Visitor) -> None:
    started = time.process_time()
    body = b"[" + b"[]," * ((8 << 20) // 3 - 2) + b"[]]"
    answer = visitor.request("POST", "/api/agents", content=body, headers={"content-type": "application/json"})
    refused(answer, 413, f"at most {guard.MAX_ITEMS:,} items, got 5,592,")
    assert time.process_time() - started < 1.0  # to parse it takes more than two seconds


def test_a_long_list_of_wrong_values_has_one_error() -> None:
    wrong = {"agent": "a", "state": ["x"] * 1000, "valid_actions": ["x"] * 1000, "commands": [["x"] * 9] * 1000}
    with pytest.raises(ValidationError) as refused:
        ProbabilitiesRequest.model_validate(wrong)
    assert refused.value.error_count() == 2 + 9  # one for each long list, and those of one command


def test_bodies_that_are_held_at_the_same_time_are_limited(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "ALL_BODIES_BYTES", 1000)
    for _ in range(2):
        answer = visitor.post("/api/episodes", {**EPISODE, "agent": "x" * 1000})
        refused(answer, 503, "too many long requests")
        assert answer.headers["retry-after"] == "5"
    assert visitor.post("/api/episodes", EPISODE).status_code == 200  # the bodies that were refused are not held


def test_a_body_that_never_comes_is_not_waited_for(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    import anyio

    async def never() -> Any:
        yield b"{"
        await anyio.sleep_forever()

    monkeypatch.setattr(guard, "BODY_SECONDS", 0.05)
    answer = visitor.request("POST", "/api/episodes", content=never(), headers={"content-type": "application/json"})
    refused(answer, 408)


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "127.0.0.1:8765"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_requests_from_other_sites_are_refused(visitor: Visitor, headers: dict[str, str]) -> None:
    refused(visitor.post("/api/episodes", EPISODE, headers=headers), 403, "this server's own page")
    refused(visitor.request("DELETE", "/api/jobs/0", headers=headers), 403)
    answer = visitor.get("/api/agents", headers=headers)
    refused(answer, 403)
    assert HEADERS.items() <= dict(answer.headers).items()


def test_the_own_page_is_let_in_and_may_be_linked_to(visitor: Visitor) -> None:
    own = {"Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "same-origin"}
    assert visitor.post("/api/episodes", EPISODE, headers=own).status_code == 200
    assert visitor.get("/page/", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "[", "192.168.0.9", ""]
)
def test_a_name_that_was_bound_to_this_machine_is_refused(visitor: Visitor, host: str) -> None:
    refused(visitor.get("/api/agents", headers={"Host": host}), 400, "expected this server's own name as host")


def test_a_server_that_others_can_reach_is_known_by_its_numbers_and_not_by_any_name() -> None:
    wide = Settings(host="0.0.0.0")
    assert not wide.loopback
    assert is_own_host("192.168.0.9:8765", wide)
    assert is_own_host("[fe80::1]:8765", wide)
    assert is_own_host("localhost", wide)
    assert not is_own_host("evil.example", wide)


HEADERS = {
    "content-security-policy": guard.POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@pytest.mark.parametrize("path", ["/", "/page/", "/api/agents", "/api/agents/nobody", "/api/nothing", "/api/health"])
def test_every_answer_has_the_security_headers(visitor: Visitor, path: str) -> None:
    answer = visitor.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == ("no-store" if path.startswith("/api") else "no-cache")


def test_ranges_of_the_page_are_ignored(visitor: Visitor) -> None:
    whole = visitor.get("/page/")
    for ranges in ("bytes=9-1", "bytes=0-1", "bytes=" + ",".join(["0-"] * 1000)):
        answer = visitor.get("/page/", headers={"Range": ranges})
        assert (answer.status_code, answer.content) == (200, whole.content)


def test_refusals_of_the_guard_have_the_headers_too(visitor: Visitor) -> None:
    for answer in (visitor.get("/api/agents", headers={"Host": "evil.example"}), visitor.post("/api/nothing", {})):
        assert HEADERS.items() <= dict(answer.headers).items()


def test_an_error_inside_tells_nothing_of_it(visitor: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*asked: Any) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(visitor.app.state.server.quick, "run", broken)
    answer = visitor.post("/api/episodes", EPISODE)
    refused(answer, 500, "internal error")
    assert "secret" not in answer.text
    assert HEADERS.items() <= dict(answer.headers).items()


def test_every_route_says_what_it_does_and_how_it_refuses(visitor: Visitor) -> None:
    document = visitor.get("/api/openapi.json").json()
    assert document["info"]["title"] == "Paretofoil"
    for path, methods in document["paths"].items():
        assert path.startswith("/api/")
        for route in methods.values():
            assert route["summary"]
            assert route["description"]
            assert "422" in route["responses"]
