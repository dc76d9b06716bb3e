"""`serve --study` and `user-study` as they are typed."""

import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from paretofoil.web.user_study.plan import read_user_study
from paretofoil.web.user_study.replies import Replies

EXAMPLE = Path(__file__).parents[2] / "docs" / "user-study.json"


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def in_an_empty_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_study_is_served_and_its_replies_go_into_the_current_folder(run: Run, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "paretofoil", "serve", "--port", "0", "--workers", "1", "--study", str(EXAMPLE)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        found = re.search(r"http://\S+:\d+/", process.stdout.readline())
        assert found, process.stderr.read()
        assert "user-study.sqlite" in process.stdout.readline()
        assert "study_main.js" in httpx.get(found[0], follow_redirects=True).text
        told = httpx.put(f"{found[0]}api/study/participants/{'a' * 32}", json={"agreed": True})
        assert told.json()["next"] == 0
        process.send_signal(signal.SIGINT)
        process.wait()
        assert "Traceback" not in process.stderr.read()
    code, out, _ = run("user-study", "export", "user-study.sqlite")
    assert code == 0
    assert out.startswith("participant,condition,counterfactuals,")
    assert out.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("{", "expected a user study as JSON"),
        ("{}", "schema: expected a value, got none"),
        ('{"schema": NaN}', "expected finite numbers, got NaN"),
        (None, "got no file"),
    ],
)
@pytest.mark.parametrize("verb", [["serve", "--study"], ["user-study", "check"]])
def test_a_study_that_cannot_be_read_is_one_line(
    run: Run, tmp_path: Path, verb: list[str], content: str | None, words: str
) -> None:
    if content is not None:
        (tmp_path / "study.json").write_text(content)
    code, out, error = run(*verb, "study.json")
    assert (code, out) == (2, "")
    assert words in error
    assert "study.json" in error
    assert "Traceback" not in error


def test_a_study_is_checked_without_being_served(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("user-study", "check", str(EXAMPLE))
    assert code == 0
    assert "4 conditions, 5 tasks, 4 ratings: ready to serve." in out
    assert list(tmp_path.iterdir()) == []


def test_replies_are_exported_into_a_file(run: Run, tmp_path: Path) -> None:
    Replies(tmp_path / "some.sqlite", read_user_study(EXAMPLE)).close()
    _, out, _ = run("user-study", "export", "some.sqlite", "--out", "deep/some.csv")
    assert "Wrote 0 replies to deep/some.csv." in out
    assert (tmp_path / "deep" / "some.csv").read_text().startswith("participant,")


def test_an_export_of_another_file_is_one_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "words.sqlite").write_text("no database " * 100)
    for name, words in (("words.sqlite", "to hold the replies of a user study"), ("none.sqlite", "no such file")):
        code, out, error = run("user-study", "export", name)
        assert (code, out) == (2, "")
        assert words in error
        assert "Traceback" not in error
