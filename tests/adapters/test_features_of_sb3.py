"""Models of Stable-Baselines3 without a command are explained by features of their observations."""

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import torch
from gymnasium import spaces

import paretofoil as pf

sb3 = pytest.importorskip("stable_baselines3", reason="needs the sb3 extra")
from stable_baselines3.common.env_util import make_vec_env  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize  # noqa: E402

torch.set_num_threads(1)


class Blank(gym.Env[Any, Any]):
    """An environment that only has spaces."""

    def __init__(self, observation_space: spaces.Space[Any], action_space: spaces.Space[Any]) -> None:
        self.observation_space, self.action_space = observation_space, action_space

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return self.observation_space.sample(), 0.0, True, False, {}


BOX = spaces.Box(-1.0, 1.0, (3,), np.float32)
PAIR = spaces.Discrete(2)


def model_of(kind: str, observation: Any, action: Any = PAIR, policy: str = "MlpPolicy") -> Any:
    return getattr(sb3, kind)(policy, Blank(observation, action), seed=0, device="cpu")


def explain_all(policy: Any, model: Any, state: Any) -> list[pf.Answer]:
    chosen = int(model.predict(state, deterministic=True)[0])
    return [pf.explain(policy, state=state, foil=a) for a in range(model.action_space.n) if a != chosen]


