"""Features of the state may change: whole numbers stay whole, constraints hold, and proofs agree with enumeration."""

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import paretofoil as pf
from paretofoil.core.feature import Features
from paretofoil.envs.observations import find_observations

STATE = np.array([0.3, -0.2, 2.0, 0.5], dtype=np.float32)
CONTINUOUS = [pf.Feature("speed", 0, -1, 1, "m/s"), pf.Feature("angle", 1, -1, 1, "rad")]
COUNT = pf.Feature("count", 2, 0, 6, whole=True)


def network(seed: int, size: int = 4, actions: int = 3) -> nn.Module:
    torch.manual_seed(seed)
    module = nn.Sequential(nn.Linear(size, 16), nn.Tanh(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, actions))
    with torch.no_grad():
        for weight in module.parameters():
            weight.mul_(2.5)
    return module.eval()


def explained(module: nn.Module, free: Any, state: np.ndarray = STATE, **settings: Any) -> list[pf.Answer]:
    """Return the answers for all foils."""
    policy = pf.from_torch(module, state, free=free, **settings)
    chosen = int(module(torch.tensor(state)[None]).argmax())
    return [pf.explain(policy, state=state, foil=foil) for foil in range(3) if foil != chosen]


def margins(module: nn.Module, foil: int, observations: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        logits = module(torch.tensor(observations, dtype=torch.float32)).double().numpy()
    return logits[:, foil] - np.delete(logits, foil, axis=1).max(axis=1)


def grid(*axes: np.ndarray) -> np.ndarray:
    return np.array(list(product(*axes)))


@pytest.mark.parametrize("seed", range(6))
def test_no_point_of_a_grid_is_closer_than_the_bound_and_the_answer_obeys_constraints(seed: int) -> None:
    module, settled = network(seed), 0
    free, rule = [*CONTINUOUS, COUNT], "speed + angle <= 0.2"
    points = grid(np.linspace(-1, 1, 81), np.linspace(-1, 1, 81), np.arange(7.0))
    points = points[points[:, 0] + points[:, 1] <= 0.2]
    states = np.concatenate([points, np.full((len(points), 1), STATE[3])], axis=1)
    for answer in explained(module, free, constraints=[rule]):
        foil: Any = answer.question.foil
        valid = margins(module, foil, states) >= answer.question.kappa
        away = np.linalg.norm((points - STATE[:3]) / [2, 2, 6], axis=1)
        assert away[valid].min(initial=np.inf) >= answer.lower_bound
        settled += answer.status in (pf.Status.PROVEN_CLOSEST, pf.Status.PROVEN_INFEASIBLE)
        if answer.command is None:
            assert not valid.any()
            continue
        speed, angle, count = answer.command
        assert speed + angle <= 0.2 + 1e-9
        assert count == round(count)
        told = np.array([[speed, angle, count, STATE[3]]])
        assert margins(module, foil, told)[0] >= answer.question.kappa - 1e-5, "on the module itself"
        assert answer.closest is not None
        assert answer.closest.distance <= away[valid].min(initial=np.inf) + 1e-3
    assert settled == 2


def test_a_constraint_can_make_a_foil_infeasible() -> None:
    module = nn.Linear(4, 2)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[0.0, 0, 0, 0], [1, 1, 0, 0]]))
        module.bias.copy_(torch.tensor([0.0, -1.0]))
    free = [pf.Feature("a", 0, -1, 1), pf.Feature("b", 1, -1, 1)]
    answers = [
        pf.explain(pf.from_torch(module, STATE, free=free, constraints=rules), state=STATE, foil=1)
        for rules in ([], ["a + b <= 1.1"], ["a + b <= 1"], ["2 a <= 1.2 - b"])
    ]
    statuses = [answer.status for answer in answers]
    assert statuses == [pf.Status.PROVEN_CLOSEST] * 2 + [pf.Status.PROVEN_INFEASIBLE, pf.Status.PROVEN_CLOSEST]
    assert str(answers[2]).startswith(
        "No values of the a and the b in the search region make the agent choose action 1"
    )
    assert "with a + b <= 1" in str(answers[2])
    low = answers[3].command
    assert low is not None
    assert 2 * low[0] + low[1] <= 1.2 + 1e-9
    assert low.sum() >= 1.05


