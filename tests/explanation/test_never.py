"""Never: what is proven for whole sets of states holds for everything in them, and counterexamples are real."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from policies import random_pcn, with_output_bias
from tiers import long_except
from typer.testing import CliRunner
from valued import random_envelope
from weighing import agent as weighing

import paretofoil as pf
from paretofoil.cli import app
from paretofoil.core.decision import Decision
from paretofoil.core.policy import JointWhiteBoxPolicy
from paretofoil.core.program import Program
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.proof.networks import joint_network

AGENTS = ("branch-path", "reward-line", "deep-sea-treasure", "minecart-early")


def chosen(agent: pf.Agent, state: np.ndarray, commands: np.ndarray, valid: tuple[int, ...]) -> np.ndarray:
    states = np.broadcast_to(state, (len(commands), state.shape[-1])).astype(np.float32)
    return np.array(valid)[agent.policy.log_probs(states, commands)[:, list(valid)].argmax(axis=1)]


@pytest.mark.parametrize("name", long_except(AGENTS, AGENTS[:3]))
@pytest.mark.parametrize("width", [0.0, 0.01])
def test_no_sample_violates_a_proof_and_every_counterexample_is_one(name: str, width: float) -> None:
    agent = pf.load_agent(name)
    decisions = [d for command in agent.front[:3] for d in pf.rollout(agent, command)][::3]
    ranges = np.ptp(np.stack([d.state for d in decisions]).astype(np.float64), axis=0)
    generator = np.random.default_rng(0)
    settled = asked = 0
    for action in range(len(agent.actions)):
        found = pf.never(agent, action, states=decisions, width=width, seconds=1e6, max_boxes=5_000)
        valid = {d.state.tobytes(): d.valid_actions for d in decisions}
        for state, proven, example in zip(found.states, found.proven, found.counterexamples, strict=True):
            actions = valid[state.tobytes()]
            asked, settled = asked + 1, settled + (proven or example is not None)
            assert not (proven and example is not None)
            if example is not None:
                assert (np.abs(example.state - state) <= width * ranges / 2 + 1e-6).all()
                assert (example.command >= agent.space.low).all()
                assert (example.command <= agent.space.high).all()
                assert chosen(agent, example.state, example.command[None], actions)[0] == action
            if proven:
                commands = generator.uniform(agent.space.low, agent.space.high, size=(2000, agent.space.dim))
                states = state + generator.uniform(-1, 1, size=(2000, state.size)) * width * ranges / 2
                assert action not in chosen(agent, states, commands, actions)
    assert settled >= 0.9 * asked


def test_an_action_that_always_loses_is_proven_to() -> None:
    agent = pf.load_agent("reward-line")
    loser = replace(agent, policy=with_output_bias(agent.policy, 0, -1e4))  # type: ignore[arg-type]
    for width in (0.0, 0.05):
        found = pf.never(loser, 0, width=width)
        assert found.holds
        assert len(found.states) > 5
        text = found.sentence()
        assert text.startswith("No command in the search region makes the agent choose up in any of the ")
        assumed = f", assuming rounding errors below {found.assumed:.0e}, as measured" if width else ""
        assert f"where it is valid (proven{assumed}). " in text
        assert text.endswith("The search region is at most 1 A and at most 1 B.")


def test_a_command_that_hides_in_a_corner_is_found_or_left_open_but_never_denied() -> None:
    agent = pf.load_agent("branch-path")
    [example] = [e for e in pf.never(agent, "up", states=[pf.rollout(agent, agent.front[0])[0]]).counterexamples if e]
    low = np.maximum(example.command - 1e-6, agent.space.low)
    found = pf.never(
        agent, "up", states=[pf.rollout(agent, agent.front[0])[0]], commands=(low, np.maximum(example.command, low))
    )
    assert not found.proven.any()


def test_bounds_over_states_and_commands_hold_everywhere() -> None:
    agent = pf.load_agent("minecart-early")
    policy = agent.policy
    assert isinstance(policy, JointWhiteBoxPolicy)
    generator = np.random.default_rng(1)
    state = pf.rollout(agent, agent.front[0])[4].state.astype(np.float64)
    corner = np.concatenate([state, agent.space.low])
    size = np.concatenate([np.full(state.size, 0.3), agent.space.high - agent.space.low])
    low = corner + generator.random((40, corner.size)) * size / 2
    high = low + generator.random((40, corner.size)) * size / 2
    low[:5, 2], high[:5, 2] = 0.25, 0.25  # a coordinate without width
    network = joint_network(policy.unfold(), 1, (0, 2, 3), low.min(axis=0), high.max(axis=0))
    lines = network.upper_bounds(low, high)
    for row in range(len(low)):
        points = low[row] + generator.random((500, corner.size)) * (high[row] - low[row])
        above = points @ lines.slopes[row].T + lines.offsets[row]
        assert (network.margins(points) <= above).all()
    scores = policy.unfold().logits(points)
    np.testing.assert_allclose(network.margins(points), scores[:, [1]] - scores[:, [0, 2, 3]], atol=1e-9)


def test_where_an_action_is_not_valid_there_is_nothing_to_prove() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    start = pf.rollout(agent, agent.front[0])[0]
    found = pf.never(agent, "up", states=[start])
    assert len(found.states) == 0
    assert found.visited == 1
    assert found.sentence() == "up is valid in none of the states that were examined (1)."


def test_bad_arguments_are_refused() -> None:
    agent = pf.load_agent("branch-path")
    with pytest.raises(pf.InvalidInput, match="width of at least 0"):
        pf.never(agent, "up", width=-0.1)
    with pytest.raises(pf.InvalidInput, match=r"commands as \(lowest, highest\), got"):
        pf.never(agent, "up", commands=(agent.space.high, agent.space.low))
    with pytest.raises(pf.InvalidInput, match="at least one state"):
        pf.never(agent, "up", states=[])
    with pytest.raises(pf.InvalidInput, match="fold"):
        pf.never(replace(agent, policy=lambda states, commands: np.zeros((len(states), 4))), "up")


def test_the_verb_tells_the_cost_of_a_counterexample_by_its_size() -> None:
    told = CliRunner().invoke(app, ["never", "deep-sea-treasure", "down", "--quiet", "--seconds", "0.01"])
    assert re.search(
        r"under the command [\d.]+ treasure in [\d.]+ steps?, it chooses down\.", " ".join(told.stdout.split())
    )


def test_the_verb_says_what_was_settled_and_writes_it_as_json() -> None:
    told = CliRunner().invoke(app, ["never", "branch-path", "right", "--quiet"])
    assert told.exit_code == 0
    assert "some command makes the agent choose right" in " ".join(told.stdout.split())
    written = CliRunner().invoke(app, ["never", "branch-path", "right", "--json", "--quiet"])
    values = json.loads(written.stdout)
    verdicts = {state["verdict"] for state in values["actions"][0]["states"]}
    assert verdicts <= {"never", "sometimes", "open"}
    assert "sometimes" in verdicts


def threshold_agent(threshold: float, sign: float = -1.0) -> pf.Agent:
    """One number of state, two of command; action 1 wins where sigmoid(sign * s) * sigmoid(A) exceeds the threshold."""
    base = pf.load_agent("branch-path")
    one = np.ones((1, 1), dtype=np.float32)
    zero = np.zeros(1, dtype=np.float32)
    policy = PCNPolicy(
        state=((np.float32(sign) * one, zero),),
        command=((np.array([[1, 0]], dtype=np.float32), zero),),
        head=((one, zero), (np.float32([[0], [1], [0], [0]]), np.float32([threshold, 0, -9, -9]))),
    )
    return replace(base, policy=policy)


def largest(low_state: float, high_a: float) -> float:
    return float(1 / (1 + np.exp(low_state)) / (1 + np.exp(-high_a)))


def states_around(*numbers: float) -> list[Decision]:
    return [Decision(np.array([number], dtype=np.float32), np.zeros(2), (0, 1), 0, np.zeros(2)) for number in numbers]


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize(("above", "holds"), [(1e-4, True), (-1e-6, False)])
def test_the_outermost_states_of_a_box_belong_to_it(above: float, holds: bool, sign: float) -> None:
    best = -0.25  # the box around 0 is half as wide as the range from 0 to 1; the best state lies at one end
    agent = threshold_agent(largest(best, pf.load_agent("branch-path").space.high[0]) + above, sign)
    found = pf.never(agent, 1, states=states_around(0.0, 1.0), width=0.5)
    assert found.proven[0] == holds


def test_a_margin_that_rounding_to_float32_could_turn_is_proven_because_policies_compute_in_float64() -> None:
    best = pf.load_agent("branch-path").space.high
    agent = threshold_agent(largest(0.0, best[0]) + 2e-6)
    assert pf.never(agent, 1, states=states_around(0.0)).holds
    assert chosen(agent, np.array([0.0]), best[None], (0, 1)) == 0
    assert not pf.never(threshold_agent(largest(0.0, best[0]) - 2e-6), 1, states=states_around(0.0)).holds


@dataclass(frozen=True, eq=False)
class NoisyAlone:
    """A policy of which action 1 leads by a little more where it is asked about a single command."""

    inside: PCNPolicy
    noise: float

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        scores = self.inside.log_probs(states, commands)
        scores[:, 1] += self.noise if len(states) == 1 else 0.0
        return scores

    def fold(self, state: np.ndarray) -> Program:
        return self.inside.fold(state)

    def unfold(self) -> Program:
        return self.inside.unfold()


@pytest.mark.parametrize("width", [0.0, 0.5])
def test_what_a_policy_does_in_another_batch_is_not_proven_away(width: float) -> None:
    best = pf.load_agent("branch-path").space.high
    agent = threshold_agent(largest(-width / 2, best[0]) + 1e-4)
    asked = states_around(0.0, 1.0)
    assert pf.never(agent, 1, states=asked, width=width).holds
    assert isinstance(agent.policy, PCNPolicy)
    noisy = replace(agent, policy=NoisyAlone(agent.policy, 1e-3))
    assert chosen(noisy, np.array([-width / 2]), best[None], (0, 1)) == 1
    assert not pf.never(noisy, 1, states=asked, width=width).proven[0]


def test_what_was_not_finished_is_open() -> None:
    agent = pf.load_agent("minecart-early")
    short, long = (pf.never(agent, 0, seconds=1e6, max_boxes=boxes) for boxes in (1, 100))
    assert short.proven.sum() < long.proven.sum()
    assert long.open.sum() < short.open.sum()


def with_preferences(policy: Any, dim: int) -> pf.Agent:
    space = pf.CommandSpace.preferences([f"objective {i}" for i in range(dim)])
    actions = tuple(f"action {i}" for i in range(4))
    known = {"objectives": space.objectives, "reference": None, "paper_box": None}
    entry = replace(pf.load_agent("reward-line").environment, actions=actions, **known)
    return pf.Agent("weighing", policy, entry, space, np.eye(dim))


@pytest.mark.parametrize("kind", [random_envelope, lambda seed, dim: random_pcn(seed, 1, dim, 4)])
def test_of_preferences_only_those_that_sum_to_1_count(kind: Callable[[int, int], Any]) -> None:
    weights, counts = np.random.default_rng(0).dirichlet(np.ones(3), size=5000), np.zeros(2, dtype=int)
    for seed in range(4):
        agent, decision = (
            with_preferences(kind(seed, 3), 3),
            Decision(np.zeros(1), weights[0], (0, 1, 2, 3), 0, np.zeros(3)),
        )
        for action in range(4):
            found = pf.never(agent, action, states=[decision])
            [example], [proven] = found.counterexamples, found.proven
            counts += proven, example is not None
            if example is not None:
                assert example.command.sum() == pytest.approx(1.0, abs=1e-9)
                assert chosen(agent, example.state, example.command[None], (0, 1, 2, 3))[0] == action
            if proven:
                assert action not in chosen(agent, decision.state, weights, (0, 1, 2, 3))
    assert counts.sum() == 16
    assert counts.min() > 0


def test_a_table_is_refused_with_what_can_be_asked_instead() -> None:
    wanted = "a policy with fold(state) or fold_values(state); for a table of values, use `explain` at each state"
    with pytest.raises(pf.InvalidInput, match=re.escape(f"{wanted}, got TablePolicy")):
        pf.never(weighing, "down")


class Overwrites:
    """A policy that scales what it is given in place, and is white-box."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.fold = policy.fold

    def log_probs(self, states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        scores: np.ndarray = self.policy.log_probs(states.copy(), commands.copy())
        states += 1.0
        commands *= 0.5
        return scores


def test_a_policy_that_writes_to_what_it_is_given_has_the_same_counterexamples() -> None:
    agent = pf.load_agent("deep-sea-treasure")
    decisions = list(pf.rollout(agent, agent.front[2]))
    found = [
        pf.never(one, "right", states=decisions, seconds=1e6, max_boxes=5_000)
        for one in (agent, replace(agent, policy=Overwrites(agent.policy)))
    ]
    examples = [[e and e.command.tolist() for e in one.counterexamples] for one in found]
    assert sum(e is not None for e in examples[0]) > 1
    assert examples[1] == examples[0]


def test_a_policy_that_tells_no_numbers_is_refused() -> None:
    agent = pf.load_agent("reward-line")
    broken = Overwrites(agent.policy)
    broken.log_probs = lambda states, commands: np.full((len(states), 4), np.nan)  # type: ignore[method-assign]
    with pytest.raises(pf.InvalidInput, match="log-probabilities that are numbers, got NaN or infinity under"):
        pf.never(replace(agent, policy=broken), 0, states=[pf.rollout(agent, agent.front[0])[0]])


RESERVOIR = "water-reservoir"


def carried_out(agent: pf.Agent, state: np.ndarray, commands: np.ndarray) -> np.ndarray:
    """Return the releases (N,) that a reservoir carries out in a state."""
    assert agent.actor is not None
    assert agent.environment.bounds is not None
    states = np.repeat(state[None], len(commands), axis=0)
    return np.clip(agent.actor.amounts(states, commands), *agent.environment.bounds(states))[:, 0]


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [("release >= 80", 80, 150), ("release <= 30", 0, 30), ("30 <= release <= 31", 30, 31), ("release <= 24", 0, 24)],
)
def test_no_sample_violates_a_proof_about_amounts(text: str, least: float, most: float) -> None:
    agent = pf.load_agent(RESERVOIR)
    decisions = [d for command in agent.front[::12] for d in pf.rollout(agent, command)]
    found = pf.never(agent, text, states=decisions)
    commands = np.random.default_rng(0).uniform(agent.space.low, agent.space.high, size=(2000, agent.space.dim))
    assert found.proven.any()
    assert not found.open.any()
    for state, proven, example in zip(found.states, found.proven, found.counterexamples, strict=True):
        assert proven == (example is None)
        if proven:
            releases = carried_out(agent, state, commands)
            assert not ((releases >= least) & (releases <= most)).any()
        else:
            [release] = carried_out(agent, example.state, example.command[None])
            assert least <= release <= most
            assert release == example.amounts[0]


