"""Questions search what can still be fulfilled."""

import numpy as np
import pytest
from weighing import agent as weighing

import paretofoil as pf
from paretofoil.agents import load_agent
from paretofoil.agents.agent import decision_in, rollout
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Options
from paretofoil.explanation.explain import explain, explain_decision, explain_episode
from paretofoil.explanation.questions import default_kappa, make_questions, reachable_region
from paretofoil.search import Exact

TREASURE = Objective("treasure", natural_low=0.0, natural_high=10.0)
TIME = Objective("time", "steps", cost=True, natural_low=-20.0, natural_high=-1.0)
SPACE = CommandSpace([2.0, -15.0], [10.0, -1.0], [TREASURE, TIME])


@pytest.mark.parametrize(
    ("command", "collected", "low", "high"),
    [
        ((5, -5), (0, 0), (2, -15), (10, -1)),  # at the start: the whole space
        ((5, -5), (4, -3), (2, -15), (6, -1)),  # what was collected cannot be had again
        ((5, -5), (4, -12), (2, -8), (6, -1)),  # eight steps are left
        ((5, -5), (9, 0), (1, -15), (5, -1)),  # at most one is left, though the command asks for five
        ((-3, 2), (0, -7), (-3, -13), (10, 2)),  # an impossible command stays in, with what lies between
        ((5, -5), (12, -30), (-2, -5), (5, -1)),  # more was collected than there is: no region but the command's
    ],
)
def test_the_region_holds_the_command_and_what_can_still_be_fulfilled(command, collected, low, high) -> None:
    lowest, highest = reachable_region(SPACE, np.array(command, float), np.array(collected, float))
    assert lowest.tolist() == list(low)
    assert highest.tolist() == list(high)


def test_without_natural_limits_the_region_is_the_space_and_the_command() -> None:
    free = CommandSpace([2.0, -15.0], [10.0, -1.0], ["treasure", "time"])
    low, high = reachable_region(free, np.array([12.0, -5.0]), np.array([100.0, -100.0]))
    assert (low.tolist(), high.tolist()) == ([2.0, -15.0], [12.0, -1.0])


def test_a_space_is_cut_to_the_natural_limits_of_its_objectives() -> None:
    wide = CommandSpace([-2.0, -15.0, -5.0], [12.0, 6.0, 5.0], [TREASURE, TIME, "anything"])
    cut = wide.possible()
    assert (cut.low.tolist(), cut.high.tolist()) == ([0.0, -15.0, -5.0], [10.0, -1.0, 5.0])


def test_natural_limits_in_the_wrong_order_are_an_error() -> None:
    with pytest.raises(InvalidInput, match="expected natural limits of time with the lower one first, got 1 to -1"):
        Objective("time", natural_low=1.0, natural_high=-1.0)
    with pytest.raises(InvalidInput, match="expected natural limits of time with the lower one first, got nan"):
        Objective("time", natural_low=float("nan"))


def test_no_answer_asks_a_shipped_agent_for_less_than_one_step() -> None:
    agent = load_agent("deep-sea-treasure")
    answer = explain(agent, decision_in(agent, (8, -8), 5), foil="down")
    assert answer.command is not None
    assert answer.command[1] <= -1


def test_the_papers_box_is_searched_whole_whatever_was_collected() -> None:
    agent = load_agent("deep-sea-treasure")
    decision = decision_in(agent, (124, -19), 18)
    assert decision.collected.tolist() == [0, -18]
    [question] = make_questions(agent, decision, [decision.action], Options(box="paper"))
    assert (question.low.tolist(), question.high.tolist()) == ([0.0, -200.0], [124.0, -1.0])
    assert question.space.scale.tolist() == [124.0, 199.0]


def test_the_papers_box_is_widened_to_a_command_outside_of_it() -> None:
    agent = load_agent("branch-path")
    decision = agent.decision_at([2, 3] + [0] * 8, (4.0, -1.0))
    [question] = make_questions(agent, decision, [decision.action], Options(box="paper"))
    assert (question.low.tolist(), question.high.tolist()) == ([0.0, -1.0], [4.0, 3.0])
    assert question.space.scale.tolist() == [3.0, 3.0]


def test_an_answer_in_the_papers_box_is_measured_in_it_and_knows_what_was_trained_on() -> None:
    agent = load_agent("deep-sea-treasure")
    decision = agent.decision_at((3, 3), (8.0, -150.0))
    foil = decision.valid_actions[0] if decision.action != decision.valid_actions[0] else decision.valid_actions[1]
    [own], [paper] = (
        explain_decision(agent, decision, foils=[foil], options=Options(box=box)) for box in ("reachable", "paper")
    )
    assert (
        own.question.outside == paper.question.outside == (1,)
    )  # the paper's box holds 150 steps; training saw at most 40
    assert paper.question.low.tolist() == [0.0, -200.0]
    answer = explain(agent, decision_in(agent, (8, -8), 5), foil="down", options=Options(box="paper"))
    assert answer.change is not None
    assert answer.quoted.distance == pytest.approx(np.linalg.norm(answer.change / [124.0, 199.0]))


