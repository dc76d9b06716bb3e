"""Many copies of an environment, by the fastest means there is."""

from paretofoil.core.errors import InvalidInput
from paretofoil.envs.batch import BatchEnv
from paretofoil.envs.catalogue import entry
from paretofoil.envs.catalogue_entry import CatalogueEntry


def make_batch(name: str | CatalogueEntry, max_steps: int | None = None) -> BatchEnv:
    """Many copies stepped together, by the fastest means there is: vectorised, tabulated, or one by one."""
    item = entry(name)
    limit = item.max_steps if max_steps is None else max_steps
    if limit < 1:
        raise InvalidInput.expected("a step limit of at least 1", limit)
    if item.batch is not None:
        return item.batch(limit)
    if item.finite:
        from paretofoil.envs.tabular import TabularBatch

        return TabularBatch(item, limit)
    from paretofoil.envs.gymnasium_batch import GymnasiumBatch

    return GymnasiumBatch(item, limit)
