"""Models of Stable-Baselines3 as policies whose command is a part of a Dict observation, or free features."""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium import spaces

from paretofoil.core.errors import InvalidInput, as_whole, did_you_mean

try:
    import torch
    from torch import Tensor, nn
except ImportError:
    raise InvalidInput.missing("torch", "sb3") from None

from paretofoil.agents.torch_policy import Outputs, TorchActor, TorchPolicy, as_torch_policy
from paretofoil.core.amounts import ActionSpace
from paretofoil.core.command import CommandSpace, as_vector
from paretofoil.core.feature import Feature, Features, name_numbers, read_features
from paretofoil.envs.observations import find_observations

WHOLE = "observation"
"""The name of the only part of an observation that is not a Dict."""


def from_sb3(
    model: Any,
    observation: Any = None,
    space: CommandSpace | None = None,
    *,
    command: str | None = "desired_goal",
    actions: ActionSpace | None = None,
    free: Sequence[str | int | Feature] | None = None,
    constraints: Sequence[str] = (),
    environment: str | None = None,
    dimension: int | None = None,
) -> TorchPolicy | TorchActor:
    """Return a model of Stable-Baselines3 as a policy. It is white-box if its networks are supported.

    PPO, A2C, DQN, SAC, TD3 and DDPG are supported, and MaskablePPO, TRPO, QR-DQN and TQC of sb3-contrib.

    The state is the observation without the command; `policy.module.split(observation)` returns both.

    Args:
        model: a model. The normalisation of a `VecNormalize` around its environment is included.
        observation: an observation of the environment, not normalised, for a test of the model; by default a random
            observation of the observation space.
        space: the range of commands; by default the bounds of the command in the observation space.
        command: the part of a Dict observation that is the command.
        actions: names and units of continuous actions; by default "action 0" and so on.
        free: features of the state that may change: names ("pole angle"), indices into the observation, or
            `pf.Feature(name, index, low, high)`. The command of a Dict observation may change as well, unless
            command=None.
        constraints: linear constraints on the free numbers: "a <= b", "a + 2 b <= 10".
        environment: the id of the environment, for the names of its features; by default that of the model.
        dimension: the dimension of MultiDiscrete or MultiBinary actions that is explained, counted from 0.
    """
    outputs = _outputs(model, dimension)
    command = command if isinstance(model.observation_space, spaces.Dict) else None
    if command not in getattr(model.observation_space, "spaces", {}) and command == "desired_goal" and free is not None:
        command = None  # the default
    if free is None or command is not None:
        _check_command(model.observation_space, command)
    network = (Sb3Network if outputs else Sb3Actor)(model, command, dimension)
    is_random = observation is None
    if is_random:
        random = copy.deepcopy(model.observation_space)
        random.seed(0)
        observation = random.sample()
    state, issued = network.split(observation)
    if command is not None:
        space = space or _space(model.observation_space[command], command)
    elif space is not None:
        raise InvalidInput.expected("no space=..., because the observation has no command", repr(space))
    features = None
    if free is not None:
        features = _features(model, network, free, space, constraints, environment)
        features = replace(features, example=None if is_random else np.array(state, dtype=np.float64))
    if outputs and actions is not None:
        raise InvalidInput.expected("actions=... only for a model with continuous actions", repr(actions))
    own_actions = None if outputs else _action_space(model, actions)
    policy: TorchPolicy | TorchActor = as_torch_policy(
        network, state, space, features, outputs=outputs, actions=own_actions
    )
    _check_predictions(policy, network, model, state, issued)
    return policy


def _features(
    model: Any,
    network: "Sb3Network",
    free: Any,
    space: CommandSpace | None,
    constraints: Sequence[str],
    environment: str | None,
) -> Features:
    """Return the free numbers of a model."""
    names, low, high, whole = network.numbers()
    observations = find_observations(environment or _environment(model))
    if observations is not None and observations.size != len(names):  # of another environment, or wrapped
        observations = None
    if environment is not None and observations is None:
        expected = f"an environment with {len(names)} numbers in its observation, whose features have known names"
        raise InvalidInput.expected(expected, repr(environment))
    try:
        given = read_features(free, observations.features if observations else (), names)
    except InvalidInput as error:
        if observations is not None or _environment(model) is not None:
            raise
        raise InvalidInput(
            f"{error}; the model has no environment: pass environment=ID, such as environment='CartPole-v1'"
        ) from None
    features = []
    for feature in given:
        if feature.low is None and feature.high is None:
            i, factor = feature.place, feature.factors[feature.place]
            ends = sorted((low[i] / factor, high[i] / factor))
            if np.isfinite(ends).all():
                feature = replace(feature, low=ends[0], high=ends[1], whole=feature.whole or whole[i])
        features.append(feature)
    words: dict[str, Any] = {"names": tuple(name_numbers(names, observations.features if observations else ()))}
    if (
        observations
        and isinstance(model.action_space, spaces.Discrete)
        and len(observations.actions) == model.action_space.n
    ):
        words |= {"actions": observations.actions, "phrases": observations.phrases}
    return Features(tuple(features), len(names), space, tuple(constraints), **words)


