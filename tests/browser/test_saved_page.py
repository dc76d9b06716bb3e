"""A page that was saved with its episode: opened without a server, and alive all the same."""

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

from visit import Visit, share


def test_a_saved_page_answers_and_its_command_space_is_alive(visit: Visit, tmp_path: Path) -> None:
    saved = tmp_path / "why.html"
    command = ["episode", "deep-sea-treasure", "--command", "8,-8", "--steps", "5", "--html", str(saved)]
    subprocess.run([sys.executable, "-m", "paretofoil", *command], check=True, capture_output=True)
    page = visit.open_file(saved)
    page.get_by_role("button", name="down: Why not?").click()
    page.get_by_text("the agent would have gone down instead of right.").first.wait_for()
    page.locator(".answer .show").first.click()
    page.get_by_text("It ends with 5 treasure in 7 steps.", exact=True).wait_for()
    page.get_by_role("button", name="Show on the map").click()
    visit.until(page, "window.paretofoil.lastRedraw !== null")
    before = share(page, "down")
    page.locator(".space-controls").get_by_label("time", exact=True).fill("0")
    assert share(page, "down") > before + 0.3
    assert {urlsplit(url).scheme for url in visit.requests} <= {"file", "data", "blob"}
