"""Agents with continuous actions in their environment: decisions, rollouts, flip maps, influence, outcomes, studies."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import paretofoil as pf
from paretofoil.agents.agent import Agent, rollout_from
from paretofoil.agents.store import read_agent, save_agent
from paretofoil.core.amounts import CallableActor
from paretofoil.core.decision import Decision
from paretofoil.core.errors import InvalidInput
from paretofoil.envs.water_reservoir import RELEASE
from paretofoil.explanation.atlas import ends_of, random_commands
from paretofoil.explanation.attainable import consequence
from paretofoil.explanation.flip_map import FlipMap
from paretofoil.explanation.influence import likely_share
from paretofoil.explanation.report import examine
from paretofoil.show.report import parts, verdict
from paretofoil.study import CaseRule, make_study, read_rows, run_study

COMMAND = np.array([-36.0, -78.0])


@pytest.fixture(scope="module")
def agent() -> Agent:
    return pf.load_agent("water-reservoir")


def amounts(agent: Agent, state: np.ndarray, commands: np.ndarray) -> np.ndarray:
    assert agent.actor is not None
    return agent.actor.amounts(np.repeat(state[None], len(commands), axis=0), commands)[:, 0]


def test_every_point_of_the_front_is_reached_within_one_percent(agent: Agent) -> None:
    achieved = np.stack([pf.rollout(agent, command).achieved for command in agent.front])
    assert (np.abs(achieved - agent.front) <= 0.01 * agent.space.scale).all()
    assert agent.reached().all()


def test_the_front_is_that_of_linear_programming(agent: Agent) -> None:
    from scipy.optimize import linprog  # what is released, the level, the flooding and the deficit of each step

    steps = 12
    release, level, flooding, deficit = np.eye(4 * steps).reshape(4, steps, -1)
    balance = level - np.vstack([np.zeros(4 * steps), level[:-1]]) + release
    start = np.append(140.0, np.full(steps - 1, 40.0))
    available = release - np.vstack([np.zeros(4 * steps), level[:-1]])
    rows = np.vstack([level - flooding, -release - deficit, available])
    limits = np.concatenate([np.full(steps, 50.0), np.full(steps, -50.0), [100.0], np.zeros(steps - 1)])
    for weight in (0.1, 0.3, 0.5):
        cost = weight * flooding.sum(axis=0) + (1 - weight) * deficit.sum(axis=0)
        best = linprog(cost, rows, limits, balance, start).fun
        learned = (agent.front @ [-weight, -(1 - weight)]).min()
        assert best - 0.1 <= learned <= best + 0.5


def test_an_answer_is_true_in_the_environment(agent: Agent) -> None:
    decision = pf.rollout(agent, COMMAND)[0]
    answer = pf.explain(agent, decision, "release >= 80")
    assert answer.status is pf.Status.PROVEN_CLOSEST
    assert answer.command is not None
    assert answer.rollouts is not None
    assert answer.rollouts.quoted is not None
    rest = rollout_from(agent, decision, answer.command)
    assert rest[0].amounts is not None
    assert rest[0].amounts[0] >= 80
    assert np.allclose(answer.rollouts.quoted.achieved, rest.achieved)
    assert np.allclose(consequence(agent, decision, answer.command).achieved, rest.achieved)
    attainable = answer.rollouts.attainable
    assert attainable is not None
    assert attainable.command is not None
    issued = rollout_from(agent, decision, attainable.command)
    assert issued[0].amounts is not None
    assert issued[0].amounts[0] >= 80
    asked = attainable.command + decision.collected
    assert (np.abs(issued.achieved - asked) <= 0.01 * agent.space.scale).all()
    assert "would have released at least 80 m³" in str(answer)


def test_no_sampled_command_refutes_a_flip_map(agent: Agent) -> None:
    flips = pf.explain_episode(agent, COMMAND, steps=range(4))
    commands = np.random.default_rng(0).uniform(agent.space.low, agent.space.high, size=(20_000, 2))
    assert flips.actions == ("more release", "less release")
    assert flips.num_steps == 12
    episode = pf.rollout(agent, COMMAND)
    for step, answer in zip(flips.steps, flips.answers, strict=True):
        question, proof = answer.question, answer.proof
        inside = commands[((commands >= question.low) & (commands <= question.high)).all(axis=1)]
        [limit] = question.amounts
        now, then = (amounts(agent, episode[step].state, c) for c in (question.command[None], inside))
        assert abs(limit.amount - now[0]) == pytest.approx(0.1 * (limit.high - limit.low), abs=0.1)
        wins = then >= limit.amount if limit.lower else then <= limit.amount
        assert proof is not None
        assert (agent.space.distance(inside[wins], question.command) >= proof.lower).all()
    table = flips.distances()
    assert table.shape == (12, 2)
    assert np.isfinite(table[0]).all()
    assert np.isnan(table[4:]).all()
    again = FlipMap.from_json(flips.to_json())
    assert again.amounts == flips.amounts
    assert again.chosen_at(0) == "67.6"


def test_foils_are_those_that_the_water_allows(agent: Agent) -> None:
    last = pf.rollout(agent, COMMAND)[-1]
    assert last.state[0] < 45
    with pytest.raises(InvalidInput, match=r"within 0 to 4.*, got 60"):
        pf.explain(agent, last, "release >= 60")
    assert [answer.question.column for answer in pf.explain_decision(agent, last)] == [1]  # no more water
    empty = agent.decision_at([0.0], COMMAND)
    with pytest.raises(InvalidInput, match="at least two valid actions"):
        pf.explain_decision(agent, empty)
    with pytest.raises(InvalidInput, match="several possible actions"):
        pf.influence(agent, empty)


def test_influence_is_the_range_of_amounts(agent: Agent) -> None:
    decision = pf.rollout(agent, COMMAND)[0]
    found: Any = pf.influence(agent, decision, seconds=2.0)
    commands = np.random.default_rng(0).uniform(agent.space.low, agent.space.high, size=(20_000, 2))
    then = amounts(agent, decision.state, commands)
    [release] = found.ranges
    assert found.proven
    assert release.lowest <= then.min() <= then.max() <= release.highest
    assert release.most - release.least >= np.ptp(then) - 0.1


def test_outcomes_are_met_by_the_rollout(agent: Agent) -> None:
    answer = pf.explain(agent, COMMAND, pf.outcome("flooding <= 10"))
    assert answer.status is pf.Status.FOUND
    assert pf.rollout(agent, answer.command).achieved[0] >= -10  # type: ignore[arg-type]


def test_chance_gives_means_of_consequences() -> None:
    trained = pf.load_agent("water-reservoir")
    agent = Agent("wet", trained.policy, "water-reservoir-stochastic", trained.space, trained.front)  # type: ignore[arg-type]
    answer = pf.explain(agent, pf.rollout(agent, COMMAND)[0], "release >= 80")
    assert answer.rollouts is not None
    assert answer.rollouts.quoted is not None
    assert answer.rollouts.quoted.repeats == 200
    assert (answer.rollouts.quoted.error > 0).all()


def test_a_study_asks_about_directions(agent: Agent, tmp_path: Path) -> None:
    study = make_study([agent], ["exact"], CaseRule(commands=2, steps=2))
    run_study(study, tmp_path / "study.sqlite", workers=1)
    rows = list(read_rows(tmp_path / "study.sqlite"))
    assert {row.case.foil for row in rows} == {0, 1}
    assert all(row.status.value.startswith("proven") for row in rows)


def test_what_needs_discrete_actions_says_so(agent: Agent) -> None:
    episode = pf.rollout(agent, COMMAND)
    for call in (
        lambda: pf.influence_episode(agent, episode),
        lambda: agent.probabilities(episode[0].state, COMMAND),
    ):
        with pytest.raises(InvalidInput, match="an agent with discrete actions"):
            call()


def test_agents_and_decisions_are_stored_and_read(agent: Agent, tmp_path: Path) -> None:
    again = read_agent(save_agent(agent, tmp_path / "copy"))
    decision = pf.rollout(agent, COMMAND)[2]
    assert np.array_equal(again.decision_at(decision.state, decision.command).amounts, decision.amounts)  # type: ignore[arg-type]
    read = Decision.from_json(decision.to_json())
    assert np.array_equal(read.amounts, decision.amounts)  # type: ignore[arg-type]
    description = (tmp_path / "copy" / "agent.json").read_text()
    (tmp_path / "copy" / "agent.json").write_text(description.replace('"high": 150.0', '"high": 90.0'))
    with pytest.raises(InvalidInput, match="actions of <ActionSpace: release 0 to 150 m³>"):
        read_agent(tmp_path / "copy")


def test_a_policy_must_have_the_actions_of_its_environment(agent: Agent) -> None:
    function = Agent("f", lambda s, c: 50 + 0 * c[:, :1], "water-reservoir", agent.space, agent.front)  # type: ignore[arg-type]
    assert function.act([100.0], COMMAND) == 50.0
    with pytest.raises(InvalidInput, match="discrete actions"):
        Agent("wrong", agent.policy, "deep-sea-treasure", agent.space, agent.front)  # type: ignore[arg-type]
    other = pf.ActionSpace(["spill"], [""], [0.0], [1.0])  # type: ignore[arg-type]
    actor = type("Other", (), {"actions": other, "amounts": lambda self, s, c: c[:, :1]})()
    with pytest.raises(InvalidInput, match="a policy with the continuous actions"):
        Agent("wrong", actor, "water-reservoir", agent.space, agent.front)  # type: ignore[arg-type]


def releases_under(agent: Agent, command: Any) -> np.ndarray:
    return np.array([decision.amounts for decision in pf.rollout(agent, command)])[:, 0]


def test_an_outcome_may_be_an_amount_that_is_released_at_some_step_or_never(agent: Agent) -> None:
    for text, met in (
        ("takes release >= 75", lambda releases: (releases >= 75).any()),
        ("takes 70 <= release <= 71", lambda releases: ((releases >= 70) & (releases <= 71)).any()),
        ("never takes release >= 60", lambda releases: not (releases >= 60).any()),
    ):
        assert not met(releases_under(agent, COMMAND))
        answer = pf.explain(agent, COMMAND, pf.outcome(text))
        assert answer.status is pf.Status.FOUND
        assert met(releases_under(agent, answer.command))
        assert f'"{text}"' in str(answer)
    for wrong, message in (
        ("takes release", 'such as "release >= 30"'),
        ("takes release + 10", "a change of the chosen amount"),
        ("takes release >= 151", "within 0 to 150"),
        ("tkes release >= 75", r"did you mean takes release >= 75\?"),
    ):
        with pytest.raises(InvalidInput, match=message):
            pf.explain(agent, COMMAND, pf.outcome(wrong))


def test_the_outcomes_of_sampled_commands_are_returns_within_one_percent(agent: Agent) -> None:
    found = pf.atlas(agent, samples=500, seed=3)
    assert found.samples == 500
    assert "returns that differ by at most 1 % of the range count as equal" in str(found)
    commands = random_commands(agent.space.low, agent.space.high, 500, 3)
    achieved = ends_of(agent, commands)[:, :-1]
    outcomes = np.array([found.outcomes[number].achieved for number in found.outcome_of])
    assert (np.abs(achieved - outcomes) <= 0.01 * agent.space.scale + 1e-8).all()
    near = (np.abs(achieved[:, None] - agent.front) <= 0.01 * agent.space.scale).all(axis=2).any(axis=1)
    assert found.on_front == pytest.approx(near.mean())
    assert 0.05 < near.mean() < 0.95
    assert found.delivers == pytest.approx((achieved >= commands - 0.01 * agent.space.scale).all(axis=1).mean())
    assert found.outcome_at(commands[0]) is None


def test_agents_with_continuous_actions_are_compared_by_rollouts(agent: Agent) -> None:
    assert agent.actor is not None
    amounts = agent.actor.amounts
    careless = replace(agent, name="careless", policy=CallableActor(lambda s, c: 1.05 * amounts(s, c), RELEASE))
    found = pf.compare(agent, careless, samples=300)
    commands = random_commands(agent.space.low, agent.space.high, 300, 0)
    off = np.abs(ends_of(agent, commands) - ends_of(careless, commands))[:, :2]
    assert found.differ == likely_share(int((off > 0.01 * agent.space.scale).any(axis=1).sum()), 300)
    assert found.reached[0] == len(agent.front) > found.reached[1]
    assert "nothing is proven; returns that differ by at most 1 % of the range count as equal" in str(found)
    same = pf.compare(agent, agent, samples=300)
    assert same.differ[0] == 0
    assert same.example is None


def test_a_report_card_of_continuous_actions_has_every_part(agent: Agent) -> None:
    report = examine(agent, seconds=2.0)
    assert not report.missing
    assert verdict(report).level == "good"
    rows = {part.title: part.rows for part in parts(report)}
    assert [row[1] for row in rows["Where the command matters"]] == ["release (m³)"] * 12
    assert {row[0] for row in rows["What it never does"]} > {"at least 75 m³ of release"}
    chance = examine(replace(agent, environment="water-reservoir-stochastic"), seconds=1.0)
    assert set(chance.missing) == {"atlas", "neighbours"}
