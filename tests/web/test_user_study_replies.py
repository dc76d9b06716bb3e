"""Taking part in a user study over HTTP: what is told, what is kept, what is refused, and what survives."""

import csv
import io
import json
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from visitor import Visitor, visiting

from paretofoil.core.errors import InvalidInput
from paretofoil.study.database import StoreError
from paretofoil.web.app import create_app
from paretofoil.web.settings import Settings
from paretofoil.web.user_study import replies as replies_module
from paretofoil.web.user_study.plan import read_user_study
from paretofoil.web.user_study.replies import Replies, Reply, read_replies, replies_csv

EXAMPLE = Path(__file__).parents[2] / "docs" / "user-study.json"
AGENTS = ("deep-sea-treasure", "deep-sea-treasure-early")
STUDY = read_user_study(EXAMPLE)
TIMES = {"seconds": 2.5, "away": 0.5, "loads": 1}


@pytest.fixture
def replies(tmp_path: Path) -> Path:
    return tmp_path / "replies.sqlite"


@pytest.fixture
def host(replies: Path) -> Iterator[Visitor]:
    """A server that runs the example."""
    with visiting(agents=AGENTS, study=EXAMPLE, replies=replies, jobs=False) as someone:
        yield someone


def key(number: int) -> str:
    return f"{number:032x}"


def join(host: Visitor, number: int = 0) -> dict[str, Any]:
    answer = host.request("PUT", f"/api/study/participants/{key(number)}", json={"agreed": True})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def send(host: Visitor, sent: dict[str, Any], number: int = 0) -> httpx.Response:
    return host.post(f"/api/study/participants/{key(number)}/replies", {**TIMES, **sent})


def some_reply(screen: dict[str, Any]) -> dict[str, Any]:
    """What somebody might reply: down, the trained one, hardly any time."""
    replied = {
        "predict": "down",
        "choose": "deep-sea-treasure",
        "steer": [1.0, -1.0],
        "check": "treasure",
        "end": None,
    }[screen["kind"]]
    return {"screen": screen["name"], "reply": replied, "ratings": {rating["name"]: 2 for rating in screen["ratings"]}}


def rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(replies_csv(path))))


def test_who_replies_to_every_step_is_in_the_csv_with_what_was_done(host: Visitor, replies: Path) -> None:
    plan = join(host)
    for number, screen in enumerate(plan["screens"]):
        told = send(host, some_reply(screen)).json()
        assert told["next"] == number + 1
    found = rows(replies)
    assert [row["step"] for row in found] == [screen["name"] for screen in plan["screens"]]
    assert {row["participant"] for row in found} == {key(0)}
    assert {row["seconds"] for row in found} == {"2.500"}
    by_step = {row["step"]: row for row in found}
    assert by_step["predict-turn"]["reply"] == "down"
    assert by_step["choose-agent"]["correct"] == "1"
    assert by_step["steer-down"]["reply"] == "1.0 -1.0"
    assert (by_step["steer-down"]["truth"], by_step["steer-down"]["correct"]) == ("down", "1")
    assert (by_step["end"]["rating_trust"], by_step["end"]["reply"], by_step["end"]["correct"]) == ("2", "", "")
    assert by_step["predict-turn"]["rating_sure"] == "2"
    assert by_step["predict-turn"]["rating_trust"] == ""


def test_what_is_right_depends_on_the_agent_that_was_met(host: Visitor, replies: Path) -> None:
    for number in range(4):
        [screen] = [screen for screen in join(host, number)["screens"] if screen["name"] == "predict-last"]
        for earlier in join(host, number)["screens"]:
            assert send(host, some_reply(earlier), number).status_code == 200
            if earlier == screen:
                break
    judged = {row["condition"]: row["correct"] for row in rows(replies) if row["step"] == "predict-last"}
    assert judged == {"nothing": "0", "counterfactuals": "0", "everything": "0", "early": "1"}


def test_the_csv_says_what_each_condition_shows(host: Visitor, replies: Path) -> None:
    for number in range(4):
        send(host, some_reply(join(host, number)["screens"][0]), number)
    shown = {
        row["condition"]: [row[name] for name in ("counterfactuals", "proofs", "regions")] for row in rows(replies)
    }
    assert shown == {
        "nothing": ["0", "0", "0"],
        "counterfactuals": ["1", "0", "0"],
        "early": ["1", "0", "0"],
        "everything": ["1", "1", "1"],
    }


def test_neither_what_is_right_nor_the_condition_is_told(host: Visitor) -> None:
    plan = join(host)
    assert set(plan) == {"key", "shows", "screens", "next", "completion"}
    for screen in plan["screens"]:
        assert set(screen) == {"name", "kind", "text", "episodes", "command", "foil", "options", "ratings"}
        for episode in screen["episodes"]:
            assert set(episode) == {"agent", "command", "seed", "until", "explained"}


