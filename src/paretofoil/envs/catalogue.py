"""The catalogue of environments: the description of each, and how to create it."""

import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np

from paretofoil.core.amounts import ActionSpace
from paretofoil.core.command import Objective, as_vector
from paretofoil.core.errors import InvalidInput, did_you_mean

if TYPE_CHECKING:
    from paretofoil.envs.batch import BatchEnv


Bounds = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""Flat observations (N, S) -> lowest and highest amounts (N, dimensions) that can be carried out there."""


@dataclass(frozen=True, eq=False)
class CatalogueEntry:
    """The description of an environment: names, step limit, encoding of observations, valid actions, pictures."""

    name: str
    """The short name, such as "deep-sea-treasure"."""
    gym_id: str
    """The Gymnasium id. "module:id" imports the module when the environment is made."""
    objectives: tuple[Objective, ...]
    """One objective for each component of the reward."""
    actions: tuple[str, ...]
    """The name of each action, in lower case; if actions are continuous, of each dimension."""
    max_steps: int
    """The step limit of an episode."""
    observation_size: int
    """The length of the vector that `encode` returns."""
    encode: Callable[[Any], np.ndarray]
    """Raw observation -> flat float32 vector, which identifies the state."""
    description: str = ""
    """One sentence."""
    phrases: tuple[str, ...] = ()
    """The past participle of each action for sentences, such as "gone down". The default is "chosen NAME"."""
    action_space: ActionSpace | None = None
    """The space of continuous actions, with the names and phrases of `actions`; None if actions are discrete."""
    bounds: Bounds | None = None
    """The amounts that can be carried out, if they depend on the state. Other amounts are clipped to them."""
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of the environment's constructor."""
    stochastic: bool = False
    """Whether a step may have different outcomes."""
    start_seed: int | None = None
    """The seed of every episode, if the catalogue fixes a start that the environment would draw at random."""
    real_returns: bool = False
    """Whether returns are real numbers, so that hardly any two episodes have equal returns. As with continuous actions,
    a command counts as reached if the return is within 1 % of each objective's range."""
    mask: Callable[[Any], np.ndarray] | None = None
    """Unwrapped environment -> valid actions. The default is its own `action_masks()`, or all actions."""
    idle: int | None = None
    """The action that does nothing, if the state also changes without actions. Invalid actions must act like it."""
    requires: str = ""
    """The extra of this package that the environment needs in addition to `mo-gymnasium`, such as "box2d"."""
    reference: tuple[float, ...] | None = None
    """The reference point of the hypervolume: worse than every return that matters."""
    paper_box: tuple[tuple[float, ...], tuple[float, ...]] | None = None
    """The lowest and the highest command of the search region, from the paper or the authors' code."""
    state: tuple[str, ...] = ()
    """The attributes of the unwrapped environment that hold its state, if the number of states is finite. The
    environment is then tabulated, and a step is an array look-up."""
    chance: float = 0.0
    """The probability of the rare outcome of a random step. Such a step may call `np_random.random()` once."""
    share_generator: Callable[[Any], None] | None = None
    """Function that makes the unwrapped environment use its own seeded generator instead of a global one."""
    batch: "Callable[[int], BatchEnv] | None" = None
    """Step limit -> a vectorised implementation."""
    locate: Callable[[np.ndarray], Any] | None = None
    """Flat observation -> a snapshot of `batch` in a running state with this observation."""
    draw: Callable[[Mapping[str, Any]], np.ndarray] | None = None
    """State -> picture. The state has the attributes that `state` names, or is a snapshot of `batch`. The default is
    the rendering of the environment."""

    def __post_init__(self) -> None:
        if not self.name or not self.gym_id:
            raise InvalidInput.expected("a name and a Gymnasium id", f"{self.name!r} and {self.gym_id!r}")
        for what, names in (("objective", [o.name for o in self.objectives]), ("action", list(self.actions))):
            if not names or len(set(names)) != len(names):
                raise InvalidInput.expected(f"at least one {what}, each with its own name", names)
        if self.phrases and len(self.phrases) != len(self.actions):
            raise InvalidInput.expected(f"a phrase for each of {len(self.actions)} actions", list(self.phrases))
        if self.action_space is not None and tuple(self.action_space.names) != self.actions:
            raise InvalidInput.expected(f"the names {list(self.actions)} in the action space", self.action_space)
        if self.idle is not None and not 0 <= self.idle < len(self.actions):
            raise InvalidInput.expected(f"an idle action from 0 to {len(self.actions) - 1}", self.idle)
        if self.max_steps < 1:
            raise InvalidInput.expected("a step limit of at least 1", self.max_steps)
        count = len(self.objectives)
        if self.reference is not None and len(self.reference) != count:
            raise InvalidInput.expected(f"a reference point of {count} numbers", self.reference)
        if self.paper_box is not None and {len(side) for side in self.paper_box} != {count}:
            raise InvalidInput.expected(f"a paper_box of two commands with {count} numbers", self.paper_box)

    @property
    def finite(self) -> bool:
        """Whether the environment can be tabulated."""
        return bool(self.state)

    @property
    def installed(self) -> bool:
        """Whether the extra that it `requires` is installed."""
        return not self.requires or find_spec(REQUIRED[self.requires]) is not None

    def valid_actions(self, unwrapped: Any) -> np.ndarray:
        """Return a (num_actions,) bool mask of the valid actions of an unwrapped environment."""
        mask = self.mask or getattr(type(unwrapped), "action_masks", None)
        if mask is None or self.action_space is not None:
            return np.ones(len(self.actions), dtype=bool)
        valid = np.array(mask(unwrapped), dtype=bool)
        if valid.shape != (len(self.actions),):
            raise InvalidInput.expected(f"a mask of {len(self.actions)} actions", f"shape {valid.shape}")
        return valid


