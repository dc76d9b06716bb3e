"""Attainable commands in small seas: the closest command that is delivered, or that none was found."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from answers import attainable
from arguments import arguments

import paretofoil as pf
from paretofoil import envs
from paretofoil.agents.agent import rollouts
from paretofoil.core.answer import DELIVERED, Attainable
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.explanation import attainable as module
from paretofoil.explanation.attainable import IssuedCommand, closest_known, consequence
from paretofoil.search import Boundary

QUICK = Boundary(max_queries=300)


def some_decisions(agent: pf.Agent, count: int) -> list[pf.Decision]:
    decisions = [d for episode in rollouts(agent, agent.front) for d in episode if len(d.valid_actions) > 1]
    return [decisions[i] for i in np.random.default_rng(7).permutation(len(decisions))[:count]]


def margin(agent: pf.Agent, decision: pf.Decision, command: np.ndarray, foil: int) -> float:
    scores = agent.policy.log_probs(decision.state[None], command[None])[0]
    return float(scores[foil] - max(scores[a] for a in decision.valid_actions if a != foil))


DITHERS, DIVES = 10.0, 4.0
"""Up to so much treasure the sea's agent goes down; from the lower of both on it then comes up again, for ever."""


def in_row_0(states: np.ndarray) -> np.ndarray:
    return np.asarray(states)[:, 0] > 0.5


