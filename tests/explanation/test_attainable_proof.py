"""Attainable commands are proven to be the closest; where there is none, this is proven."""

import numpy as np
import pytest

import paretofoil as pf
from paretofoil.agents.agent import rollouts
from paretofoil.core.answer import DELIVERED
from paretofoil.explanation import attainable as module
from paretofoil.explanation.attainable import find_attainable, issue


def cases_without(name: str, count: int) -> list[tuple[pf.Agent, pf.Decision, pf.Answer]]:
    """Return answers of a shipped agent for which the rollouts find no attainable command."""
    agent, cases = pf.load_agent(name), []
    decisions = [d for episode in rollouts(agent, agent.front) for d in episode if d.others]
    for i in np.random.default_rng(0).permutation(len(decisions)):
        answer = pf.explain(agent, decisions[i], decisions[i].others[0], options=pf.Options(attainable=False))
        if answer.found and not find_attainable(agent, decisions[i], answer.live.question, answer.command).found:
            cases.append((agent, decisions[i], answer))
        if len(cases) == count:
            break
    return cases


@pytest.mark.parametrize(("name", "count"), [("branch-path", 3), ("deep-sea-treasure", 3)])
def test_all_are_settled_and_no_command_refutes_a_proof(name: str, count: int) -> None:
    settled = 0
    for agent, decision, answer in cases_without(name, count):
        question = answer.live.question
        attainable = find_attainable(agent, decision, question, answer.command, prove=True)
        if attainable.found:
            outcome = attainable.consequence.achieved - decision.collected
            assert (np.abs(outcome - attainable.command) <= DELIVERED * agent.space.scale + 1e-9).all()
            continue
        assert attainable.proven_none
        settled += 1
        rng = np.random.default_rng(1)
        random = rng.uniform(question.low, question.high, (200, 2))
        delivered = [one.consequence.achieved - decision.collected for one in issue(agent, decision, random)]
        near = np.array(delivered) + rng.uniform(-DELIVERED, DELIVERED, (200, 2)) * agent.space.scale
        commands = np.clip(np.concatenate([delivered, near]), question.low, question.high)
        for one in issue(agent, decision, commands):
            misses = np.abs(one.consequence.achieved - decision.collected - one.command) / agent.space.scale
            assert one.action != question.foil or (misses > DELIVERED).any()
    assert settled


@pytest.mark.parametrize("name", ["branch-path", "deep-sea-treasure"])
def test_no_closer_command_is_attainable(name: str) -> None:
    agent, proven = pf.load_agent(name), 0
    decisions = [d for episode in rollouts(agent, agent.front) for d in episode if d.others]
    rng = np.random.default_rng(3)
    for i in rng.permutation(len(decisions))[:6]:
        answer = pf.explain(agent, decisions[i], decisions[i].others[0])
        attainable = answer.rollouts.attainable if answer.found else None
        if attainable is None or not attainable.lower_bound:
            continue
        question, scale = answer.live.question, agent.space.scale
        assert attainable.lower_bound <= attainable.distance <= attainable.lower_bound + 0.02 * 2**0.5
        commands = rng.uniform(question.low, question.high, (500, 2))
        returns = [one.consequence.achieved - decisions[i].collected for one in issue(agent, decisions[i], commands)]
        near = np.unique(returns, axis=0)[:, None] + rng.uniform(-DELIVERED, DELIVERED, (60, 2)) * scale
        near = np.clip(near.reshape(-1, 2), question.low, question.high)
        near = near[agent.space.distance(near, question.command) < attainable.lower_bound]
        margins = agent.policy.log_probs(np.repeat(decisions[i].state[None], len(near), axis=0), near)
        others = [a for a in decisions[i].valid_actions if a != question.foil]
        wins = margins[:, question.foil] - margins[:, others].max(axis=1) >= question.kappa
        for one in issue(agent, decisions[i], near[wins]):
            misses = np.abs(one.consequence.achieved - decisions[i].collected - one.command) / scale
            assert (misses > DELIVERED).any()
        proven += 1
    assert proven >= 2


def test_the_sentence_states_the_proof_and_the_json_keeps_it() -> None:
    agent, decision, without = cases_without("branch-path", 1)[0]
    answer = pf.explain(agent, decision, without.question.foil)
    assert answer.rollouts.attainable.proven_none
    assert answer.paragraph().endswith("and then delivers what it asks for (proven).")
    assert pf.Answer.from_json(answer.to_json()).paragraph() == answer.paragraph()


def test_without_effort_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PROOF_BOXES", -1)
    agent, decision, without = cases_without("branch-path", 1)[0]
    answer = pf.explain(agent, decision, without.question.foil)
    assert not answer.rollouts.attainable.proven_none
    assert "No attainable command" in answer.paragraph()