@dataclass(frozen=True)
class OneHot:
    """Encodes integers 0..size-1 as concatenated one-hot vectors. A number of size 1 is a flag, which is kept."""

    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        return sum(self.sizes)

    def __call__(self, numbers: Any) -> np.ndarray:
        flat = np.zeros(self.size, dtype=np.float32)
        start = 0
        for number, size in zip(numbers, self.sizes, strict=True):
            if size == 1:
                flat[start] = number
            elif number in range(size):
                flat[start + int(number)] = 1.0
            else:
                raise InvalidInput.expected(f"an integer from 0 to {size - 1}", number)
            start += size
        return flat


_entries: dict[str, CatalogueEntry] = {}
REQUIRED = {"box2d": "Box2D", "mujoco": "mujoco"}
"""The module of each extra that an entry can require."""


def register(new: CatalogueEntry) -> CatalogueEntry:
    """Add an environment to the catalogue, and allow the import of the module that its id names."""
    if new.name in _entries:
        raise InvalidInput.expected("a name that is not in the catalogue yet", repr(new.name))
    module, colon, _ = new.gym_id.partition(":")
    if colon:
        allow(module)
    _entries[new.name] = new
    return new


def names() -> list[str]:
    """Return the names of all environments."""
    return list(_entries)


def entry(name: str | CatalogueEntry) -> CatalogueEntry:
    """Return the entry with this name; return an entry unchanged."""
    if isinstance(name, CatalogueEntry):
        return name
    if name in _entries:
        return _entries[name]
    raise InvalidInput.expected(f"an environment among {', '.join(_entries)}", did_you_mean(name, _entries))


def is_catalogued(item: CatalogueEntry) -> bool:
    """Return whether an entry describes the same environment as the catalogue's entry with its name."""
    registered = _entries.get(item.name)
    fields = ("gym_id", "kwargs", "state", "encode", "mask", "chance", "actions")
    return registered is not None and all(getattr(item, name) == getattr(registered, name) for name in fields)


