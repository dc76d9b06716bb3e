"""What is proven of a restricted question is never refuted by a wider one: the sentence names what restricts it."""

from typing import Any

import numpy as np
import pytest
import reading
from arguments import arguments

import paretofoil as pf
from paretofoil.agents.agent import rollouts

AGENTS = ("branch-path", "collect-two", "deep-sea-treasure", "deep-sea-treasure-early", "reward-line")
FEW = ("branch-path", "reward-line")
RESTRICTIONS: tuple[dict[str, Any], ...] = (
    {"keep": (0,)},
    {"keep": (1,)},
    {"range": 0.1},
    {"range": 0.1, "keep": (0,)},
    {"sparse": True},
    {"min_change": 0.2},
    {"kappa": 2.0},
)


def restricted(agent: pf.Agent, decision: pf.Decision, options: dict[str, Any]) -> list[pf.Answer]:
    chosen = dict(options)
    if "range" in chosen:
        last, reach = float(decision.command[-1]), chosen.pop("range") * agent.space.scale[-1]
        chosen["ranges"] = {agent.space.names[-1]: (last - reach, last + reach)}
    return pf.explain_decision(agent, decision, **arguments(**chosen))


def named(says: dict[str, str], plain: pf.Answer) -> bool:
    """Whether a sentence names a restriction that the command of the plain answer breaks."""
    names = [o.name for o in plain.question.objectives]
    command: np.ndarray = plain.command  # type: ignore[assignment]
    fixed = reading.items(says["kept"]) if "kept" in says else []
    if "alone" in says:
        fixed += [name for name in names if name not in reading.items(says["alone"])]
    if any(command[i] != plain.question.command[i] for i in map(names.index, fixed)):
        return True
    held = reading.spans(says["held"], plain.question.objectives) if "held" in says else {}
    if any(not low <= command[i] <= high for i, (low, high) in held.items()):
        return True
    return float(says.get("margin", 0.0)) > (plain.quoted.margin or 0.0)


def bound(answer: pf.Answer, says: dict[str, str]) -> float:
    """Return the distance below which the sentence rules out every change."""
    return answer.quoted.distance * (1 - float(says["smaller"]) / 100)  # type: ignore[operator]


@pytest.mark.parametrize(("names", "fewest"), [(FEW, 5), pytest.param(AGENTS, 20, marks=pytest.mark.long)])
def test_a_sentence_that_a_wider_question_goes_past_names_what_restricts_it(
    names: tuple[str, ...], fewest: int
) -> None:
    never, farther = 0, 0
    for name in names:
        agent = pf.load_agent(name)
        episodes = rollouts(agent, list(agent.front[:: max(1, len(agent.front) // 3)][:3]))
        for decision in (episode[len(episode) // 2] for episode in episodes):
            plain = {a.question.foil: a for a in pf.explain_decision(agent, decision) if a.found}
            for answer in [a for options in RESTRICTIONS for a in restricted(agent, decision, options)]:
                if answer.question.foil not in plain:
                    assert not answer.found, "a restriction cannot make an answer"
                    continue
                said = {sentence.kind: sentence.says for sentence in reading.read(answer.paragraph())}
                if "never" in said:
                    never += 1
                    assert named(said["never"], plain[answer.question.foil]), answer.paragraph()
                elif "proof" in said and plain[answer.question.foil].quoted.distance < bound(answer, said["proof"]):  # type: ignore[operator]
                    farther += 1
                    assert named(said["proof"], plain[answer.question.foil]), answer.paragraph()
    assert never >= fewest
    assert farther >= fewest
