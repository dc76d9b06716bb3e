"""The first question of each environment: its step has a choice, and a small change of the command turns it."""

import pytest

import paretofoil as pf
from paretofoil.web.guide import GUIDES


@pytest.mark.long
@pytest.mark.parametrize("name", GUIDES)
def test_the_first_step_has_a_foil_that_a_command_leads_to(name: str) -> None:
    agent, guide = pf.load_agent(name), GUIDES[name]
    decision = pf.rollout(agent, guide.command)[guide.step]
    answers = pf.explain_decision(agent, decision, options=pf.Options(attainable=False))
    assert any(answer.quoted is not None and answer.quoted.distance < 0.25 for answer in answers)
