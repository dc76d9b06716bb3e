"""Models of Stable-Baselines3 with a Dict observation, one part of which is the command."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium import spaces

from paretofoil.core.errors import InvalidInput, did_you_mean

try:
    import torch
    from torch import Tensor, nn
except ImportError:
    raise InvalidInput.missing("torch", "sb3") from None

from paretofoil.agents.torch_policy import Outputs, TorchActor, TorchPolicy, from_torch
from paretofoil.core.amounts import ActionSpace
from paretofoil.core.command import CommandSpace, as_vector


def from_sb3(
    model: Any,
    observation: Mapping[str, Any],
    space: CommandSpace | None = None,
    *,
    command: str = "desired_goal",
    actions: ActionSpace | None = None,
) -> TorchPolicy | TorchActor:
    """Return a model of Stable-Baselines3 (PPO, A2C or DQN) as a policy. It is white-box if its networks are supported.

    Of sb3-contrib, MaskablePPO, TRPO and QR-DQN are supported as well.

    The state is the observation without the command; `policy.module.split(observation)` returns both.

    Args:
        model: a model with discrete actions and a Dict observation ("MultiInputPolicy"). The normalisation of a
            `VecNormalize` around its environment is included.
        observation: an observation of the environment, not normalised, on which the model is tested.
        space: the range of commands; the bounds of the command in the observation space if not given.
        command: the part of the observation that is the command.
        actions: names and units of continuous actions (SAC, TD3, DDPG, PPO, A2C); "action 0" and so on if not given.
    """
    if isinstance(getattr(model, "action_space", None), spaces.Box):
        return _from_continuous(model, observation, space, command, actions)
    if actions is not None:
        raise InvalidInput.expected("actions=... only for a model with continuous actions", repr(actions))
    outputs = _outputs(model)
    _check_command(model.observation_space, command)
    network = Sb3Network(model, command)
    state, issued = network.split(observation)
    policy = from_torch(network, state, space or _space(model.observation_space[command], command), outputs=outputs)
    _check_choice(policy, model, state, issued)
    return policy


class Sb3Network(nn.Module):
    """The logits or Q-values of a model of Stable-Baselines3, as a module of states and commands."""

    def __init__(self, model: Any, command: str) -> None:
        super().__init__()
        self.policy, self.command = model.policy, command
        self.parts: dict[str, spaces.Space] = dict(model.observation_space.spaces)
        self.rest = [name for name in self.parts if name != command]
        self.normals = _normals(model)
        self.policy.set_training_mode(False)  # as `predict` does

    def forward(self, states: Tensor, commands: Tensor) -> Any:
        return self.scores(self.preprocess(self.join(states, commands)))

    def join(self, states: Tensor, commands: Tensor) -> dict[str, Tensor]:
        """Return the observations (N, ...) of states (N, state size) and commands (N, d)."""
        sizes = [math.prod(self.parts[name].shape or ()) for name in self.rest]
        flat = dict(zip(self.rest, torch.split(states, sizes, dim=1), strict=True))
        flat[self.command] = commands
        return {name: flat[name].reshape(-1, *(part.shape or ())) for name, part in self.parts.items()}

    def preprocess(self, observation: dict[str, Tensor]) -> dict[str, Tensor]:
        """Return the observation as normalised by `VecNormalize`, if there is one."""
        normal = {
            name: torch.clamp((observation[name] - mean) / scale, -most, most)
            for name, (mean, scale, most) in self.normals.items()
        }
        return observation | normal

    def scores(self, observation: dict[str, Tensor]) -> Any:
        """Return the scores before they become a distribution, which cannot be recorded."""
        if hasattr(self.policy, "q_net"):
            return self.policy.q_net(observation)
        if hasattr(self.policy, "quantile_net"):  # QR-DQN chooses by the mean of its quantiles
            return self.policy.quantile_net(observation).mean(dim=1)
        from stable_baselines3.common.policies import BasePolicy

        features = BasePolicy.extract_features(self.policy, observation, self.policy.pi_features_extractor)
        return self.policy.action_net(self.policy.mlp_extractor.forward_actor(features))

    def split(self, observation: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
        """Return the state and the command of an observation of the environment."""
        if not isinstance(observation, Mapping) or set(observation) != set(self.parts):
            got = ", ".join(map(str, observation)) if isinstance(observation, Mapping) else type(observation).__name__
            raise InvalidInput.expected(f"an observation with the parts {', '.join(self.parts)}", got)
        try:
            tensors, _ = self.policy.obs_to_tensor(dict(observation))  # images become channels first
        except (TypeError, ValueError) as error:
            raise InvalidInput.expected("an observation of the model's environment", error) from None
        if any(len(tensor) != 1 for tensor in tensors.values()):
            raise InvalidInput.expected("one observation", f"a batch of {max(map(len, tensors.values()))}")
        flat = {name: tensor.reshape(-1).cpu().numpy().astype(np.float32) for name, tensor in tensors.items()}
        state = as_vector(np.concatenate([flat[name] for name in self.rest]), "the state in the observation")
        return state.astype(np.float32), as_vector(flat[self.command], "the command in the observation")


def _normals(model: Any) -> dict[str, tuple[Tensor, Tensor, float]]:
    """Return the current mean, scale and clipping bound of `VecNormalize`, by part of the observation."""
    wrapper = model.get_vec_normalize_env()
    if wrapper is None or not wrapper.norm_obs:
        return {}

    def tensor(values: np.ndarray) -> Tensor:
        return torch.tensor(values, dtype=torch.float32, device=model.device)

    statistics = {name: wrapper.obs_rms[name] for name in wrapper.norm_obs_keys}
    return {
        name: (tensor(rms.mean), tensor(np.sqrt(rms.var + wrapper.epsilon)), wrapper.clip_obs)
        for name, rms in statistics.items()
    }


def _outputs(model: Any) -> Outputs:
    """Return the kind of the scores of a supported model."""
    try:
        from stable_baselines3.common.base_class import BaseAlgorithm
    except ImportError:
        raise InvalidInput.missing("stable-baselines3", "sb3") from None
    if not isinstance(model, BaseAlgorithm):
        raise InvalidInput.expected("a model of Stable-Baselines3", type(model).__name__)
    policy, expected = model.policy, "PPO, A2C, DQN, MaskablePPO, TRPO or QR-DQN with discrete actions"
    kind = f"{type(model).__name__} with {type(policy).__name__}"
    if hasattr(policy, "lstm_actor"):
        advice = "which remembers earlier observations; wrap its network, with a fixed memory, for pf.from_torch"
        raise InvalidInput.expected(expected, f"{kind}, {advice}")
    values = hasattr(policy, "q_net") or hasattr(policy, "quantile_net")
    if not isinstance(model.action_space, spaces.Discrete) or not (values or hasattr(policy, "action_net")):
        raise InvalidInput.expected(expected, f"{kind} and {model.action_space}")
    return "q-values" if values else "logits"


def _check_command(space: spaces.Space, command: str) -> None:
    if not isinstance(space, spaces.Dict):
        raise InvalidInput.expected("a model whose observation is a Dict", space)
    if command not in space.spaces:
        raise InvalidInput.expected(f"a command among {', '.join(space.spaces)}", did_you_mean(command, list(space)))
    part = space[command]
    if not isinstance(part, spaces.Box) or not np.issubdtype(part.dtype, np.floating):
        raise InvalidInput.expected("a command of real numbers (a Box of floats)", part)


def _space(part: Any, command: str) -> CommandSpace:
    low, high = np.ravel(part.low).astype(float), np.ravel(part.high).astype(float)
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise InvalidInput.expected("space=..., because the command has no bounds in the observation space", part)
    return CommandSpace(low, high, [f"{command} {i}" for i in range(len(low))] if len(low) > 1 else [command])


def _check_choice(policy: TorchPolicy, model: Any, state: np.ndarray, command: np.ndarray) -> None:
    """Raise an error if the model does not choose the action with the best score, as a recurrent policy may."""
    network: Any = policy.module
    observation = network.preprocess(network.join(policy.tensor(state[None]), policy.tensor(command[None])))
    [chosen], _ = model.predict({name: part.cpu().numpy() for name, part in observation.items()}, deterministic=True)
    best = policy.log_probs(state[None], command[None])[0].argmax()
    if chosen != best:
        got = f"one that chooses action {chosen}, not {best}"
        raise InvalidInput.expected("a model that chooses by its logits or Q-values", got)


class Sb3Actor(Sb3Network):
    """The actions of a model of Stable-Baselines3 with continuous actions, before they are clipped."""

    def __init__(self, model: Any, command: str) -> None:
        super().__init__(model, command)
        box = model.action_space
        self.low, self.high = (torch.tensor(side, device=model.device).reshape(-1) for side in (box.low, box.high))

    def scores(self, observation: dict[str, Tensor]) -> Any:
        """Return the actions that the model predicts: the mean of its distribution, in the units of the environment."""
        from stable_baselines3.common.policies import BasePolicy

        if hasattr(self.policy, "actor"):
            actor = self.policy.actor
            features = BasePolicy.extract_features(actor, observation, actor.features_extractor)
            # SAC squashes the mean of a Gaussian; the network of TD3 and DDPG ends with a tanh.
            squashes = hasattr(actor, "latent_pi")
            mean = torch.tanh(actor.mu(actor.latent_pi(features))) if squashes else actor.mu(features)
        else:
            features = BasePolicy.extract_features(self.policy, observation, self.policy.pi_features_extractor)
            mean = self.policy.action_net(self.policy.mlp_extractor.forward_actor(features))
            mean = torch.tanh(mean) if self.policy.squash_output else mean
        return self.low + 0.5 * (mean + 1.0) * (self.high - self.low) if self.policy.squash_output else mean


def _from_continuous(
    model: Any, observation: Mapping[str, Any], space: CommandSpace | None, command: str, actions: ActionSpace | None
) -> TorchActor:
    policy, box = getattr(model, "policy", None), model.action_space
    if hasattr(policy, "lstm_actor") or not (hasattr(policy, "actor") or hasattr(policy, "action_net")):
        got = f"{type(model).__name__} with {type(policy).__name__}"
        raise InvalidInput.expected("SAC, TD3, DDPG, PPO or A2C with continuous actions", got)
    _check_command(model.observation_space, command)
    network = Sb3Actor(model, command)
    state, issued = network.split(observation)
    low, high = np.ravel(box.low).astype(float), np.ravel(box.high).astype(float)
    if actions is None:
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InvalidInput.expected("actions=ActionSpace(...), because the actions have no bounds", box)
        actions = ActionSpace([f"action {i}" for i in range(len(low))], [], low, high)
    elif actions.dim != len(low) or not all(
        (np.isclose(ours, its) | np.isinf(its)).all() for ours, its in ((actions.low, low), (actions.high, high))
    ):
        raise InvalidInput.expected(f"an action space with the bounds of the model's, {box}", repr(actions))
    space = space or _space(model.observation_space[command], command)
    actor = from_torch(network, state, space, actions=actions)
    _check_amounts(actor, model, state, issued)
    return actor


def _check_amounts(actor: TorchActor, model: Any, state: np.ndarray, command: np.ndarray) -> None:
    """Raise an error if the model predicts other actions than its network, as with a memory."""
    network, rows = actor.module, actor.rows
    observation = network.preprocess(network.join(rows.tensor(state[None]), rows.tensor(command[None])))  # type: ignore[operator]
    chosen, _ = model.predict({name: part.cpu().numpy() for name, part in observation.items()}, deterministic=True)
    [amounts], box = actor.amounts(state[None], command[None]), model.action_space
    ours = np.clip(amounts, np.ravel(box.low), np.ravel(box.high))
    if not (np.abs(np.ravel(chosen) - ours) <= 1e-4 * (actor.actions.high - actor.actions.low)).all():
        got = f"{np.ravel(chosen)}, not {ours}"
        raise InvalidInput.expected("a model that predicts what its network computes", got)
