"""Errors of the command line are one line each."""

import pytest

from paretofoil.core.errors import InvalidInput

DEEP_SEA = ["explain", "deep-sea-treasure"]
EXAMPLE = [*DEEP_SEA, "--command", "8,-8", "--foil", "down"]
STATE = ["--state", "3,3", "--remaining", "8,-2", "--foil", "down"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["explain", "", "--command", "8,-8", "--foil", "down"], "an agent's folder, got ''"),
        (["envs", "minecart", "--render", "a.jpg"], "a picture's file that ends in .png, got 'a.jpg'"),
        (["envs", "minecart", "--render", "nowhere/a.png"], "a picture's file in a folder that exists"),
        (
            ["influence", "branch-path", "--command", "3,1", "--samples", "200000000", "--quiet"],
            "1 to 100,000,000 samples",
        ),
        (["agents", "minecrat"], "(did you mean minecart?)"),
        ([*DEEP_SEA, "--command", "8,-8"], "expected one of --foil, --outcome and --all-foils, got none of them"),
        (
            [*DEEP_SEA, "--foil", "down"],
            "--state and --remaining for any state, got none of them",
        ),
        ([*DEEP_SEA, "--command", "8", "--foil", "down"], "--command with 2 numbers (treasure, time), got 1: 8"),
        ([*DEEP_SEA, "--command", "a,b", "--foil", "down"], "expected --command as numbers"),
        ([*DEEP_SEA, "--command", "nan,-8", "--foil", "down"], "expected --command to be finite, got [nan, -8.0]"),
        ([*DEEP_SEA, "--command", "8,-8", "--foil", "dwn"], "up, down, left, right, got 'dwn' (did you mean down?)"),
        ([*DEEP_SEA, "--command", "8,-8", "--foil", "left"], "a foil among the valid actions down, right, got left"),
        (
            [*DEEP_SEA, *STATE, "--command", "8,-8"],
            "--state and --remaining for any state, got --command, --state, --remaining",
        ),
        ([*DEEP_SEA, *STATE, "--at", "0"], "--state and --remaining for any state, got --at, --state, --remaining"),
        ([*DEEP_SEA, *STATE[:2], "--foil", "down"], "--state and --remaining for any state, got --state"),
        ([*EXAMPLE, "--remaining", "8,-2"], "--state and --remaining for any state, got --command, --remaining"),
        ([*EXAMPLE, "--at", "99"], "expected a step from 0"),
        ([*EXAMPLE, "--search", "luck"], "a search among"),
        ([*EXAMPLE, "--seconds", "-1"], "expected a limit of more than 0 seconds, got -1"),
        ([*EXAMPLE, "--queries", "0"], "a limit of at least 1 query, got 0"),
        ([*EXAMPLE, "--queries", "9" * 20], "a limit of at most 1,000,000,000,000 queries, got 99999999999999999999"),
        ([*EXAMPLE, "--keep", "tresure"], "an objective among treasure, time, got 'tresure' (did you mean treasure?)"),
        ([*EXAMPLE, "--range", "treasure=5"], "expected --range as NAME=LOW:HIGH"),
        ([*EXAMPLE, "--range", "time=9:7"], "--range as NAME=LOW:HIGH with LOW at most HIGH, got 'time=9:7'"),
        (
            [*EXAMPLE, "--range", "time=7:9", "--range", "time=2:8"],
            "expected one --range of time, got a second one: time=2:8",
        ),
        ([*DEEP_SEA, "--command", "1e300,-8", "--foil", "down"], "expected --command to be float32 numbers, at most"),
        ([*EXAMPLE, "--axes", "time,treasure"], "expected --plot with --axes, got --axes time,treasure alone"),
        ([*EXAMPLE, "--plot", "a.png", "--axes", "time"], "expected --axes with two objectives"),
        ([*EXAMPLE, "--plot", "a.doc"], "a figure file that ends in"),
        ([*EXAMPLE, "--plot", "nowhere/a.png"], "a folder that exists"),
        (["episode", "branch-path", "--command", "3,1", "--steps", "0-99"], "expected steps from 0 to"),
        (["episode", "branch-path", "--command", "3,1", "--steps", "0-1000001"], "--steps of at most 1,000,000"),
        (["never", "reward-line", "up", "--width", "inf"], "a finite width of at least 0, got inf"),
        (["never", "reward-line", "up", "--width", "nan"], "a finite width of at least 0, got nan"),
        (["never", "reward-line", "up", "--seconds", "-1"], "a limit of more than 0 seconds, got -1"),
        (["never", "reward-line", "up", "--seconds", "nan"], "a limit of more than 0 seconds, got nan"),
        (["train", "reward-line", "--minutes", "nan"], "expected a number of at most 1e+100 as minutes, got nan"),
        (
            ["train", "reward-line", "--set", "episode_steps=0"],
            "expected a whole number of at least 1 as episode_steps, got 0",
        ),
        (["train", "reward-line", "--set", "updates=-1"], "expected a whole number of at least 0 as updates, got -1"),
        (["episode", "branch-path", "--command", "3,1", "--steps", "3-"], "--steps as numbers and ranges"),
        (["episode", "branch-path", "--command", "3,1", "--steps", "3-0"], "--steps with the lower end of each"),
        (["episode", "branch-path", "--command", "3,1", "--steps", "2-1,3"], "--steps with the lower end of each"),
        (["episode", "branch-path", "--command", "3,1", "--html", "nowhere/a.html"], "a page's file in a folder that"),
        (["train", "reward-line", "--set", "hiden=3"], "(did you mean hidden?)"),
        (["train", "reward-line", "--set", "hidden=wide"], "a value of hidden such as 64, got 'wide'"),
        (["train", "reward-line", "--resume", "--out", "nowhere"], "a checkpoint at nowhere/checkpoint.safetensors"),
        (
            ["train", "reward-line", "--actions", "a,b"],
            "got --actions 'a,b' for reward-line, which is in the catalogue",
        ),
        (["serve", "--study", "nosuch.json"], "expected a user study's file at nosuch.json, got no file"),
        (["serve", "--study", "."], "expected a user study's file at ., got a folder"),
        (["train", "my-env-v0"], "(if your module registers it, type my_module:my-env-v0), got 'my-env-v0'"),
        (["train", "no_such_module:my-env-v0"], "expected a module no_such_module that can be imported"),
    ],
)
def test_invalid_input_is_one_line_and_exit_code_2(run, arguments, message):
    told = run(*arguments, code=2)
    assert told.err.startswith("error: expected ")
    assert message in told.err
    assert told.err.count("\n") == 1
    assert told.out == ""


def test_errors_are_plain_lines_with_json_too(run):
    told = run(*EXAMPLE, "--at", "99", "--json", code=2)
    assert told.out == ""
    assert told.err.startswith("error: ")


def test_brackets_in_an_error_are_shown(run, monkeypatch):
    def refuse(*_: object) -> None:
        raise InvalidInput("ART is not installed.\nInstall it with: pip install 'paretofoil[art]'")

    monkeypatch.setattr("paretofoil.cli.typed.load_agent", refuse)
    told = run(*EXAMPLE, code=2)
    assert told.err == "error: ART is not installed. Install it with: pip install 'paretofoil[art]'\n"


def test_a_page_of_too_many_steps_is_an_error_before_the_search(run, monkeypatch):
    monkeypatch.setattr("paretofoil.web.standalone.MAX_STEPS", 1)
    told = run("episode", "branch-path", "--command", "3,1", "--html", "a.html", code=2)
    assert "at most 1 steps to save (choose some with --steps)" in told.err
    assert told.out == ""
