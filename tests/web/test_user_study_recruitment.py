"""Participants of a recruitment service: their ids, their attention, and the code that they take back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_user_study_replies import AGENTS, EXAMPLE, TIMES, key, rows, some_reply
from visitor import Visitor, visiting

IDS = {"PROLIFIC_PID": "5f0c", "STUDY_ID": "64aa", "SESSION_ID": "77bb"}
CODES = {"treasure": "EXAMPLE1", "rock": "EXAMPLE2"}


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("recruited") / "replies.sqlite"


@pytest.fixture(scope="module")
def host(replies: Path) -> Iterator[Visitor]:
    with visiting(agents=AGENTS, study=EXAMPLE, replies=replies, jobs=False) as someone:
        yield someone


def join(host: Visitor, number: int, ids: dict[str, str]) -> Any:
    return host.request("PUT", f"/api/study/participants/{key(number)}", json={"agreed": True, "ids": ids})


def test_the_first_address_keeps_the_ids(host: Visitor) -> None:
    address = host.get("/?PROLIFIC_PID=5f0c&STUDY_ID=64aa").headers["location"]
    assert address == "/page/study.html?PROLIFIC_PID=5f0c&STUDY_ID=64aa"


@pytest.mark.parametrize(("reply", "code"), CODES.items())
def test_the_code_is_told_at_the_end_and_depends_on_the_attention_check(
    host: Visitor, replies: Path, reply: str, code: str
) -> None:
    number = 10 + list(CODES).index(reply)
    plan = join(host, number, {**IDS, "PROLIFIC_PID": reply}).json()
    for screen in plan["screens"]:
        assert plan["completion"] is None
        sent = some_reply(screen) | ({"reply": reply} if screen["kind"] == "check" else {})
        plan = host.post(f"/api/study/participants/{key(number)}/replies", {**TIMES, **sent}).json()
    link = f"https://app.prolific.com/submissions/complete?cc={code}"
    assert plan["completion"] == {"code": code, "link": link}
    stored = [row for row in rows(replies) if row["participant"] == key(number)]
    assert {(row["PROLIFIC_PID"], row["STUDY_ID"]) for row in stored} == {(reply, "64aa")}
    [check] = [row for row in stored if row["kind"] == "check"]
    assert check["correct"] == str(int(reply == "treasure"))


def test_the_codes_are_not_told_before(host: Visitor) -> None:
    assert host.get("/api/study").json()["recruitment"] == {"parameters": list(IDS)}


def test_who_comes_again_with_the_same_id_continues(host: Visitor) -> None:
    first = join(host, 20, IDS).json()
    host.post(f"/api/study/participants/{key(20)}/replies", {**TIMES, **some_reply(first["screens"][0])})
    again = join(host, 21, IDS).json()  # another tab has another random number
    assert (again["key"], again["next"]) == (key(20), 1)
    other = join(host, 22, {**IDS, "PROLIFIC_PID": "another"}).json()
    assert (other["key"], other["next"]) == (key(22), 0)


def test_who_comes_without_ids_can_try_the_study(host: Visitor) -> None:
    assert [join(host, number, {}).json()["key"] for number in (30, 31)] == [key(30), key(31)]


def test_ids_that_the_study_does_not_store_are_refused(host: Visitor) -> None:
    answer = join(host, 40, {"name": "Ada"})
    assert (answer.status_code, "expected ids among PROLIFIC_PID" in answer.json()["error"]) == (422, True)