def _environment(model: Any) -> str | None:
    """Return the id of the environment of a model; None if it has none."""
    environments = model.get_env()
    spec = None if environments is None else environments.get_attr("spec")[0]
    return None if spec is None else spec.id


class Sb3Network(nn.Module):
    """The logits or Q-values of a model of Stable-Baselines3, as a function of states and, if any, commands."""

    def __init__(self, model: Any, command: str | None, dimension: int | None = None) -> None:
        super().__init__()
        self.policy, self.command = model.policy, command
        whole: spaces.Space = model.observation_space
        self.is_dict = isinstance(whole, spaces.Dict)
        self.parts: dict[str, spaces.Space] = dict(whole.spaces) if isinstance(whole, spaces.Dict) else {WHOLE: whole}
        self.rest = [name for name in self.parts if name != command]
        self.normals = _normals(model)
        self.choice = None if dimension is None else _choice(model.action_space, dimension)
        self.policy.set_training_mode(False)  # as `predict` does

    def forward(self, states: Tensor, commands: Tensor | None = None) -> Any:
        scores = self.scores(self.preprocess(self.join(states, commands)))
        return scores if self.choice is None else scores @ self.choice.to(scores.device, scores.dtype)

    def join(self, states: Tensor, commands: Tensor | None = None) -> Any:
        """Return the observations (N, ...) of states (N, state size) and commands (N, d)."""
        sizes = [_size(self.parts[name]) for name in self.rest]
        parts = torch.split(states, sizes, dim=1) if len(sizes) > 1 else (states,)
        flat: dict[str, Any] = dict(zip(self.rest, parts, strict=True))
        if self.command is not None:
            flat[self.command] = commands
        whole = {name: flat[name].reshape(-1, *(part.shape or ())) for name, part in self.parts.items()}
        return whole if self.is_dict else whole[WHOLE]

    def preprocess(self, observation: Any) -> Any:
        """Return the observation as normalised by `VecNormalize`, if there is one."""
        named = observation if self.is_dict else {WHOLE: observation}
        normal = {
            name: torch.clamp((named[name] - mean) / scale, -most, most)
            for name, (mean, scale, most) in self.normals.items()
        }
        return named | normal if self.is_dict else (named | normal)[WHOLE]

    def scores(self, observation: Any) -> Any:
        """Return the scores of the policy's distribution. The distribution itself cannot be recorded."""
        if hasattr(self.policy, "q_net"):
            return self.policy.q_net(observation)
        if hasattr(self.policy, "quantile_net"):  # QR-DQN chooses by the mean of its quantiles
            return self.policy.quantile_net(observation).mean(dim=1)
        from stable_baselines3.common.policies import BasePolicy

        features = BasePolicy.extract_features(self.policy, observation, self.policy.pi_features_extractor)
        return self.policy.action_net(self.policy.mlp_extractor.forward_actor(features))

    def split(self, observation: Any) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the state and the command in an observation of the environment; the command may be None."""
        if self.is_dict and (not isinstance(observation, Mapping) or set(observation) != set(self.parts)):
            got = ", ".join(map(str, observation)) if isinstance(observation, Mapping) else type(observation).__name__
            raise InvalidInput.expected(f"an observation with the parts {', '.join(self.parts)}", got)
        try:
            tensors, _ = self.policy.obs_to_tensor(dict(observation) if self.is_dict else np.asarray(observation))
        except (TypeError, ValueError) as error:  # images become channels first
            raise InvalidInput.expected("an observation of the model's environment", error) from None
        named = tensors if self.is_dict else {WHOLE: tensors}
        if any(len(tensor) != 1 for tensor in named.values()):
            raise InvalidInput.expected("one observation", f"a batch of {max(map(len, named.values()))}")
        flat = {name: tensor.reshape(-1).cpu().numpy().astype(np.float32) for name, tensor in named.items()}
        state = as_vector(np.concatenate([flat[name] for name in self.rest]), "the state in the observation")
        issued = None if self.command is None else as_vector(flat[self.command], "the command in the observation")
        return state.astype(np.float32), issued

    def numbers(self) -> tuple[list[str], list[float], list[float], list[bool]]:
        """Return the names of the state's entries, their lowest and highest values, and which are whole."""
        names: list[str] = []
        ends: list[tuple[float, float]] = []
        whole: list[bool] = []
        for name in self.rest:
            part: Any = self.parts[name]
            size = _size(part)
            names += [f"{name} {i}" for i in range(size)] if size > 1 else [name]
            if isinstance(part, spaces.Box):
                low, high = np.ravel(part.low), np.ravel(part.high)
            else:
                low = np.full(size, part.start if isinstance(part, spaces.Discrete) else 0)
                high = low + np.ravel(part.n if isinstance(part, spaces.Discrete) else getattr(part, "nvec", 2)) - 1
            ends += zip(low.astype(float).tolist(), high.astype(float).tolist(), strict=True)
            whole += [not np.issubdtype(part.dtype, np.floating)] * size
        return names, *map(list, zip(*ends, strict=True)), whole  # type: ignore[return-value]


