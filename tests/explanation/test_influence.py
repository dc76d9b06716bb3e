"""Influence: what is claimed about a decision holds on the policy itself, for every kind of policy."""

import sys
from dataclasses import dataclass, replace
from types import ModuleType

import numpy as np
import pytest
from networks import LayeredPolicy
from policies import LinearPolicy
from valued import EnvelopePolicy

import paretofoil as pf
from paretofoil.core.policy import FoldedValues
from paretofoil.core.program import Program
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.explanation.influence import (
    InfluenceEffort,
    _Computation,
    fan,
    influence_scores,
    likely_share,
    random_commands,
    single_objectives,
    switching_commands,
)
from paretofoil.explanation.questions import make_decision

UNIT = pf.CommandSpace(np.zeros(2), np.ones(2), ["x", "y"])


def folded(weight: list[list[float]], bias: list[float]) -> LayeredPolicy:
    return LayeredPolicy(Program.of_layers((np.array(weight),), (np.array(bias),)))


def decision(command: list[float], valid: list[int] | None = None) -> pf.Decision:
    return make_decision(None, None, np.zeros(1), command, None, valid)


DIAGONAL = folded([[0.0, 0.0], [1.0, 1.0]], [0.0, -0.5])
"""The second action above the diagonal from (0.5, 0) to (0, 0.5)."""


def test_a_policy_without_an_environment_is_asked_with_a_state_and_a_command() -> None:
    own = pf.influence(DIAGONAL, state=[0.0], command=[0.1, 0.1], valid_actions=[0, 1], space=UNIT)
    assert [share.lower for share in own.shares] == [
        share.lower for share in pf.influence(DIAGONAL, decision([0.1, 0.1]), space=UNIT).shares
    ]
    with pytest.raises(pf.InvalidInput, match="either a decision, or a state and a command, got both"):
        pf.influence(DIAGONAL, decision([0.1, 0.1]), command=[0.1, 0.1], space=UNIT)
    with pytest.raises(pf.InvalidInput, match="a decision, or a state and a command, got neither"):
        pf.influence(DIAGONAL, space=UNIT)


def test_proven_and_sampled_shares_hold_the_true_one() -> None:
    found = pf.influence(DIAGONAL, decision([0.1, 0.1]), space=UNIT, undecided=1e-3)
    first, second = found.shares
    assert found.verdict == "decides"
    assert found.chosen == 0
    assert first.lower <= 0.125 <= first.upper <= first.lower + 2e-3
    assert second.lower <= 0.875 <= second.upper
    assert first.likely_low <= 0.125 <= first.likely_high
    assert first.sampled + second.sampled == found.samples == 10_000
    assert found.changed[0] <= 0.875 <= found.changed[1]


def test_a_black_box_is_sampled_and_nothing_is_called_proven() -> None:
    found = pf.influence(
        LinearPolicy(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.0, -0.5])).log_probs,
        decision([0.1, 0.1]),
        space=UNIT,
    )
    assert not found.proven
    assert [(share.lower, share.upper) for share in found.shares] == [(0.0, 1.0), (0.0, 1.0)]
    assert all(line.lower == 0.0 and line.upper == 1.0 for line in found.alone)
    assert found.shares[0].likely_low <= 0.125 <= found.shares[0].likely_high
    assert found.verdict == "decides"


def test_a_black_box_that_never_changes_is_left_open() -> None:
    found = pf.influence(lambda s, c: np.tile([0.0, -1.0], (len(c), 1)), decision([0.1, 0.1]), space=UNIT)
    assert (found.verdict, found.inert, found.nearest) == ("open", False, None)
    assert found.scores.kl == found.scores.flip == 0.0


def test_a_policy_that_never_changes_is_proven_to_be_inert() -> None:
    found = pf.influence(folded([[1.0, 0.0], [1.0, 0.0]], [0.0, -1.0]), decision([0.1, 0.1]), space=UNIT)
    assert (found.verdict, found.inert) == ("inert", True)
    assert [(share.lower, share.upper) for share in found.shares] == [(1.0, 1.0), (0.0, 0.0)]
    assert all((line.lower, line.upper, line.down, line.up) == (0.0, 0.0, None, None) for line in found.alone)


