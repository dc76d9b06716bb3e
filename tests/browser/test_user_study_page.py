"""A simulated participant goes through the example study; what they did is in the CSV."""

import csv
import io
import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from visit import Visit

from paretofoil.web.user_study.replies import replies_csv

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "user-study.json"
AXE = ROOT / ".tools" / "axe.js"
SHOWS = {
    "nothing": [],
    "counterfactuals": ["counterfactuals"],
    "everything": ["counterfactuals", "proofs", "influence", "regions"],
}
PHONE = {"viewport": {"width": 375, "height": 740}, "has_touch": True, "is_mobile": True}
KEY = "sessionStorage.getItem('paretofoil-participant')"


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("study") / "replies.sqlite"


@pytest.fixture(scope="module")
def address(replies: Path) -> Iterator[str]:
    """Where `paretofoil serve --study` says that the study is."""
    served = ["serve", "--port", "0", "--workers", "1", "--study", str(EXAMPLE), "--replies", str(replies)]
    quiet = {**os.environ, "PYTHONUNBUFFERED": "1", "OMP_NUM_THREADS": "1", "COLUMNS": "200"}
    command = [sys.executable, "-m", "paretofoil", *served, "deep-sea-treasure", "deep-sea-treasure-early"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=quiet) as server:
        assert server.stdout is not None
        found = re.search(r"http://\S+", server.stdout.readline())
        assert found
        yield found[0]
        server.terminate()


def rows_of(page: Any, replies: Path) -> list[dict[str, str]]:
    """What the CSV says of a page's participant."""
    key = page.evaluate(KEY)
    return [row for row in csv.DictReader(io.StringIO(replies_csv(replies))) if row["participant"] == key]


def newcomer(visit: Visit, link: str = "study.html", **settings: Any) -> Any:
    """A page whose person has agreed and read the introduction."""
    page = visit.open(link, **settings)
    page.get_by_role("button", name="I agree and take part").click()
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector(".next")
    return page


def participant(visit: Visit, condition: str, **settings: Any) -> Any:
    """The page of somebody who was given that condition."""
    shows: list[str] | None = None
    while shows != SHOWS[condition]:
        key = secrets.token_hex(16)
        joined = httpx.put(f"{visit.address}api/study/participants/{key}", json={"agreed": True}).json()
        early = any(episode["agent"].endswith("early") for episode in first_of(joined, "predict")["episodes"])
        shows = None if early else joined["shows"]
    page = visit.open("study.html", **settings)
    page.evaluate(f"sessionStorage.setItem('paretofoil-participant', '{key}')")
    page.reload()
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector(".next")
    return page


def first_of(joined: dict[str, Any], kind: str) -> dict[str, Any]:
    return next(screen for screen in joined["screens"] if screen["kind"] == kind)


def kind_of(page: Any) -> str:
    """Which kind of step a page shows."""
    title = page.locator(".step-title").inner_text()
    return next(kind for words, kind in WORDS.items() if title.startswith(words))


WORDS = {
    "What will": "predict",
    "Two submarines": "choose",
    "The submarine": "steer",
    "This task": "check",
    "Finally": "end",
}


def act(page: Any) -> dict[str, str]:
    """Do the step that is shown; what was done, as the CSV should tell it."""
    kind = kind_of(page)
    done = {"kind": kind, "reply": ""}
    if kind == "predict":
        page.get_by_role("radio", name="down").check()
        done["reply"] = "down"
    if kind == "choose":
        page.get_by_role("radio", name="Agent B").check()
    if kind == "check":
        page.get_by_role("radio", name="treasure").check()
        done["reply"] = "treasure"
    if kind == "steer":
        page.locator(".reply").get_by_label("time", exact=True).fill("0")
    for scale in page.locator(".rating").all():
        scale.get_by_role("radio", name="4", exact=True).check()
    return done


def go_on(page: Any) -> None:
    """To the next step, or to the end."""
    before = page.locator("#study-progress").inner_text()
    page.locator(".next").click()
    page.locator("#study-progress").get_by_text(before).wait_for(state="detached")
    page.wait_for_selector(".next, .page-of-text")


def steps(page: Any) -> Iterator[str]:
    """Step after step, each done as soon as it was looked at."""
    while page.locator(".next").count():
        yield kind_of(page)
        act(page)
        go_on(page)


