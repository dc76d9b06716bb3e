"""paretofoil compare."""

import json


def test_the_verb_prints_shares_side_by_side_and_json(run, tmp_path) -> None:
    picture = tmp_path / "comparison.png"
    few = ("--samples", "50", "--undecided", "0.5", "--command", "0.5,0.5,0,0")
    printed = run("compare", "collect-two", "collect-two", *few, "--plot", str(picture)).out
    assert "of the commands (proven), and under 0 to 7.2 % (95 % interval of 50" in " ".join(printed.split())
    assert "12 of 12 points" in printed
    assert picture.exists()
    document = json.loads(run("compare", "collect-two", "collect-two", *few, "--json").out)
    assert document["schema"] == "paretofoil/comparison/1"
    assert document["differ"][0] == 0.0
    assert document["sampled"][2] == 50
    assert document["reached"] == [12, 12]
    assert set(document["shares"][1]) == {"on_front", "delivers", "unfinished"}
