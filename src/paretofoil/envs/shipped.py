"""The environments of the paper: three of our own and five from MO-Gymnasium (two of them in two versions).

Nothing here imports Gymnasium, MO-Gymnasium or pygame: the ids name the module that Gymnasium is to import.
"""

from functools import partial
from typing import Any

import numpy as np

from paretofoil.core.command import Objective
from paretofoil.envs.batch import BatchEnv
from paretofoil.envs.catalogue_entry import CatalogueEntry, OneHot
from paretofoil.envs.fruit import NUTRIENTS
from paretofoil.envs.move import MOVES, Cell, neighbours

GONE = tuple(f"gone {move}" for move in MOVES)
_ROCK = -10


def _sea_mask(env: Any) -> np.ndarray:
    return _free_mask(env.sea_map != _ROCK, env.current_state)


def _gathering_mask(env: Any) -> np.ndarray:
    return _free_mask(np.ones((env.size, env.size), dtype=bool), env.current_pos)


def _free_mask(free: np.ndarray, cell: Cell) -> np.ndarray:
    """(rows, columns) bool, a cell -> (4,): which moves stay inside the map and off its rocks."""
    rows, columns = free.shape
    return np.array([0 <= r < rows and 0 <= c < columns and free[r, c] for r, c in neighbours(cell)], dtype=bool)


def _bottles_mask(env: Any) -> np.ndarray:
    """A pickup counts where it changes something: at the source with a free hand."""
    return np.array([env.location > 0, env.location < env.size - 1, env.location == 0 and env.bottles_carrying < 2])


_BOTTLES = OneHot((5, 3, 3, 1, 1, 1))


def _encode_bottles(observation: dict[str, Any]) -> np.ndarray:
    """Where, carrying, delivered, and whether (not how many: it makes no difference) bottles lie on each cell."""
    lying = [min(count, 1) for count in observation["bottles_dropped"]]
    counts = (observation["location"], observation["bottles_carrying"], observation["bottles_delivered"])
    return _BOTTLES((*counts, *lying))


def _encode_node(depth: int, observation: np.ndarray) -> np.ndarray:
    """One-hot of the tree's node: an MLP cannot read left and right from the two raw coordinates."""
    row, place = (int(x) for x in observation)
    return OneHot((2 ** (depth + 1) - 1,))((2**row - 1 + place,))


def _as_float32(observation: np.ndarray) -> np.ndarray:
    return np.array(observation, dtype=np.float32)


def _batch_minecart(stochastic: bool, max_steps: int) -> BatchEnv:
    from paretofoil.envs.minecart import BatchMinecart

    return BatchMinecart(stochastic=stochastic, max_steps=max_steps)


def _cart_mask(stochastic: bool, env: Any) -> np.ndarray:
    from paretofoil.envs.minecart import read_field, valid_actions

    cart = env.cart
    return valid_actions(read_field(stochastic), cart.pos[None], np.array([cart.speed]), cart.content[None])[0]


def _locate_cart(stochastic: bool, observation: np.ndarray) -> Any:
    from paretofoil.envs.minecart import locate_cart

    return locate_cart(stochastic, observation)


def _share_with_mines(env: Any) -> None:
    """SciPy's frozen distributions draw from NumPy's global generator unless told otherwise."""
    for mine in env.mines:
        for distribution in mine.distributions:
            distribution.random_state = env.np_random


def _set_cart(env: Any, snapshot: dict[str, Any]) -> None:
    cart = env.cart
    cart.pos, cart.content = np.array(snapshot["position"]), np.array(snapshot["content"])
    cart.speed, cart.angle, cart.departed = snapshot["speed"], snapshot["angle"], snapshot["departed"]


def _draw_sea(env: Any) -> np.ndarray:
    from paretofoil.envs.sea_picture import draw_sea

    return draw_sea(env)


