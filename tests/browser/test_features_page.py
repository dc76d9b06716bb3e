"""A policy with free features of its state: a person sets the state, asks, and moves the features."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from visit import Visit, serve

pytestmark = pytest.mark.long
STATE = "#agent=state_policies:balancer&command=0.1,0.2,0.03,0.1"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A server of three policies, whose module is in the folder of the server's own tests."""
    names = (f"state_policies:{name}" for name in ("balancer", "table", "commanded"))
    yield from serve(*names, folder=Path(__file__).parents[1] / "web")


def test_a_person_sets_the_state_and_asks(visit: Visit) -> None:
    page = visit.open()
    page.get_by_role("button", name="state_policies:balancer").click()
    for name, number in {"observation 0": "0.1", "observation 1": "0.2", "pole angle, rad": "0.03"}.items():
        page.get_by_label(name, exact=True).fill(number)
    page.get_by_label("pole velocity, rad/s", exact=True).fill("0.1")
    page.get_by_role("button", name="What does it do here?").click()
    visit.until(page, "location.hash.includes('command=0.1,0.2,0.03,0.1')")
    page.get_by_role("button", name="Why not?").first.click()
    sentence = page.locator(".answer .sentence")
    sentence.wait_for()
    assert sentence.inner_text().startswith("Had the pole angle been ")
    assert page.locator(".proof.proven").count() == 1
    assert page.locator(".change-name").all_inner_texts() == ["pole angle", "pole velocity"]
    other = visit.ask(page.url.partition("/page/")[2])
    assert other.locator(".answer .sentence").inner_text() == sentence.inner_text()


def test_nothing_that_needs_rollouts_is_offered(visit: Visit) -> None:
    page = visit.ask(f"{STATE}&foil=action 1")
    for name in ("Show me", "How it ends", "Ask for something else", "Play"):
        assert page.get_by_role("button", name=name).count() == 0
    assert page.locator(".stage, .outcome-question").count() == 0
    assert "command" not in page.locator("#view").inner_text().replace("command line", "")
    page.get_by_role("button", name="For researchers: options").click()
    assert page.get_by_role("tab").all_inner_texts() == ["Options"]


def test_sliders_show_what_it_would_do(visit: Visit) -> None:
    page = visit.open(STATE)
    chosen = page.locator(".probe-bars .chosen")
    chosen.wait_for()
    before = chosen.get_attribute("data-action")
    answered = visit.ask(f"{STATE}&foil={'action 0' if before == 'action 1' else 'action 1'}")
    answered.get_by_role("button", name="Go to the answer").click()
    assert answered.locator(".probe-bars .chosen").get_attribute("data-action") != before


def test_one_whole_number_has_a_slider_and_no_map(visit: Visit) -> None:
    page = visit.ask("#agent=state_policies:table&foil=action 1")
    assert page.locator(".answer .sentence").inner_text().startswith("Had the cell been 7 (instead of 2)")
    assert page.locator("canvas.space").is_hidden()
    page.get_by_label("cell, typed").fill("6.8")
    page.get_by_label("cell, typed").press("Enter")
    assert page.locator(".probe-text").inner_text() == "With cell 7"


def test_a_person_sets_the_command_as_well(visit: Visit) -> None:
    page = visit.open("#agent=state_policies:commanded")
    steps = page.get_by_label("time, steps", exact=True)
    assert steps.input_value() == "5"  # the middle of the range; costs are positive
    assert page.get_by_label("pole angle, rad", exact=True).input_value() == "0.03"
    steps.fill("3")
    page.get_by_role("button", name="What does it do here?").click()
    visit.until(page, "location.hash.includes('command=0.5,-3,0.1,0.2,0.03,0.1')")
    assert page.get_by_role("heading", name="What if the command and state were different?").count() == 1
    page.get_by_role("button", name="Why not?").first.click()
    page.locator(".answer .sentence").wait_for()
    assert page.locator(".change-name").all_inner_texts() == ["speed", "time", "pole angle"]
    time = page.locator(".change-row").nth(1)
    widths = [
        time.locator(part).bounding_box()["width"] for part in (".changed .fill", ".original .fill", ".bar.original")
    ]
    assert widths[0] < widths[1] <= widths[2]  # 3 steps become fewer, and both fit into the bar
