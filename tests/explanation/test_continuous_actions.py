"""Foils on continuous actions: amounts, directions and bands, with proofs that samples of the actor cannot refute."""

import re
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import paretofoil as pf
from paretofoil.agents.torch_policy import TorchActor
from paretofoil.core.amounts import FoilPolicy, make_limits, read_foil
from paretofoil.core.errors import InvalidInput
from paretofoil.proof.verify import verify_certificate

SPACE = pf.CommandSpace([0.0, -20.0], [10.0, 0.0], ["fish", "time"])
ACTIONS = pf.ActionSpace(["release", "spill"], ["m³", ""], [0.0, -1.0], [100.0, 1.0], ["released", ""])
STATE, COMMAND = np.array([0.1, 0.2, 0.3]), np.array([5.0, -10.0])


class Actor(nn.Module):
    """Amounts behind a tanh, as in SAC and TD3."""

    def __init__(self, size: float = 2.0) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(4)
            self.net = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 2))
            for weight in self.net.parameters():
                weight.data *= size

    def forward(self, states: Tensor, commands: Tensor) -> Tensor:
        squashed = torch.tanh(self.net(torch.cat([states, commands / 4], dim=1)))
        return squashed * torch.tensor([50.0, 1.0]) + torch.tensor([50.0, 0.0])


@pytest.fixture(scope="module")
def actor() -> TorchActor:
    return pf.from_torch(Actor().eval(), STATE, SPACE, actions=ACTIONS)


def explain_function(output: np.ndarray) -> pf.Answer:
    return pf.explain(lambda s, c: output, state=STATE, command=COMMAND, foil="spill > 0", space=SPACE, actions=ACTIONS)


def amounts(actor: TorchActor, commands: np.ndarray) -> np.ndarray:
    return actor.amounts(np.repeat(STATE[None], len(commands), axis=0), commands)


FOILS: dict[str, Any] = {
    "half-space": "release >= 60",
    "other side": "release < 30",
    "band": "55 <= release <= 57",
    "more": pf.more("release", 12.5),
    "less": pf.less("spill", 0.25),
    "two": pf.between("release", None, 45) & pf.between("spill", -0.4, None),
    "impossible": "release >= 100",
}


def fulfils(foil: Any, now: np.ndarray, then: np.ndarray) -> np.ndarray:
    """Return which of the amounts (N, 2) fulfil a foil, by its conditions; written apart from the library."""
    keeps = np.ones(len(then), dtype=bool)
    for condition in (read_foil(foil) if isinstance(foil, str) else foil).conditions:
        i = list(ACTIONS.names).index(condition.name)
        base = now[i] if condition.relative else 0.0
        if condition.least is not None:
            keeps &= then[:, i] >= base + condition.least
        if condition.most is not None:
            keeps &= then[:, i] <= base + condition.most
    return keeps


@pytest.mark.parametrize("name", FOILS)
def test_answers_fulfil_the_foil_and_no_sampled_command_is_closer_than_proven(actor: TorchActor, name: str) -> None:
    now = amounts(actor, COMMAND[None])[0]
    answer = pf.explain(actor, state=STATE, command=COMMAND, foil=FOILS[name])
    commands = np.random.default_rng(0).uniform(SPACE.low, SPACE.high, size=(200_000, 2))
    valid = fulfils(FOILS[name], now, amounts(actor, commands))
    distances = SPACE.distance(commands, COMMAND)
    if name == "impossible":
        assert answer.status is pf.Status.PROVEN_INFEASIBLE
        assert not valid.any()
        return
    assert answer.status is pf.Status.PROVEN_CLOSEST
    assert answer.quoted is not None
    assert answer.proof is not None
    assert fulfils(FOILS[name], now, amounts(actor, answer.quoted.command[None])).all()
    assert distances[valid].min() >= answer.proof.lower
    assert verify_certificate(answer.live.question, answer.proof, 20_000, rebound=True).holds  # type: ignore[union-attr]
    assert answer.proven_range is not None
    inside = np.random.default_rng(1).uniform(answer.proven_range.low, answer.proven_range.high, size=(20_000, 2))
    assert fulfils(FOILS[name], now, amounts(actor, inside)).all()
    assert str(pf.Answer.from_json(answer.to_json())) == str(answer)


