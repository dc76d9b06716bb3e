"""For everybody: at phone width, by keyboard alone, in the dark, and for those who listen."""

from pathlib import Path
from typing import Any

import pytest
from visit import QUESTION, Visit

pytestmark = pytest.mark.long

AXE = Path(__file__).parents[2] / ".tools" / "axe.js"
VIEWS = {
    "environments": "",
    "goals": "#agent=deep-sea-treasure",
    "space": QUESTION + "&explore=space",
    "episode": QUESTION + "&explore=episode",
    "compare": QUESTION + '&explore=compare&compare={"search":"nearest-front"}',
    "options": QUESTION + "&explore=options",
}
PHONE = {"viewport": {"width": 375, "height": 740}, "has_touch": True, "is_mobile": True}


def settle(visit: Visit, page: Any, view: str) -> None:
    page.wait_for_selector({"environments": ".environment-card", "goals": ".goal"}.get(view, ".answer .sentence"))
    if view == "compare":
        visit.until(page, "document.querySelectorAll('.panel .sentence').length === 2")


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until something is reached."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"expected to reach {selector} with the Tab key")


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_wider_than_a_phone(visit: Visit, view: str) -> None:
    page = visit.open(VIEWS[view], **PHONE)
    settle(visit, page, view)
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_the_keyboard_alone_leads_to_an_answer_and_its_map(visit: Visit) -> None:
    page = visit.open()
    page.wait_for_selector(".environment-card")
    tab_to(page, ".environment")
    page.keyboard.press("Enter")
    page.wait_for_selector(".goal")
    tab_to(page, ".front-point")
    page.keyboard.press("Enter")
    page.wait_for_selector(".stage")
    tab_to(page, ".why")
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer .sentence")
    tab_to(page, ".answer .buttons button:last-child")
    page.keyboard.press("Enter")
    visit.until(page, "window.paretofoil.lastRedraw !== null")
    tab_to(page, "canvas.space")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("window.paretofoil.store.get().probe") is not None


def test_answers_are_announced_to_those_who_listen(visit: Visit) -> None:
    page = visit.ask()
    assert page.locator("#live").inner_text() == page.locator(".answer .sentence").inner_text()


def test_the_page_follows_the_system_into_the_dark_and_can_be_turned(visit: Visit) -> None:
    page = visit.open("", color_scheme="dark")
    page.wait_for_selector(".environment-card")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    dark = page.evaluate(paper)
    page.get_by_role("button", name="Switch to the light theme").click()
    assert page.evaluate(paper) != dark
    page.reload()
    page.get_by_role("button", name="Switch to the dark theme").wait_for()


@pytest.mark.parametrize("view", VIEWS)
def test_axe_finds_nothing_by_day_or_night(visit: Visit, view: str) -> None:
    if not AXE.is_file():
        pytest.skip("axe-core is not there; `make browser` fetches it")
    page = visit.open(VIEWS[view], bypass_csp=True)
    settle(visit, page, view)
    page.add_script_tag(path=AXE)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        visit.until(page, f"document.documentElement.dataset.theme === '{scheme}'")
        found = page.evaluate("axe.run()")["violations"]
        assert {rule["id"]: [node["target"] for node in rule["nodes"]] for rule in found} == {}, scheme