def test_a_participant_goes_through_the_study_and_the_csv_has_what_they_did(visit: Visit, replies: Path) -> None:
    page = newcomer(visit, "study.html?PROLIFIC_PID=5f0c&STUDY_ID=64aa&SESSION_ID=77bb")
    done = []
    while page.locator(".next").count():
        done.append(act(page))
        go_on(page)
    page.get_by_role("heading", name="Thank you").wait_for()
    assert page.locator(".completion").inner_text().startswith("Your completion code: EXAMPLE1")
    assert page.get_by_role("link", name="Finish").get_attribute("href").endswith("/complete?cc=EXAMPLE1")
    rows = rows_of(page, replies)
    assert {row["PROLIFIC_PID"] for row in rows} == {"5f0c"}
    assert [row["kind"] for row in rows] == [step["kind"] for step in done]
    assert [row["position"] for row in rows] == ["1", "2", "3", "4", "5", "6"]
    by_kind = {row["kind"]: row for row in rows}
    assert {row["reply"] for row in rows if row["kind"] == "predict"} == {"down"}
    assert by_kind["choose"]["reply"] == by_kind["choose"]["agents"].split()[1]
    assert by_kind["choose"]["correct"] == str(int(by_kind["choose"]["reply"] == "deep-sea-treasure"))
    assert by_kind["steer"]["reply"].endswith(" -1.0")
    assert (by_kind["steer"]["truth"], by_kind["steer"]["correct"]) == ("down", "1")
    assert {row["rating_sure"] for row in rows if row["kind"] not in ("check", "end")} == {"4"}
    assert [by_kind["end"][f"rating_{name}"] for name in ("understood", "trust", "effort")] == ["4", "4", "4"]
    assert all(float(row["seconds"]) > 0 and row["loads"] == "1" for row in rows)


def test_a_condition_shows_what_it_says_and_no_more(visit: Visit) -> None:
    seen = {condition: parts_seen(participant(visit, condition)) for condition in SHOWS}
    assert seen["nothing"] == set()
    assert seen["counterfactuals"] == {".answer .sentence"}
    assert seen["everything"] == {".answer .sentence", ".proof", ".profile", "canvas.space"}


def parts_seen(page: Any) -> set[str]:
    parts = (".answer .sentence", ".proof", ".profile", "canvas.space")
    return {part for _ in steps(page) for part in parts if page.locator(part).count()}


def test_what_the_agent_will_do_is_not_given_away(visit: Visit) -> None:
    page = participant(visit, "nothing")
    for kind in steps(page):
        if kind == "predict":
            told = page.locator(".watched").inner_text() + str(page.get_attribute(".watched .scene", "alt"))
            assert "Now, before step 6" in told
            assert "it chooses" not in told
            page.get_by_role("button", name="One step forward").click()
            assert "Now, before step 6" in page.locator(".watched .caption").inner_text()
            before = []
            for _ in range(5):
                page.get_by_role("button", name="One step back").click()
                before.append(page.locator(".watched .caption").inner_text().split(":")[0])
            assert before == ["Step 5", "Step 4", "Step 3", "Step 2", "Step 1"]
            assert page.get_attribute(".watched input[type=range]", "max") == "5"


def test_a_reload_goes_on_where_one_was_and_counts_time_on(visit: Visit, replies: Path) -> None:
    page = newcomer(visit)
    act(page)
    go_on(page)
    title, place = page.locator(".step-title").inner_text(), page.locator("#study-progress").inner_text()
    page.wait_for_timeout(300)
    page.reload()
    page.wait_for_selector(".next")
    assert page.locator("#study-progress").inner_text() == place == "Screen 2 of 6"
    assert page.locator(".step-title").inner_text() == title
    act(page)
    go_on(page)
    rows = rows_of(page, replies)
    assert [(row["position"], row["loads"]) for row in rows] == [("1", "1"), ("2", "2")]
    assert float(rows[1]["seconds"]) > 0.3