@pytest.mark.parametrize("seed", range(4))
def test_branch_and_bound_over_whole_numbers_agrees_with_enumeration(seed: int) -> None:
    """One more feature that hardly matters keeps the search from enumerating."""
    module = network(seed)
    whole = [pf.Feature("a", 0, -3, 3, whole=True), pf.Feature("b", 1, -3, 3, whole=True), COUNT]
    state = np.array([1.0, -1.0, 2.0, 0.5], dtype=np.float32)
    enumerated = explained(module, whole, state)
    still = pf.Feature("still", 3, 0.499999, 0.500001)
    for one, other in zip(enumerated, explained(module, [*whole, still], state), strict=True):
        assert one.search.queries.get("enumerate"), "each combination is queried"
        assert not other.search.queries.get("enumerate")
        assert one.found == other.found
        points = grid(np.arange(-3.0, 4), np.arange(-3.0, 4), np.arange(7.0))
        foil: Any = one.question.foil
        valid = margins(module, foil, np.concatenate([points, np.full((343, 1), 0.5)], axis=1)) >= one.question.kappa
        away = np.linalg.norm((points - state[:3]) / 6, axis=1)
        assert one.status is (pf.Status.PROVEN_CLOSEST if valid.any() else pf.Status.PROVEN_INFEASIBLE)
        if one.command is not None and other.command is not None:
            assert one.proof is not None
            assert one.proof.upper == pytest.approx(away[valid].min())
            assert np.linalg.norm(other.command[:3] - state[:3]) / 6 == pytest.approx(away[valid].min()), "or a tie"


def test_a_black_box_with_few_whole_features_is_proven_by_enumeration() -> None:
    def table(observations: np.ndarray) -> np.ndarray:
        cell = observations[:, 0].astype(int)
        return np.where((cell == 7)[:, None], [-1.0, 0.0], [0.0, -1.0])

    cell = pf.Feature("cell", 0, 0, 9, whole=True)
    policy = pf.from_function(table, [2.0], free=[cell])
    answer = pf.explain(policy, state=[2.0], foil=1, actions=["stay", "go"])
    assert answer.status is pf.Status.PROVEN_CLOSEST
    assert str(answer) == "Had the cell been 7 (instead of 2), the agent would have chosen go instead of stay."
    none = pf.explain(policy, state=[2.0], foil=1, options=pf.Options(ranges={"cell": (0, 6)}))
    assert none.status is pf.Status.PROVEN_INFEASIBLE


def test_rounding_to_short_numbers_keeps_whole_numbers_and_constraints() -> None:
    """The foil needs more passengers than speed, and the sum may not fall: one more passenger, and a little slower."""
    module = nn.Linear(4, 2)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[1.0, 0, 0, 0], [0, 0, 1, 0]]))
        module.bias.zero_()
    free = [pf.Feature("speed", 0, -3, 3, "m/s"), pf.Feature("passengers", 2, 0, 4, whole=True)]
    state = np.array([2.0, 0.5, 1.0, 0.0], dtype=np.float32)
    policy = pf.from_torch(module, state, free=free, constraints=["speed + passengers >= 3"])
    answer = pf.explain(policy, state=state, foil=1)
    assert answer.command is not None
    assert answer.command.tolist() == [1.9, 2.0]
    one = pf.explain(pf.from_torch(module, state, free=free), state=state, foil=1)
    assert one.command is not None
    assert one.command.tolist() == [0.9, 1.0], "passengers hardly matter, so that they keep their number"