def make_raw(name: str | CatalogueEntry, render_mode: str | None = None) -> gymnasium.Env:
    """Return the Gymnasium environment with the step limit of the catalogue, without wrappers of this package."""
    item = entry(name)
    if not item.installed:
        raise InvalidInput.missing(item.requires, item.requires)
    rendering = {} if render_mode is None else {"render_mode": render_mode}  # not every environment accepts it
    return _make_gymnasium(item.gym_id, max_episode_steps=item.max_steps, **rendering, **item.kwargs)


def _make_gymnasium(gym_id: str, **kwargs: Any) -> gymnasium.Env:
    check_allowed(gym_id, kwargs)
    if ":" not in gym_id and gym_id not in gymnasium.registry:
        with suppress(ImportError):
            import_module("mo_gymnasium")  # registers its environments
    # pygame prints a greeting when it is imported, and looks for a screen and a sound card, which servers do not have.
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    os.environ.setdefault("SDL_AUDIODRIVER", "dummy")
    if kwargs.get("render_mode") != "human":
        os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
    with warnings.catch_warnings():
        # MO-Gymnasium gives some bounds of float32 spaces in float64; users cannot change that.
        warnings.filterwarnings("ignore", message=".*precision lowered by casting to float32.*")
        try:
            # Gymnasium's passive checker expects scalar rewards; MO-Gymnasium disables it too.
            return gymnasium.make(gym_id, disable_env_checker=True, **kwargs)
        except (gymnasium.error.Error, ModuleNotFoundError) as error:
            if gym_id.startswith("mo_gymnasium:") and "mo_gymnasium" not in sys.modules:
                raise InvalidInput.missing("mo-gymnasium", "mo-gymnasium") from None
            extra = (
                "" if "mo_gymnasium" in sys.modules else '; for MO-Gymnasium, pip install "paretofoil[mo-gymnasium]"'
            )
            got = f"{gym_id!r} ({error}{extra})"
            raise InvalidInput.expected("the id of a Gymnasium environment", got) from None


def make(name: str | CatalogueEntry, render_mode: str | None = None) -> gymnasium.Env:
    """Return one environment with flat float32 observations, vector rewards, action masks and strict errors."""
    return CatalogueEnv(make_raw(name, render_mode), entry(name))


def describe(gym_id: str, *, name: str | None = None, max_steps: int | None = None, **kwargs: Any) -> CatalogueEntry:
    """Return an entry for a Gymnasium environment with a vector `reward_space`, and discrete or bounded actions.

    Observations are flattened. Names come from the environment's attributes `objective_names` and `action_names` (see
    `with_names`) and `description`; otherwise objectives and actions are numbered. The environment counts as stochastic
    if the same actions lead to different episodes with other seeds. This misses outcomes that are rarer than one in
    1,000 random steps. `dataclasses.replace` changes the entry, and `register` adds it to the catalogue.
    """
    outlined = outline(gym_id, name=name, max_steps=max_steps, **kwargs)
    env: Any = make_raw(outlined)
    own = (getattr(env.unwrapped, what, None) for what in ("objective_names", "action_names", "description"))
    named = with_names(outlined, *own)
    env.close()
    return replace(named, stochastic=episodes_differ(named, other_seeds=True))