def test_a_reply_that_is_sent_again_is_there_once(host: Visitor, replies: Path) -> None:
    reply = some_reply(join(host)["screens"][0])
    assert send(host, reply).json()["next"] == 1
    assert send(host, {**reply, "seconds": 9.0}).json()["next"] == 1
    assert [row["seconds"] for row in rows(replies)] == ["2.500"]


def test_a_reply_cannot_be_changed(host: Visitor, replies: Path) -> None:
    step = join(host)["screens"][0]
    send(host, some_reply(step))
    answer = send(host, {**some_reply(step), "ratings": {"sure": 5}})
    refused(answer, 409, "expected a screen without a reply")
    assert [row["rating_sure"] for row in rows(replies)] == ["2"]


def test_who_comes_again_goes_on_with_the_same_plan(host: Visitor) -> None:
    plan = join(host)
    send(host, some_reply(plan["screens"][0]))
    again = host.get(f"/api/study/participants/{key(0)}").json()
    assert again == {**plan, "next": 1}
    assert join(host) == again
    assert join(host, 1)["next"] == 0


def test_a_server_that_starts_again_goes_on(replies: Path) -> None:
    with visiting(agents=AGENTS, study=EXAMPLE, replies=replies, jobs=False) as host:
        plan = join(host)
        send(host, some_reply(plan["screens"][0]))
    with visiting(agents=AGENTS, study=EXAMPLE, replies=replies, jobs=False) as host:
        assert host.get(f"/api/study/participants/{key(0)}").json() == {**plan, "next": 1}
        assert join(host, 1)["shows"] is not None
    assert [person.number for person in read_replies(replies)[1]] == [0, 1]


KILLED = """
import sys
from pathlib import Path
from paretofoil.web.user_study.replies import Replies, Reply
from paretofoil.web.user_study.plan import read_user_study
kept = Replies(Path(sys.argv[1]), read_user_study(Path(sys.argv[2])))
somebody = kept.join("0" * 32, lambda number: "nothing")
kept.add(Reply(0, 0, "first", "predict", "a", "down", "down", True, {"sure": 3}, 1.0, 0.0, 1))
print("taken", flush=True)
sys.stdin.read()
"""


def test_a_reply_that_was_taken_survives_a_kill(replies: Path) -> None:
    command = [sys.executable, "-c", KILLED, str(replies), str(EXAMPLE)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "taken\n"
        process.send_signal(signal.SIGKILL)
        process.wait()
    study, people, kept = read_replies(replies)
    assert study == STUDY
    assert [person.id for person in people] == [key(0)]
    assert [(reply.step, reply.correct, reply.ratings) for reply in kept] == [("first", True, {"sure": 3})]
    Replies(replies, STUDY).close()


def test_replies_to_another_study_are_not_mixed(replies: Path) -> None:
    Replies(replies, STUDY).close()
    with pytest.raises(InvalidInput, match="to hold replies to this study"):
        Replies(replies, STUDY.model_copy(update={"seed": 1}))
    Replies(replies, STUDY).close()


def test_one_server_writes_a_file(replies: Path) -> None:
    first = Replies(replies, STUDY)
    with pytest.raises(StoreError, match="another process is writing"):
        Replies(replies, STUDY)
    first.close()


def test_many_who_come_at_once_get_a_number_each(replies: Path) -> None:
    file = Replies(replies, STUDY)
    with ThreadPoolExecutor(8) as threads:
        people = list(threads.map(lambda number: file.join(key(number), str), range(50)))
    file.close()
    assert sorted(person.number for person in people) == list(range(50))


REPLY = Reply(0, 0, "predict-turn", "predict", "a", "down", "down", True, {"sure": 3}, 1.0, 0.0, 1)


def some_replies(path: Path) -> Path:
    file = Replies(path, STUDY)
    file.join(key(0), lambda number: "nothing")
    file.add(REPLY)
    file.close()
    return path


def test_a_full_disk_is_a_reason_to_try_again_later(host: Visitor) -> None:
    join(host)
    database = host.app.state.server.study._replies._database.connection
    pages = database.execute("PRAGMA page_count").fetchone()[0]
    database.execute(f"PRAGMA max_page_count = {pages}")
    for number in range(1, 400):  # until the last page is full
        answer = host.request("PUT", f"/api/study/participants/{key(number)}", json={"agreed": True})
        if answer.status_code != 200:
            break
    refused(answer, 503, "cannot store replies now; please try again")
    assert answer.headers["retry-after"] == "5"
    database.execute("PRAGMA max_page_count = 100000")
    assert join(host, number)["next"] == 0


def test_files_of_earlier_versions_are_read_and_continued(replies: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(replies_module, "TABLES", replies_module.LOOSE_TABLES)
        some_replies(replies)
    with sqlite3.connect(replies) as connection:
        assert "STRICT" not in str(connection.execute("SELECT sql FROM sqlite_master").fetchall())
    connection.close()
    assert read_replies(replies)[2] == [REPLY]
    file = Replies(replies, STUDY)
    file.add(replace(REPLY, position=1))
    file.close()
    assert len(read_replies(replies)[2]) == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("UPDATE participant SET condition = 'unknown'", "for participant 0 of"),
        ("UPDATE participant SET number = 7", "expected participant number 0 in"),
        ("DELETE FROM participant", "expected replies of the 0 participants"),
        ("UPDATE participant SET id = x'ff'", "at id of a participant"),
        ("UPDATE reply SET seconds = 'long'", "expected a number at seconds of a reply, got 'long'"),
        ("UPDATE reply SET seconds = 1e999", "at seconds of a reply"),
        ("UPDATE reply SET correct = 7", "at correct of a reply"),
        ("UPDATE reply SET step = cast(x'ff' as TEXT)", "a damaged file, or a file of another kind"),
        ("UPDATE reply SET ratings = '[1]'", "at ratings of a reply"),
        ("UPDATE reply SET ratings = '{'", "expected ratings as JSON"),
        ("UPDATE reply SET number = -1", "at number of a reply"),
        ("UPDATE about SET value = '7' WHERE name = 'study'", "expected an object"),
        ("UPDATE about SET value = '7' WHERE name = 'schema'", "to be of schema"),
        ("DELETE FROM about", "to be of schema"),
        ("CREATE VIEW endless AS SELECT 1", "another SQLite file"),
    ],
)
def test_a_file_that_was_changed_is_refused_with_a_sentence(
    replies: Path, monkeypatch: pytest.MonkeyPatch, change: str, words: str
) -> None:
    monkeypatch.setattr(replies_module, "TABLES", replies_module.LOOSE_TABLES)  # takes values of any type
    some_replies(replies)
    with sqlite3.connect(replies) as connection:
        connection.execute(change)
    connection.close()
    for read in (replies_csv, lambda path: Replies(path, STUDY)):
        with pytest.raises(InvalidInput, match=re.escape(words)):
            read(replies)


