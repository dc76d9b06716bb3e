"""Pareto fronts by exhaustive search over a tabulated environment."""

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.pareto import nondominated
from paretofoil.envs.batch import RARE, USUAL, TransitionTable, tabulate
from paretofoil.envs.catalogue import CatalogueEntry, entry
from paretofoil.envs.episode import DECIMALS

MAX_POINTS = 20_000
"""The largest number of candidate returns in one state."""


def known_front(name: str | CatalogueEntry) -> np.ndarray | None:
    """Return the undiscounted front (n, d), or None if the number of states is not finite (Minecart).

    MO-Gymnasium's `pareto_front` of Minecart is a heuristic that trained agents exceed; it is not used.
    """
    item = entry(name)
    return exhaustive_front(tabulate(item), item.max_steps) if item.finite else None


def exhaustive_front(table: TransitionTable, max_steps: int, gamma: float = 1.0) -> np.ndarray:
    """Return the nondominated expected returns (n, d) of all deterministic policies, in lexicographic order.

    The front of a state with t steps left follows from the rewards of its actions and the fronts of the next states
    with t - 1 steps left, in all combinations of random outcomes (backward induction).
    """
    if max_steps < 1:
        raise InvalidInput.expected("a step limit of at least 1", max_steps)
    distance = _distances(table)
    fronts = [np.zeros((1, table.num_objectives)) for _ in table.states]  # per state: (n, d) with no step left
    changed = np.ones(len(table.states), dtype=bool)
    for left in range(1, max_steps + 1):
        after, fronts = fronts, list(fronts)
        stale = changed[table.next_states].any(axis=(1, 2)) & (distance <= max_steps - left) & ~table.final
        changed = np.zeros_like(changed)
        for state in np.flatnonzero(stale):
            fronts[state] = _front_from(table, int(state), after, gamma)
            changed[state] = not np.array_equal(fronts[state], after[state])
        if not changed.any():
            break  # more steps change nothing
    return fronts[0]


def _front_from(table: TransitionTable, state: int, after: list[np.ndarray], gamma: float) -> np.ndarray:
    """Return the front of a state, given the fronts (n, d) of all states with one step fewer left."""
    candidates = []
    for action in np.flatnonzero(table.masks[state]):
        reward, next_state = table.rewards[state, action], table.next_states[state, action]
        usual, rare = (reward[outcome] + gamma * after[next_state[outcome]] for outcome in (USUAL, RARE))
        chance = table.rare[state, action]
        if chance > 0.0:
            mixed = (1.0 - chance) * usual[:, None, :] + chance * rare[None, :, :]
            usual = mixed.reshape(-1, table.num_objectives)
        candidates.append(usual)
    points = np.unique(np.concatenate(candidates).round(DECIMALS), axis=0)
    if len(points) > MAX_POINTS:
        raise InvalidInput.expected(f"at most {MAX_POINTS:,} candidate returns in a state", f"{len(points):,}")
    return points[nondominated(points)] + 0.0  # no negative zeros


def _distances(table: TransitionTable) -> np.ndarray:
    """Return the smallest number of steps (S,) in which each state can be reached."""
    distance = np.full(len(table.states), len(table.states))
    distance[0] = 0
    layer, steps = np.array([0]), 0
    while layer.size:
        steps += 1
        next_states = np.unique(table.next_states[layer])
        layer = next_states[distance[next_states] > steps]
        distance[layer] = steps
    return distance
