"""The authors' exploration, a baseline: a new command for each iteration, and episodes that the policy samples.

Nothing but the policy acts after the warm-up: archived episodes give commands and samples, and are never replayed.
"""

import numpy as np

from paretofoil.pcn.explore import POLICY, RANDOM, ExploreConfig, Plans
from paretofoil.pcn.replay import Replay


def uniform_plans(num: int, shape: tuple[int, int, int]) -> Plans:
    """Episodes of uniformly random actions. The shape is (steps, command size, actions)."""
    steps, command_size, actions = shape
    return Plans(np.full((num, steps), RANDOM), np.zeros((num, command_size)), np.zeros((num, actions)))


def plain_plans(config: ExploreConfig, replay: Replay, shape: tuple[int, int, int], rng: np.random.Generator) -> Plans:
    """Sampled episodes under one command: a non-dominated one, with a single objective raised.

    It is raised by at most its deviation over all that the replay holds. The paper does not tell how it explores.
    """
    steps, _, actions = shape
    front, returns = replay.front_commands, np.array([d.label for d in replay.demonstrations])
    command = front[rng.integers(len(front))].copy()
    raised = int(rng.integers(returns.shape[1]))  # never the horizon
    command[raised] += rng.uniform(0.0, returns[:, raised].std())
    num = config.episodes
    return Plans(np.full((num, steps), POLICY), np.tile(command, (num, 1)), np.zeros((num, actions)))
