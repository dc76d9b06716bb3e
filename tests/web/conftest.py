from collections.abc import Iterator

import pytest
from visitor import Visitor, visiting


@pytest.fixture(scope="module")
def visitor() -> Iterator[Visitor]:
    """A visitor of a server with every shipped agent, shared by the tests of a module."""
    with visiting() as someone:
        yield someone
