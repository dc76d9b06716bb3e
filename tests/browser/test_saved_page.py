"""A page that was saved with its episode: opened without a server, and alive all the same."""

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from visit import Visit, share


def test_a_saved_page_answers_and_its_command_space_is_alive(visit: Visit, tmp_path: Path) -> None:
    saved = tmp_path / "why.html"
    command = ["episode", "deep-sea-treasure", "--command", "8,-8", "--steps", "5", "--html", str(saved),
               "--outcome", "treasure >= 50"]  # fmt: skip
    subprocess.run([sys.executable, "-m", "paretofoil", *command], check=True, capture_output=True)
    page = visit.open_file(saved)
    page.get_by_role("button", name="down: Why not?").click()
    page.get_by_text("the agent would have gone down instead of right.").first.wait_for()
    page.locator(".answer .show").first.click()
    page.locator(".verdict").get_by_text("It went down and got 5 treasure in 7 steps").wait_for()
    assert page.get_by_role("button", name="Ask for this instead").count() == 0
    assert page.get_by_role("tab").count() == 0
    assert page.locator("#crumbs button").count() == 0
    page.get_by_role("button", name="Show on the map").click()
    visit.until(page, "window.paretofoil.lastRedraw !== null")
    before = share(page, "down")
    page.locator(".space-controls").get_by_label("time", exact=True).fill("0")
    assert share(page, "down") > before + 0.3
    page.get_by_role("button", name="Why not at least 50 treasure?").click()
    page.get_by_text("the episode would have met “at least 50 treasure”").first.wait_for()
    page.locator(".answer .show").first.click()
    page.locator(".verdict").get_by_text("got 50 treasure in 14 steps").wait_for()
    page.get_by_role("button", name="Back to the episode").click()
    page.evaluate("window.paretofoil.controller.goToStep(5)")
    page.get_by_role("button", name="One step back").click()
    page.get_by_role("heading", name="It goes down").wait_for()
    assert not any(button.is_visible() for button in page.locator(".why").all())  # that step was not saved
    assert {urlsplit(url).scheme for url in visit.requests} <= {"file", "data", "blob"}