def test_a_single_valid_action_is_inert_whatever_the_policy() -> None:
    found = pf.influence(lambda s, c: c, decision([0.1, 0.1], [1]), space=UNIT)
    assert found.inert
    assert [share.action for share in found.shares] == [1]
    assert found.chosen == 1


def test_of_equals_the_first_is_chosen_as_the_agent_acts() -> None:
    found = pf.influence(folded([[1.0, 0.0], [1.0, 0.0]], [0.0, 0.0]), decision([0.1, 0.1]), space=UNIT, seconds=0.05)
    assert found.chosen == 0
    assert [share.sampled for share in found.shares] == [10_000, 0]
    assert found.verdict == "open"


def test_a_command_that_sample_and_search_miss_is_found_in_a_box_that_stays_open() -> None:
    """A stripe of half a thousandth of the region."""
    weights = (np.array([[1.0, 0.0]] * 3), np.array([[0.0, 0.0, 0.0], [1e5, -2e5, 1e5]]))
    biases = (np.array([-0.7005, -0.70075, -0.701]), np.array([0.0, -10.0]))
    policy = LayeredPolicy(Program.of_layers(weights, biases, ("relu",)))
    found = pf.influence(policy, decision([0.1, 0.1]), space=UNIT, samples=10, seconds=5)
    assert found.shares[1].sampled == 0
    assert [(line.down, line.up) for line in found.alone] == [(None, None)] * 2
    assert found.nearest is not None
    assert 0.7005 < found.nearest.command[0] < 0.701
    assert found.verdict == "decides"


def test_what_one_objective_alone_changes_counts_as_known() -> None:
    stripe = folded([[0.0, 0.0], [1.0, 0.0]], [0.0, -0.5])
    lines = pf.influence(stripe, decision([0.1, 0.1]), space=UNIT).alone
    question = asked([0.1, 0.1], [0.0, 0.0], [1.0, 1.0])
    assert switching_commands(question, lines).tolist() == [[lines[0].up.value, 0.1]]  # type: ignore[union-attr]


@dataclass(frozen=True, eq=False)
class Liar:
    """Its inside says that the first action always wins; it does not."""

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        hidden = np.where(np.abs(np.asarray(commands) - 0.31).max(axis=1) < 0.02, 1e6, 0.0)
        return np.stack([np.full(len(commands), 10.0), hidden], axis=1)

    def fold(self, state: np.ndarray) -> Program:
        return Program.of_layers((np.zeros((2, 2)),), (np.array([10.0, 0.0]),))


def test_a_policy_that_refutes_its_own_inside_is_not_proven_to_be_anything() -> None:
    found = pf.influence(Liar(), decision([0.5, 0.5]), space=UNIT)
    assert found.nearest is not None
    assert not found.inert
    assert not found.proven
    assert found.shares[0].upper - found.shares[0].lower == 1.0


@pytest.mark.parametrize("name", ["deep-sea-treasure", "minecart", "collect-two"])
def test_what_is_told_of_single_objectives_is_so_on_the_policy(name: str) -> None:
    agent = pf.load_agent(name)
    turns = 0
    for decision in (
        pf.rollout(agent, agent.front[-1])[:6] if name != "minecart" else pf.rollout(agent, agent.front[3])[:2]  # type: ignore[attr-defined]
    ):
        found = pf.influence(agent, decision, seconds=0.1, samples=500)
        for line in found.alone:
            for turn in (line.down, line.up):
                if turn is None:
                    continue
                turns += 1
                command = decision.command.copy()
                command[line.objective] = turn.value
                assert agent.decision_at(decision.state, command).action == turn.action != found.chosen
            assert line.lower <= line.sampled + 0.01
            assert line.sampled <= line.upper + 0.01
    assert turns


