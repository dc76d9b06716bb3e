"""paretofoil outcome."""

import json


def test_the_verb_prints_the_sentence_or_json(run):
    assert "it then brings 2 A and 2 B" in run("outcome", "branch-path", "A = 2", "--command", "3,1").out
    document = json.loads(run("outcome", "branch-path", "A = 2", "--command", "3,1", "--json").out)
    assert document["schema"] == "paretofoil/outcome/1"
    assert document["status"] == "proven closest"


def test_a_goal_about_something_else_is_an_error(run):
    assert "for A, B, got 'C >= 2'" in run("outcome", "branch-path", "C >= 2", "--command", "3,1", code=2).err
