"""Continuous actions on the page: amounts instead of actions, in the episode, the question, the map and the panels."""

import pytest
from test_stage import long_numbers
from visit import Visit

pytestmark = pytest.mark.long

EPISODE = "#agent=water-reservoir&command=-36,-78&step=0"
AMOUNT = "Number(document.querySelector('.probe-bars [data-amount]').dataset.amount)"


def test_an_amount_is_asked_for_and_the_answer_speaks_amounts(visit: Visit) -> None:
    page = visit.open(EPISODE)
    page.get_by_role("heading", name="It releases 67.6 m³").wait_for()
    page.get_by_label("First amount").fill("80")
    page.locator(".amount-form button").click()
    page.get_by_role("heading", name="Why not at least 80 m³ of release?").wait_for()
    page.wait_for_selector(".answer .sentence")
    assert page.locator(".answer .sentence").inner_text().endswith("released at least 80 m³ (80.2) instead of 67.6.")
    assert "foil=release+%3E%3D+80" in page.url
    page.locator(".answer .show").first.click()
    assert page.locator(".verdict-text").inner_text().startswith("It released 80.2 m³ and got")
    assert long_numbers(page) == []
    other = visit.ask(page.url.partition("page/")[2])
    assert other.locator(".answer h2").inner_text() == "Why not at least 80 m³ of release?"


def test_more_less_and_between_are_foils_and_mistakes_are_explained(visit: Visit) -> None:
    page = visit.open(EPISODE)
    page.get_by_role("button", name="less release: Why not?").click()
    page.get_by_text("the agent would have released at most 57.6 m³").first.wait_for()
    page.get_by_label("Kind of limit").select_option("between")
    page.get_by_label("First amount").fill("20")
    page.get_by_label("Second amount").fill("30")
    page.locator(".amount-form button").click()
    page.get_by_role("heading", name="Why not 20 to 30 m³ of release?").wait_for()
    page.wait_for_selector(".answer .proof.never")
    page.get_by_label("Kind of limit").select_option("at least")
    page.get_by_label("First amount").fill("10")
    page.locator(".amount-form button").click()
    page.locator(".answer").get_by_text("Expected a foil that the chosen action does not meet already").wait_for()
    visit.forgive("422")


def test_the_amount_follows_the_command_in_hand(visit: Visit) -> None:
    page = visit.open(EPISODE)
    visit.until(page, "window.paretofoil.lastRedraw !== null")
    before = page.evaluate(AMOUNT)
    page.locator(".space-controls").get_by_label("flooding", exact=True).fill("0")
    visit.until(page, f"{AMOUNT} > {before} + 5")


def test_the_whole_episode_has_directions_and_ranges(visit: Visit) -> None:
    page = visit.open(EPISODE + "&explore=episode")
    page.get_by_role("button", name="Ask about every step").click()
    page.get_by_role("button", name="Measure the influence").click()
    page.get_by_role("button", name="Save as CSV").wait_for()
    page.wait_for_selector(".influence-text")
    assert page.locator(".flips tbody th").all_inner_texts() == ["release, m³", "more release", "less release"]
    visit.until(page, "document.querySelectorAll('.column.of-amounts').length === 12")
    assert "no command leads to less than" in page.locator(".influence-text").inner_text()
    page.get_by_role("button", name="Step 2, less release").click()
    page.get_by_role("heading", name="Why not less release?").wait_for()


def test_an_outcome_of_amounts_is_answered(visit: Visit) -> None:
    page = visit.ask(EPISODE + "&outcome=flooding <= 10")
    assert page.locator(".answer h2").inner_text() == "Why not at most 10 m of flooding?"
    assert page.get_by_label("The action").count() == 0
    page.locator(".answer .show").first.click()
    page.locator(".verdict-text").get_by_text("Now it meets “at most 10 m of flooding”.").wait_for()