def test_damaged_bytes_are_never_a_traceback(replies: Path, tmp_path: Path) -> None:
    intact = some_replies(replies).read_bytes()
    random, damaged, num_refused = np.random.default_rng(0), tmp_path / "damaged.sqlite", 0
    places = [*range(0, 600, 7), *random.integers(len(intact), size=120)]  # the schema is at the beginning
    for place in places:
        content = bytearray(intact)
        content[place : place + 4] = random.bytes(4)
        damaged.write_bytes(content)
        try:
            replies_csv(damaged)
        except (InvalidInput, StoreError):
            num_refused += 1
    assert num_refused > 20


def test_files_that_hold_no_replies_are_refused(tmp_path: Path) -> None:
    other, words = tmp_path / "other.sqlite", tmp_path / "words.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE reply (number)")
    connection.close()
    words.write_text("no database " * 100)
    for path in (other, words):
        with pytest.raises(InvalidInput, match="to hold the replies of a user study"):
            read_replies(path)
        with pytest.raises(InvalidInput, match="to hold the replies of a user study"):
            Replies(path, STUDY)
    with pytest.raises(InvalidInput, match="no such file"):
        read_replies(tmp_path / "nothing.sqlite")


def refused(answer: httpx.Response, status: int, words: str) -> None:
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error"}
    assert words in answer.json()["error"]
    assert "Traceback" not in answer.text


BAD_REPLIES: list[tuple[dict[str, Any], str]] = [
    ({"screen": "nothing-like-it"}, "expected a screen among"),
    ({"screen": "x" * 64}, "screen: expected"),
    ({"reply": None}, "as reply"),
    ({"reply": {"a": 1}}, "reply"),
    ({"reply": [1e101]}, "reply"),
    ({"reply": ["down"]}, "reply"),
    ({"ratings": {}}, "expected ratings of sure, got none"),
    ({"ratings": {"sure": 2, "trust": 2}}, "expected ratings of sure, got"),
    ({"ratings": {"sure": 0}}, "expected sure from 1 to 5, got 0"),
    ({"ratings": {"sure": 6}}, "expected sure from 1 to 5, got 6"),
    ({"ratings": {"sure": 2.5}}, "ratings.sure: expected"),
    ({"ratings": {"sure": True}}, "ratings.sure: expected"),
    ({"seconds": -1}, "seconds: expected"),
    ({"seconds": 1e9}, "seconds: expected"),
    ({"away": "long"}, "away: expected"),
    ({"loads": 0}, "loads: expected"),
    ({"name": "Anna"}, "expected fields among screen, reply"),
]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A server that nobody's reply gets into, shared by the tests of refusals."""
    path = tmp_path_factory.mktemp("study") / "replies.sqlite"
    with visiting(agents=AGENTS, study=EXAMPLE, replies=path, queue=100_000, jobs=False) as someone:
        yield someone