def test_what_one_objective_changes_alone_is_proven_with_the_clearance_of_a_noisy_policy() -> None:
    stripe = folded([[0.0, 0.0], [1.0, 0.0]], [0.0, -0.5])
    batch = QuestionBatch([Question(stripe, np.zeros(1), np.array([0.1, 0.1]), 1, (0, 1), UNIT)])
    batch.keep_clear(0.02)
    first = single_objectives(batch, 0, 10.0)[0]
    assert first.lower <= 0.48
    assert first.upper >= 0.52


def test_a_turn_is_the_nearest_on_its_side() -> None:
    found = pf.influence(DIAGONAL, decision([0.1, 0.2]), space=UNIT)
    assert [line.down for line in found.alone] == [None, None]
    assert [line.up.value for line in found.alone if line.up] == pytest.approx([0.31, 0.41])
    assert found.alone[0].lower <= 0.7 <= found.alone[0].upper
    assert found.alone[1].lower <= 0.6 <= found.alone[1].upper


def test_of_several_changes_on_a_side_the_nearest_is_told() -> None:
    """The second action is chosen in a stripe between 0.7 and 0.8, and again below 0.2."""
    weights = (np.array([[1.0, 0.0]] * 3 + [[-1.0, 0.0]]), np.array([[0.0] * 4, [100.0, -200.0, 100.0, 100.0]]))
    biases = (np.array([-0.7, -0.75, -0.8, 0.2]), np.array([0.0, -0.01]))
    policy = LayeredPolicy(Program.of_layers(weights, biases, ("relu",)))
    found = pf.influence(policy, decision([0.9, 0.5]), space=UNIT)
    assert found.alone[0].down is not None
    assert found.alone[0].down.value == pytest.approx(0.8, abs=0.011)
    assert found.alone[0].up is None


def test_the_nearest_change_is_that_of_a_search() -> None:
    found = pf.influence(DIAGONAL, decision([0.1, 0.2]), space=UNIT)
    assert found.nearest is not None
    assert found.nearest.action == 1
    assert found.nearest.distance == pytest.approx(0.2 / np.sqrt(2), rel=0.06)  # it is told in few digits


def test_the_nearest_change_is_told_in_few_digits_that_the_policy_agrees_with() -> None:
    """From samples alone, whose numbers have sixteen."""

    def corner(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return np.stack([np.zeros(len(commands)), np.where((commands > 0.9).all(axis=1), 1.0, -1.0)], axis=1)

    found = pf.influence(corner, decision([0.1, 0.2]), space=UNIT)
    assert found.nearest is not None
    assert corner(np.zeros((1, 1)), found.nearest.command[None]).argmax() == 1
    assert all(len(repr(number)) <= 6 for number in found.nearest.command.tolist())
    assert found.nearest.distance == pytest.approx(np.hypot(*(found.nearest.command - [0.1, 0.2])))


def test_the_papers_box_gives_other_shares_than_what_is_reachable() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    decision = pf.rollout(agent, [8, -8])[3]
    here, paper = (pf.influence(agent, decision, box=box, samples=100, seconds=0.2) for box in ("reachable", "paper"))
    assert paper.low.tolist() == [0.0, -200.0]
    assert (here.low > paper.low).any()


def test_the_same_seed_gives_the_same_sample() -> None:
    one, again, other = (pf.influence(DIAGONAL, decision([0.1, 0.1]), space=UNIT, seed=s) for s in (0, 0, 1))
    assert one.shares == again.shares
    assert one.shares[0].sampled != other.shares[0].sampled


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"seconds": 0.0}, "more than 0 seconds"),
        ({"seconds": np.nan}, "more than 0 seconds"),
        ({"undecided": -0.1}, "undecided of at least 0 and below 1"),
        ({"samples": 0}, "1 to 100,000,000 samples"),
    ],
)
def test_what_makes_no_sense_is_refused(wrong: dict[str, float], words: str) -> None:
    with pytest.raises(pf.InvalidInput, match=words):
        pf.influence(DIAGONAL, decision([0.1, 0.1]), space=UNIT, **wrong)  # type: ignore[arg-type]
    with pytest.raises(pf.InvalidInput, match="expected the command space of the policy"):
        pf.influence(DIAGONAL, decision([0.1, 0.1]))
    with pytest.raises(pf.InvalidInput, match="expected 2 different action names"):
        pf.influence(DIAGONAL, decision([0.1, 0.1]), space=UNIT, actions=["only one"])