def test_a_reply_whose_receipt_was_lost_is_sent_again_and_kept_once(visit: Visit, replies: Path) -> None:
    page = newcomer(visit)
    act(page)

    def lose(route: Any) -> None:
        route.fetch()
        route.abort()

    page.route("**/replies", lose)
    page.locator(".next").click()
    page.get_by_role("alert").get_by_text("The server cannot be reached.").wait_for()
    page.unroute("**/replies")
    assert len(rows_of(page, replies)) == 1
    page.get_by_role("button", name="Try again").click()
    page.get_by_text("Screen 2 of 6").wait_for()
    assert len(rows_of(page, replies)) == 1
    visit.forgive("Failed to load resource")


def test_a_step_that_is_not_done_says_what_is_missing(visit: Visit, replies: Path) -> None:
    page = participant(visit, "nothing")
    while kind_of(page) != "steer":
        act(page)
        go_on(page)
    page.locator(".next").click()
    page.get_by_role("alert").get_by_text("Please change the command.").wait_for()
    page.locator(".reply").get_by_label("time", exact=True).fill("0")
    page.locator(".next").click()
    page.get_by_role("alert").get_by_text("Please rate: How sure are you of your reply?").wait_for()
    assert page.evaluate("document.activeElement.type") == "radio"
    assert "steer" not in {row["kind"] for row in rows_of(page, replies)}


def test_the_keyboard_alone_does_a_step(visit: Visit, replies: Path) -> None:
    page = participant(visit, "nothing")
    while kind_of(page) != "predict":
        act(page)
        go_on(page)
    before = len(rows_of(page, replies))
    tab_to(page, ".reply input")
    page.keyboard.press("ArrowDown")
    tab_to(page, ".rating input")
    page.keyboard.press("ArrowRight")
    tab_to(page, ".next")
    page.keyboard.press("Enter")
    page.get_by_text(f"Screen {before + 2} of 6").wait_for()
    [row] = rows_of(page, replies)[before:]
    assert row["rating_sure"] == "2"
    assert row["reply"]


def tab_to(page: Any, selector: str) -> None:
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"expected to reach {selector} with the Tab key")


def test_nothing_is_wider_than_a_phone(visit: Visit) -> None:
    page = participant(visit, "everything", **PHONE)
    for kind in steps(page):
        assert page.evaluate("document.documentElement.scrollWidth") <= 375, kind


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(visit: Visit, scheme: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not there; `make browser` fetches it")
    page = participant(visit, "everything", bypass_csp=True, color_scheme=scheme)
    page.add_script_tag(path=AXE)
    for kind in steps(page):
        found = page.evaluate("axe.run()")["violations"]
        assert (kind, {rule["id"]: [node["target"] for node in rule["nodes"]] for rule in found}) == (kind, {})


def test_the_words_of_a_study_are_text_and_not_markup(visit: Visit) -> None:
    page = visit.open("study.html")
    page.wait_for_selector(".page-of-text")
    evil = "<img src=x onerror=window.hurt=1>"
    about = {"title": evil, "consent": [evil], "introduction": [evil], "thanks": [evil], "screens": 1}
    rating = {"name": "sure", "text": evil, "low": evil, "high": evil, "points": 3, "asked": "end"}
    last = {
        "name": "end",
        "kind": "end",
        "text": evil,
        "episodes": [],
        "command": None,
        "foil": None,
        "ratings": [rating],
    }
    plan = {"shows": [], "screens": [last], "next": 0}
    page.route("**/api/study", lambda route: route.fulfill(json=about))
    page.route("**/api/study/participants/*", lambda route: route.fulfill(json=plan))
    page.reload()
    page.get_by_role("button", name="I agree").click()
    page.get_by_role("button", name="Begin").click()
    page.wait_for_selector(".rating")
    assert page.get_by_text(evil).count() >= 4
    assert page.evaluate("window.hurt") is None


def test_a_page_without_a_study_says_so_kindly(visit: Visit) -> None:
    page = visit.open("study.html")
    told = json.dumps({"error": "expected an address of this server, got GET '/api/study'"})
    page.route("**/api/study", lambda route: route.fulfill(status=404, body=told, content_type="application/json"))
    page.reload()
    page.get_by_role("alert").get_by_text("This page does not exist on this server.").wait_for()
    visit.forgive("404")


def test_nothing_is_kept_beyond_the_session(visit: Visit) -> None:
    page = newcomer(visit)
    assert page.context.cookies() == []
    assert page.evaluate("localStorage.length") == 0
    assert re.fullmatch("[0-9a-f]{32}", page.evaluate(KEY))