def test_digits_of_one_number_are_read_and_written_for_every_state_of_taxi() -> None:
    known = find_observations("Taxi-v4")
    assert known is not None
    states = np.arange(500.0, dtype=np.float32)[:, None]
    for chosen in (known.features, known.features[1:3]):
        features = Features(chosen, 1)
        values = features.values(states)
        assert np.array_equal(features.observations(states, values), states)
        moved = features.observations(states, np.where(values > 0, values - 1, values))
        weights = np.array([f.factors[0] for f in chosen])
        assert np.array_equal(moved[:, 0], states[:, 0] - (values > 0) @ weights)
    row, column, passenger, destination = Features(known.features, 1).values(states).T
    assert np.array_equal(((row * 5 + column) * 5 + passenger) * 4 + destination, states[:, 0])


def test_linked_numbers_change_together_and_units_are_converted() -> None:
    degrees = np.pi / 180
    feature = pf.Feature("heading", {1: degrees, 3: -2 * degrees}, -90, 90, "degrees")
    features = Features((feature,), 4)
    [value] = features.values(STATE[None])[0]
    assert value == pytest.approx(-0.2 / degrees)
    [moved] = features.observations(STATE[None], np.array([[value + 10]]))
    assert moved == pytest.approx(STATE + np.array([0, 10, 0, -20]) * degrees)
    policy = pf.from_torch(network(1), STATE, free=[feature])
    told, now = (policy.log_probs(STATE[None], np.array([[value + by]])) for by in (10, 0))
    with torch.no_grad():
        for observed, scores in ((moved, told), (STATE, now)):
            logits = network(1)(torch.tensor(observed)[None]).log_softmax(-1)
            assert scores == pytest.approx(logits.numpy(), abs=1e-5)


def test_a_command_and_features_change_together() -> None:
    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.score = nn.Linear(5, 2)
            with torch.no_grad():
                self.score.weight.copy_(torch.tensor([[0.0, 0, 0, 0, 0], [1, 0, 0, 0, 1]]))
                self.score.bias.zero_()

        def forward(self, state: torch.Tensor, command: torch.Tensor) -> torch.Tensor:
            return self.score(torch.cat([state, command], dim=-1))

    space = pf.CommandSpace([-2.0], [2.0], [pf.Objective("gold")])
    policy = pf.from_torch(Both(), STATE, space, free=[pf.Feature("wind", 0, -2, 2, "m/s")])
    answer = pf.explain(policy, state=STATE, command=[-1.0], foil=1, actions=["stay", "go"])
    assert answer.status is pf.Status.PROVEN_CLOSEST
    assert answer.command is not None
    assert answer.command.sum() >= 0.05
    words = "Had you asked for 0.4 more gold (-0.6 instead of -1) and had the wind been 0.7 m/s (instead of 0.3), the"
    assert str(answer).startswith(words)
    assert "Asked for -1 gold, with a wind of 0.3 m/s, the agent chooses stay" in answer.paragraph()
    with pytest.raises(pf.InvalidInput, match="the command of the agent"):
        pf.explain(policy, state=STATE, foil=1)


def test_an_answer_about_features_reads_and_writes_as_json() -> None:
    answer = explained(network(2), [*CONTINUOUS, COUNT], constraints=["speed <= angle + 1"])[0]
    again = pf.Answer.from_json(answer.to_json())
    assert again.paragraph() == answer.paragraph()
    assert again.question.constraints == ("speed <= angle + 1",)
    assert [o.whole for o in again.question.objectives] == [False, False, True]