def test_the_confidence_interval_is_clopper_and_pearsons() -> None:
    assert likely_share(0, 10) == pytest.approx((0.0, 0.30850), abs=1e-5)
    assert likely_share(10, 10) == pytest.approx((0.69150, 1.0), abs=1e-5)
    assert likely_share(4, 10) == pytest.approx((0.12155, 0.73762), abs=1e-5)


PREFERENCES = pf.CommandSpace.preferences(["a", "b", "c"])


def test_preferences_are_sampled_evenly() -> None:
    question = Question(lambda s, c: c, np.zeros(1), np.full(3, 1 / 3), 0, (0, 1), PREFERENCES)
    drawn = random_commands(question, 4000, np.random.default_rng(0))
    assert drawn.sum(axis=1) == pytest.approx(1.0)
    assert (drawn[:, 0] > 0.5).mean() == pytest.approx(0.25, abs=0.03)  # the triangle's corner


def test_preferences_stay_within_narrower_ranges() -> None:
    space = pf.CommandSpace(np.array([0.1, 0.0, 0.2]), np.array([0.5, 0.6, 0.9]), shape="simplex")
    question = Question(lambda s, c: c, np.zeros(1), np.array([0.3, 0.3, 0.4]), 0, (0, 1), space)
    drawn = random_commands(question, 500, np.random.default_rng(0))
    assert len(drawn) == 500
    assert (drawn >= space.low).all()
    assert (drawn <= space.high).all()