def outline(gym_id: str, *, name: str | None = None, max_steps: int | None = None, **kwargs: Any) -> CatalogueEntry:
    """Return an entry from the spaces alone. Objectives and actions are numbered; it counts as stochastic."""
    from gymnasium.spaces import Box, Discrete, utils

    env = _make_gymnasium(gym_id, **kwargs)
    rewards = getattr(env.unwrapped, "reward_space", None)
    if rewards is None or len(rewards.shape) != 1:
        raise InvalidInput.expected(f"{gym_id} to have a vector reward_space, as in MO-Gymnasium", rewards)
    actions, action_space = env.action_space, None
    if isinstance(actions, Discrete) and actions.start == 0:
        names = tuple(f"action {i}" for i in range(int(actions.n)))
    elif isinstance(actions, Box) and len(actions.shape) == 1 and actions.is_bounded():
        names = tuple(f"action {i}" for i in range(actions.shape[0]))
        action_space = ActionSpace(names, (), actions.low, actions.high)
    else:
        bounded = [e.name for e in _entries.values() if _same_id(e.gym_id, gym_id)]
        advice = f"; use {bounded[0]}, its version with bounds in the catalogue" if bounded else ""
        expected = f"{gym_id} to have discrete actions that start at 0, or a bounded vector of continuous ones"
        raise InvalidInput.expected(expected, f"{actions}{advice}")
    space = env.observation_space
    if not space.is_np_flattenable:
        raise InvalidInput.expected(f"{gym_id} to have observations that can be flattened", space)
    limit = max_steps or (env.spec.max_episode_steps if env.spec else None)
    if limit is None:
        raise InvalidInput.expected(f"max_steps=..., because {gym_id} has no step limit", "None")
    env.close()

    def encode(observation: Any) -> np.ndarray:
        return np.asarray(utils.flatten(space, observation), dtype=np.float32)

    return CatalogueEntry(
        name=name or gym_id,
        gym_id=gym_id,
        kwargs=kwargs,
        objectives=tuple(Objective(f"objective {i}") for i in range(rewards.shape[0])),
        actions=names,
        action_space=action_space,
        max_steps=limit,
        stochastic=True,  # unknown; this is the safe assumption
        observation_size=utils.flatdim(space),
        encode=encode,
        description=f"The Gymnasium environment {gym_id}.",
    )


def with_names(
    item: CatalogueEntry,
    objectives: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    description: str | None = None,
) -> CatalogueEntry:
    """Return an entry with other names and another description; None leaves them as they are.

    Args:
        item: the entry.
        objectives: one name for each, with a minus sign before a cost, and its unit in brackets: "-time (steps)".
        actions: one name for each, with the past participle for sentences after an equals sign: "dig=dug". For
            continuous actions, one name for each dimension, with its unit in brackets: "release (m³)=released".
        description: one sentence.
    """
    changes: dict[str, Any] = {} if description is None else {"description": str(description)}
    if objectives is not None:
        parts = [_OBJECTIVE.fullmatch(text.strip()) for text in map(str, objectives)]
        named = [Objective(part[2], part[3] or "", cost=bool(part[1])) for part in parts if part]
        _check_names("objectives", objectives, [o.name for o in named], len(item.objectives))
        changes["objectives"] = tuple(named)
    if actions is not None:
        pairs = [[part.strip() for part in str(text).split("=", 1)] for text in actions]
        if item.action_space is not None:
            changes["action_space"] = space = _named_space(item.action_space, actions, pairs)
            pairs = [[name, *pair[1:]] for name, pair in zip(space.names, pairs, strict=True)]
        _check_names("actions", actions, [pair[0] for pair in pairs], len(item.actions))
        changes["actions"] = tuple(pair[0] for pair in pairs)
        if any(pair[1:] for pair in pairs):
            changes["phrases"] = tuple(pair[1] if pair[1:] else f"chosen {pair[0]}" for pair in pairs)
    return replace(item, **changes)


_OBJECTIVE = re.compile(r"(-?)\s*([^()]*[^()\s])\s*(?:\(([^()]+)\))?")
"""-fuel (l): a minus sign for a cost, the name, and the unit in brackets."""


def _named_space(space: ActionSpace, given: Sequence[str], pairs: Sequence[Sequence[str]]) -> ActionSpace:
    """Return an action space with the names, units and phrases of dimensions."""
    parts = [_DIMENSION.fullmatch(pair[0]) for pair in pairs]
    names = [part[1] for part in parts if part]
    _check_names("dimensions of actions", given, names, space.dim)
    units, phrases = [part[2] or "" for part in parts if part], ["".join(pair[1:]) for pair in pairs]
    return replace(space, names=names, units=units, phrases=phrases)


_DIMENSION = re.compile(r"([^()]*[^()\s])\s*(?:\(([^()]+)\))?")
"""release (m³): the name, and the unit in brackets."""


def _check_names(what: str, given: Sequence[str], plain: Sequence[str], count: int) -> None:
    if not len(given) == len(set(plain)) == count or not all(name and name.isprintable() for name in plain):
        raise InvalidInput.expected(f"{count} different names of {what}", ", ".join(map(str, given)))


