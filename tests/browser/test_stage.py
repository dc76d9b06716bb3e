"""One stage: the film and its end, another command on the same picture, its verdict, and asking on from there."""

import json
import re
from typing import Any

import pytest
from test_navigation import ENVIRONMENTS
from visit import QUESTION, Visit

LONG = "#agent=minecart&command=0,1.2,-0.2&step=0"
IN_VIEW = """(selector) => {
  const { top, bottom, left, right } = document.querySelector(selector).getBoundingClientRect();
  return top >= -1 && left >= -1 && right <= innerWidth + 1 && Math.min(bottom, top + 120) <= innerHeight + 1;
}"""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
MAIN_PATH = (".episode-title", ".decision", ".answer > :not(details)", ".verdict", ".space-controls", ".goal")


def in_view(visit: Visit, page: Any, selector: str) -> None:
    """Wait until the start of an element is in view, also after a smooth scroll."""
    page.wait_for_selector(selector)
    for _ in range(50):
        if page.evaluate(IN_VIEW, selector):
            return
        page.wait_for_timeout(40)
    box = page.evaluate("(s) => JSON.stringify(document.querySelector(s).getBoundingClientRect())", selector)
    pytest.fail(f"expected {selector} in view, got {box} at {page.viewport_size}")


def long_numbers(page: Any) -> list[str]:
    """Numbers of the main path with more than three significant digits; digits before the point do not count."""
    parts = ", ".join(MAIN_PATH)
    text = page.evaluate("(s) => [...document.querySelectorAll(s)].map((node) => node.innerText).join(' ')", parts)
    typed = page.evaluate("[...document.querySelectorAll('.live input[type=number]')].map((input) => input.value)")
    numbers = NUMBER.findall(f"{text} {' '.join(typed)}")
    return [number for number in numbers if "." in number and len(re.sub(r"[,.]", "", number).lstrip("0")) > 3]


def ask_first(visit: Visit, page: Any) -> None:
    """Ask about a foil of this step that some command leads to; if there is none, of a later step."""
    for _ in range(12):
        for why in page.locator(".why:visible").all():
            why.click()
            page.wait_for_selector(".answer .sentence")
            in_view(visit, page, ".answer h2")
            if page.locator(".answer .show").count():
                return
        page.get_by_role("button", name="One step forward").click()
    pytest.fail("expected a foil that some command leads to")


def test_three_clicks_lead_to_the_other_episode_with_its_verdict_in_view(visit: Visit) -> None:
    page = visit.open(viewport={"width": 1440, "height": 900})
    page.get_by_role("button", name="Deep Sea Treasure", exact=True).click()
    page.get_by_text("You tell it how much treasure to bring, and in how many steps.").wait_for()
    page.get_by_role("button", name="down: Why not?").click()
    in_view(visit, page, ".answer .sentence")
    page.locator(".answer .show").first.click()
    in_view(visit, page, ".verdict-text")
    in_view(visit, page, ".stage .scene")
    verdict = page.locator(".verdict-text").inner_text()
    assert verdict == (
        "It went down and got 5 treasure in 7 steps instead of 8 treasure in 8 steps. "
        "The new command asks for 8 treasure in 7.6 steps in all: the agent did not deliver that."
    )
    assert page.locator(".trail").count() == 2
    assert page.locator(".trail-end").count() == 2
    page.get_by_role("button", name="Ask for this instead").click()
    page.get_by_role("heading", name="You asked for 8 treasure in 7.6 steps").wait_for()
    assert page.locator(".verdict").is_hidden()
    ask_first(visit, page)


@pytest.mark.long
def test_back_to_the_episode_restores_its_film_and_keeps_the_answer(visit: Visit) -> None:
    page = visit.ask()
    before = page.get_attribute(".stage .scene", "src")
    page.locator(".answer .show").first.click()
    page.locator(".verdict-text").wait_for()
    assert page.get_attribute(".stage .scene", "src") != before
    page.get_by_role("button", name="Back to the episode").click()
    assert page.get_attribute(".stage .scene", "src") == before
    assert page.locator(".answer .sentence").is_visible()


def test_a_film_shows_the_end_only_with_its_picture_and_can_be_paused(visit: Visit) -> None:
    page = visit.ask(QUESTION, reduced_motion="no-preference")
    page.locator(".answer .show").first.click()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Play", exact=True).click()
    page.get_by_role("button", name="Play again").wait_for()
    scene = "document.querySelector('.stage .scene')"
    assert page.evaluate(f"{scene}.complete && {scene}.src.includes('step=7') && {scene}.src.includes('issued=')")
    assert "The episode ends with 5 treasure in 7 steps" in page.get_attribute(".stage .scene", "alt")


