"""Influence through the server is the library's, moment by moment."""

from visitor import Visitor

import paretofoil as pf

ASKED = {"agent": "branch-path", "command": [1.0, 1.0]}


def test_a_profile_is_the_librarys_and_its_lines_give_it(visitor: Visitor) -> None:
    result = visitor.wait(visitor.ask("/api/influence", {**ASKED, "steps": [2, 0]}))["result"]
    moments = result["influence"]["steps"]
    expected = pf.influence_episode(pf.load_agent("branch-path"), (1, 1), steps=[0, 2])
    assert [moment["step"] for moment in moments] == [0, 2]
    for moment, known in zip(moments, expected.steps, strict=True):
        assert moment["inert"] == known.inert
        for share, same in zip(moment["shares"], known.shares, strict=True):
            assert share["sampled"] == same.sampled  # proofs end by the clock, samples do not
    names: dict[str, object] = {}
    exec(compile(result["python"], "lines of the page", "exec"), names)
    assert [moment.step for moment in names["profile"].steps] == [0, 2]  # type: ignore[attr-defined]


def test_a_moment_that_there_is_not_is_refused(visitor: Visitor) -> None:
    refused = visitor.post("/api/influence", {**ASKED, "steps": [99]})
    assert refused.status_code == 422
    assert "expected steps from 0 to" in refused.json()["error"]
