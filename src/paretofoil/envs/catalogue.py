"""The one catalogue of environments. It imports Gymnasium and its likes only when an environment is made."""

import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from paretofoil.core.command import Objective
from paretofoil.core.errors import InvalidInput, did_you_mean
from paretofoil.envs.catalogue_entry import CatalogueEntry
from paretofoil.envs.permission import allow_module_of, check_allowed
from paretofoil.envs.shipped import SHIPPED

if TYPE_CHECKING:
    import gymnasium

_entries: dict[str, CatalogueEntry] = {}


def register(new: CatalogueEntry) -> CatalogueEntry:
    """Add an environment under its name; a name is given once. The module that its id names is then allowed."""
    if new.name in _entries:
        raise InvalidInput.expected("a name that is not in the catalogue yet", repr(new.name))
    allow_module_of(new.gym_id)
    _entries[new.name] = new
    return new


for _shipped in SHIPPED:
    register(_shipped)


def names() -> list[str]:
    """The names of all environments, the paper's first."""
    return list(_entries)


def entry(name: str | CatalogueEntry) -> CatalogueEntry:
    """The entry of that name (an entry is its own entry, so that both can be passed everywhere)."""
    if isinstance(name, CatalogueEntry):
        return name
    if name in _entries:
        return _entries[name]
    raise InvalidInput.expected(f"an environment among {', '.join(_entries)}", did_you_mean(name, _entries))


def make_raw(name: str | CatalogueEntry, render_mode: str | None = None) -> "gymnasium.Env":
    """The Gymnasium environment as its authors made it, with the catalogue's step limit."""
    item = entry(name)
    drawing = {} if render_mode is None else {"render_mode": render_mode}  # not every environment takes it
    return _make_gymnasium(item.gym_id, max_episode_steps=item.max_steps, **drawing, **item.kwargs)


def _make_gymnasium(gym_id: str, **kwargs: Any) -> "gymnasium.Env":
    import gymnasium

    check_allowed(gym_id, kwargs)
    # pygame greets on import, and looks for a screen and a sound card that a server does not have.
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
    if kwargs.get("render_mode") != "human":
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    with warnings.catch_warnings():
        # MO-Gymnasium states some bounds in float64 for float32 spaces: nothing that a user could act on.
        warnings.filterwarnings("ignore", message=".*precision lowered by casting to float32.*")
        try:
            # Gymnasium's passive checker is left out, as in MO-Gymnasium: it expects scalar rewards.
            return gymnasium.make(gym_id, disable_env_checker=True, **kwargs)
        except (gymnasium.error.Error, ModuleNotFoundError) as error:
            raise InvalidInput.expected("the id of a Gymnasium environment", f"{gym_id!r} ({error})") from None


def make(name: str | CatalogueEntry, render_mode: str | None = None) -> "gymnasium.Env":
    """One environment with flat float32 observations, vector rewards, action masks and strict errors."""
    from paretofoil.envs.wrapper import Catalogued

    return Catalogued(make_raw(name, render_mode), entry(name))


def describe(gym_id: str, *, name: str | None = None, max_steps: int | None = None, **kwargs: Any) -> CatalogueEntry:
    """An entry for any Gymnasium environment with a vector `reward_space` and discrete actions.

    Objectives and actions get numbers as names, observations are flattened. Use `dataclasses.replace` to
    say more about it, and `register` to give it a place in the catalogue.
    """
    from gymnasium.spaces import Discrete, utils

    env = _make_gymnasium(gym_id, **kwargs)
    rewards = getattr(env.unwrapped, "reward_space", None)
    if rewards is None or len(rewards.shape) != 1:
        raise InvalidInput.expected(f"{gym_id} to have a vector reward_space, as MO-Gymnasium's have", rewards)
    if not isinstance(env.action_space, Discrete) or env.action_space.start != 0:
        raise InvalidInput.expected(f"{gym_id} to have discrete actions that start at 0", env.action_space)
    space = env.observation_space
    if not space.is_np_flattenable:
        raise InvalidInput.expected(f"{gym_id} to have observations that can be flattened", space)
    limit = max_steps or (env.spec.max_episode_steps if env.spec else None)
    if limit is None:
        raise InvalidInput.expected(f"max_steps=..., because {gym_id} has no step limit of its own", "none")
    env.close()

    def encode(observation: Any) -> np.ndarray:
        return np.asarray(utils.flatten(space, observation), dtype=np.float32)

    return CatalogueEntry(
        name=name or gym_id,
        gym_id=gym_id,
        kwargs=kwargs,
        objectives=tuple(Objective(f"objective {i}") for i in range(rewards.shape[0])),
        actions=tuple(f"action {i}" for i in range(int(env.action_space.n))),
        max_steps=limit,
        stochastic=True,  # unknown, and the safe assumption
        observation_size=utils.flatdim(space),
        encode=encode,
        description=f"The Gymnasium environment {gym_id}.",
    )
