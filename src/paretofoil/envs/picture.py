"""A picture of any catalogued environment, at its start or in a state of a batch."""

from functools import cache
from typing import Any

import numpy as np

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.catalogue import entry, make_raw
from paretofoil.envs.catalogue_entry import CatalogueEntry
from paretofoil.envs.gymnasium_batch import GymnasiumSnapshot, clone
from paretofoil.envs.tabular import set_attributes, tabulate

ENLARGE_TO = 640
"""Pictures much smaller than this (pixel art) are enlarged by a whole factor."""


def picture(name: str | CatalogueEntry) -> np.ndarray:
    """(height, width, 3) uint8: the environment at its start."""
    return picture_of(name, None)


def picture_of(name: str | CatalogueEntry, snapshot: Any) -> np.ndarray:
    """(height, width, 3) uint8: the environment in the state of a batch's snapshot (None: at its start)."""
    item = entry(name)
    if isinstance(snapshot, GymnasiumSnapshot):
        twin = clone(snapshot.env).unwrapped
        twin.render_mode = "rgb_array"  # batches are made without one
        return _draw(item, twin)
    env = _stage(item)
    env.reset(seed=0)
    if snapshot is not None:
        if item.set_state is not None:
            item.set_state(env.unwrapped, snapshot)
        elif item.finite:
            set_attributes(env.unwrapped, tabulate(item).states[snapshot["state"]])
        else:
            raise InvalidInput.expected(f"a snapshot of a batch of {item.name}", repr(snapshot))
    return _draw(item, env.unwrapped)


@cache
def _stage(item: CatalogueEntry) -> Any:
    """One environment to draw with, kept because loading its images takes longer than drawing them."""
    return make_raw(item, render_mode="rgb_array" if item.draw is None else None)


def _draw(item: CatalogueEntry, unwrapped: Any) -> np.ndarray:
    if item.draw is not None:
        return item.draw(unwrapped)
    pixels = unwrapped.render()
    if not isinstance(pixels, np.ndarray) or pixels.ndim != 3 or pixels.shape[2] != 3:
        raise InvalidInput.expected(f"{item.name} to draw an rgb_array of shape (height, width, 3)", type(pixels))
    factor = max(1, round(ENLARGE_TO / max(pixels.shape[:2])))
    return pixels.astype(np.uint8).repeat(factor, axis=0).repeat(factor, axis=1)