def test_amounts_that_a_state_forces_are_counterexamples_and_impossible_ones_are_left_out() -> None:
    agent = pf.load_agent(RESERVOIR)
    levels = [np.array([level], dtype=np.float32) for level in (0.0, 60.0, 180.0)]
    found = pf.never(agent, "release >= 70", states=np.stack(levels))
    assert found.states[:, 0].tolist() == [180.0]  # from 80 on, the dam overflows
    assert found.counterexamples[0].amounts[0] >= 80.0  # type: ignore[union-attr,index]
    empty = pf.never(agent, "release <= 0", states=np.stack(levels[:1]))
    assert empty.counterexamples[0].amounts.tolist() == [0.0]  # type: ignore[union-attr]
    none = pf.never(agent, "release <= 70", states=np.stack(levels[2:]))
    assert none.sentence() == "At most 70 m³ of release is possible in none of the states that were examined (1)."


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (pf.more("release", 30), 'limits of the amount, such as "release >= 75", got a change of the chosen amount'),
        ("release >= 200", "an amount of release within 0 to 150, got 200"),
        ("spill >= 2", "a dimension among release"),
        (0, "a foil on a continuous action"),
    ],
)
def test_what_is_no_amount_is_refused(action: Any, message: str) -> None:
    with pytest.raises(pf.InvalidInput, match=re.escape(message)):
        pf.never(pf.load_agent(RESERVOIR), action)