@pytest.mark.parametrize(("wrong", "words"), BAD_REPLIES, ids=lambda value: str(value)[:40])
def test_a_reply_that_makes_no_sense_is_refused_and_not_kept(
    shared: Visitor, wrong: dict[str, Any], words: str
) -> None:
    plan = join(shared)
    refused(send(shared, {**some_reply(plan["screens"][0]), **wrong}), 422, words)
    assert join(shared)["next"] == 0


@pytest.mark.parametrize(
    ("kind", "reply", "words"),
    [
        ("predict", "sideways", "expected an action among"),
        ("predict", [1.0, -1.0], "expected the name of an action as reply"),
        ("choose", "minecart", "expected one of deep-sea-treasure, deep-sea-treasure-early as reply"),
        ("choose", [1.0], "as reply"),
        ("steer", "down", "expected a command as reply"),
        ("steer", [1.0], "expected the command to have 2 numbers"),
        ("end", "down", "expected ratings and no reply on the last screen"),
    ],
)
def test_each_kind_of_task_has_its_own_kind_of_reply(host: Visitor, kind: str, reply: Any, words: str) -> None:
    for step in join(host)["screens"]:
        if step["kind"] == kind:
            refused(send(host, {**some_reply(step), "reply": reply}), 422, words)
            return
        assert send(host, some_reply(step)).status_code == 200
    pytest.fail(f"expected a step of kind {kind}")


def test_steps_cannot_be_skipped(shared: Visitor) -> None:
    steps = join(shared)["screens"]
    refused(send(shared, some_reply(steps[2])), 422, f"expected a reply to {steps[0]['name']}, which is next")


def test_strangers_and_those_who_did_not_agree_are_refused(shared: Visitor) -> None:
    refused(shared.get(f"/api/study/participants/{key(99)}"), 404, "expected a participant of this study")
    refused(send(shared, {"screen": "end"}, 99), 404, "expected a participant of this study")
    for name in ("me", "0" * 33, "A" * 32, "..%2F" * 4):
        refused(shared.request("PUT", f"/api/study/participants/{name}", json={"agreed": True}), *not_a_key(name))
    refused(shared.request("PUT", f"/api/study/participants/{key(98)}", json={"agreed": False}), 422, "agreed")
    refused(shared.request("PUT", f"/api/study/participants/{key(98)}", json={}), 422, "agreed: expected a value")
    refused(shared.get(f"/api/study/participants/{key(98)}"), 404, "expected a participant")


def not_a_key(name: str) -> tuple[int, str]:
    return (404, "expected an address") if "%2F" in name else (422, "key: expected")


def test_other_sites_cannot_take_part(shared: Visitor) -> None:
    path, foreign = f"/api/study/participants/{key(97)}", {"Origin": "https://evil.example"}
    refused(shared.request("PUT", path, json={"agreed": True}, headers=foreign), 403, "own page")
    refused(shared.request("PUT", path, content=b"{}", headers={"content-type": "text/plain"}), 415, "json")


def test_no_cookie_is_set_and_the_study_is_the_first_page(shared: Visitor) -> None:
    first = shared.get("/")
    assert first.headers["location"] == "/page/study.html"
    for answer in (first, shared.get("/page/study.html"), shared.get("/api/study")):
        assert "set-cookie" not in answer.headers


def test_a_server_without_a_study_has_none_of_its_addresses() -> None:
    with visiting(agents=AGENTS[:1], jobs=False) as plain:
        refused(plain.get("/api/study"), 404, "expected an address of this server")
        assert plain.get("/").headers["location"] == "/page/"


def test_nothing_about_the_person_is_in_the_file(host: Visitor, replies: Path) -> None:
    plan = join(host)
    headers = {"User-Agent": "a telltale browser"}
    host.post(f"/api/study/participants/{key(0)}/replies", {**TIMES, **some_reply(plan["screens"][0])}, headers=headers)
    told = replies.read_bytes()
    for secret in (b"telltale", b"127.0.0.1", b"2026-", b"testclient"):
        assert secret not in told


def test_a_study_that_is_amiss_starts_no_server(tmp_path: Path) -> None:
    document = {**json.loads(EXAMPLE.read_text()), "tasks": []}
    file = tmp_path / "study.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InvalidInput, match="tasks: expected at least 1 items"):
        create_app(Settings(agents=AGENTS, study=file, replies=tmp_path / "replies.sqlite"))
    assert not (tmp_path / "replies.sqlite").exists()
