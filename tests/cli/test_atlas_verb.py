"""paretofoil atlas."""

import json


def test_the_verb_prints_outcomes_and_json(run, tmp_path) -> None:
    printed = run("atlas", "reward-line", "--plot", str(tmp_path / "map.png")).out
    assert "0.6 " in printed
    assert "Wrote the figure to" in printed
    document = json.loads(run("atlas", "reward-line", "--json").out)
    assert document["schema"] == "paretofoil/atlas/1"
    assert sum(low for low, _ in (o["share"] for o in document["outcomes"])) > 0.98


def test_a_slice_goes_through_a_command(run) -> None:
    options = ("--vary", "A, B", "--command", "0,0,0.8,1", "--undecided", "0.05")
    document = json.loads(run("atlas", "collect-two", *options, "--json").out)
    assert document["low"][2:] == document["high"][2:] == [0.8, 1.0]
    assert document["undecided"] <= 0.05 + 1e-6
