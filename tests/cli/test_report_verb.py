"""paretofoil report."""


def test_the_verb_prints_the_report_as_text(run) -> None:
    printed = " ".join(run("report", "reward-line", "--seconds", "5").out.split())
    assert printed.startswith(
        "reward-line. It does what it is told on the front: it achieves each of the 11 best returns"
    )
    assert "11 of 11 rolled out" in printed
    assert "No command makes it choose down in any of the 34 states" in printed
    assert "Each bar is a step" not in printed  # of a figure


def test_the_verb_writes_a_page(run, tmp_path) -> None:
    page = tmp_path / "report.html"
    printed = run("report", "reward-line", "--seconds", "5", "--html", str(page)).out
    assert "Wrote the report to" in printed
    assert page.read_text().startswith("<!doctype html>")


def test_a_page_that_cannot_be_written_is_an_error_before_anything_is_computed(run, tmp_path) -> None:
    missing = run("report", "reward-line", "--html", str(tmp_path / "nowhere" / "report.html"), code=2).err
    assert "a report's file in a folder that exists" in " ".join(missing.split())
    assert "same environment" in run("report", "reward-line", "--with", "branch-path", code=2).err