def _size(part: spaces.Space) -> int:
    return math.prod(part.shape or ())


def _choice(action_space: Any, dimension: int) -> Tensor:
    """Return the matrix that selects the scores of one dimension of the actions."""
    if isinstance(action_space, spaces.MultiBinary):  # its scores are the logits of 1; those of 0 are 0
        matrix = torch.zeros(_size(action_space), 2)
        matrix[dimension, 1] = 1.0
        return matrix
    sizes = [int(count) for count in action_space.nvec]
    start = sum(sizes[:dimension])
    return torch.eye(sum(sizes))[:, start : start + sizes[dimension]]


def _normals(model: Any) -> dict[str, tuple[Tensor, Tensor, float]]:
    """Return the current mean, scale and clipping bound of `VecNormalize`, by part of the observation."""
    wrapper = model.get_vec_normalize_env()
    if wrapper is None or not wrapper.norm_obs:
        return {}

    def tensor(values: np.ndarray) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=model.device)

    statistics = {WHOLE: wrapper.obs_rms}
    if isinstance(wrapper.obs_rms, dict):
        statistics = {name: wrapper.obs_rms[name] for name in wrapper.norm_obs_keys}
    return {
        name: (tensor(rms.mean), tensor(np.sqrt(rms.var + wrapper.epsilon)), wrapper.clip_obs)
        for name, rms in statistics.items()
    }


def _outputs(model: Any, dimension: int | None) -> Outputs | None:
    """Return the kind of the scores of a supported model; None for continuous actions."""
    try:
        from stable_baselines3.common.base_class import BaseAlgorithm
    except ImportError:
        raise InvalidInput.missing("stable-baselines3", "sb3") from None
    if not isinstance(model, BaseAlgorithm):
        raise InvalidInput.expected(
            "a model of Stable-Baselines3 (load a file with PPO.load(file))", type(model).__name__
        )
    policy, box = model.policy, isinstance(model.action_space, spaces.Box)
    expected = "PPO, A2C, DQN, MaskablePPO, TRPO or QR-DQN with discrete actions"
    expected = "SAC, TD3, DDPG, TQC, PPO, A2C or TRPO with continuous actions" if box else expected
    kind = f"{type(model).__name__} with {type(policy).__name__}"
    if hasattr(policy, "lstm_actor"):
        advice = "which is recurrent; fix its hidden state in a torch module, and pass this module to pf.from_torch"
        raise InvalidInput.expected(expected, f"{kind}, {advice}")
    values = hasattr(policy, "q_net") or hasattr(policy, "quantile_net")
    if not (values or hasattr(policy, "action_net") or (box and hasattr(policy, "actor"))):
        raise InvalidInput.expected(expected, f"{kind} and the action space {model.action_space}")
    several = isinstance(model.action_space, spaces.MultiDiscrete | spaces.MultiBinary)
    if several:
        count = _size(model.action_space)
        expected = f"dimension=... from 0 to {count - 1}, because {model.action_space} has several dimensions"
        if dimension is None or not 0 <= as_whole(dimension, expected) < count:
            raise InvalidInput.expected(expected, dimension)
    elif dimension is not None:
        got = f"dimension={dimension!r} for {model.action_space}"
        raise InvalidInput.expected("dimension=... only for MultiDiscrete or MultiBinary actions", got)
    if box:
        return None
    return "q-values" if values else "logits"


