"""The configuration of a training, and the presets of the environments."""

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
import numpy as np

from paretofoil.core.errors import InvalidInput, as_seed
from paretofoil.core.json import Fraction, read_value

Explore = Literal["plans", "plain"]
"""How new episodes are made: "plans" edits good episodes; "plain" only samples, as in the authors' code."""
Returns = Literal["expected", "realised"]
"""The label of an episode in a stochastic environment: its mean return over repeated rollouts, or its own return."""
Whole = Annotated[int, msgspec.Meta(ge=1, le=10**6)]
Natural = Annotated[int, msgspec.Meta(ge=0, le=10**6)]
Positive = Annotated[float, msgspec.Meta(gt=0, le=1e9)]


@dataclass(frozen=True)
class TrainConfig:
    """All settings of a training. Episodes that are not random, restarted or mutated follow a new command."""

    episodes: Whole = 64
    """Episodes per iteration."""
    warmup: Whole = 256
    """Random episodes before the first update."""
    random_share: Fraction = 0.1
    """Share of random episodes."""
    restart_share: Fraction = 0.4
    """Share of restarted episodes: they repeat the start of a nondominated one, then take some random actions."""
    mutate_share: Fraction = 0.3
    """Share of mutated episodes: they repeat a plan of the replay with edited actions."""
    burst: Natural = 6
    """The largest number of random actions after a restart."""
    edits: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 4
    """The largest number of edits of a mutation."""
    crossover: Fraction = 0.3
    """The probability that a mutation first joins the start of one plan to the end of another."""
    preference: Positive = 0.7
    """Dirichlet parameter of the action probabilities in a random episode; with small values, few actions dominate."""
    seed: int = 0
    """The random seed. The same seed gives the same result."""
    steps: Annotated[int, msgspec.Meta(ge=1, le=10**12)] = 50_000
    """Environment steps of exploration. The polish ends when the rollouts that measure the front have taken as many."""
    minutes: Positive | None = None
    """Time limit, in minutes; the last fifth is for the polish. With a limit, the result depends on the machine."""
    episode_steps: Whole | None = None
    """Step limit of training episodes. An episode that the limit ends is dropped if its last step has a reward."""
    horizon: bool = False
    """Also condition the network on the remaining steps, as in the original PCN."""
    trim: bool = True
    """Before learning, remove the steps of an episode after its last reward."""
    shorter_first: bool = True
    """Of episodes with equal returns, keep the shortest; if False, the newest."""
    explore: Explore = "plans"
    """"plans": repeat good episodes with edited actions; "plain": only sample under new commands."""
    returns: Returns = "expected"
    """Labels in stochastic environments: "expected" (means over rollouts) or "realised" (returns of one episode)."""
    rollouts: Whole = 500
    """In stochastic environments: rollouts per mean return."""
    candidates: Whole = 16
    """In stochastic environments: plans per iteration whose mean return is estimated."""
    hidden: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 64
    """Hidden units of the network."""
    gain: Positive = 4.0
    """Commands are scaled to a range of this width."""
    standardise: bool = False
    """Scale observations to mean 0 and standard deviation 1. Use it if observations are not one-hot."""
    learning_rate: Positive = 3e-3
    """The learning rate of Adam during exploration and at the start of each polish round."""
    cooling: Fraction = 1.0
    """Share of the learning rate that is left after four fifths of the exploration (cosine schedule)."""
    batch_size: Whole = 256
    """Samples per update."""
    updates: Natural = 50
    """Updates per iteration."""
    front_share: Fraction = 0.5
    """Share of each batch that is drawn from nondominated demonstrations, each with equal probability. With plain
    exploration, it is drawn from all demonstrations."""
    capacity: Whole = 200
    """Demonstrations in the replay."""
    polish_rounds: Natural = 20
    """Largest number of rounds of the polish. It ends earlier if every point of the front is reached."""
    polish_updates: Whole = 1000
    """Updates per polish round, with a decreasing learning rate."""
    polish_share: Fraction = 0.7
    """Share of each batch of the polish that is drawn from nondominated demonstrations."""
    report_every: Annotated[int, msgspec.Meta(ge=1, le=10**9)] = 10
    """Iterations between progress reports."""

    def __post_init__(self) -> None:
        as_seed(self.seed)
        for name, kind in get_type_hints(TrainConfig, include_extras=True).items():
            value = getattr(self, name)
            read_value(kind, value.item() if isinstance(value, np.generic) else value, name)
        shares_sum = self.random_share + self.restart_share + self.mutate_share
        if shares_sum > 1:
            raise InvalidInput.expected("random_share + restart_share + mutate_share to be at most 1", shares_sum)