def _draw_minecart(env: Any) -> np.ndarray:
    from paretofoil.envs.minecart_picture import draw_minecart

    return draw_minecart(env)


def _draw_tree(env: Any) -> np.ndarray:
    from paretofoil.envs.tree_picture import draw_tree

    return draw_tree(env)


def _gains(most: float, *names: str, probability: bool = False) -> tuple[Objective, ...]:
    """Objectives of which an episode returns between nothing and so much."""
    return tuple(Objective(name, probability=probability, natural_low=0.0, natural_high=most) for name in names)


def _time(max_steps: int) -> Objective:
    return Objective("time", "steps", cost=True, natural_low=-float(max_steps), natural_high=-1.0)


def _risk(name: str) -> Objective:
    return Objective(name, cost=True, probability=True, natural_low=-1.0, natural_high=0.0)


def _fruit_tree(depth: int, name: str, most: tuple[float, ...]) -> CatalogueEntry:
    """`most` are the largest amounts of the nutrients in any fruit, where the authors' boxes end."""
    return CatalogueEntry(
        name=name,
        gym_id="mo_gymnasium:fruit-tree-v0",
        kwargs={"depth": depth},
        objectives=_gains(10.0, *NUTRIENTS),
        actions=("left", "right"),
        phrases=("gone left", "gone right"),
        max_steps=depth,
        observation_size=2 ** (depth + 1) - 1,
        encode=partial(_encode_node, depth),
        reference=(-0.1,) * 6,
        paper_box=((0.0,) * 6, most),
        state=("current_state", "terminal"),
        draw=_draw_tree,
        description=f"Descend a binary tree of depth {depth} to a leaf whose fruit has six nutrients.",
    )


def _minecart(name: str, stochastic: bool) -> CatalogueEntry:
    return CatalogueEntry(
        name=name,
        gym_id="mo_gymnasium:minecart-v0" if stochastic else "mo_gymnasium:minecart-deterministic-v0",
        objectives=(*_gains(1.5, "ore 0", "ore 1"), _FUEL),
        actions=("mine", "left", "right", "accelerate", "brake", "none"),
        phrases=("mined", "turned left", "turned right", "accelerated", "braked", "done nothing"),
        max_steps=1000,
        stochastic=stochastic,
        observation_size=7,
        encode=_as_float32,
        mask=partial(_cart_mask, stochastic),
        idle=5,
        reference=(-0.001, -0.001, -2.0),
        paper_box=None if stochastic else ((0.0, 0.0, -200.0), (1.5, 1.5, 0.0)),
        share_generator=_share_with_mines,
        batch=partial(_batch_minecart, stochastic),
        locate=partial(_locate_cart, stochastic),
        draw=_draw_minecart,
        set_state=_set_cart,
        description="Drive a cart to mines and back to the base: two ores against fuel"
        + (", with random yields." if stochastic else "."),
    )


# A step burns from 0.02 (turning, waiting) to 0.22 (mining).
_FUEL = Objective("fuel", cost=True, natural_low=-220.0, natural_high=-0.02)
_BRANCH_PATH = OneHot((5, 7) + (1,) * 8)
_COLLECT_TWO = OneHot((7, 7) + (1,) * 4)
_REWARD_LINE = OneHot((5, 11))
_SEA = OneHot((11, 11))
_GATHERING = OneHot((5, 5, 1, 1))
_WORLD_STATE = ("cell", "taken", "finished")