def _check_command(space: spaces.Space, command: str | None) -> None:
    if not isinstance(space, spaces.Dict):
        expected = "free=[...], features that may change, or a model whose observation is a Dict with a command"
        raise InvalidInput.expected(expected, space)
    if command not in space.spaces:
        expected = f"a command among {', '.join(space.spaces)}, or free=[...], features that may change"
        raise InvalidInput.expected(expected, did_you_mean(command, list(space)))
    part = space[command]
    if not isinstance(part, spaces.Box) or not np.issubdtype(part.dtype, np.floating):
        raise InvalidInput.expected("a command of real numbers (a Box of floats)", part)


def _space(part: Any, command: str) -> CommandSpace:
    low, high = np.ravel(part.low).astype(float), np.ravel(part.high).astype(float)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise InvalidInput.expected("space=..., because the command has no bounds in the observation space", part)
    return CommandSpace(low, high, [f"{command} {i}" for i in range(len(low))] if len(low) > 1 else [command])


def _check_predictions(
    policy: TorchPolicy | TorchActor, network: Sb3Network, model: Any, state: np.ndarray, command: np.ndarray | None
) -> None:
    """Raise an error if `predict` of the model and its network give different actions."""
    rows = policy.rows if isinstance(policy, TorchActor) else policy
    issued = None if command is None else rows.tensor(command[None])
    observation = network.preprocess(network.join(rows.tensor(state[None]), issued))
    named = {name: part.cpu().numpy() for name, part in observation.items()} if network.is_dict else None
    chosen = np.ravel(model.predict(observation.cpu().numpy() if named is None else named, deterministic=True)[0])
    numbers: Any = command if rows.features is None else rows.features.complete(state, command)
    if isinstance(policy, TorchActor):
        [amounts], space = policy.amounts(state[None], numbers[None]), policy.actions
        ours = np.clip(amounts, np.ravel(model.action_space.low), np.ravel(model.action_space.high))
        if not (np.abs(chosen - ours) <= 1e-4 * (space.high - space.low)).all():
            got = f"{chosen} from predict() and {ours} from the network"
            raise InvalidInput.expected("a model whose predict() agrees with its network", got)
    elif network.choice is None:  # not one of several dimensions
        best = policy.log_probs(state[None], numbers[None])[0].argmax()
        if chosen[0] != best:
            got = f"one that chooses action {chosen[0]}, not {best}"
            raise InvalidInput.expected("a model that chooses by its logits or Q-values", got)


class Sb3Actor(Sb3Network):
    """The actions of a model of Stable-Baselines3 with continuous actions, before they are clipped."""

    def __init__(self, model: Any, command: str | None, dimension: int | None = None) -> None:
        super().__init__(model, command, dimension)
        box = model.action_space
        self.low, self.high = (torch.tensor(side, device=model.device).reshape(-1) for side in (box.low, box.high))

    def scores(self, observation: Any) -> Any:
        """Return the actions that the model predicts: the mean of its distribution, in the units of the environment."""
        from stable_baselines3.common.policies import BasePolicy

        if hasattr(self.policy, "actor"):
            actor = self.policy.actor
            features = BasePolicy.extract_features(actor, observation, actor.features_extractor)
            # SAC squashes the mean of a Gaussian; the network of TD3 and DDPG ends with a tanh.
            squashes = hasattr(actor, "latent_pi")
            mean = torch.tanh(actor.mu(actor.latent_pi(features))) if squashes else actor.mu(features)
        else:
            mean = super().scores(observation)
            mean = torch.tanh(mean) if self.policy.squash_output else mean
        return self.low + 0.5 * (mean + 1.0) * (self.high - self.low) if self.policy.squash_output else mean


def _action_space(model: Any, actions: ActionSpace | None) -> ActionSpace:
    """Return the space of a model's continuous actions, with the names of `actions`."""
    box = model.action_space
    low, high = np.ravel(box.low).astype(float), np.ravel(box.high).astype(float)
    if actions is None:
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InvalidInput.expected("actions=ActionSpace(...), because the actions have no bounds", box)
        return ActionSpace([f"action {i}" for i in range(len(low))], [], low, high)
    if not isinstance(actions, ActionSpace):
        raise InvalidInput.expected("actions=ActionSpace(names, units, low, high)", repr(actions))
    if actions.dim != len(low) or not all(
        (np.isclose(ours, its) | np.isinf(its)).all() for ours, its in ((actions.low, low), (actions.high, high))
    ):
        raise InvalidInput.expected(f"actions with the bounds of the model's action space, {box}", repr(actions))
    return actions
