"""The environments of the catalogue: those of the paper, others of the authors' code, and a water reservoir.

Nothing here imports MO-Gymnasium or pygame: Gymnasium imports the modules that the ids name.
"""

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import product
from typing import Any

import numpy as np

from paretofoil.core.command import Objective
from paretofoil.envs import four_room, three_tree
from paretofoil.envs.catalogue import CatalogueEntry, OneHot
from paretofoil.envs.gridworld import MOVES, BranchPath, Cell, CollectTwo, GridWorld, RewardLine, neighbours
from paretofoil.envs.walkroom import DIMENSIONS, action_names, size_of
from paretofoil.envs.water_reservoir import RELEASE, START

MOVE_PHRASES = tuple(f"gone {move}" for move in MOVES)
_ROCK = -10
"""The value of a rock in the map of Deep Sea Treasure."""
_BOTTLES = OneHot((5, 3, 3, 1, 1, 1))
_SEA = OneHot((11, 11))
_GATHERING = OneHot((5, 5, 1, 1))
_ROOM = OneHot((four_room.LAYOUT.rows, four_room.LAYOUT.columns) + (1,) * len(four_room.LAYOUT.items))


def _later(function: str, *arguments: Any) -> Any:
    """Import a function ("module:name") of this package, and call it."""
    module, _, name = function.partition(":")
    return getattr(import_module(f"paretofoil.envs.{module}"), name)(*arguments)


def _sea_mask(env: Any) -> np.ndarray:
    return _free_mask(env.sea_map != _ROCK, env.current_state)


def _gathering_mask(env: Any) -> np.ndarray:
    return _free_mask(np.ones((env.size, env.size), dtype=bool), env.current_pos)


def _free_mask(free: np.ndarray, cell: Cell) -> np.ndarray:
    """Return a (4,) mask of the moves from a cell that stay on the free cells (rows, columns) of a map."""
    rows, columns = free.shape
    return np.array([0 <= r < rows and 0 <= c < columns and free[r, c] for r, c in neighbours(cell)], dtype=bool)


def _bottles_mask(env: Any) -> np.ndarray:
    """Return the valid actions; a pickup is valid at the source while the agent carries fewer than two bottles."""
    return np.array([env.location > 0, env.location < env.size - 1, env.location == 0 and env.bottles_carrying < 2])


def _encode_bottles(observation: dict[str, Any]) -> np.ndarray:
    """Encode the location, the bottles carried and delivered, and which cells have bottles (not how many)."""
    lying = [min(count, 1) for count in observation["bottles_dropped"]]
    counts = (observation["location"], observation["bottles_carrying"], observation["bottles_delivered"])
    return _BOTTLES((*counts, *lying))


@dataclass(frozen=True)
class _OneHotNode:
    """Encodes a node of a tree as a one-hot vector, because two raw coordinates do not tell an MLP left from right."""

    depth: int

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        row, place = (int(x) for x in observation)
        return OneHot((2 ** (self.depth + 1) - 1,))((2**row - 1 + place,))


def _as_float32(observation: np.ndarray) -> np.ndarray:
    return np.array(observation, dtype=np.float32)


def _gains(high: float, *names: str, probability: bool = False) -> tuple[Objective, ...]:
    """Return objectives whose returns lie between 0 and `high`."""
    return tuple(Objective(name, probability=probability, natural_low=0.0, natural_high=high) for name in names)


def _cost(name: str, most: float, unit: str = "", *, least: float = 0.0) -> Objective:
    """Return a cost whose amount lies between `least` and `most`."""
    return Objective(name, unit, cost=True, natural_low=-most, natural_high=0.0 - least)


def _risk(name: str) -> Objective:
    return Objective(name, cost=True, probability=True, natural_low=-1.0, natural_high=0.0)


def _grid_world(
    world: type[GridWorld], description: str, *, max_steps: int, high: float, box_high: float, reference: float
) -> CatalogueEntry:
    """Return the entry of a grid world with the largest return `high` and the paper's largest command `box_high`."""
    layout = world.layout
    encode, size = OneHot((layout.rows, layout.columns) + (1,) * len(layout.items)), len(layout.objectives)
    return CatalogueEntry(
        name=world.catalogue_name,
        gym_id=f"paretofoil/{world.__name__}-v0",
        objectives=_gains(high, *layout.objectives),
        actions=MOVES,
        phrases=MOVE_PHRASES,
        max_steps=max_steps,
        observation_size=encode.size,
        encode=encode,
        reference=(reference,) * size,
        paper_box=((0.0,) * size, (box_high,) * size),
        state=("cell", "taken", "finished"),
        draw=partial(_later, "pictures:draw_grid_world", layout),
        description=description,
    )