SHIPPED = (
    CatalogueEntry(
        name="branch-path",
        gym_id="paretofoil/BranchPath-v0",
        objectives=_gains(4.0, "A", "B"),
        actions=MOVES,
        phrases=GONE,
        max_steps=13,
        observation_size=_BRANCH_PATH.size,
        encode=_BRANCH_PATH,
        reference=(0.0, 0.0),
        paper_box=((0.0, 0.0), (3.0, 3.0)),
        state=_WORLD_STATE,
        description="Two narrow branches of collectibles A and B, and too few steps to take them all.",
    ),
    CatalogueEntry(
        name="collect-two",
        gym_id="paretofoil/CollectTwo-v0",
        objectives=_gains(1.0, "A", "B", "C", "D"),
        actions=MOVES,
        phrases=GONE,
        max_steps=50,
        observation_size=_COLLECT_TWO.size,
        encode=_COLLECT_TWO,
        reference=(-0.1,) * 4,
        paper_box=((0.0,) * 4, (1.0,) * 4),
        state=_WORLD_STATE,
        description="Collect two of four objectives: the first pays 1.0, the second 0.8.",
    ),
    CatalogueEntry(
        name="reward-line",
        gym_id="paretofoil/RewardLine-v0",
        objectives=_gains(1.0, "A", "B"),
        actions=MOVES,
        phrases=GONE,
        max_steps=20,
        observation_size=_REWARD_LINE.size,
        encode=_REWARD_LINE,
        reference=(-0.1, -0.1),
        paper_box=((0.0, 0.0), (1.0, 1.0)),
        state=_WORLD_STATE,
        description="Walk up to the terminal row, where A is paid on the left and B on the right.",
    ),
    CatalogueEntry(
        name="deep-sea-treasure",
        gym_id="mo_gymnasium:deep-sea-treasure-concave-v0",
        objectives=(*_gains(124.0, "treasure"), _time(200)),
        actions=MOVES,
        phrases=GONE,
        max_steps=200,  # as the authors' runs and the class itself; the registered id has 100
        observation_size=_SEA.size,
        encode=_SEA,
        mask=_sea_mask,
        reference=(0.0, -50.0),
        paper_box=((0.0, -200.0), (124.0, -1.0)),
        state=("current_state",),
        draw=_draw_sea,
        description="Steer a submarine to one of ten treasures: the richer, the farther away.",
    ),
    CatalogueEntry(
        name="breakable-bottles",
        gym_id="mo_gymnasium:breakable-bottles-v0",
        objectives=(_time(100), Objective("bottles", "points", natural_low=0.0, natural_high=50.0), _risk("breakage")),
        actions=("left", "right", "pickup"),
        phrases=("gone left", "gone right", "picked up a bottle"),
        max_steps=100,
        stochastic=True,
        observation_size=_BOTTLES.size,
        encode=_encode_bottles,
        mask=_bottles_mask,
        reference=(-100.0, -1.0, -1.1),
        paper_box=((-101.0, -0.1, -1.1), (-1.0, 50.0, 0.0)),
        state=("location", "bottles_carrying", "bottles_delivered", "bottles_dropped"),
        chance=0.1,
        description="Deliver two bottles: carrying both at once is fast but may break one.",
    ),
    CatalogueEntry(
        name="resource-gathering",
        gym_id="mo_gymnasium:resource-gathering-v0",
        objectives=(_risk("death"), *_gains(1.0, "gold", "diamond", probability=True)),
        actions=MOVES,
        phrases=GONE,
        max_steps=100,
        stochastic=True,
        observation_size=_GATHERING.size,
        encode=_GATHERING,
        mask=_gathering_mask,
        reference=(-1.0, -0.1, -0.1),
        paper_box=((-1.1, -0.1, -0.1), (0.0, 1.0, 1.0)),
        state=("current_pos", "has_gem", "has_gold"),
        chance=0.1,
        description="Bring gold and a diamond home past enemies that kill one visitor in ten.",
    ),
    _fruit_tree(7, "fruit-tree", (9.497293, 8.779863, 8.505063, 9.138061, 9.276587, 9.317618)),
    _fruit_tree(6, "fruit-tree-6", (9.591646, 8.229653, 9.1749, 9.066862, 8.459588, 8.959176)),
    _minecart("minecart", stochastic=False),
    _minecart("minecart-stochastic", stochastic=True),
)