def test_sentences_say_amounts(actor: TorchActor) -> None:
    now = amounts(actor, COMMAND[None])[0]
    answer = pf.explain(actor, state=STATE, command=COMMAND, foil="release >= 60")
    then = amounts(actor, answer.command[None])[0]  # type: ignore[index]
    words = re.search(r"would have released at least 60 m³ \((.*)\) instead of (.*)\.$", str(answer))
    assert words is not None
    assert float(words[1]) == pytest.approx(then[0], rel=5e-3)
    assert float(words[2]) == pytest.approx(now[0], rel=5e-3)
    assert answer.question.amounts_at(answer.quoted.values) == {"release": pytest.approx(then[0])}  # type: ignore[union-attr]
    assert f"the agent chooses {now[0]:.3g} m³ of release in this state." in answer.paragraph()
    assert "also makes the agent choose at least 60 m³ of release" in answer.paragraph()
    both = pf.explain(actor, state=STATE, command=COMMAND, foil=FOILS["two"])
    assert "released at most 45 m³ and chosen at least -0.4 of spill (" in str(both)
    none = pf.explain(actor, state=STATE, command=COMMAND, foil="release >= 99.99")
    assert "makes the agent choose at least 99.99 m³ of release in this state (proven)" in str(none)


def test_kappa_is_a_share_of_the_range(actor: TorchActor) -> None:
    options = pf.Options(kappa=0.05)
    answer = pf.explain(actor, state=STATE, command=COMMAND, foil="release >= 55", options=options)
    assert amounts(actor, answer.command[None])[0, 0] >= 60  # type: ignore[index]
    assert "for a margin of 0.05 of the action's range" in answer.paragraph()
    plain = pf.explain(actor, state=STATE, command=COMMAND, foil="release >= 60")
    assert answer.closest.distance == pytest.approx(plain.closest.distance, abs=2e-3)  # type: ignore[union-attr]
    with pytest.raises(InvalidInput, match="that, with a margin of 5, is within 0 to 100, got 97"):
        pf.explain(actor, state=STATE, command=COMMAND, foil="release >= 97", options=options)


def test_deployed_margins_stay_within_the_errors_of_the_fold(actor: TorchActor) -> None:
    limits = make_limits(FOILS["two"] & pf.between("release", None, 80), ACTIONS, np.zeros(2), 0.0)
    policy: Any = FoilPolicy.of(actor, limits)
    commands = np.random.default_rng(2).uniform(SPACE.low, SPACE.high, size=(20_000, 2))
    folded = policy.fold(STATE)
    off = np.abs(policy.log_probs(np.repeat(STATE[None], len(commands), axis=0), commands) - folded.logits(commands))
    assert (off <= folded.errors(commands)).all()
    assert off.max() > 0
    assert folded.errors(commands).max() < 1e-4


def test_a_function_with_an_action_space_is_a_black_box(actor: TorchActor) -> None:
    answer = pf.explain(actor.amounts, state=STATE, command=COMMAND, foil="release >= 60", space=SPACE, actions=ACTIONS)
    exact = pf.explain(actor, state=STATE, command=COMMAND, foil="release >= 60")
    assert answer.status is pf.Status.FOUND
    assert answer.closest is not None
    assert exact.closest is not None
    assert exact.closest.distance - 2e-3 <= answer.closest.distance <= 1.1 * exact.closest.distance


def test_all_directions_of_a_decision(actor: TorchActor) -> None:
    decision = pf.Decision(STATE.astype(np.float32), COMMAND, (), -1, np.zeros(2))
    answers = pf.explain_decision(actor, decision)
    assert [a.question.actions[0].split(" of ")[1] for a in answers] == ["release", "release", "spill", "spill"]
    now = amounts(actor, COMMAND[None])[0]
    for answer, (i, step) in zip(answers, [(0, 10.0), (0, -10.0), (1, 0.2), (1, -0.2)], strict=True):
        [limit] = answer.question.amounts
        assert limit.lower == (step > 0)
        assert 0 <= (limit.amount - now[i] - step) * np.sign(step) <= 1e-3 * (ACTIONS.high - ACTIONS.low)[i]