_MINECART = TrainConfig(
    steps=24_000_000,
    episode_steps=60,
    hidden=128,
    learning_rate=2e-3,
    standardise=True,
    episodes=2048,
    warmup=20_480,
    random_share=0.02,
    restart_share=0.1,
    mutate_share=0.83,
    capacity=400,
    updates=20,
    batch_size=512,
)
_RESERVOIR = TrainConfig(
    steps=2_000_000,
    standardise=True,
    episodes=512,
    warmup=2048,
    random_share=0.05,
    restart_share=0.15,
    mutate_share=0.7,
    capacity=60,
    front_share=0.9,
    updates=20,
    polish_updates=3000,
    polish_share=1.0,
)
PRESETS: dict[str, TrainConfig] = {
    "branch-path": TrainConfig(steps=40_000),
    "collect-two": TrainConfig(steps=40_000),
    "reward-line": TrainConfig(steps=40_000),
    "deep-sea-treasure": TrainConfig(steps=40_000, episode_steps=40, capacity=100),
    "breakable-bottles": TrainConfig(steps=4_000_000, episode_steps=40, episodes=256, warmup=2048, random_share=0.2),
    # Within 16 steps the front has three points; a path of 18 steps brings both home without danger.
    "resource-gathering": TrainConfig(steps=8_000_000, episode_steps=16, episodes=512, warmup=8192, random_share=0.3),
    "fruit-tree": TrainConfig(steps=40_000, hidden=96, episodes=128),
    "fruit-tree-6": TrainConfig(steps=20_000, hidden=96, episodes=128),
    "minecart": _MINECART,
    "minecart-stochastic": replace(
        _MINECART,
        steps=10_000_000,
        episodes=1024,
        restart_share=0.2,
        mutate_share=0.6,
        capacity=300,
        rollouts=100,
    ),
    "walkroom-2": TrainConfig(steps=60_000, episode_steps=60),
    "walkroom-3": TrainConfig(steps=400_000, episode_steps=60, episodes=128, warmup=1024, capacity=150, hidden=96),
    "three-tree": TrainConfig(steps=20_000),
    "four-room": TrainConfig(
        steps=12_000_000,
        hidden=96,
        episodes=1024,
        warmup=8192,
        random_share=0.05,
        restart_share=0.35,
        mutate_share=0.5,
        capacity=400,
        updates=20,
    ),
    "mountain-car": TrainConfig(steps=20_000_000, standardise=True, episodes=512, warmup=4096),
    "water-reservoir": _RESERVOIR,
    "water-reservoir-stochastic": replace(_RESERVOIR, returns="realised", rollouts=100, polish_rounds=3),
}
"""Settings by environment name. Other environments start from `TrainConfig()`."""
REALISED: dict[str, TrainConfig] = {
    # Lucky returns are not reached on average: without a limit the polish would not end.
    "breakable-bottles": TrainConfig(steps=100_000, returns="realised", polish_rounds=3),
    "resource-gathering": TrainConfig(steps=200_000, returns="realised", polish_rounds=3),
}
"""Settings for `returns="realised"`, by environment name."""


def _plain(steps: int, batch_size: int, updates: int, warmup: int, rate: float, **others: Any) -> TrainConfig:
    """Return the settings of the authors' training: ten episodes per command, uniform sampling, no polish."""
    settings: dict[str, Any] = {"cooling": 0.1, "capacity": warmup, **others}
    return TrainConfig(
        steps=steps,
        batch_size=batch_size,
        updates=updates,
        warmup=warmup,
        learning_rate=rate,
        explore="plain",
        returns="realised",
        episodes=10,
        front_share=1.0,
        polish_rounds=0,
        report_every=100,
        **settings,
    )


PLAIN: dict[str, TrainConfig] = {
    "branch-path": _plain(1_000_000, 256, 20, 20_000, 1e-4),
    "collect-two": _plain(400_000, 512, 20, 8_000, 1e-3),
    "reward-line": _plain(200_000, 256, 20, 1_000, 1e-3),
    "deep-sea-treasure": _plain(300_000, 128, 20, 8_000, 1e-2),
    "breakable-bottles": _plain(300_000, 256, 100, 100, 1e-2, cooling=0.01, capacity=200),
    "resource-gathering": _plain(1_000_000, 1024, 50, 500, 3e-3, capacity=1_000),
    "fruit-tree": _plain(200_000, 256, 20, 256, 1e-3, hidden=96),
    "fruit-tree-6": _plain(200_000, 256, 20, 256, 1e-3, hidden=96),
    "minecart": _plain(30_000_000, 512, 40, 1_000, 1e-4, hidden=128, standardise=True),
}
"""The settings of the authors' code, with our smaller network. Other environments start from `PLAIN_DEFAULT`."""
PLAIN_DEFAULT = _plain(200_000, 256, 20, 1_000, 1e-3)