def _fruit_tree(name: str, depth: int, box_high: tuple[float, ...]) -> CatalogueEntry:
    """Return the entry of a fruit tree. `box_high`, from the paper, has the largest amounts of nutrients in a fruit."""
    return CatalogueEntry(
        name=name,
        gym_id="mo_gymnasium:fruit-tree-v0",
        kwargs={"depth": depth},
        objectives=_gains(10.0, "protein", "carbs", "fats", "vitamins", "minerals", "water"),
        actions=("left", "right"),
        phrases=("gone left", "gone right"),
        max_steps=depth,
        observation_size=2 ** (depth + 1) - 1,
        encode=_OneHotNode(depth),
        reference=(-0.1,) * 6,
        paper_box=((0.0,) * 6, box_high),
        state=("current_state", "terminal"),
        draw=partial(_later, "pictures:draw_tree", name),
        description=f"Descend a binary tree of depth {depth} to a leaf whose fruit has six nutrients.",
    )


def _minecart(name: str, stochastic: bool) -> CatalogueEntry:
    fuel = _cost("fuel", 220.0, least=0.02)  # a step burns from 0.02 (turning, waiting) to 0.22 (mining)
    return CatalogueEntry(
        name=name,
        gym_id="mo_gymnasium:minecart-v0" if stochastic else "mo_gymnasium:minecart-deterministic-v0",
        objectives=(*_gains(1.5, "ore 0", "ore 1"), fuel),
        actions=("mine", "left", "right", "accelerate", "brake", "none"),
        phrases=("mined", "turned left", "turned right", "accelerated", "braked", "done nothing"),
        max_steps=1000,
        stochastic=stochastic,
        observation_size=7,
        encode=_as_float32,
        mask=partial(_later, "minecart:mask_cart"),
        idle=5,
        reference=(-0.001, -0.001, -2.0),
        paper_box=None if stochastic else ((0.0, 0.0, -200.0), (1.5, 1.5, 0.0)),
        share_generator=partial(_later, "minecart:share_generator"),
        batch=partial(_later, "minecart:BatchMinecart", stochastic),
        locate=partial(_later, "minecart:locate_cart"),
        draw=partial(_later, "pictures:draw_minecart"),
        description="Drive a cart to mines and bring two ores to the base, using little fuel"
        + (", with random yields." if stochastic else "."),
    )


def _water_reservoir(name: str, stochastic: bool) -> CatalogueEntry:
    steps = 12  # of MO-Gymnasium's 100; later ones hardly differ
    return CatalogueEntry(
        name=name,
        gym_id="mo_gymnasium:water-reservoir-v0",
        kwargs={"time_limit": steps, "initial_state": [START]},
        objectives=(
            Objective("flooding", "m", cost=True, natural_low=None if stochastic else -90.0 * steps, natural_high=0.0),
            _cost("deficit", 50.0 * steps, "m³"),
        ),
        actions=tuple(RELEASE.names),
        phrases=tuple(RELEASE.phrases),
        action_space=RELEASE,
        bounds=partial(_later, "water_reservoir:bounds"),
        max_steps=steps,
        stochastic=stochastic,
        observation_size=1,
        encode=_as_float32,
        reference=(-1100.0, -600.0),
        share_generator=None if stochastic else partial(_later, "water_reservoir:without_chance"),
        batch=partial(_later, "water_reservoir:BatchReservoir", stochastic),
        locate=partial(_later, "water_reservoir:locate_reservoir"),
        draw=partial(_later, "pictures:draw_reservoir"),
        description="Release water from a reservoir, trading flooding upstream against a deficit in supply"
        + (", with random inflow." if stochastic else "."),
    )


