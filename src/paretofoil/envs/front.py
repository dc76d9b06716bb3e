"""Pareto fronts by exhaustive search over a tabulated environment."""

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.core.pareto import nondominated
from paretofoil.envs.catalogue import CatalogueEntry, entry
from paretofoil.envs.episode import DECIMALS
from paretofoil.envs.tabular import RARE, USUAL, Table, tabulate

MAX_POINTS = 20_000
"""The search gives up when one state has more combinations of outcomes than this."""


def known_front(name: str | CatalogueEntry) -> np.ndarray | None:
    """(n, d) the undiscounted front, or None where states are not finite (Minecart) and nobody knows it.

    MO-Gymnasium's `pareto_front` of Minecart is a heuristic that trained agents beat, and is not used.
    """
    item = entry(name)
    return exhaustive_front(tabulate(item), item.max_steps) if item.finite else None


def exhaustive_front(table: Table, max_steps: int, gamma: float = 1.0) -> np.ndarray:
    """(n, d) the nondominated expected returns of all deterministic policies, in dictionary order.

    Backward induction over sets: what can be had from a state with so many steps left is what an action pays
    plus what can be had afterwards, one choice per outcome of chance. Without chance these are the
    returns of all episodes.
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
            break  # more steps change nothing any more
    return fronts[0]


def _front_from(table: Table, state: int, after: list[np.ndarray], gamma: float) -> np.ndarray:
    """The front of a state, given the fronts (n, d) of all states with one step less."""
    candidates = []
    for action in np.flatnonzero(table.masks[state]):
        paid, next_state = table.rewards[state, action], table.next_states[state, action]
        usual, rare = (paid[outcome] + gamma * after[next_state[outcome]] for outcome in (USUAL, RARE))
        chance = table.rare[state, action]
        if chance > 0.0:
            mixed = (1.0 - chance) * usual[:, None, :] + chance * rare[None, :, :]
            usual = mixed.reshape(-1, table.num_objectives)
        candidates.append(usual)
    points = np.unique(np.concatenate(candidates).round(DECIMALS), axis=0)
    if len(points) > MAX_POINTS:
        raise InvalidInput.expected(f"fronts of at most {MAX_POINTS} candidates", len(points))
    return points[nondominated(points)] + 0.0  # no negative zeros


def _distances(table: Table) -> np.ndarray:
    """(S,) the least number of steps in which each state can be reached."""
    distance = np.full(len(table.states), len(table.states))
    distance[0] = 0
    layer, steps = np.array([0]), 0
    while layer.size:
        steps += 1
        next_states = np.unique(table.next_states[layer])
        layer = next_states[distance[next_states] > steps]
        distance[layer] = steps
    return distance