def episodes_differ(item: CatalogueEntry, other_seeds: bool) -> bool:
    """Return whether two copies of an environment differ within 1,000 random steps, with equal or with other seeds."""
    first, second = make(item), make(item)
    rng, mask = np.random.default_rng(0), None
    for step in range(REPLAYED_STEPS):
        if mask is None:
            (start, info), (other, again) = first.reset(seed=2 * step), second.reset(seed=2 * step + other_seeds)
            results: tuple[Any, ...] = ((start, info["action_mask"]), (other, again["action_mask"]))
            ended = False
        else:
            action = random_action(item.action_space, mask, rng)
            results = tuple((*copy[:4], copy[4]["action_mask"]) for copy in (first.step(action), second.step(action)))
            ended = bool(results[0][2] or results[0][3])
        if not all(map(np.array_equal, *results)):
            return True
        mask = None if ended else results[0][-1]
    return False


def random_action(space: ActionSpace | None, mask: np.ndarray, rng: np.random.Generator) -> Any:
    """Return a random valid action: its number, or amounts (dimensions,) of an action space."""
    if space is not None:
        return rng.uniform(space.low, space.high)
    return int(rng.choice(np.flatnonzero(mask)))


REPLAYED_STEPS = 1000
"""The number of random steps on which `episodes_differ` compares two copies of an environment."""


def fast_form(gym_id: str) -> CatalogueEntry | None:
    """Return the catalogue's entry for the same environment as a Gymnasium id if it steps faster, or None."""
    same = [e for e in _entries.values() if _same_id(e.gym_id, gym_id) and (e.batch is not None or e.finite)]
    if not same:
        return None
    creator = gymnasium.envs.registration.load_env_creator(str(gymnasium.spec(gym_id.split(":")[-1]).entry_point))
    usual = {name: parameter.default for name, parameter in signature(creator).parameters.items()}
    return next((e for e in same if all(usual.get(name) == value for name, value in e.kwargs.items())), None)


def _same_id(first: str, second: str) -> bool:
    return first.split(":")[-1] == second.split(":")[-1]


_MODULE_AND_ID = re.compile(r"([^:\s/\\]+):[^:\\]+")
r"""Matches module:id, but not a path such as C:\maps."""
_allowed: set[str] = {"paretofoil"}


def allow(module: str) -> None:
    """Allow this module to be imported for an environment, like `--allow-import` on the command line.

    Making the environment "module:id" imports the module, which runs its code. The id may come from somebody else's
    file. A module is therefore imported only if the catalogue names it, if it is already imported, or if it is allowed.
    """
    if not all(part.isidentifier() for part in str(module).split(".")):
        raise InvalidInput.expected("the name of a Python module, such as my_module", repr(module))
    _allowed.add(module)


def check_allowed(gym_id: str, arguments: Mapping[str, Any]) -> None:
    """Raise an error if making an environment would import a module that is not allowed.

    The arguments are checked as well, because those of some environments (Shimmy's) name another environment.
    """
    module, colon, rest = gym_id.partition(":")
    if colon and (not module or ":" in rest):
        raise InvalidInput.expected("a Gymnasium id, or module:id", repr(gym_id))
    modules = [match[1] for match in map(_MODULE_AND_ID.fullmatch, _texts(arguments)) if match]
    for name in [module, *modules] if colon else modules:
        if name not in _allowed and name not in sys.modules:
            raise InvalidInput(
                f"expected an environment of an allowed module, got {gym_id}, which imports and runs {name}. "
                f'If you trust it, use --allow-import {name}, or pf.allow("{name}") in Python'
            )