def test_the_verb_takes_amounts_and_goes_through_parts_of_their_range() -> None:
    told = CliRunner().invoke(app, ["never", RESERVOIR, "release >= 85", "--quiet"])
    text = " ".join(told.stdout.split())
    assert re.match(r"at least 85 m³ of release: In \d of the \d+ states where at least 85 m³ of release is", text)
    assert re.search(
        r"For example, in the state \(100\) under the command .*, it chooses 8[5-9][.\d]* m³ of release\.", text
    )
    values = json.loads(CliRunner().invoke(app, ["never", RESERVOIR, "--json", "--quiet"]).stdout)
    assert [each["action"].split(" m³")[0] for each in values["actions"]] == [
        "at most 37.5",
        "at most 75",
        "at least 75",
        "at least 112.5",
    ]


def test_features_of_a_state_may_decide_about_amounts() -> None:
    import torch

    features = [pf.Feature("level", 0, 0.0, 1.0)]
    module = torch.nn.Sequential(torch.nn.Linear(2, 1))
    with torch.no_grad():
        module[0].weight[:] = torch.tensor([[4.0, 0.0]])
        module[0].bias[:] = 1.0
    actions = pf.ActionSpace(["release"], ["m³"], np.zeros(1), np.array([10.0]))
    policy: Any = pf.from_torch(module, np.zeros(2), free=features, actions=actions)
    states = np.array([[0.5, 0.5]], dtype=np.float32)
    assert pf.never(policy, "release >= 5.5", states=states).holds
    assert not pf.never(policy, "release >= 4.5", states=states).holds
