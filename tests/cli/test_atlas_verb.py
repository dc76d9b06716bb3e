"""paretofoil atlas."""

import json


def test_the_verb_prints_outcomes_and_json(run, tmp_path) -> None:
    printed = run("atlas", "reward-line", "--plot", str(tmp_path / "map.png")).out
    assert "0.6 " in printed
    assert "Wrote the figure to" in printed
    document = json.loads(run("atlas", "reward-line", "--json").out)
    assert document["schema"] == "paretofoil/atlas/1"
    assert sum(low for low, _ in (o["share"] for o in document["outcomes"])) > 0.98