def test_an_episode_is_explained_in_the_papers_box_as_each_of_its_decisions_is() -> None:
    agent = load_agent("deep-sea-treasure")
    flips = explain_episode(agent, (8.0, -8.0), steps=[5], options=Options(box="paper"))
    alone = explain_decision(agent, decision_in(agent, (8.0, -8.0), 5), options=Options(box="paper"))
    assert [a.quoted and a.quoted.distance for a in flips.answers] == [a.quoted and a.quoted.distance for a in alone]
    assert all(
        a.question.low.tolist() == [0.0, -200.0] and a.question.high.tolist() == [124.0, -1.0] for a in flips.answers
    )


def test_a_box_must_have_a_name_and_somebody_who_set_it() -> None:
    agent = load_agent("reward-line")
    with pytest.raises(InvalidInput, match="expected box among reachable, paper, got 'papers'"):
        Options(box="papers")  # type: ignore[arg-type]
    decision, options = decision_in(agent, agent.front[0], 0), Options(box="paper")
    with pytest.raises(
        InvalidInput, match="expected an agent, because box='paper' needs its environment, got the policy"
    ):
        make_questions(agent.policy, decision, [decision.others[0]], options, space=agent.space)


AGENT = load_agent("branch-path")
DECISION = decision_in(AGENT, AGENT.front[0], 0)
FOIL = DECISION.others[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: explain_decision(AGENT, [0.1]), r"expected a decision of a rollout, .*, got \[0.1\]"),  # type: ignore[arg-type]
        (
            lambda: explain(AGENT, DECISION, DECISION.action),
            "that the policy does not choose, got .*, which it chooses already",
        ),
        (lambda: explain(AGENT.policy, state=DECISION.state, foil=FOIL), "a state and a command, got no command"),
        (lambda: explain(AGENT.policy, command=[1, 1], foil=FOIL), "a state and a command, got no state"),
        (lambda: explain(AGENT, DECISION, FOIL, search=Exact), r"such as Exact\(\), got <class '.*Exact'>"),  # type: ignore[arg-type]
        (lambda: pf.register_search("mine", 3, "mine"), "expected a class of searches, .*, got 3"),  # type: ignore[arg-type]
        (lambda: explain(AGENT, DECISION, FOIL, search=3), "a search with its settings, .*, got 3"),  # type: ignore[arg-type]
        (lambda: explain_episode(AGENT, AGENT.front[0], steps=3), "expected a list of steps from 0 to .*, got 3"),  # type: ignore[arg-type]
        (
            lambda: explain(lambda s, c: c, state=[0.0], command=[1, 0], foil=1, space=SPACE, actions=["up", "up"]),
            r"expected 2 different action names, got \['up', 'up'\]",
        ),
        (lambda: CommandSpace([0], [1], "treasure"), "objectives as a list of names .*, got 'treasure'"),
        (lambda: CommandSpace([0], [1], [3]), r"objectives as a list of names .*, got \[3\]"),  # type: ignore[list-item]
    ],
)
def test_a_usual_mistake_is_named_with_what_was_given(call, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda policy: pf.rollout(policy, [1, 1]),
        lambda policy: pf.atlas(policy),
        lambda policy: pf.compare(AGENT, policy),
        lambda policy: pf.save_agent(policy, "somewhere"),
    ],
)
def test_a_policy_in_place_of_an_agent_is_named(call) -> None:
    with pytest.raises(InvalidInput, match=r"expected an agent, which has an environment .*, got <.*PCNPolicy"):
        call(AGENT.policy)


def test_a_step_after_the_end_of_an_episode_is_named_with_the_steps_there_are() -> None:
    episode = rollout(AGENT, AGENT.front[0])
    assert len(list(episode)) == len(episode)
    with pytest.raises(IndexError, match=f"expected a step from 0 to {len(episode) - 1} of this episode, got 50"):
        episode[50]


def test_an_agent_of_values_is_asked_for_its_usual_kappa_once_for_each_decision(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    posed: list[int] = []

    def usual(policy: object, decision: Decision) -> float:
        posed.append(decision.step)
        return default_kappa(policy, decision)  # type: ignore[arg-type]

    monkeypatch.setattr("paretofoil.explanation.questions.default_kappa", usual)
    flips = explain_episode(weighing, weighing.front[1], steps=[0, 2], search="nearest-front")
    assert len(flips.answers) > len(posed)
    assert posed == [0, 2]
    posed.clear()
    answers = explain_decision(weighing, decision_in(weighing, weighing.front[1], 2), search="nearest-front")
    assert len(answers) > 1
    assert posed == [2]
