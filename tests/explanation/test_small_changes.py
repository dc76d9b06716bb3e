"""Small changes and further answers, on shipped agents."""

import numpy as np
import pytest

import paretofoil as pf
from paretofoil.search import Boundary

QUICK = Boundary(max_queries=300)


@pytest.fixture(scope="module")
def tree() -> pf.Agent:
    return pf.load_agent("fruit-tree")


def shares(agent: pf.Agent, answer: pf.Answer) -> np.ndarray:
    """How much of its range each objective changes by."""
    assert answer.change is not None
    return np.abs(answer.change) / agent.space.scale


@pytest.mark.parametrize(("command", "time"), [(0, 2), (20, 0), (40, 4), (60, 1)])
def test_no_objective_changes_by_less_than_the_user_allows_where_there_is_an_answer_without_it(
    tree: pf.Agent, command: int, time: int
) -> None:
    decision = pf.rollout(tree, tree.front[command])[time]
    foil, least = 1 - decision.action, 0.04
    plain = pf.explain(tree, decision, foil=foil, search=QUICK)
    found = pf.explain(tree, decision, foil=foil, search=QUICK, options=pf.Options(min_change=least))
    assert (shares(tree, plain)[shares(tree, plain) > 0] < least).any()
    small = [i for i, share in enumerate(shares(tree, found)) if 0 < share < least]
    locked = [i for i, share in enumerate(shares(tree, found)) if share == 0]
    for i in small:
        kept = [*locked, i]
        assert not pf.explain(tree, decision, foil=foil, search=QUICK, options=pf.Options(keep=kept)).found
    if not small:
        names = [tree.space.names[i] for i in range(6) if i not in locked]
        assert [found.question.objectives[i].name for i in found.question.free] == names or locked == []
    assert found.total_queries > plain.total_queries, "it is searched again, and that is counted"


def test_a_change_is_searched_again_and_not_just_cut(tree: pf.Agent) -> None:
    """Undoing the small changes of the plain answer would not flip the action: others must make up for them."""
    decision = pf.rollout(tree, tree.front[0])[2]
    foil = 1 - decision.action
    plain = pf.explain(tree, decision, foil=foil, search=QUICK)
    found = pf.explain(tree, decision, foil=foil, search=QUICK, options=pf.Options(min_change=0.04))
    cut = np.where(shares(tree, plain) < 0.04, decision.command, plain.command)
    assert tree.policy.log_probs(decision.state[None], cut[None])[0].argmax() != foil
    assert tree.policy.log_probs(decision.state[None], found.command[None])[0].argmax() == foil  # type: ignore[index]


@pytest.mark.parametrize(("command", "time"), [(0, 6), (20, 0), (95, 2)])
def test_further_answers_are_no_variations_of_the_first(tree: pf.Agent, command: int, time: int) -> None:
    decision = pf.rollout(tree, tree.front[command])[time]
    found = pf.explain(tree, decision, foil=1 - decision.action, search=QUICK, options=pf.Options(k=3))
    answers = [found, *found.alternatives]
    for i, one in enumerate(answers):
        for other in answers[:i]:
            apart = tree.space.distance(one.command, other.command)  # type: ignore[arg-type]
            assert apart >= 0.7 * min(one.quoted.distance, other.quoted.distance)  # type: ignore[type-var]
            assert (np.sign(one.change) != np.sign(other.change)).any()
    assert ("answers; " in found.paragraph()) == (len(answers) < 3)


def test_further_answers_change_nothing_by_less_than_the_user_allows_either(tree: pf.Agent) -> None:
    decision = pf.rollout(tree, tree.front[95])[2]
    found = pf.explain(tree, decision, foil=1 - decision.action, search=QUICK, options=pf.Options(k=3, min_change=0.04))
    assert len(found.alternatives) == 2
    for answer in (found, *found.alternatives):
        assert not [share for share in shares(tree, answer) if 0 < share < 0.04]


@pytest.mark.parametrize(
    ("time", "foil", "words"),
    [(5, "down", "no other was found that clearly differs"), (3, "right", "only 2 were found")],
)
def test_fewer_different_answers_than_requested_are_mentioned(time: int, foil: str, words: str) -> None:
    agent = pf.load_agent("deep-sea-treasure")
    found = pf.explain(agent, pf.rollout(agent, (8, -8))[time], foil=foil, options=pf.Options(k=9))
    assert f"You requested 9 answers; {words}" in found.paragraph()