def test_the_names_ranges_and_words_of_a_known_environment_are_used() -> None:
    model = sb3.PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu")
    with torch.no_grad():
        model.policy.action_net.weight.mul_(100)
    policy = pf.from_sb3(model, free=["pole angle", "pole velocity"])
    state = np.array([0.1, 0.2, 0.03, 0.1], dtype=np.float32)
    [answer] = explain_all(policy, model, state)
    assert answer.status is pf.Status.PROVEN_CLOSEST
    assert answer.command is not None
    told = np.array([0.1, 0.2, *answer.command], dtype=np.float32)
    assert model.predict(told, deterministic=True)[0] == answer.question.foil, "the model itself"
    assert "the agent would have pushed" in str(answer)
    assert "rad" in str(answer)
    assert [o.name for o in answer.question.objectives] == ["pole angle", "pole velocity"]
    with pytest.raises(pf.InvalidInput, match=r"did you mean pole angle\?"):
        pf.from_sb3(model, free=["pole angel"])
    with pytest.raises(pf.InvalidInput, match="cart velocity"):
        pf.from_sb3(sb3.PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu"), free=["speed"])


def test_an_environment_that_does_not_fit_the_model_is_refused(tmp_path: Path) -> None:
    sb3.PPO("MlpPolicy", "CartPole-v1", seed=0, device="cpu").save(tmp_path / "model")
    model = sb3.PPO.load(tmp_path / "model", device="cpu")
    assert pf.from_sb3(model, free=["pole angle"], environment="CartPole-v1").features.actions == ("left", "right")
    for name in ("MountainCar-v0", "CartPol-v1"):
        with pytest.raises(
            pf.InvalidInput, match=f"an environment with 4 numbers in its observation, .*, got '{name}'"
        ):
            pf.from_sb3(model, free=[0], environment=name)
    with pytest.raises(pf.InvalidInput, match="got 'pole angle'; the model has no environment: pass environment="):
        pf.from_sb3(model, free=["pole angle"])


def test_a_wrapped_environment_has_no_names_of_another_number() -> None:
    stacked = VecFrameStack(make_vec_env("CartPole-v1"), 2)
    model = sb3.PPO("MlpPolicy", stacked, device="cpu")
    with pytest.raises(pf.InvalidInput, match=r"a feature among observation 0, .* got 'pole angle'"):
        pf.from_sb3(model, free=["pole angle"])


def test_taxi_agrees_with_enumeration() -> None:
    model = sb3.DQN("MlpPolicy", "Taxi-v4", seed=0, device="cpu")
    names = ["taxi row", "taxi column", "passenger", "destination"]
    policy = pf.from_sb3(model, free=names)
    with torch.no_grad():
        values = model.q_net(torch.arange(500)).double().numpy()
    weights, counts = np.array([100, 20, 4, 1]), np.array([5, 5, 5, 4])
    digits = np.arange(500)[:, None] // weights % counts
    compared = 0
    for state in (3, 121, 487):
        for answer in explain_all(policy, model, state):
            foil: Any = answer.question.foil
            margins = values[:, foil] - np.delete(values, foil, axis=1).max(axis=1)
            away = np.linalg.norm((digits - digits[state]) / (counts - 1), axis=1)
            valid = margins >= answer.question.kappa
            expected = pf.Status.PROVEN_CLOSEST if valid.any() else pf.Status.PROVEN_INFEASIBLE
            assert answer.status is expected
            if answer.command is not None:
                assert answer.quoted is not None
                assert answer.quoted.distance == pytest.approx(away[valid].min())
                assert model.predict(int(answer.command @ weights), deterministic=True)[0] == foil
            compared += 1
    assert compared == 15


@pytest.mark.parametrize(
    ("observation", "free", "state"),
    [
        (BOX, [0, 2], [0.1, 0.2, 0.3]),
        (spaces.MultiDiscrete([3, 4]), [0, 1], [1, 2]),
        (spaces.MultiBinary(3), [0, 1, 2], [0, 1, 1]),
        (spaces.Discrete(6), [0], 4),
    ],
)
def test_every_kind_of_observation_is_explained(observation: Any, free: list[int], state: Any) -> None:
    for kind in ("PPO", "DQN"):
        model = model_of(kind, observation)
        policy = pf.from_sb3(model, free=free)
        for answer in explain_all(policy, model, np.array(state)):
            assert answer.status in (pf.Status.PROVEN_CLOSEST, pf.Status.PROVEN_INFEASIBLE)


def test_a_dict_observation_may_have_no_command() -> None:
    parts = spaces.Dict({"sensor": BOX, "mode": spaces.Discrete(3)})
    model = model_of("PPO", parts, policy="MultiInputPolicy")
    policy = pf.from_sb3(model, {"sensor": np.zeros(3, dtype=np.float32), "mode": 1}, free=["sensor 1"])
    assert policy.space.names == ["sensor 1"]


def test_a_normalised_model_is_explained_in_the_units_of_its_environment() -> None:
    envs = VecNormalize(DummyVecEnv([lambda: Blank(BOX, PAIR)]))
    envs.obs_rms.mean, envs.obs_rms.var = np.array([0.5, 0.0, 0.0]), np.array([0.01, 1.0, 1.0])
    model = sb3.PPO("MlpPolicy", envs, seed=0, device="cpu")
    policy = pf.from_sb3(model, free=[0])
    assert policy.is_white_box
    state = np.array([0.45, 0.1, 0.2], dtype=np.float32)
    logits = policy.log_probs(state[None], np.array([[0.6]]))
    normal = torch.tensor(envs.normalize_obs(np.array([[0.6, 0.1, 0.2]])), dtype=torch.float32)
    expected = model.policy.get_distribution(normal).distribution.logits.detach().numpy()
    assert logits == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("actions", [spaces.MultiDiscrete([3, 2]), spaces.MultiBinary(2)])
def test_actions_of_several_dimensions_are_explained_one_at_a_time(actions: Any) -> None:
    model = model_of("PPO", BOX, actions)
    with torch.no_grad():
        model.policy.action_net.weight.mul_(100)
    state = np.array([0.1, -0.4, 0.3], dtype=np.float32)
    for dimension, chosen in enumerate(model.predict(state, deterministic=True)[0]):
        policy = pf.from_sb3(model, free=[0, 1, 2], dimension=dimension)
        answer = pf.explain(policy, state=state, foil=int(not chosen))
        assert answer.status in (pf.Status.PROVEN_CLOSEST, pf.Status.PROVEN_INFEASIBLE)
        if answer.command is not None:
            told = model.predict(answer.command.astype(np.float32), deterministic=True)[0]
            assert told[dimension] == int(not chosen)
    with pytest.raises(pf.InvalidInput, match=r"dimension=... from 0 to 1"):
        pf.from_sb3(model, free=[0, 1])
    with pytest.raises(pf.InvalidInput, match="only for MultiDiscrete"):
        pf.from_sb3(model_of("PPO", BOX), free=[0, 1], dimension=0)


def test_continuous_actions_are_explained_by_features() -> None:
    model = model_of("PPO", BOX, spaces.Box(-1.0, 1.0, (1,), np.float32))
    with torch.no_grad():
        model.policy.action_net.weight.mul_(100)
    policy = pf.from_sb3(model, free=[0, 1])
    state = np.array([0.1, -0.4, 0.3], dtype=np.float32)
    now = float(model.predict(state, deterministic=True)[0][0])
    answer = pf.explain(policy, state=state, foil=pf.more("action 0", 0.1) if now < 0 else pf.less("action 0", 0.1))
    assert answer.status is pf.Status.PROVEN_CLOSEST
    assert str(answer).startswith("Had observation ")
