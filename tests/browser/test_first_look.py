"""The first look: somebody who knows nothing picks, watches, asks, and is shown."""

from visit import QUESTION, Visit


def test_somebody_who_knows_nothing_gets_from_the_first_page_to_an_answer(visit: Visit) -> None:
    page = visit.open()
    page.get_by_role("button", name="Deep Sea Treasure", exact=True).click()
    page.get_by_role("heading", name="It goes right").wait_for()
    page.get_by_role("button", name="down: Why not?").click()
    sentence = page.locator(".answer .sentence")
    sentence.wait_for()
    assert "the agent would have gone down instead of right" in sentence.inner_text()
    assert page.locator(".answer > .change .change-row").count() == 2
    proof = page.locator(".answer .proof").inner_text()
    assert proof == "Proven: no change that is more than 7.3 % smaller works"
    page.locator(".answer .more-about summary").click()
    assert "no change that is more than 7.3 % smaller works (proven" in page.locator(".answer .more-about").inner_text()


def test_every_environment_has_a_picture(visit: Visit) -> None:
    page = visit.open()
    page.wait_for_selector(".environment-card")
    loaded = "[...document.querySelectorAll('.environment-card img')].every((i) => i.complete && i.naturalWidth)"
    visit.until(page, loaded)
    assert page.locator(".environment-card img").count() >= 8


def test_an_episode_is_watched_to_its_end_unasked(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure", reduced_motion="no-preference")
    page.get_by_role("button", name="Ask for 2 treasure in 3 steps", exact=True).click()
    page.locator(".decision").get_by_text("The episode ends with 2 treasure in 3 steps, as you asked.").wait_for()
    visit.until(page, "document.querySelector('.stage .scene').src.endsWith('step=3')")


def test_a_step_changes_picture_command_and_address(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure&command=8,-8&step=0")
    page.wait_for_selector(".stage")
    before = page.get_attribute(".stage .scene", "src")
    page.get_by_role("button", name="One step forward").click()
    page.get_by_role("row", name="time 1 step 7 steps 8 steps").wait_for()
    assert page.get_attribute(".stage .scene", "src") != before
    assert "step=1" in page.url
    page.get_by_role("button", name="One step back").click()
    assert page.get_attribute(".stage .scene", "src") == before


def test_your_own_command_is_rolled_out(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure")
    page.get_by_text("Your own command").click()
    page.get_by_label("time", exact=True).fill("100")
    page.get_by_label("treasure, typed").fill("23.5")
    page.get_by_role("button", name="Ask for this").click()
    page.wait_for_selector(".stage")
    assert "command=23.5,-" in page.url


def test_a_permanent_link_restores_the_view_in_a_new_page(visit: Visit) -> None:
    first = visit.ask(QUESTION + "&keep=%5B%22treasure%22%5D&explore=options")
    first.get_by_role("button", name="Zoom out").click()
    second = visit.ask(first.url.partition("/page/")[2])
    told = [page.locator(".answer .sentence").inner_text() for page in (first, second)]
    assert told[0] == told[1]
    assert first.url == second.url
    assert "zoom=" in second.url
    assert second.get_attribute("#tab-options", "aria-selected") == "true"


def test_a_foil_that_is_proven_impossible_is_marked_before_one_asks(visit: Visit) -> None:
    page = visit.open("#agent=deep-sea-treasure&command=8,-8&step=5")
    page.get_by_role("button", name="up: never here (proven)").wait_for()
    assert page.locator(".answer").is_hidden()
