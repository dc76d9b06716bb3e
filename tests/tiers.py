"""Divide the values of a parametrised test between `make test` and `make test-all`."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def long_except(values: Iterable[Any], quick: Collection[Any]) -> list[Any]:
    """Return the values as parameters, all marked as long but the quick ones."""
    return [pytest.param(value, marks=() if value in quick else pytest.mark.long) for value in values]
