"""Commands can be typed as returns, or by name with positive costs."""

import json

import pytest

EXAMPLE = ["explain", "deep-sea-treasure", "--at", "5", "--foil", "down", "--json"]


@pytest.mark.parametrize("command", ["8,-8", "(8, -8)", "treasure=8,time=8", "time=8, treasure=8"])
def test_a_command_is_the_same_as_returns_and_by_name(run, command):
    told = run(*EXAMPLE, "--command", command)
    assert json.loads(told.out)["command"] == [8, -8]
    assert told.err == ""


def test_what_remains_is_read_as_a_command_is(run):
    place = ["--state", "3,3", "--remaining", "treasure=8,time=2", "--foil", "down", "--json"]
    assert json.loads(run("explain", "deep-sea-treasure", *place).out)["remaining"] == [8, -2]


def test_a_range_of_a_cost_is_one_of_sizes(run):
    typed = [*EXAMPLE, "--command", "8,-8", "--range", "time=1:3", "--range", "treasure=5:9"]
    [answer] = json.loads(run(*typed).out)["answers"]
    assert -3 <= answer["quoted"]["command"][1] <= -1
    assert 5 <= answer["quoted"]["command"][0] <= 9


def test_a_range_that_leaves_the_command_out_is_refused_in_the_users_sign(run):
    told = run(*EXAMPLE, "--command", "8,-8", "--range", "time=5:9", code=2)
    assert "a --range of time that contains the command's 3, got time=5:9" in told.err


@pytest.mark.parametrize("command", ["8,8", "treasure=8,time=-8"])
def test_a_cost_with_the_wrong_sign_is_answered_with_what_was_meant(run, command):
    told = run(*EXAMPLE, "--command", command, code=2)
    assert f"got {command} (did you mean 8,-8, or treasure=8,time=8?)" in told.err


def test_another_command_outside_of_the_box_is_noted_and_answered(run):
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
def test_a_command_by_name_has_every_objective_once_and_a_number_for_each(run, command, message):
    assert message in run(*EXAMPLE, "--command", command, code=2).err


@pytest.mark.parametrize("command", ["0.3,0.7", "treasure=0.3,time=0.7"])
def test_the_weight_of_a_cost_is_typed_as_it_is(run, command):
    typed = ["explain", "weighing:agent", "--foil", "right", "--json", "--command", command]
    told = run(*typed, "--range", "time=0.2:0.9")
    assert json.loads(told.out)["command"] == [0.3, 0.7]
    assert told.err == ""