def sea(dithers: float = DITHERS, dives: float = DIVES, by: float = 5.0, front: Any = ()) -> pf.Agent:
    """Right for more treasure than `dithers`; for more than `dives` down and up again, for less down, `by` so much."""

    def policy(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        treasure, top = np.asarray(commands)[:, 0], in_row_0(states)
        scores = np.tile([-9.0, 0.0, -9.0, -9.0], (len(states), 1))  # up, down, left, right
        scores[:, 3] = np.where(treasure > dithers, 5.0, np.where(treasure > dives, -5.0, -by))
        scores[:, 0] = np.where(~top & (treasure > dives), 5.0, -9.0)
        return scores

    entry = envs.entry("deep-sea-treasure")
    space = CommandSpace([1, -50], [124, -1], entry.objectives)
    return pf.Agent("sea", policy, entry, space, np.reshape(front, (-1, 2)).astype(float))


def why_not_down(agent: pf.Agent, command: Any = (16.0, -9.0), **options: Any) -> pf.Answer:
    """At the second decision, where down leads to a treasure of 2 in three steps in all."""
    return pf.explain(agent, pf.rollout(agent, command)[1], foil="down", search=QUICK, **arguments(**options))


def test_where_the_smallest_change_dithers_the_closest_that_delivers_is_told() -> None:
    answer = why_not_down(sea())
    assert answer.rollouts.quoted.finished == 0.0
    assert answer.rollouts.attainable.command.tolist() == [2.0, -2.0]
    assert answer.rollouts.attainable.total.tolist() == [2.0, -3.0]
    assert answer.rollouts.attainable.deviation == 0.0
    assert answer.rollouts.attainable.consequence.achieved.tolist() == [2.0, -3.0]
    command = "2 treasure in 3 steps in the whole episode"
    ending = f"get what you ask for, ask for {command}: it then delivers exactly that."
    assert answer.paragraph().endswith(f"To make the agent choose down and {ending}")


def test_where_every_command_dithers_none_is_known() -> None:
    answer = why_not_down(sea(dives=-100.0))
    assert answer.found
    assert not answer.rollouts.attainable.found
    assert answer.rollouts.attainable.num_rollouts > 10
    none = "No attainable command that makes the agent choose down was found"
    assert answer.paragraph().endswith(f"{none} ({answer.rollouts.attainable.num_rollouts} were rolled out).")


def test_a_smallest_change_that_delivers_is_said_to() -> None:
    answer = why_not_down(sea(dithers=2.5, dives=2.5), (16.0, -3.0))
    assert answer.rollouts.attainable.command.tolist() == answer.command.tolist() != [2.0, -2.0]
    assert answer.rollouts.attainable.distance == answer.quoted.distance
    assert 0 < answer.rollouts.attainable.deviation <= DELIVERED
    delivery = "the agent then delivers what it asks for to within 1 % of each objective's range: 2 treasure"
    assert f"This command is attainable: {delivery}" in answer.paragraph()


def test_the_papers_wider_box_makes_nothing_easier_to_deliver() -> None:
    """Going down takes a step less than is asked for: 2 % of the agent's 49 steps, 0.5 % of the paper's 199."""
    agent = sea(dithers=2.5, dives=2.5)
    answer = why_not_down(agent, (16.0, -4.0), box="paper")
    assert answer.command[1] == -3.0
    assert answer.rollouts.attainable.command.tolist() == [2.0, -2.0]
    assert answer.rollouts.attainable.distance == pytest.approx(
        agent.paper_space.distance(np.array([2.0, -2.0]), answer.question.command)
    )


def test_a_foil_that_wins_by_less_than_kappa_is_not_had() -> None:
    assert why_not_down(sea(by=0.1)).rollouts.attainable.found
    assert not why_not_down(sea(by=0.03)).rollouts.attainable.found
    assert why_not_down(sea(by=0.03), kappa=0.02).rollouts.attainable.found


def test_what_the_user_keeps_is_kept() -> None:
    assert not why_not_down(sea(), keep=["time"]).rollouts.attainable.found
    kept = why_not_down(sea(), (16.0, -3.0), keep=["time"])
    assert kept.rollouts.attainable.command.tolist() == [2.0, -2.0]
    held = why_not_down(sea(), ranges={"treasure": (3.0, 20.0)})
    assert 3.0 <= held.rollouts.attainable.command[0] <= 2.0 + DELIVERED * 123
    assert not why_not_down(sea(), ranges={"treasure": (3.5, 20.0)}).rollouts.attainable.found


def test_of_several_the_closest_to_the_original_command_is_told() -> None:
    """In Fruit-Tree many points of the front can still be had after the foil: none of them is closer."""
    agent, num_farther = pf.load_agent("fruit-tree"), 0
    for decision in some_decisions(agent, 4):
        for answer in pf.explain_decision(agent, decision, search=QUICK):
            others = agent.front - decision.collected
            others = others[
                [margin(agent, decision, command, answer.question.foil) >= answer.question.kappa for command in others]
            ]
            led = np.stack([consequence(agent, decision, command).achieved for command in others])
            kept = np.abs(led - others - decision.collected).max(axis=1) < 1e-9
            away = agent.space.distance(others[kept], decision.command)
            assert answer.rollouts.attainable.distance <= away.min() + 1e-9
            num_farther += int((away > away.min() + 1e-9).sum())
    assert num_farther > 10, "or there was nothing to choose from"


@pytest.mark.parametrize("name", ["branch-path", "deep-sea-treasure", "reward-line"])
def test_giving_up_on_what_is_lost_loses_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = pf.load_agent(name)
    options = pf.Options(attainable=False)
    questions = [
        (agent, decision, answer.live.question, answer.command)
        for decision in some_decisions(agent, 10)
        for answer in pf.explain_decision(agent, decision, search=QUICK, options=options)
        if answer.found
    ]
    distances = [module.find_attainable(*question).distance for question in questions]
    monkeypatch.setattr(module, "OVERRUN", np.inf)
    assert [module.find_attainable(*question).distance for question in questions] == distances


def test_an_episode_that_has_overrun_its_wish_is_given_up_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ditherers would go on for 200 steps: 30 are asked for at most, and half of 49 are allowed more."""
    rounds: list[list[IssuedCommand]] = []
    issue = module.issue

    def spy(*given: Any, **options: Any) -> Any:
        rounds.append(issue(*given, **options))
        return rounds[-1]

    monkeypatch.setattr(module, "issue", spy)
    assert not why_not_down(sea(dives=-100.0), ranges={"time": (-30.0, -1.0)}).rollouts.attainable.found
    [issued] = [one for one in rounds if len(one) > 1]  # the outcome of a stopped rollout is not a candidate
    assert all(one.stopped for one in issued)
    assert 24 < max(one.consequence.steps for one in issued) <= 30 + 0.5 * 49 + 2


def test_only_what_is_overrun_by_half_its_range_is_lost() -> None:
    """Of 123 treasure and 49 steps; what is still to come is never lost."""
    answer = why_not_down(sea())
    place = module._AttainableSearch(sea(), pf.rollout(sea(), (16.0, -9.0))[1], answer.live.question)
    left = np.array([[-61.0, -5.0], [-62.0, -5.0], [3.0, 24.0], [3.0, 25.0], [124.0, -50.0]])
    assert place._overrun(left).tolist() == [False, True, False, True, False]


def test_with_few_commands_the_way_leads_beyond_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in an environment that is stepped one by one, where nothing is drawn at random."""
    monkeypatch.setattr(module, "_effort", lambda agent: module._Effort(8))
    assert why_not_down(sea()).rollouts.attainable.command.tolist() == [2.0, -2.0]


def test_with_few_commands_the_front_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_effort", lambda agent: module._Effort(2))
    monkeypatch.setattr(module, "ROUNDS", 0)
    assert why_not_down(sea(front=[[124, -19], [2, -3]])).rollouts.attainable.command.tolist() == [2.0, -2.0]
    assert not why_not_down(sea()).rollouts.attainable.found


def test_an_agent_that_does_otherwise_where_it_is_rolled_out_has_nothing_to_offer() -> None:
    """The decision's state says row 1; its snapshot is in row 0, where the agent goes right whatever is asked."""

    def policy(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        right = in_row_0(states) | (np.asarray(commands)[:, 0] > DITHERS)
        return np.where(right[:, None], [-9.0, 0.0, -9.0, 5.0], [-9.0, 5.0, -9.0, 0.0])

    agent = replace(sea(), policy=policy)
    decision = pf.rollout(agent, (16.0, -9.0))[1]
    state = decision.state.copy()
    state[:2] = 0.0, 1.0
    answer = pf.explain(agent, replace(decision, state=state), foil="down", search=QUICK)
    assert answer.found
    assert answer.rollouts.attainable.num_rollouts == 0


def test_a_horizon_is_asked_for_and_not_delivered() -> None:
    """The same sea, with the steps left as a third number."""
    plain = sea()
    space = CommandSpace([1, -50, 1], [124, -1, 50], (*plain.space.objectives, Objective("horizon", "steps")))
    agent = pf.Agent(
        "sea", lambda s, c: plain.policy.log_probs(s, c[:, :2]), plain.environment, space, np.zeros((0, 3))
    )
    answer = why_not_down(agent, (16.0, -9.0, 9.0))
    assert answer.rollouts.attainable.command[:2].tolist() == [2.0, -2.0]
    assert answer.rollouts.attainable.consequence.achieved.tolist() == [2.0, -3.0]


def test_means_are_told_with_many_runs_where_chance_plays() -> None:
    agent = pf.load_agent("breakable-bottles-realised")
    for decision in some_decisions(agent, 3):
        answers = pf.explain_decision(agent, decision, search=QUICK)
        known = [a for a in answers if a.rollouts.attainable is not None and a.rollouts.attainable.found]
        if known:
            break
    assert known
    assert {a.rollouts.attainable.consequence.repeats for a in known} == {2000}
    assert all(
        "(mean of 2,000 runs ± standard error)" in a.paragraph()
        for a in known
        if a.rollouts.attainable.consequence.error.any()
    )


def test_alternatives_have_their_own_and_know_their_start() -> None:
    agent = pf.load_agent("minecart")
    decision = pf.rollout(agent, (0.28, 1.22, -1.16))[5]
    answer = pf.explain(agent, decision, foil="right", search=QUICK, options=pf.Options(k=3))
    assert answer.alternatives
    for other in answer.alternatives:
        assert other.rollouts.start is not None
        assert other.rollouts.start.issued == pytest.approx(decision.command + decision.collected)
        assert other.rollouts.start.command == pytest.approx(other.command + decision.collected)
        locked = [i for i in range(3) if other.question.free and i not in other.question.free]
        if other.rollouts.attainable is not None:
            assert other.rollouts.attainable.found
            assert answer.rollouts.attainable.distance <= other.rollouts.attainable.distance
            assert (other.rollouts.attainable.command[locked] == decision.command[locked]).all()


def test_an_alternative_tells_what_it_knows_itself() -> None:
    agent = pf.load_agent("branch-path")
    answer = pf.explain(agent, pf.rollout(agent, (3, 1))[3], foil="left", options=pf.Options(k=3))
    [other] = answer.alternatives
    assert other.question.free == (1,)
    assert other.rollouts.attainable is not None
    assert other.rollouts.attainable.found
    assert other.rollouts.attainable.command[0] == answer.question.command[0]  # it changes its own objective only


def test_an_alternative_does_not_deny_what_the_answer_knows() -> None:
    agent = pf.load_agent("minecart")
    answer = pf.explain(agent, pf.rollout(agent, (0.4, 0.6, -0.78))[3], foil="right", options=pf.Options(k=2))
    assert "ask for no ore 0, no ore 1 and 0.32 fuel in the whole episode: it then" in answer.paragraph()
    [other] = answer.alternatives
    assert other.rollouts.attainable is None
    assert "get what you ask for" not in other.paragraph()


def test_an_answer_knows_what_its_alternatives_know() -> None:
    near, far, none = attainable([5, -7], distance=0.1), attainable([5, -7], distance=0.2), Attainable(3)
    command = np.array([6.3, -1.7])
    assert closest_known(none, [far, near], command) is near
    assert closest_known(far, [near], command) is near
    assert closest_known(near, [far], command) is near
    assert closest_known(none, [], command) is none
    assert closest_known(far, [near], np.array([5.0, -7.0])) is far  # the answer's own command delivers


def test_a_sparse_answer_is_no_restriction_of_what_can_be_had() -> None:
    answer = why_not_down(sea(), sparse=True)
    assert answer.question.free == (0,)
    assert answer.rollouts.attainable.command.tolist() == [2.0, -2.0]


def test_nothing_is_sought_where_nothing_can_be_rolled_out_or_nobody_asks() -> None:
    agent = sea()
    assert why_not_down(agent, attainable=False).rollouts.attainable is None
    stored = pf.Decision.from_json(pf.rollout(agent, (16.0, -9.0))[1].to_json())
    answer = pf.explain(agent, stored, foil="down", search=QUICK)
    assert answer.found
    assert answer.rollouts is None
    alone = pf.explain(agent.policy, stored, foil=1, space=agent.space, search=QUICK)
    assert alone.rollouts is None


def test_an_answer_of_before_reads_as_one_for_which_nothing_was_sought() -> None:
    values = json.loads(why_not_down(sea()).to_json())
    assert pf.Answer.from_dict(values).rollouts.attainable.total.tolist() == [2.0, -3.0]
    values["rollouts"]["attainable"] = None
    assert pf.Answer.from_dict(values).rollouts.attainable is None
