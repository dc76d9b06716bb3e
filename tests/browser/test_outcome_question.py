"""An outcome as the question: put together in a form, clicked in the picture or typed, and answered like an action."""

from typing import Any

import pytest
from test_stage import in_view, long_numbers
from visit import Visit

pytestmark = pytest.mark.long

EPISODE = "#agent=deep-sea-treasure&command=8,-8&step=5"
OUTCOME = "window.paretofoil.store.get().foil?.outcome"


def open_form(visit: Visit, link: str = EPISODE, **settings: Any) -> Any:
    page = visit.open(link, **settings)
    page.get_by_text("Why did it not end differently?").click()
    return page


def submit(page: Any) -> None:
    page.locator(".outcome-form button.primary").click()
    page.wait_for_selector(".answer .sentence")


def test_the_amounts_start_with_what_the_episode_brought_and_a_number_makes_the_question(visit: Visit) -> None:
    page = open_form(visit)
    assert page.get_by_label("Amount of treasure").input_value() == "8"
    assert page.get_by_label("Amount of time").input_value() == "8"  # costs are positive
    page.get_by_label("Amount of treasure").fill("50")
    assert page.get_by_label("As text").input_value() == "treasure >= 50"
    submit(page)
    assert page.evaluate("window.paretofoil.store.get().step") == 0  # the question is about the whole episode
    page.get_by_role("heading", name="Why not at least 50 treasure?").wait_for()
    sentence = page.locator(".answer .sentence").inner_text()
    assert sentence.startswith("Had you asked for")
    assert sentence.endswith("the episode would have met “at least 50 treasure”.")
    assert page.get_by_text("With this command, the episode ends with 50 treasure").is_visible()
    assert page.locator(".answer .proof.proven").count() == 1
    assert "pf.outcome('treasure >= 50')" in page.locator(".answer pre").text_content()
    page.locator(".answer .show").first.click()
    in_view(visit, page, ".verdict-text")
    told = page.locator(".verdict-text").inner_text()
    assert told.startswith("Now it meets “at least 50 treasure”. It went right and got 50 treasure in 14 steps")
    assert page.locator("polyline.trail").count() == 2
    assert long_numbers(page) == []
    page.get_by_role("button", name="Ask for this instead").click()
    page.locator(".episode-title:not(:text-is('You asked for 8 treasure in 8 steps'))").wait_for()
    visit.until(page, "window.paretofoil.store.get().episode.achieved[0] === 50")


def test_a_link_opens_the_same_question_with_its_form(visit: Visit) -> None:
    page = open_form(visit)
    page.get_by_label("Amount of treasure").fill("20")
    page.get_by_label("Limit of treasure").select_option("at most")
    page.get_by_label("The action").select_option("down")
    page.get_by_label("Whether it chooses").select_option("never chooses")
    page.get_by_label("at step 6").check()
    submit(page)
    assert "outcome=treasure+%3C%3D+20,+never+takes+down" in page.url
    other = visit.ask(page.url.partition("page/")[2])
    assert other.evaluate("window.paretofoil.store.get().step") == 5
    assert other.get_by_label("As text").input_value() == "treasure <= 20, never takes down"
    assert other.get_by_label("Limit of treasure").input_value() == "<="
    assert other.get_by_label("at step 6").is_checked()
    assert other.locator(".answer .sentence").inner_text() == page.locator(".answer .sentence").inner_text()


def test_a_place_is_clicked_in_the_picture(visit: Visit) -> None:
    page = open_form(visit)
    picture = page.locator(".stage .sheet")
    box = picture.bounding_box()
    picture.click(position={"x": box["width"] * 0.66, "y": box["height"] * 0.66})
    assert page.get_by_label("As text").input_value() == "visits (7, 7)"
    assert page.locator("circle.picked").count() == 1
    submit(page)
    page.locator(".answer .show").first.click()
    page.locator(".verdict-text").get_by_text("Now it meets “goes to (7, 7)”.").wait_for()
    page.get_by_label("Whether it goes to").select_option("never goes to")
    assert page.get_by_label("As text").input_value() == "never visits (7, 7)"


def test_what_the_episode_does_already_is_not_a_question(visit: Visit) -> None:
    page = open_form(visit)
    ask = page.locator(".outcome-form button.primary")
    assert ask.is_disabled()
    page.locator(".outcome-row", has_text="treasure").get_by_role("checkbox").check()
    page.get_by_text("The episode does that already.").wait_for()
    assert ask.is_disabled()
    page.get_by_label("Amount of treasure").fill("9")
    assert ask.is_enabled()


def test_an_impossible_outcome_is_proven_and_leads_on(visit: Visit) -> None:
    page = visit.ask("#agent=deep-sea-treasure&command=8,-8&step=0&outcome=treasure >= 200")
    assert page.locator(".answer .proof.never").inner_text() == "Proven for every command in the search region"
    page.get_by_role("button", name="Ask for at least 124 treasure").click()
    page.get_by_role("heading", name="Why not at least 124 treasure?").wait_for()
    page.wait_for_selector(".answer .show")
    assert page.get_by_label("As text").input_value() == "treasure >= 124"
    page.get_by_label("As text").fill("treasure >= 16, time <= 3")
    submit(page)
    page.get_by_role("button", name="Ask without “at most 3 steps”").click()
    page.wait_for_selector(".answer .show")


def test_a_command_that_the_agent_fulfils_can_be_asked_for(visit: Visit) -> None:
    page = visit.ask("#agent=deep-sea-treasure&command=8,-8&step=0&outcome=treasure >= 50")
    page.get_by_role("button", name="Find a command it can fulfil").click()
    page.get_by_role("heading", name="exactly what you ask for").wait_for()
    page.locator(".answer .show").first.click()
    page.locator(".verdict-text").get_by_text("the agent delivered exactly that.").wait_for()


def test_a_typed_outcome_with_a_mistake_is_explained(visit: Visit) -> None:
    page = open_form(visit)
    page.get_by_label("As text").fill("tresure >= 50")
    page.locator(".outcome-form button.primary").click()
    page.locator(".answer").get_by_text("did you mean treasure >= 50?").wait_for()
    visit.forgive("422")


def test_chance_is_told_as_a_share_of_runs_with_its_interval(visit: Visit) -> None:
    page = open_form(visit, "#agent=resource-gathering&command=0,0,1&step=0")
    page.get_by_label("Limit of gold").select_option("happens")
    page.get_by_label("in at least").fill("60")
    submit(page)
    assert page.evaluate(OUTCOME) == "gold >= 1"
    assert "share=0.6" in page.url
    page.locator(".answer").get_by_text("of 200 runs meet it, 95 % interval").first.wait_for()


def test_a_long_answer_can_be_cancelled(visit: Visit) -> None:
    page = visit.open("#agent=minecart&command=0,1.5,-0.96&step=0&seconds=60&outcome=ore 0 >= 0.5")
    page.locator(".answer .cancel").click()
    page.get_by_text("The search was cancelled.").wait_for()


def test_an_open_answer_tells_how_far_the_search_got_and_searches_on(visit: Visit) -> None:
    page = visit.ask("#agent=minecart&command=0,1.5,-0.96&step=0&seconds=2&outcome=ore 0 >= 0.5")
    assert "of the ranges (proven)" in page.locator(".answer .proof.open").inner_text()
    page.get_by_role("button", name="Search for up to a minute").click()
    assert page.evaluate("window.paretofoil.store.get().settings.seconds") == 60
    page.locator(".answer .cancel").click()