def test_a_range_whose_ends_are_swapped_is_refused() -> None:
    with pytest.raises(pf.InvalidInput, match="expected low <= high for speed, got 3 and -3"):
        pf.Feature("speed", 0, 3, -3)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"free": []}, "at least one free feature"),
        ({"free": "speed"}, r"free=\[...\], a list of features"),
        ({"free": [0]}, "a range of observation 0"),
        ({"free": ["speed"]}, "among observation 0, observation 1, .* or pf.Feature"),
        ({"free": [pf.Feature("far", 9, 0, 1)]}, "at the indices 0 to 3"),
        ({"free": [pf.Feature("a", 0, 0, 1), pf.Feature("b", 0, 0, 1)]}, "at different indices of the state"),
        ({"free": CONTINUOUS, "constraints": ["speed = angle"]}, "link them"),
        ({"free": CONTINUOUS, "constraints": ["sped <= angle"]}, "names among speed, angle"),
        ({"free": CONTINUOUS, "constraints": ["speed >= 0.5"]}, "a state with speed >= 0.5"),
        ({"free": [pf.Feature("count", 0, 0, 6, whole=True)]}, "a state with count whole"),
        ({}, r"free=\[...\], features of the state"),
    ],
)
def test_what_does_not_fit_is_refused_in_words(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(pf.InvalidInput, match=message):
        pf.explain(pf.from_torch(network(0), STATE, **changes), state=STATE, foil=1)


def test_influence_of_whole_numbers_is_counted_and_under_constraints_sampled() -> None:
    policy = pf.from_torch(network(3), STATE, free=[COUNT])
    counted = pf.influence(policy, state=STATE)
    states = np.repeat(STATE[None].astype(float), 7, axis=0)
    states[:, 2] = np.arange(7)
    with torch.no_grad():
        chosen = network(3)(torch.tensor(states, dtype=torch.float32)).argmax(dim=1).numpy()
    for share in counted.shares:
        assert share.lower == share.upper == (chosen == share.action).mean()
    assert "of the states in the search region make the agent choose" in str(counted)
    constrained = pf.from_torch(
        network(3), STATE, free=[*CONTINUOUS, COUNT], constraints=["count <= 2 + angle + speed"]
    )
    drawn = pf.influence(constrained, state=STATE, samples=500)
    assert drawn.samples == 500
    assert "where count <= 2 + angle + speed" in str(drawn)
    for line in drawn.alone:
        for switch in filter(None, (line.down, line.up)):
            command = drawn.command.copy()
            command[line.objective] = switch.value
            assert constrained.space.allows(command[None])[0], "a single change obeys the constraint as well"


def test_never_is_proven_or_refuted_for_features() -> None:
    module = nn.Linear(4, 2)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[0.0, 0, 0, 0], [1, 0, 0, 2]]))
        module.bias.copy_(torch.tensor([0.0, -2.0]))
    policy = pf.from_torch(module, STATE, free=[pf.Feature("speed", 0, -1, 1, "m/s")])
    near, far = STATE.copy(), STATE.copy()
    near[3], far[3] = 0.51, 0.49
    claim = pf.never(policy, 1, states=[near, far])
    assert claim.proven.tolist() == [False, True]
    [example] = [each for each in claim.counterexamples if each is not None]
    assert example.command[0] + 2 * 0.51 >= 2
    words = "In 1 of the 2 states where action 1 is valid, some value of the speed makes the agent choose action 1"
    assert claim.sentence().startswith(words)
    whole = pf.from_function(lambda seen: np.stack([0 * seen[:, 2], seen[:, 2] - 5.5], axis=1), STATE, free=[COUNT])
    assert not pf.never(whole, 1, states=[STATE]).holds, "a count of 6 makes it chosen"
    assert pf.never(whole, 1, states=[STATE], commands=([0], [5])).holds, "each count is queried"
    with pytest.raises(pf.InvalidInput, match="states="):
        pf.never(policy, 1)


def test_a_flip_map_of_observations_tells_features() -> None:
    policy = pf.from_torch(network(4), STATE, free=CONTINUOUS)
    flips = pf.explain_episode(policy, [STATE, STATE + 0.1, STATE - 0.1])
    assert flips.distances().shape == (3, 3)
    assert np.isnan(flips.distances()).sum() == 3
    assert "speed" in flips.answers[-1].paragraph()
    assert "from here on" not in flips.answers[-1].paragraph()
    assert len(flips._repr_html_()) > 1000
    assert pf.FlipMap.from_json(flips.to_json()).answers[-1].question.step == 2
    with pytest.raises(pf.InvalidInput, match="an agent with an environment"):
        pf.influence_episode(policy, [STATE])  # type: ignore[arg-type]
