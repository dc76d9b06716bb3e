"""Models of Stable-Baselines3 with the command in a Dict observation are policies, with proofs where they fold."""

from typing import Any

import numpy as np
import pytest
import torch
from goals import FAR, OpenPlane, Plane, trained
from gymnasium import spaces
from tiers import long_except
from torch import Tensor, nn

import paretofoil as pf
from paretofoil.core.errors import InvalidInput

sb3 = pytest.importorskip("stable_baselines3", reason="needs the sb3 extra")
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor, CombinedExtractor  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize  # noqa: E402


def observations(count: int, env: Any = None, **changes: Any) -> list[dict[str, Any]]:
    env = env or Plane()
    return [env.reset(seed=seed)[0] | changes for seed in range(count)]


def split(policy: Any, seen: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    return policy.module.split(seen)


def logits(model: Any, seen: dict[str, Any]) -> np.ndarray:
    """(1, actions): as the model itself normalises them."""
    tensors, _ = model.policy.obs_to_tensor(seen)
    return model.policy.get_distribution(tensors).distribution.logits.detach().numpy()


@pytest.mark.long
@pytest.mark.parametrize(("kind", "steps"), [("PPO", 2560), ("DQN", 1500)])
def test_a_model_that_learned_to_follow_goals_is_explained_with_a_proof(kind: str, steps: int) -> None:
    model = trained(kind, Plane(), steps)
    [seen] = observations(1, achieved_goal=np.zeros(2), observation=np.zeros(2), desired_goal=np.array([2.0, 0.5]))
    policy = pf.from_sb3(model, seen)
    state, command = split(policy, seen)
    assert int(model.predict(seen, deterministic=True)[0]) == 0, "it has learned to go right"
    answer = pf.explain(policy, state=state, command=command, foil=1)
    assert answer.status is pf.Status.PROVEN_CLOSEST
    told = seen | {"desired_goal": answer.command}
    assert int(model.predict(told, deterministic=True)[0]) == 1, "the model itself goes up then"


@pytest.mark.parametrize("kind", ["PPO", "A2C", "DQN"])
def test_a_policy_tells_what_the_model_predicts(kind: str) -> None:
    model = trained(kind, Plane())
    seen = observations(50)
    policy = pf.from_sb3(model, seen[0])
    assert policy.outputs == ("q-values" if kind == "DQN" else "logits")
    for one in seen:
        state, command = split(policy, one)
        told = policy.log_probs(state[None], command[None])[0]
        assert told.argmax() == model.predict(one, deterministic=True)[0]


def test_log_probabilities_are_those_of_the_model() -> None:
    model = trained("PPO", Plane())
    [seen] = observations(1)
    policy = pf.from_sb3(model, seen)
    state, command = split(policy, seen)
    np.testing.assert_allclose(policy.log_probs(state[None], command[None]), logits(model, seen), atol=1e-6)


def test_a_state_is_all_but_the_command_in_the_order_of_the_space() -> None:
    [seen] = observations(1)
    state, command = split(pf.from_sb3(trained("PPO", Plane()), seen), seen)
    np.testing.assert_allclose(state, [*seen["achieved_goal"], *seen["observation"]])
    np.testing.assert_allclose(command, seen["desired_goal"])


def test_images_and_numbers_of_a_state_are_seen_as_the_model_sees_them() -> None:
    env = Plane(camera=spaces.Box(0, 255, (36, 36, 3), np.uint8), mode=spaces.Discrete(3))
    model = trained("PPO", env)
    rng = np.random.default_rng(0)
    for _ in range(5):
        [seen] = observations(1, env, camera=rng.integers(256, size=(36, 36, 3), dtype=np.uint8), mode=np.array(2))
        policy = pf.from_sb3(model, seen)
        state, command = split(policy, seen)
        np.testing.assert_allclose(policy.log_probs(state[None], command[None]), logits(model, seen), atol=1e-5)
        assert policy.is_white_box, "they do not depend on the command"


@pytest.mark.parametrize("parts", [None, ["desired_goal"]])
def test_what_vec_normalize_does_is_taken_along_and_proven(parts: list[str] | None) -> None:
    env = VecNormalize(DummyVecEnv([Plane]), clip_obs=1.0, epsilon=0.1, norm_obs_keys=parts)
    model = trained("PPO", env)
    env.reset()
    for action in np.random.default_rng(0).integers(4, size=128):  # gathers the statistics
        env.step([action])
    seen = observations(20)
    policy = pf.from_sb3(model, seen[0])
    assert policy.is_white_box
    clipped = 0
    for one in seen:
        normal = env.normalize_obs(one)
        clipped += int((np.abs(normal["desired_goal"]) == 1.0).any())
        state, command = split(policy, one)
        np.testing.assert_allclose(policy.log_probs(state[None], command[None]), logits(model, normal), atol=1e-5)
    assert clipped > 3


def test_rewards_that_are_normalised_leave_observations_alone() -> None:
    model, [seen] = trained("PPO", VecNormalize(DummyVecEnv([Plane]), norm_obs=False)), observations(1)
    policy = pf.from_sb3(model, seen)
    state, command = split(policy, seen)
    np.testing.assert_allclose(policy.log_probs(state[None], command[None]), logits(model, seen), atol=1e-5)


class Raised(BaseFeaturesExtractor):
    """Parts side by side, with an exponential."""

    def __init__(self, observation_space: spaces.Dict) -> None:
        super().__init__(observation_space, 6)
        self.parts = CombinedExtractor(observation_space)

    def forward(self, observation: dict[str, Tensor]) -> Tensor:
        return self.parts(observation) * torch.exp(self.parts(observation) / 100.0)


@pytest.mark.parametrize("search", long_except(["auto", "boundary", "cf-zoo"], ("auto",)))
def test_a_model_that_cannot_be_folded_says_why_and_is_explained_all_the_same(search: str) -> None:
    model = trained("PPO", Plane(), features_extractor_class=Raised)
    [seen] = observations(1)
    policy = pf.from_sb3(model, seen)
    assert policy.why_not == "exp of values that depend on the command"
    state, command = split(policy, seen)
    goals = np.random.default_rng(0).uniform(-FAR, FAR, size=(200, 2))
    choices = policy.log_probs(np.repeat(state[None], 200, axis=0), goals).argmax(axis=1)
    chosen = policy.log_probs(state[None], command[None])[0].argmax()
    foil = int(choices[choices != chosen][0])
    answer = pf.explain(policy, state=state, command=command, foil=foil, search=search)
    assert (answer.search.name, answer.status) == (search.replace("auto", "boundary"), pf.Status.FOUND)


def test_dropout_is_off_as_when_the_model_predicts() -> None:
    class Dropping(CombinedExtractor):
        def forward(self, observation: dict[str, Tensor]) -> Tensor:
            return nn.functional.dropout(super().forward(observation), 0.5, self.training)

    model = trained("PPO", Plane(), features_extractor_class=Dropping)
    model.policy.set_training_mode(True)
    assert pf.from_sb3(model, observations(1)[0]).is_white_box


def test_the_space_is_that_of_the_goal_unless_another_is_given() -> None:
    [seen] = observations(1)
    model = trained("PPO", Plane())
    space = pf.from_sb3(model, seen).space
    assert (space.low.tolist(), space.high.tolist()) == ([-FAR, -FAR], [FAR, FAR])
    assert [o.name for o in space.objectives] == ["desired_goal 0", "desired_goal 1"]  # type: ignore[union-attr]
    mine = pf.CommandSpace([0.0, 0.0], [1.0, 1.0], ["east", "north"])
    assert pf.from_sb3(model, seen, mine).space is mine


def test_a_goal_without_bounds_needs_a_space() -> None:
    env = Plane(wish=spaces.Box(-np.inf, np.inf, (1,)))
    model, [seen] = trained("PPO", env), observations(1, env)
    with pytest.raises(InvalidInput, match=r"expected space=.*, because the command has no bounds .* got Box\(-inf"):
        pf.from_sb3(model, seen, command="wish")
    mine = pf.CommandSpace([0.0], [1.0], ["wish"])
    assert pf.from_sb3(model, seen, mine, command="wish").is_white_box


def test_a_model_that_chooses_in_another_way_than_its_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model, [seen] = trained("PPO", Plane()), observations(1)
    other = (model.predict(seen, deterministic=True)[0] + 1) % 4
    monkeypatch.setattr(model, "predict", lambda observation, deterministic: (np.array([other]), None))
    with pytest.raises(
        InvalidInput, match="a model that chooses by its logits or Q-values, got one that chooses action"
    ):
        pf.from_sb3(model, seen)


class Vector(Plane):
    """The same, with an observation that is no Dict."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Box(-FAR, FAR, (2,))  # type: ignore[assignment]

    def _seen(self) -> Any:
        return self.place


def test_what_cannot_be_used_is_refused_with_a_sentence() -> None:
    env = Plane(mode=spaces.Discrete(3))
    model, [seen] = trained("PPO", env), observations(1, env)
    several = {name: np.repeat(np.asarray(part)[None], 2, axis=0) for name, part in seen.items()}
    vector = sb3.PPO("MlpPolicy", Vector(), device="cpu")
    cases: list[tuple[Any, Any, dict[str, Any], str]] = [
        (torch.nn.Linear(1, 1), seen, {}, r"expected a model of Stable-Baselines3 \(load a file with .*\), got Linear"),
        (vector, seen, {}, "a model whose observation is a Dict with a command, got Box"),
        (model, seen, {"command": "desired_gaol"}, r"got 'desired_gaol' \(did you mean desired_goal\?\)"),
        (model, seen, {"command": "mode"}, r"a command of real numbers \(a Box of floats\), got Discrete\(3\)"),
        (model, seen["observation"], {}, "expected an observation with the parts achieved_goal, .* got ndarray"),
        (model, {"observation": seen["observation"]}, {}, "the parts achieved_goal, .* got observation"),
        (model, seen | {"observation": np.zeros(5)}, {}, "expected an observation of the model's environment, got"),
        (model, several, {}, "expected one observation, got a batch of"),
        (
            model,
            seen | {"observation": np.array([np.nan, 0])},
            {},
            r"the state in the observation to be finite, got .*nan",
        ),
        (model, seen | {"desired_goal": np.array([0, np.inf])}, {}, "the command in the observation to be finite, got"),
        (model, seen | {"observation": np.array(["a", "b"])}, {}, "expected an observation of the model's environment"),
    ]
    for subject, observation, options, message in cases:
        with pytest.raises(InvalidInput, match=message):
            pf.from_sb3(subject, observation, **options)


@pytest.mark.parametrize("kind", ["PPO", "A2C", "SAC", "TD3", "DDPG"])
def test_continuous_actions_are_those_that_the_model_predicts(kind: str) -> None:
    env = OpenPlane()
    model = trained(kind, env)
    seen = observations(8, env)
    actor = pf.from_sb3(model, seen[0])
    assert actor.is_white_box
    states, goals = map(np.stack, zip(*(actor.module.split(one) for one in seen), strict=True))  # type: ignore[operator]
    ours = actor.actions.clip(actor.amounts(states, goals))  # type: ignore[union-attr]
    for one, amounts in zip(seen, ours, strict=True):
        np.testing.assert_allclose(model.predict(one, deterministic=True)[0], amounts, rtol=1e-4, atol=1e-5)


@pytest.mark.long
def test_continuous_actions_are_explained_with_a_proof() -> None:
    env, actions = OpenPlane(), pf.ActionSpace(["east", "north"], ["", "cm"], [-1, -20], [1, 20])
    model, [seen] = trained("SAC", env, 1500), observations(1, env)
    actor = pf.from_sb3(model, seen, actions=actions)
    state, goal = split(actor, seen)
    answer = pf.explain(actor, state=state, command=goal, foil="north + 6")
    assert answer.status is pf.Status.PROVEN_CLOSEST
    new, old = (actor.amounts(state[None], c[None])[0, 1] for c in (answer.command, goal))  # type: ignore[union-attr, index]
    assert new - old >= 6
    assert "cm of north" in str(answer)


def test_action_spaces_that_do_not_fit_a_model_are_refused() -> None:
    env = OpenPlane()
    model, [seen] = trained("TD3", env), observations(1, env)
    wide = pf.ActionSpace(["east", "north"], [], [-1, -30], [1, 20])
    with pytest.raises(InvalidInput, match="actions with the bounds of the model's action space"):
        pf.from_sb3(model, seen, actions=wide)
    with pytest.raises(InvalidInput, match="only for a model with continuous actions"):
        pf.from_sb3(trained("PPO", Plane()), observations(1)[0], actions=wide)


@pytest.mark.parametrize("kind", ["TRPO", "MaskablePPO", "QRDQN"])
def test_models_of_sb3_contrib_are_explained_with_a_proof(kind: str) -> None:
    contrib = pytest.importorskip("sb3_contrib")
    model, [seen] = getattr(contrib, kind)("MultiInputPolicy", Plane(), device="cpu"), observations(1)
    policy = pf.from_sb3(model, seen)
    assert (policy.is_white_box, policy.tells_values) == (True, kind == "QRDQN")


class Quantiles(nn.Module):
    """The network of QR-DQN: (N, quantiles, actions)."""

    def __init__(self, q_net: nn.Module) -> None:
        super().__init__()
        self.q_net = q_net

    def forward(self, observation: Any) -> Tensor:
        values: Tensor = self.q_net(observation)
        return values[:, None, :] + torch.tensor([-1.0, 0.0, 1.0])[:, None]


def test_quantiles_are_chosen_by_their_mean() -> None:
    model, [seen] = trained("DQN", Plane()), observations(1)
    state, command = split(pf.from_sb3(model, seen), seen)
    expected = pf.from_sb3(model, seen).log_probs(state[None], command[None])
    model.policy.quantile_net = Quantiles(model.policy.q_net)
    network = pf.from_sb3(model, seen).module
    del model.policy.q_net  # as in QR-DQN
    tensors = network.join(*(torch.tensor(part[None], dtype=torch.float32) for part in (state, command)))
    np.testing.assert_allclose(network.scores(tensors).detach().numpy(), expected, atol=1e-6)


def test_a_model_with_a_memory_is_refused_by_its_name() -> None:
    model, [seen] = trained("PPO", Plane()), observations(1)
    model.policy.lstm_actor = nn.LSTM(2, 2)  # as RecurrentPPO has
    with pytest.raises(InvalidInput, match=r"got PPO with MultiInput.*, which is recurrent; fix"):
        pf.from_sb3(model, seen)
