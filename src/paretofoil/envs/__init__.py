"""The catalogue of environments, and batches of copies that are stepped together.

Importing this package registers `paretofoil/BranchPath-v0`, `paretofoil/CollectTwo-v0`, `paretofoil/RewardLine-v0`,
`paretofoil/WalkRoom-v0` and `paretofoil/ThreeTree-v0` with Gymnasium.
"""

import gymnasium
from gymnasium.envs.registration import WrapperSpec

from paretofoil.envs.batch import make_batch
from paretofoil.envs.catalogue import CatalogueEntry, describe, entry, make, names, register
from paretofoil.envs.checker import check_environment
from paretofoil.envs.gridworld import BranchPath, CollectTwo, RewardLine
from paretofoil.envs.shipped import SHIPPED

__all__ = ["CatalogueEntry", "check_environment", "describe", "entry", "make", "make_batch", "names", "register"]

for _entry in SHIPPED:
    register(_entry)

for _id, _place, _steps in (("WalkRoom", "walkroom", 200), ("ThreeTree", "three_tree", 4)):
    gymnasium.register(
        id=f"paretofoil/{_id}-v0",
        entry_point=f"paretofoil.envs.{_place}:{_id}",
        max_episode_steps=_steps,
        disable_env_checker=True,
    )
for _class in (BranchPath, CollectTwo, RewardLine):
    gymnasium.register(
        id=entry(_class.catalogue_name).gym_id,
        entry_point=f"paretofoil.envs.gridworld:{_class.__name__}",
        max_episode_steps=entry(_class.catalogue_name).max_steps,
        disable_env_checker=True,  # the passive checker expects scalar rewards; MO-Gymnasium disables it too
        additional_wrappers=(WrapperSpec("Strict", "paretofoil.envs.catalogue:Strict", kwargs={}),),
    )
