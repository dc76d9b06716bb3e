"""Commands can be typed as returns, or by name with positive costs."""

import json

import pytest

EXAMPLE = ["explain", "deep-sea-treasure", "--at", "5", "--foil", "down", "--json"]


@pytest.mark.parametrize("command", ["8,-8", "(8, -8)", "treasure=8,time=8", "time=8, treasure=8"])
def test_a_command_is_typed_as_returns_or_by_name(run, command):
    told = run(*EXAMPLE, "--command", command)
    assert json.loads(told.out)["command"] == [8, -8]
    assert told.err == ""


def test_remaining_has_the_form_of_a_command(run):
    place = ["--state", "3,3", "--remaining", "treasure=8,time=2", "--foil", "down", "--json"]
    assert json.loads(run("explain", "deep-sea-treasure", *place).out)["remaining"] == [8, -2]


def test_a_range_of_a_cost_is_typed_positive(run):
    typed = [*EXAMPLE, "--command", "8,-8", "--range", "time=1:3", "--range", "treasure=5:9"]
    [answer] = json.loads(run(*typed).out)["answers"]
    assert -3 <= answer["quoted"]["command"][1] <= -1
    assert 5 <= answer["quoted"]["command"][0] <= 9


def test_a_range_without_the_command_is_an_error_in_typed_numbers(run):
    told = run(*EXAMPLE, "--command", "8,-8", "--range", "time=5:9", code=2)
    assert "a --range of time that contains the command's value 3, got time=5:9" in told.err


@pytest.mark.parametrize("command", ["8,8", "treasure=8,time=-8"])
def test_a_cost_with_the_wrong_sign_is_an_error_with_a_suggestion(run, command):
    told = run(*EXAMPLE, "--command", command, code=2)
    assert f"got {command} (did you mean 8,-8, or treasure=8,time=8?)" in told.err


def test_a_command_outside_the_training_range_is_noted(run):
    told = run("explain", "deep-sea-treasure", "--command", "200,-50", "--foil", "down")
    assert told.err == (
        "note: --command 200,-50 lies outside the commands that the agent was trained on: "
        "treasure 200 is outside 1 to 124; time 50 is outside 1 to 39.\n"
    )
    assert "instead of" in told.out


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("treasure=8", "expected --command with treasure, time, got treasure=8 without time"),
        ("treasure=8,tme=8", "got 'tme' (did you mean time?)"),
        ("treasure=8,treasure=9", "--command with treasure once"),
        ("treasure=8,time=fast", "--command as NAME=NUMBER, such as time=8, got 'time=fast'"),
    ],
)
def test_a_command_by_name_needs_every_objective_once_with_a_number(run, command, message):
    assert message in run(*EXAMPLE, "--command", command, code=2).err


@pytest.mark.parametrize("command", ["0.3,0.7", "treasure=0.3,time=0.7"])
def test_the_weight_of_a_cost_keeps_its_sign(run, command):
    typed = ["explain", "weighing:agent", "--foil", "right", "--json", "--command", command]
    told = run(*typed, "--range", "time=0.2:0.9")
    assert json.loads(told.out)["command"] == [0.3, 0.7]
    assert told.err == ""