@pytest.mark.parametrize(
    ("foil", "message"),
    [
        ("release >= 120", "within 0 to 100, got 120"),
        ("relase >= 50", "did you mean release"),
        ("release", "such as .*release >= 30"),
        (9, r"more release \(0\), less release \(1\), .*got 9"),
        (0.5, "such as .*release >= 30"),
        (pf.more("release", 70), r"within 0 to 100, got .* \(\+70 from "),
        ("release >= 1", "does not meet already, got at least 1 m³ of release: it chooses"),
        ("release >= 80 and release <= 70", "limits with a range of amounts between them, got"),
    ],
)
def test_foils_that_make_no_sense_are_refused(actor: TorchActor, foil: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        pf.explain(actor, state=STATE, command=COMMAND, foil=foil)


def test_odd_action_spaces_and_amounts_are_refused() -> None:
    with pytest.raises(InvalidInput, match="low < high"):
        pf.ActionSpace(["a"], [], [1.0], [1.0])
    with pytest.raises(InvalidInput, match="names for 2 dimensions"):
        pf.ActionSpace(["a"], [], [0.0, 0.0], [1.0, 1.0])
    with pytest.raises(InvalidInput, match="a positive amount of release, got -3"):
        pf.more("release", -3)
    with pytest.raises(InvalidInput, match="the lower one first, got 5 and 4"):
        pf.between("release", 5, 4)
    with pytest.raises(InvalidInput, match="returns 1 amounts: a, got 2 outputs"):
        pf.from_torch(Actor().eval(), STATE, SPACE, actions=pf.ActionSpace(["a"], [], [0.0], [1.0]))
    wrong: Any = {"outputs": "logits", "actions": ACTIONS}
    with pytest.raises(InvalidInput, match=r"either actions=\.\.\. \(for amounts\) or outputs="):
        pf.from_torch(Actor().eval(), STATE, SPACE, **wrong)
    for output, message in (
        (np.zeros((1, 3)), r"shape \(1, 2\), got shape \(1, 3\)"),
        (np.array([[np.nan, 0]]), "nan"),
    ):
        with pytest.raises(InvalidInput, match=message):
            explain_function(output)


def test_influence_is_the_proven_range_of_amounts(actor: TorchActor) -> None:
    influence = pf.influence(actor, state=STATE, command=COMMAND, seconds=20, samples=2_000)
    assert influence.proven
    assert influence.assumed == 0
    commands = np.random.default_rng(7).uniform(SPACE.low, SPACE.high, size=(200_000, 2))
    sampled, now = amounts(actor, commands), amounts(actor, COMMAND[None])[0]
    for i, each in enumerate(influence.ranges):
        width = ACTIONS.high[i] - ACTIONS.low[i]
        assert each.chosen == pytest.approx(now[i])
        assert each.lowest <= sampled[:, i].min()
        assert each.highest >= sampled[:, i].max()
        assert max(each.least - each.lowest, each.highest - each.most) <= 1.1e-3 * width
        for command, amount in ((each.least_command, each.least), (each.most_command, each.most)):
            assert amounts(actor, command[None])[0, i] == pytest.approx(amount, abs=1e-6 * width)
    assert "the agent chooses 26.9 to 66.7 m³ of release in this state, 46.9 under this command" in str(influence)
    assert str(type(influence).from_json(influence.to_json())) == str(influence)


def test_influence_of_a_function_and_of_preferences(actor: TorchActor) -> None:
    options: Any = {"space": SPACE, "actions": ACTIONS}
    sampled: Any = pf.influence(actor.amounts, state=STATE, command=COMMAND, samples=500, **options)
    assert not sampled.proven
    assert "of 500 sampled commands" in str(sampled)
    preferences = pf.CommandSpace.preferences(["fish", "power"])
    weighed = pf.from_torch(Actor(4.0).eval(), STATE, preferences, actions=ACTIONS)
    [release, _] = pf.influence(weighed, state=STATE, command=[0.4, 0.6], seconds=20, samples=500).ranges
    weights = np.stack([np.linspace(0, 1, 5001), 1 - np.linspace(0, 1, 5001)], axis=1)
    reached = amounts(weighed, weights)[:, 0]
    assert release.lowest <= reached.min() <= release.lowest + 0.2
    assert release.highest - 0.2 <= reached.max() <= release.highest


def test_what_needs_discrete_actions_says_what_takes_continuous_ones(actor: TorchActor) -> None:
    assert "Expected a policy with discrete actions" in str(pf.check_policy(actor, [STATE], space=SPACE))
    with pytest.raises(InvalidInput, match="without a list of valid actions"):
        pf.explain(actor, state=STATE, command=COMMAND, foil="release >= 60", valid_actions=[0, 1])