@pytest.mark.long
def test_a_long_episode_plays_in_at_most_120_frames_and_can_be_skipped(visit: Visit) -> None:
    page = visit.open(LONG, reduced_motion="no-preference")
    page.wait_for_selector(".stage")
    steps = page.evaluate("window.paretofoil.store.get().episode.decisions.length")
    assert steps > 240, "expected a long episode"
    page.get_by_role("button", name="Play", exact=True).click()
    visit.until(page, "window.paretofoil.store.get().step > 0")
    assert page.evaluate("window.paretofoil.store.get().step") >= steps // 120
    page.get_by_role("button", name="Skip to the end").click()
    page.locator(".decision").get_by_text("The episode reaches the step limit with").wait_for()


@pytest.mark.long
def test_rows_stay_where_they_are_while_the_film_plays(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure&command=8,-8&step=0")
    page.wait_for_selector(".stage")
    tops = set()
    for _ in range(8):
        page.get_by_role("button", name="One step forward").click()
        tops.add(tuple(page.locator(".actions .action-name").all_inner_texts()))
    assert tops == {("up", "down", "left", "right")}


def test_the_command_is_live_above_the_fold_and_letting_go_acts(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure&command=8,-8&step=5", viewport={"width": 1440, "height": 900})
    visit.until(page, "window.paretofoil.lastRedraw !== null")
    for selector in (".live .sliders", "canvas.space", ".stage .scene"):
        assert page.evaluate(IN_VIEW, selector), selector
    arrow = page.locator(".next-move")
    assert "rotate(0)" in str(arrow.get_attribute("transform"))
    slider = page.locator(".live").get_by_label("time", exact=True)
    slider.evaluate("(input) => { input.value = 0; input.dispatchEvent(new Event('input', { bubbles: true })) }")
    assert "rotate(90)" in str(arrow.get_attribute("transform"))
    assert page.locator(".verdict").is_hidden()
    slider.evaluate("(input) => input.dispatchEvent(new Event('change', { bubbles: true }))")
    verdict = page.locator(".verdict-text")
    verdict.get_by_text("It went down and got 5 treasure in 7 steps instead of").wait_for()
    page.get_by_label("time, typed in steps").fill("3")
    page.keyboard.press("Enter")
    verdict.get_by_text("It went right and still got 8 treasure in 8 steps").wait_for()


def give_time(page: Any) -> None:
    """Let the search of other steps take longer than 2 seconds per question, which a busy machine exceeds."""

    def change(route: Any) -> None:
        route.continue_(post_data=json.dumps({**route.request.post_data_json, "seconds": 60}))

    page.route("**/api/flip-maps", change)


@pytest.mark.long
def test_never_offers_a_next_step(visit: Visit) -> None:
    page = visit.ask("#agent=reward-line&command=0.5,0.5&step=0&foil=right")
    give_time(page)
    page.get_by_role("button", name="Find a step at which a command makes it choose right").click()
    page.locator(".answer .show").first.wait_for()
    assert "step=1&foil=right" in page.url


@pytest.mark.long
def test_never_says_what_can_be_had_instead(visit: Visit) -> None:
    page = visit.ask("#agent=deep-sea-treasure&command=8,-8&step=5&foil=up")
    assert page.locator(".answer .sentence").inner_text() == (
        "Nothing that you can ask for makes the agent choose up here."
    )
    instead = page.locator(".closest-outcome")
    instead.get_by_text("It then goes down and gets 5 treasure in 2 steps.").wait_for()
    words = "You can get another action here: ask for 8 treasure in 2.6 steps from here on."
    assert instead.inner_text().startswith(words)
    instead.get_by_role("button", name="Why not down?").click()
    page.locator(".answer .show").first.wait_for()


@pytest.mark.long
def test_never_at_any_step_is_said(visit: Visit) -> None:
    page = visit.ask("#agent=reward-line&command=0.5,0.5&step=2&foil=down")
    give_time(page)
    page.get_by_role("button", name="Find a step at which a command makes it choose down").click()
    page.get_by_text("No step was found.").wait_for()


@pytest.mark.long
@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_one_asks_sees_asks_for_it_instead_and_asks_again(visit: Visit, name: str) -> None:
    width = (1440, 1024, 390, 320)[ENVIRONMENTS.index(name) % 4]
    page = visit.open(viewport={"width": width, "height": 800})
    page.get_by_role("button", name=name.replace("-", " ").title(), exact=True).click()
    page.wait_for_selector(".stage")
    assert f"agent={name}" in page.url
    assert len(page.locator(".why:visible").all()) >= 1, "expected a step with a choice"
    for _ in range(2):
        ask_first(visit, page)
        assert long_numbers(page) == []
        page.locator(".answer .show").first.click()
        in_view(visit, page, ".verdict-text")
        assert long_numbers(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("button", name="Ask for this instead").click()
        page.locator(".verdict").wait_for(state="hidden")
        page.wait_for_selector(".stage")
    page.get_by_role("button", name="Ask for something else").click()
    page.wait_for_selector(".goal")
    assert long_numbers(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_cost_that_was_exceeded_is_over_budget_and_not_negative(visit: Visit) -> None:
    page = visit.open("#agent=walkroom-3&command=-18,-1,0&step=1")
    page.get_by_role("row", name="cost 3").get_by_text("1 step over budget").wait_for()
