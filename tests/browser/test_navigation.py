"""Back, forward, reload and links: the page always shows what the address says."""

from itertools import pairwise
from typing import Any

import pytest
from visit import QUESTION, Visit

import paretofoil as pf

TREASURE = "#agent=deep-sea-treasure&command=8,-8&step=5"
CART = "#agent=minecart&command=0,1.5,-0.96&step=3"
ENVIRONMENTS = (
    "deep-sea-treasure", "minecart", "resource-gathering", "breakable-bottles",
    "branch-path", "collect-two", "reward-line", "fruit-tree",
)  # fmt: skip


def follow(visit: Visit, page: Any, link: str, name: str) -> None:
    """Follow a link inside the page, as a click on it would."""
    page.evaluate("(link) => { window.location.hash = link }", link)
    visit.until(page, f"window.paretofoil.store.get().agent?.name === '{name}'")
    page.locator(".stage").wait_for()


def test_back_and_forward_walk_through_the_views_and_leave_the_history_alone(visit: Visit) -> None:
    page = visit.open(reduced_motion="no-preference")
    page.get_by_role("button", name="Deep Sea Treasure", exact=True).click()
    page.get_by_role("heading", name="You asked for 8 treasure in 8 steps").wait_for()
    page.get_by_role("button", name="Ask for something else").click()
    page.get_by_role("button", name="Ask for 2 treasure in 3 steps", exact=True).click()
    page.get_by_role("heading", name="You asked for 2 treasure in 3 steps").wait_for()
    count = page.evaluate("history.length")
    page.go_back()  # while the film plays
    page.get_by_role("heading", name="What do you want?").wait_for()
    page.go_back()
    page.get_by_role("heading", name="You asked for 8 treasure in 8 steps").wait_for()
    page.go_back()
    page.get_by_role("heading", name="Ask an agent: why not?").wait_for()
    for name in ("You asked for 8 treasure", "What do you want?", "You asked for 2 treasure"):
        page.go_forward()
        page.get_by_role("heading", name=name).wait_for()
    assert page.evaluate("history.length") == count


@pytest.mark.long
def test_a_link_to_another_environment_replaces_the_episode_and_its_answer(visit: Visit) -> None:
    page = visit.ask(QUESTION)
    page.locator(".answer .show").first.click()
    page.locator(".verdict-text").wait_for()
    follow(visit, page, CART, "minecart")
    page.get_by_role("heading", name="You asked for no ore 0").wait_for()
    assert page.locator(".verdict").is_hidden()
    assert page.locator(".answer").is_hidden()
    page.go_back()
    page.get_by_role("heading", name="Why not down?").wait_for()
    page.reload()
    page.get_by_role("heading", name="Why not down?").wait_for()
    assert page.get_by_role("alert").count() == 0


@pytest.mark.long
def test_every_environment_links_to_every_other_one(visit: Visit) -> None:
    commands = {name: ",".join(map(str, pf.load_agent(name).front[0].tolist())) for name in ENVIRONMENTS}
    page = visit.open(TREASURE)
    for before, after in pairwise(tour(ENVIRONMENTS)):
        follow(visit, page, f"#agent={after}&command={commands[after]}&step=1", after)
        assert page.get_by_role("alert").count() == 0, (before, after)


def tour(names: tuple[str, ...]) -> list[str]:
    """Return a way that goes from each name to each other one exactly once."""
    left = {name: [other for other in names if other != name] for name in names}
    way, stack = [], [names[0]]
    while stack:
        if left[stack[-1]]:
            stack.append(left[stack[-1]].pop())
        else:
            way.append(stack.pop())
    return way[::-1]


@pytest.mark.long
def test_a_click_shows_that_the_page_works_on_it(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure")
    page.wait_for_selector(".goal")
    held: list[Any] = []
    page.route("**/api/episodes", lambda route: held.append(route))
    page.locator(".goal").first.click()
    page.get_by_role("progressbar", name="Loading").wait_for()
    for route in held:
        route.continue_()
    page.wait_for_selector(".stage")
    assert page.locator("#busy").is_hidden()


def test_keys_play_step_and_explain(visit: Visit) -> None:
    page = visit.open(TREASURE)
    page.get_by_role("heading", name="It goes right").wait_for()
    page.keyboard.press("ArrowRight")
    page.get_by_text("Step 7 of 8").wait_for()
    page.keyboard.press("ArrowLeft")
    page.get_by_text("Step 6 of 8").wait_for()
    page.keyboard.press("End")
    page.locator(".decision").get_by_text("The episode ends with 8 treasure in 8 steps, as you asked.").wait_for()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press(" ")
    page.locator(".decision").get_by_text("The episode ends with").wait_for()
    page.keyboard.press("?")
    page.get_by_role("heading", name="How this works").wait_for()
    assert page.locator(".help-steps svg").count() == 4
    page.keyboard.press("Escape")
    assert page.locator("dialog.help").is_hidden()


def test_a_question_that_was_left_changes_nothing_when_its_request_returns(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure&command=8,-8&step=5")
    page.get_by_role("heading", name="It goes right").wait_for()
    held: list[Any] = []
    page.route("**/api/answers", lambda route: held.append(route))
    with page.expect_request("**/api/answers"):
        page.get_by_role("button", name="down: Why not?").click()
    page.evaluate("location.hash = 'agent=deep-sea-treasure&command=5,-7&step=1'")
    page.get_by_role("heading", name="You asked for 5 treasure in 7 steps").wait_for()
    with page.expect_response("**/api/answers"):
        held[0].continue_()
    page.unroute("**/api/answers")
    page.get_by_role("button", name="down: Why not?").click()
    page.locator(".answer .sentence").wait_for()
