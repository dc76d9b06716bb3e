"""Rows as a pandas DataFrame, for those who have pandas; nothing here needs it."""

from collections.abc import Iterable, Mapping
from typing import Any

from paretofoil.core.errors import InvalidInput


def as_frame(rows: Iterable[Mapping[str, Any]]) -> Any:
    """One line for each mapping, its keys as columns."""
    try:
        import pandas
    except ImportError:
        raise InvalidInput.expected("pandas to be installed (pip install pandas)", "a Python without it") from None
    return pandas.DataFrame(list(rows))