def _texts(value: Any) -> Iterator[str]:
    """Yield every string in nested values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def check_action(action: Any, valid: np.ndarray, names: tuple[str, ...] | None = None) -> int:
    """Return the action as an int, or raise an error that lists the valid actions."""
    if not isinstance(action, int | np.integer | np.ndarray) or np.ndim(action) or not 0 <= action < len(valid):
        raise InvalidInput.expected(f"an action number from 0 to {len(valid) - 1}", repr(action))
    if not valid[action]:
        words = names or tuple(str(i) for i in range(len(valid)))
        choices = ", ".join(f"{words[i]} ({i})" for i in np.flatnonzero(valid))
        raise InvalidInput.expected(f"one of the valid actions {choices}", f"{words[int(action)]} ({int(action)})")
    return int(action)


def reward_vector(reward: Any, entry: CatalogueEntry) -> np.ndarray:
    """Return a reward as finite float64 numbers, one for each objective.

    A float32 number becomes its shortest decimal (0.8, not 0.800000012). This is the number that the author of the
    environment wrote, and that sums and sentences should show.
    """
    values = reward.astype(str) if getattr(reward, "dtype", None) == np.float32 else reward
    return as_vector(values, f"the reward of {entry.name}", len(entry.objectives))


class Strict(gymnasium.Wrapper, gymnasium.utils.RecordConstructorArgs):
    """Raises an error for an action that is out of range or invalid, and for a step after the end of an episode."""

    def __init__(self, env: gymnasium.Env) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self)  # for `gymnasium.make(env.spec)`
        gymnasium.Wrapper.__init__(self, env)
        self._running = False

    def action_masks(self) -> np.ndarray:
        """Return a (num_actions,) bool mask of the valid actions."""
        masks: np.ndarray = self.unwrapped.action_masks()  # type: ignore[attr-defined]
        return masks

    @property
    def action_names(self) -> tuple[str, ...] | None:
        return getattr(self.unwrapped, "action_names", None)

    def check_action(self, action: Any) -> Any:
        """Return a valid action for the environment, or raise an error."""
        return check_action(action, self.action_masks(), self.action_names)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        observation, info = self.env.reset(seed=seed, options=options)
        self._running = True
        return observation, {**info, "action_mask": self.action_masks()}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        if not self._running:
            raise InvalidInput.expected("a running episode", "a step before its start or after its end; call reset()")
        observation, reward, terminated, truncated, info = self.env.step(self.check_action(action))
        truncated = bool(truncated and not terminated)
        self._running = not (terminated or truncated)
        return observation, reward, bool(terminated), truncated, {**info, "action_mask": self.action_masks()}


class CatalogueEnv(Strict):
    """An environment with the flat observations, float64 reward vectors and masks of its catalogue entry."""

    def __init__(self, env: gymnasium.Env, entry: CatalogueEntry) -> None:
        super().__init__(env)
        self.entry = entry
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (entry.observation_size,), np.float32)

    def action_masks(self) -> np.ndarray:
        return self.entry.valid_actions(self.unwrapped)

    @property
    def action_names(self) -> tuple[str, ...]:
        return self.entry.actions

    def check_action(self, action: Any) -> Any:
        space = self.entry.action_space
        if space is None:
            return super().check_action(action)
        amounts = as_vector(action, f"the amounts of {', '.join(space.names)}", space.dim)
        space.check(amounts[None])
        return amounts.astype(self.env.action_space.dtype)

    @property
    def reward_space(self) -> gymnasium.spaces.Box:
        space: gymnasium.spaces.Box = self.unwrapped.reward_space  # type: ignore[attr-defined]
        return space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        seed = seed if self.entry.start_seed is None else self.entry.start_seed
        observation, info = super().reset(seed=seed, options=options)
        self.share_generator()
        return self._encode(observation), info

    def _encode(self, observation: Any) -> np.ndarray:
        what = f"the encoded observation of {self.entry.name}"
        return as_vector(self.entry.encode(observation), what, self.entry.observation_size).astype(np.float32)

    def share_generator(self) -> None:
        """Make all parts of the environment draw from its one seeded generator."""
        if self.entry.share_generator is not None:
            self.entry.share_generator(self.unwrapped)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = super().step(action)
        return self._encode(observation), reward_vector(reward, self.entry), terminated, truncated, info