def _walkroom(dimensions: int) -> CatalogueEntry:
    """Return the entry of WalkRoom, from the authors' code. In two dimensions, all states are tabulated."""
    size, finite = size_of(dimensions), dimensions == 2
    encode = OneHot((size,) * dimensions)
    return CatalogueEntry(
        name=f"walkroom-{dimensions}",
        gym_id="paretofoil/WalkRoom-v0",
        kwargs={"dimensions": dimensions},
        objectives=tuple(_cost(f"cost {i}", 200.0, "steps") for i in range(1, dimensions + 1)),
        actions=action_names(dimensions),
        phrases=tuple(f"gone {name}" for name in action_names(dimensions)),
        max_steps=200,
        observation_size=encode.size,
        encode=encode,
        reference=(-float(size),) * dimensions,
        paper_box=((-float(size),) * dimensions, (0.0,) * dimensions),
        state=("place",) if finite else (),
        batch=None if finite else partial(_later, "walkroom:BatchWalkRoom", dimensions),
        locate=None if finite else partial(_later, "walkroom:locate_walk", dimensions),
        draw=partial(_later, "pictures:draw_walk", size),
        description=f"Walk in {dimensions} dimensions to a wall; each step costs 1 in the dimension of its move.",
    )


_BRANCHES = "Two narrow branches of collectibles A and B, and too few steps to take them all."
_TWO_OF_FOUR = "Collect two of four objectives: the first pays 1.0, the second 0.8."
_TERMINAL_ROW = "Walk up to the terminal row, where A is paid on the left and B on the right."
_TURNS = tuple(product(("right", "rest", "left"), repeat=2))
"""The turns of Reacher's shoulder and elbow, by torques of -1, 0 and 1."""
SHIPPED = (
    _grid_world(BranchPath, _BRANCHES, max_steps=13, high=4.0, box_high=3.0, reference=0.0),
    _grid_world(CollectTwo, _TWO_OF_FOUR, max_steps=50, high=1.0, box_high=1.0, reference=-0.1),
    _grid_world(RewardLine, _TERMINAL_ROW, max_steps=20, high=1.0, box_high=1.0, reference=-0.1),
    CatalogueEntry(
        name="deep-sea-treasure",
        gym_id="mo_gymnasium:deep-sea-treasure-concave-v0",
        objectives=(*_gains(124.0, "treasure"), _cost("time", 200.0, "steps", least=1.0)),
        actions=MOVES,
        phrases=MOVE_PHRASES,
        max_steps=200,  # as in the authors' runs; the registered id has 100
        observation_size=_SEA.size,
        encode=_SEA,
        mask=_sea_mask,
        reference=(0.0, -50.0),
        paper_box=((0.0, -200.0), (124.0, -1.0)),
        state=("current_state",),
        draw=partial(_later, "pictures:draw_sea"),
        description="Steer a submarine to one of ten treasures. Richer treasures are farther away.",
    ),
    CatalogueEntry(
        name="breakable-bottles",
        gym_id="mo_gymnasium:breakable-bottles-v0",
        objectives=(
            _cost("time", 100.0, "steps", least=1.0),
            Objective("bottles", "points", natural_low=0.0, natural_high=50.0),
            _risk("breakage"),
        ),
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
        draw=partial(_later, "pictures:draw_bottles"),
        description="Deliver two bottles: carrying both at once is fast but may break one.",
    ),
    CatalogueEntry(
        name="resource-gathering",
        gym_id="mo_gymnasium:resource-gathering-v0",
        objectives=(_risk("death"), *_gains(1.0, "gold", "diamond", probability=True)),
        actions=MOVES,
        phrases=MOVE_PHRASES,
        max_steps=100,
        stochastic=True,
        observation_size=_GATHERING.size,
        encode=_GATHERING,
        mask=_gathering_mask,
        reference=(-1.0, -0.1, -0.1),
        paper_box=((-1.1, -0.1, -0.1), (0.0, 1.0, 1.0)),
        state=("current_pos", "has_gem", "has_gold"),
        chance=0.1,
        draw=partial(_later, "pictures:draw_gathering"),
        description="Bring gold and a diamond home past enemies that kill one visitor in ten.",
    ),
    _fruit_tree("fruit-tree", 7, (9.497293, 8.779863, 8.505063, 9.138061, 9.276587, 9.317618)),
    _fruit_tree("fruit-tree-6", 6, (9.591646, 8.229653, 9.1749, 9.066862, 8.459588, 8.959176)),
    _minecart("minecart", stochastic=False),
    _minecart("minecart-stochastic", stochastic=True),
    _water_reservoir("water-reservoir", stochastic=False),
    _water_reservoir("water-reservoir-stochastic", stochastic=True),
    *map(_walkroom, DIMENSIONS),
    CatalogueEntry(
        name="three-tree",
        gym_id="paretofoil/ThreeTree-v0",
        objectives=_gains(5.0, *three_tree.NAMES),
        actions=three_tree.ThreeTree.action_names,
        phrases=tuple(f"chosen {name}" for name in three_tree.NAMES),
        max_steps=three_tree.DEPTH,
        observation_size=5,
        encode=_as_float32,
        reference=(0.0, 0.0, 0.0),
        paper_box=((0.0, 0.0, 0.0), (4.3, 3.8, 3.8)),
        state=("counts", "recovery"),
        draw=partial(_later, "pictures:draw_choices"),
        description="Choose P, S or E four times; each pays mostly its own kind, and what pays depends on the path.",
    ),
    CatalogueEntry(
        name="four-room",
        gym_id="mo_gymnasium:four-room-v0",
        objectives=_gains(5.0, *four_room.LAYOUT.objectives),
        actions=four_room.MOVES,
        phrases=tuple(f"gone {move}" for move in four_room.MOVES),
        max_steps=40,  # as in the authors' runs; the registered id has 200
        observation_size=_ROOM.size,
        encode=_ROOM,
        mask=partial(_later, "four_room:mask_room"),
        reference=(0.0, 0.0, 0.0),
        paper_box=((0.0, 0.0, 0.0), (5.0, 5.0, 5.0)),
        batch=partial(_later, "four_room:BatchFourRoom"),
        locate=partial(_later, "four_room:locate_room"),
        draw=partial(_later, "pictures:draw_four_room"),
        description="Collect squares, triangles and circles in four rooms within 40 steps; the goal pays one of each.",
    ),
    CatalogueEntry(
        name="mountain-car",
        gym_id="mo_gymnasium:mo-mountaincar-timespeed-v0",
        objectives=(_cost("time", 200.0, "steps"), *_gains(210.0, "speed")),
        actions=("left", "coast", "right"),
        phrases=("accelerated to the left", "coasted", "accelerated to the right"),
        max_steps=200,
        start_seed=0,
        real_returns=True,
        observation_size=2,
        encode=_as_float32,
        reference=(-200.0, 0.0),
        paper_box=((-200.0, 0.0), (0.0, 210.0)),
        batch=partial(_later, "mountain_car:BatchMountainCar"),
        locate=partial(_later, "mountain_car:locate_car"),
        draw=partial(_later, "pictures:draw_car"),
        description="Drive a weak car up a hill: arrive early, or gather speed in the valley. "
        "Every episode has the same start.",
    ),
    CatalogueEntry(
        name="lunar-lander",
        gym_id="mo_gymnasium:mo-lunar-lander-v3",
        objectives=(
            Objective("landing", natural_low=-100.0, natural_high=100.0),
            Objective("approach"),
            _cost("main fuel", 1000.0),
            _cost("side fuel", 1000.0),
        ),
        actions=("coast", "left engine", "main engine", "right engine"),
        phrases=("coasted", "fired the left engine", "fired the main engine", "fired the right engine"),
        max_steps=1000,
        start_seed=0,
        real_returns=True,
        requires="box2d",
        observation_size=8,
        encode=_as_float32,
        reference=(-100.0, -500.0, -1000.0, -1000.0),
        paper_box=((-100.0, -500.0, -1000.0, -1000.0), (100.0, 300.0, 0.0, 0.0)),
        description="Land on the moon, trading a safe landing and a straight approach against fuel. "
        "Every episode has the same start.",
    ),
    CatalogueEntry(
        name="reacher",
        gym_id="mo_gymnasium:mo-reacher-v5",
        objectives=tuple(Objective(f"target {i}", natural_low=-50.0, natural_high=50.0) for i in range(1, 5)),
        actions=tuple(f"{shoulder}/{elbow}" for shoulder, elbow in _TURNS),
        phrases=tuple(f"turned the shoulder {shoulder} and the elbow {elbow}" for shoulder, elbow in _TURNS),
        max_steps=50,
        start_seed=0,
        real_returns=True,
        requires="mujoco",
        observation_size=6,
        encode=_as_float32,
        reference=(-50.0,) * 4,
        paper_box=((-50.0,) * 4, (50.0,) * 4),
        draw=partial(_later, "pictures:draw_arm"),
        description="Turn the two joints of an arm; each of four targets pays more the nearer its finger is. "
        "Every episode has the same start.",
    ),
)
