"""The paper's environments, one catalogue of them, and many copies of each stepped together.

Importing this package registers `paretofoil/BranchPath-v0`, `paretofoil/CollectTwo-v0` and
`paretofoil/RewardLine-v0` with Gymnasium.
"""

from typing import TYPE_CHECKING, Any

import gymnasium
from gymnasium.envs.registration import WrapperSpec

from paretofoil.envs.batches import make_batch
from paretofoil.envs.catalogue import describe, entry, make, names, register
from paretofoil.envs.catalogue_entry import CatalogueEntry

if TYPE_CHECKING:
    from paretofoil.envs.checker import check_environment

__all__ = ["CatalogueEntry", "check_environment", "describe", "entry", "make", "make_batch", "names", "register"]

_STRICT = WrapperSpec("Strict", "paretofoil.envs.wrapper:Strict", kwargs={})

for _name, _class in (
    ("branch-path", "branch_path:BranchPath"),
    ("collect-two", "collect_two:CollectTwo"),
    ("reward-line", "reward_line:RewardLine"),
):
    gymnasium.register(
        id=entry(_name).gym_id,
        entry_point=f"paretofoil.envs.{_class}",
        max_episode_steps=entry(_name).max_steps,
        disable_env_checker=True,  # as in MO-Gymnasium: the passive checker expects scalar rewards
        additional_wrappers=(_STRICT,),
    )


def __getattr__(name: str) -> Any:
    """The checker imports what it checks; it is loaded when it is asked for."""
    if name == "check_environment":
        from paretofoil.envs.checker import check_environment

        return check_environment
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