def test_the_shares_of_a_table_are_sampled_and_its_inertness_is_proven() -> None:
    table = pf.from_q_table(lambda state: np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    preferred = decision([0.5, 0.3, 0.2])
    found = pf.influence(table, preferred, space=PREFERENCES)
    assert not found.proven
    assert [share.sampled / found.samples for share in found.shares] == pytest.approx([1 / 3] * 3, abs=0.02)
    above = pf.from_q_table(lambda state: np.array([[1.0, 1.0, 1.0], [0.9, 0.9, 0.0], [0.5, 0.0, 0.9]]))
    assert pf.influence(above, preferred, space=PREFERENCES).verdict == "inert"


def test_one_impossible_foil_does_not_make_preferences_inert() -> None:
    values = np.array([[1.0, 1.0, 1.0], [0.9, 0.9, 0.0], [0.5, 0.0, 1.0001]])  # the last only where c is nearly all
    question = Question(
        pf.from_q_table(lambda state: values), np.zeros(1), np.full(3, 1 / 3), 0, (0, 1, 2), PREFERENCES
    )
    bounds = _Computation(question, InfluenceEffort())._prove(known=False)
    assert not bounds.inert
    assert (bounds.lower.tolist(), bounds.upper.tolist()) == ([0.0, 0.0, 0.0], [1.0, 0.0, 1.0])


def test_a_weight_alone_moves_with_the_others_in_proportion() -> None:
    table = pf.from_q_table(lambda state: np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    found = pf.influence(table, decision([0.5, 0.3, 0.2]), space=PREFERENCES)
    assert found.alone[0].down is not None
    assert found.alone[0].down.value == pytest.approx(0.375, abs=0.01)  # s = 0.6 (1 - s)


def asked(command: list[float], low: list[float], high: list[float]) -> Question:
    space = pf.CommandSpace(np.array(low), np.array(high))
    return Question(DIAGONAL, np.zeros(1), np.array(command), 0, (0, 1), space, kappa=0.0)


def test_the_fan_begins_at_0_and_has_axes_corners_and_the_command() -> None:
    probes = fan(asked([3.0, 4.0], [-10.0, -10.0], [10.0, 10.0]))
    expected = {
        tuple(np.round(np.clip(k / 50 * 20.0 * np.array(direction), -10, 10), 5))
        for k in range(1, 51)
        for direction in [(1, 0), (-1, 0), (0, 1), (0, -1), (0.6, 0.8)]
        + [(x / np.sqrt(2), y / np.sqrt(2)) for x in (-1, 1) for y in (-1, 1)]
    }
    assert {tuple(np.round(probe, 5)) for probe in probes} == expected
    assert len(probes) == len(expected)


def test_the_four_scores_are_those_of_the_probabilities_and_their_mean() -> None:
    question = asked([0.1, 0.1], [0.0, 0.0], [1.0, 1.0])
    found, probes = influence_scores(QuestionBatch([question])), fan(question)
    logits = DIAGONAL.folded.logits(np.concatenate([question.command[None], probes]))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    own, mean = p[0], p[1:].mean(axis=0)
    middle = (own + mean) / 2
    assert found.kl == pytest.approx((own * np.log(own / mean)).sum(), rel=1e-4)
    assert found.tv == pytest.approx(np.abs(own - mean).sum() / 2, rel=1e-4)
    js = ((own * np.log(own / middle)).sum() + (mean * np.log(mean / middle)).sum()) / 2
    assert found.js == pytest.approx(js, rel=1e-4)
    assert found.flip == (logits[1:].argmax(axis=1) != 0).mean()
    assert found.probes == len(probes)


def test_a_profile_has_a_moment_for_each_time_that_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    pandas = ModuleType("pandas")
    pandas.DataFrame = list  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    agent, seen = pf.load_agent("reward-line"), []
    profile = pf.influence_episode(
        agent, agent.front[5], steps=[2, 0], seconds=0.2, samples=100, progress=lambda *n: seen.append(n)
    )
    assert [decision.step for decision in profile.steps] == [0, 2]
    assert seen == [(0, 2), (1, 2), (2, 2)]
    assert profile.inert() == [decision.step for decision in profile.steps if decision.inert]
    assert len(profile.to_frame()) == sum(len(decision.shares) for decision in profile.steps)


def test_processes_that_share_the_steps_give_the_same_profile() -> None:
    agent = pf.load_agent("branch-path")
    own, shared = (
        replace(profile, steps=tuple(replace(step, seconds=0.0) for step in profile.steps)).to_json()
        for profile in (pf.influence_episode(agent, (1, 3), samples=100, workers=n, seconds=60) for n in (1, 2))
    )
    assert own == shared
    with pytest.raises(pf.InvalidInput, match="at least 1 worker, got 0"):
        pf.influence_episode(agent, (1, 3), workers=0)


def test_that_no_preferences_change_the_action_is_proven_of_values_that_depend_on_them() -> None:
    ahead = Program.of_layers(
        (np.array([[0.1, 0.0], [0.0, 0.1], [0.0, 0.0], [0.0, 0.0]]),), (np.array([5.0, 5, 0, 0]),), ()
    )
    space = pf.CommandSpace.preferences(["a", "b"])
    found = pf.influence(EnvelopePolicy(FoldedValues(ahead)), state=[0.0], command=[0.5, 0.5], space=space, samples=20)
    assert (found.verdict, found.proven) == ("inert", True)


@pytest.mark.parametrize(("size", "probes"), [(2, 9 * 50), (11, 23 * 50)])
def test_the_corners_of_many_objectives_are_not_probed(size: int, probes: int) -> None:
    space = pf.CommandSpace(-np.ones(size), np.ones(size))
    command = np.linspace(0.1, 0.9, size)
    asked = Question(LinearPolicy(np.zeros((2, size)), np.zeros(2)), np.zeros(1), command, 1, (0, 1), space)
    assert probes / 3 < len(fan(asked)) <= probes
