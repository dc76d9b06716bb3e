"""Sentences that once claimed too much or read badly: each stays repaired."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from answers import TIME, TREASURE, achieved, answer, attainable, certificate, changed, proven

import paretofoil as pf
from paretofoil.agents.agent import HORIZON
from paretofoil.core.answer import Start
from paretofoil.core.command import Objective
from paretofoil.explanation.never import Counterexample, Never
from paretofoil.show.flip_map import summary
from paretofoil.show.numbers import short_change

AMPERES = Objective("current", "amperes", natural_low=0.0)


def claim(states: int, proven: int = 0, refuted: int = 0, **changes: Any) -> Never:
    """`left` in so many states: proven in the first, refuted in the next, undecided in the rest."""
    example = Counterexample(np.zeros(1), np.zeros(2))
    values: dict[str, Any] = {
        "agent": "mine",
        "action": "left",
        "objectives": (TREASURE, TIME),
        "preferences": False,
        "visited": 20,
        "width": 0.0,
        "low": np.array([1.0, -40.0]),
        "high": np.array([124.0, -1.0]),
        "states": np.zeros((states, 1)),
        "proven": np.arange(states) < proven,
        "counterexamples": tuple(example if proven <= i < proven + refuted else None for i in range(states)),
        "seconds": 1.0,
    }
    return Never(**(values | changes))


REGION = " The search region is 1 to 124 treasure in 1 to 40 steps."
NO_COMMAND = "No command in the search region makes the agent choose left in"


@pytest.mark.parametrize(
    ("never", "text"),
    [
        (claim(12, proven=12), f"{NO_COMMAND} any of the 12 states where it is valid (proven).{REGION}"),
        (claim(1, proven=1), f"{NO_COMMAND} the only state where it is valid (proven).{REGION}"),
        (
            claim(3, proven=3, width=0.01),
            f"{NO_COMMAND} any of the 3 boxes of states, each 1 % of the range wide, where it is valid (proven)."
            f"{REGION}",
        ),
        (
            claim(1, refuted=1),
            f"In the only state where left is valid, some command makes the agent choose left.{REGION}",
        ),
        (
            claim(12, proven=8, refuted=3),
            "In 3 of the 12 states where left is valid, some command makes the agent choose left; in 8 no command in "
            "the search region does (proven); in 1 it is undecided whether any command makes the agent choose left."
            f"{REGION}",
        ),
        (
            claim(4, refuted=4),
            f"In all 4 states where left is valid, some command makes the agent choose left.{REGION}",
        ),
        (claim(0), "left is valid in none of the states that were examined (20)."),
        (
            claim(2, proven=2, preferences=True, low=np.zeros(2), high=np.ones(2)),
            "No preferences make the agent choose left in any of the 2 states where it is valid (proven).",
        ),
    ],
)
def test_a_claim_names_its_states_and_its_region(never: Never, text: str) -> None:
    assert never.sentence() == text


def test_a_number_below_a_billionth_is_told() -> None:
    region = {"low": np.array([0.0, -3.0]), "high": np.array([5e-10, -1.0])}
    found = answer([3e-10, -2.0], original=[0.0, -2.0], objectives=(AMPERES, TIME), **region)
    assert str(found).startswith("Had you asked for 3e-10 amperes of current instead of none, the agent")
    found = answer([3e-10, -2.0], original=[1e-10, -2.0], objectives=(AMPERES, TIME), **region)
    assert "Asked for 1e-10 amperes of current in 2 steps" in found.paragraph()
    assert "0.0000000002 more amperes of current (3e-10 instead of 1e-10)" in found.paragraph()


def test_what_rounding_leaves_of_a_sum_is_not_told() -> None:
    found = answer([0.5, -2.0], original=[0.3 - 0.1 - 0.2, -2.0], objectives=(AMPERES, TIME), step=3)
    assert found.paragraph().startswith("Asked for no current in 2 steps from here on, the agent")
    assert "0.5 amperes of current instead of none" in str(found)


def test_a_search_region_does_not_contradict_the_command() -> None:
    found = proven(original=[1.849, -2.0], low=[0.3477, -3.0], high=[1.849, -1.0])
    text = found.paragraph()
    assert text.startswith("Asked for 1.849 treasure in 2 steps, ")
    assert "The search region is 0.35 to 1.849 treasure in 1 to 3 steps." in text


def test_what_rounding_leaves_of_a_sum_is_no_end_of_the_search_region() -> None:
    left = 0.3 - 0.1 - 0.2
    found = proven(original=[left, -2.0], low=[left, -3.0], high=[1.0, -1.0], step=3)
    assert "The search region is 0 to 1 treasure in 1 to 3 steps from here on." in found.paragraph()


def test_an_amount_and_an_excess_of_the_same_size_are_told_apart() -> None:
    fuel = Objective("fuel", cost=True)
    assert short_change(fuel, -9.0, 9.0) == "9 fuel over budget instead of 9 fuel"
    assert short_change(fuel, 9.0, 6.0) == "6 fuel over budget instead of 9 over budget"
    assert short_change(fuel, 9.0, -6.0) == "6 fuel instead of 9 over budget"


@pytest.mark.parametrize(
    ("rounding", "how"),
    [("derived", "for a margin of 0.05"), ("measured", "for a margin of 0.05, assuming rounding errors below 0.0001,")],
)
def test_a_proof_of_a_flip_map_names_its_margin_and_its_assumption(rounding: str, how: str) -> None:
    proof = certificate("infeasible", np.inf, np.inf, rounding=rounding)
    never = proven(foil=0, proof=proof)
    record = never.question
    flips = pf.FlipMap(
        "mine", record.objectives, record.actions, record.command, np.array([8.0, -2.0]), (3,), (0,), (never,)
    )
    text = summary(flips)
    assert text.startswith(f"No command in the search region changes the action (proven, {how}")
    assert text.endswith(") at t = 0.")
    weighed = replace(flips, answers=(changed(never, preferences=True),))
    assert summary(weighed).startswith(f"No preferences change the action (proven, {how}")


def test_the_bound_of_an_outcome_is_rounded_down() -> None:
    found = answer(proof=certificate("gap", 0.030267, np.inf))
    question = replace(found.question, foil=None, outcome="treasure >= 50")
    text = replace(found, question=question).paragraph()
    assert 'No command was found that makes the episode meet "treasure >= 50".' in text
    assert "any such command is at a scaled distance of more than 0.0302 (proven" in text


def test_a_range_that_the_user_set_keeps_its_digits() -> None:
    found = proven(original=[8.0, -2.0], low=[7.25, -3.0], high=[12.5, -1.0], held=(0,))
    assert "choose down in this state with 7.25 to 12.5 treasure (proven" in str(found)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ((7.12345678, 6.5), "(value 7.12, down 6.5)"),
        ((0.10000000149011612, 0.10000000149011612), "(value 0.1, down 0.1)"),
        ((0.1001, 0.1002), "(value 0.1001, down 0.1002)"),
    ],
)
def test_values_have_the_digits_that_distinguish_them(values: tuple[float, float], words: str) -> None:
    found = answer([6.3, -1.7], values=np.array([0.0, values[1], 0.0, values[0]]), counterfactual_values=np.ones(4))
    assert words in found.paragraph()


def test_a_standard_error_of_rounding_is_not_told() -> None:
    runs = achieved(0.7000000000000008, -7.0, error=[6.3e-17, 0.0], repeats=200)
    found = answer([6.3, -1.7], consequence=runs, original_consequence=achieved(8, -8, repeats=200))
    assert "ends with 0.7 treasure after 7 steps" in found.paragraph()


@pytest.mark.parametrize(
    ("name", "text"), [("CO2", "CO2 is"), ("earnings", "Earnings are"), ("time left", "Time left is")]
)
def test_an_unchanged_objective_keeps_its_letters_and_agrees_with_its_verb(name: str, text: str) -> None:
    found = answer([6.3, -2.0], objectives=(TREASURE, Objective(name)))
    assert f" {text} unchanged." in found.paragraph()


def test_a_decision_of_ones_own_with_something_collected_is_marked_as_what_remains() -> None:
    """Such a decision has no step, but its start is known."""
    start, collected = Start(np.array([10.0, -8.0]), np.array([8.3, -8.0]), False), np.array([2.0, -6.0])
    sought = attainable([5, -1], collected)
    text = answer([6.3, -2.0], step=None, collected=collected, start=start, attainable=sought).paragraph()
    assert text.startswith("Asked for 8 treasure in 2 steps from here on, ")
    assert "it does not lead to this state." in text
    assert "ask for 7 treasure in 7 steps in the whole episode" in text


def test_a_decision_of_ones_own_reads_like_that_of_the_episode_which_leads_there() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    decision = pf.rollout(agent, (8, -8))[5]
    own = agent.decision_at(decision.state, decision.command, decision.collected)
    for foil in ("down", "up"):
        texts = [pf.explain(agent, each, foil).paragraph() for each in (decision, own)]
        assert texts[0].replace(" at this step", "") == texts[1]
        assert " from here on" in texts[1]
    influences = [str(pf.influence(agent, each, samples=100, seconds=60, undecided=0.5)) for each in (decision, own)]
    assert influences[0] == influences[1]
    fresh = pf.explain(agent, agent.decision_at(decision.state, decision.command), "down")
    assert "from here on" not in fresh.paragraph()
    assert "whole episode" not in fresh.paragraph()


def test_a_return_that_was_collected_otherwise_is_not_that_of_the_episode() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    decision = pf.rollout(agent, (8, -8))[5]
    own = agent.decision_at(decision.state, decision.command, [0.0, -6.0])
    text = pf.explain(agent, own, "down").paragraph()
    assert "(8.6 instead of 9); issued at the start, it does not lead to this state." in text
    assert "ends with 5 treasure after 8 steps; under the original command it ends with 8 treasure after 9" in text


def test_a_horizon_counts_every_step_although_it_stops_at_1() -> None:
    sea = pf.load_agent("deep-sea-treasure")
    space = pf.CommandSpace([1, -50, 1], [124, -1, 50], (*sea.space.objectives, HORIZON))

    def scores(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        down = np.where(commands[:, 2] > 2, 1.0, 0.0)
        return np.stack([down * 0 - 9, down, down * 0 - 9, 1 - down], axis=1)

    agent = pf.Agent("sea", scores, sea.environment, space, np.zeros((0, 3)))
    decision = pf.rollout(agent, (8, -8, 2))[4]
    assert decision.command.tolist() == [8, -4, 1]
    found = pf.explain(agent, decision, "down")
    assert found.command is not None
    assert found.rollouts is not None
    assert found.rollouts.start is not None
    assert found.rollouts.start.issued.tolist() == [8, -8, 2]
    horizon = found.rollouts.start.command[2]
    assert horizon == pytest.approx(found.command[2] + decision.step)
    assert f"a horizon of {horizon:g} steps instead of 2" in found.paragraph()
