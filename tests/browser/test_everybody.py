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
    "profiles": "#agent=fruit-tree",
    "never": "#agent=deep-sea-treasure&command=8,-8&step=5&foil=up",
    "answer": QUESTION,
    "stage": QUESTION,
    "table": "#agent=breakable-bottles&command=-18,50,0&step=5&foil=pickup",
    "outcomes": "#agent=reward-line&command=0.5,0.5&step=2",
    "outcome": "#agent=deep-sea-treasure&command=8,-8&step=5&outcome=treasure >= 50, visits (7, 7)",
    "impossible": "#agent=breakable-bottles&command=-18,50,0&step=1&outcome=steps <= 2, never takes left",
    "amounts": "#agent=water-reservoir&command=-36,-78&step=0&foil=release >= 80&explore=episode",
    "help": "",
    "episode": QUESTION + "&explore=episode",
    "compare": QUESTION + '&explore=compare&compare={"search":"nearest-front"}',
    "options": QUESTION + "&explore=options",
}
SIZES = [(width, scheme) for scheme in ("light", "dark") for width in (1440, 1024, 390, 320)]
NARROW_SLIDERS = """[...document.querySelectorAll("input[type=range]")]
  .map((slider) => slider.getBoundingClientRect().width).filter((width) => width && width < 80)"""
CUT_NAMES = """[...document.querySelectorAll(".action-name")]
  .filter((name) => name.scrollWidth > name.clientWidth + 1).map((name) => name.innerText)"""


def settle(visit: Visit, page: Any, view: str) -> None:
    start = {"environments": ".environment-card", "goals": ".goal", "profiles": ".goal", "help": ".environment-card",
             "outcomes": ".stage"}  # fmt: skip
    page.wait_for_selector(start.get(view, ".answer .sentence"))
    for fold in page.query_selector_all("details:not([open]) > summary"):
        fold.click()
    if view in ("stage", "table", "outcome"):
        page.locator(".answer .show").first.click()
        page.wait_for_selector(".verdict-text")
    if view == "outcomes":
        page.get_by_role("button", name="How it ends").click()
        page.wait_for_selector("canvas.outcomes")
    if view == "amounts":
        page.get_by_role("button", name="Ask about every step").click()
        page.get_by_role("button", name="Measure the influence").click()
        page.get_by_role("button", name="Save as CSV").wait_for()
        visit.until(page, "document.querySelectorAll('.column.of-amounts').length === 12")
    if view == "help":
        page.get_by_role("button", name="How this works", exact=True).click()
    if view == "compare":
        visit.until(page, "document.querySelectorAll('.panel .sentence').length === 2")


def tab_to(page: Any, selector: str) -> None:
    """Press Tab until something is reached."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("(selector) => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"expected to reach {selector} with the Tab key")


def test_the_keyboard_alone_leads_to_an_answer_and_its_map(visit: Visit) -> None:
    page = visit.open()
    page.wait_for_selector(".environment-card")
    for _ in range(5):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.matches('.environment')"):
            break
    page.keyboard.press("Enter")
    page.wait_for_selector(".stage")
    tab_to(page, ".why[title='Why not down?']")
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
def test_every_view_fits_every_size_and_axe_finds_nothing(visit: Visit, view: str) -> None:
    page = visit.open(VIEWS[view], bypass_csp=True)
    settle(visit, page, view)
    if AXE.is_file():  # `make browser` fetches it
        page.add_script_tag(path=AXE)
    for width, scheme in SIZES:
        page.set_viewport_size({"width": width, "height": 800})
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        visit.until(page, f"document.documentElement.dataset.theme === '{scheme}'")
        assert page.evaluate("document.documentElement.scrollWidth") <= width, width
        assert page.evaluate(NARROW_SLIDERS) == [], width
        assert page.evaluate(CUT_NAMES) == [], width
        found = page.evaluate("axe.run()")["violations"] if AXE.is_file() else []
        wrong = {rule["id"]: [node["target"] for node in rule["nodes"]] for rule in found}
        assert (width, scheme, wrong) == (width, scheme, {})


def test_paper_gets_the_answer_in_light_colours_without_controls(visit: Visit) -> None:
    page = visit.ask(color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).getPropertyValue('--paper')") == "#fbfaf7"
    assert page.locator(".answer .sentence").is_visible()
    assert not any(each.is_visible() for each in page.locator("button, .live, .explore").all())


def test_without_scripts_the_page_says_so(visit: Visit) -> None:
    page = visit.open("", java_script_enabled=False)
    assert page.locator("noscript").inner_text() == "This page needs JavaScript. Please enable it."
    assert page.locator("noscript").is_visible()
    assert page.locator(".loading").is_hidden()
